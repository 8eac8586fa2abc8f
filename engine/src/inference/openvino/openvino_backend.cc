// The CPU backend: OpenVINO's C++ API, linked into a module of its own (Note [A module of its own]).
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reelmend/error.h"
#include "inference/amx.h"
#include "inference/backend.h"
#include "inference/onnx_fields.h"
#include "openvino/op/constant.hpp"
#include "openvino/op/depth_to_space.hpp"
#include "openvino/op/result.hpp"
#include "openvino/op/slice.hpp"
#include "openvino/openvino.hpp"

namespace reelmend::inference {
namespace {

[[noreturn]] void Refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

/// OpenVINO's messages are long and name its sources; only the operator's name is useful.
std::string UnsupportedOperator(const std::string& message) {
  for (const char* mark : {"No conversion rule found for operations: ", "Unsupported operation of type: ",
                           "OpenVINO does not support the following ONNX operations: "}) {
    const auto at = message.find(mark);
    if (at == std::string::npos) continue;
    const auto begin = at + std::string(mark).size();
    return message.substr(begin, message.find_first_of(" ,\n;", begin) - begin);
  }
  return "";
}

[[noreturn]] void RefuseUnknownShape() {
  Refuse("The model does not state the shape of its input; four dimensions are wanted: 1, planes, height, width.");
}

/// Whether an input is a tensor of any number of dimensions. OpenVINO reports that as an error of the first operator that needs to know it.
bool HasInputWithoutShape(std::string_view onnx) {
  for (const std::string& value : onnx::FindAll(onnx::Find(onnx, onnx::kModelGraph), onnx::kInput)) {
    const std::string_view tensor = onnx::Find(onnx::Find(value, onnx::kValueType), onnx::kTensorOfType);
    if (!tensor.empty() && onnx::FindAll(tensor, onnx::kShape).empty()) return true;
  }
  return false;
}

ov::Core& Core() {
  static ov::Core core;
  return core;
}

/// Note [bfloat16]
/// bfloat16 is faster with AMX, and with AVX512_BF16 on AMD's processors: 480×270 on one core of an EPYC, ms in fp32, bf16 and
/// int8: `fast` ×1 38.2, 15.3, 6.2; `fast` ×2 33.4, 15.4, 8.0; `quality` ×2 225, 110, 78. On Intel's with AVX512_BF16 alone a
/// network of 32 planes took 210 ms per frame, float 125 (960×540, OpenVINO 2026.4, Sapphire Rapids with AMX hidden). AMX in the
/// processor is not enough: if the kernel does not grant it, OpenVINO falls back to AVX512_BF16.
bool CanBf16() {
#if defined(__x86_64__)
  if (!HasFastBf16Instructions()) return false;
#endif
  const auto able = Core().get_property("CPU", ov::device::capabilities);
  return std::ranges::find(able, ov::device::capability::BF16) != able.end();
}

/// Note [Where the time of a small network goes]
/// 32 planes at half the resolution, 8 layers (`detail`), int8, 960×540, one core at about 3.2 GHz with AVX-512 VNNI, ms
/// from OpenVINO's counters: eight layers of 32 × 32 planes 3.3 to 3.9 each (1.19 G multiply-adds, 2.9 at the processor's
/// peak), the first 2.3, the last 1.9; the fp32 skip 1.7 and its input's layout change 1.3; quantising the input 0.9;
/// depth to space 4.3. The engine does the last step (LeaveShuffle): 1.7 for the planes then needed, and no extra time in
/// the loop that makes samples. No gain: input or output as NHWC, [1, H, W, C] (OpenVINO then transposes by itself, 45.8
/// instead of 42.0 ms in all). Not tried: bfloat16 for the float parts only. So 28 of 40 ms are convolutions at 85 % of
/// the peak. At full resolution (`fast`) the skip would cost 4.3, so it sees luma alone.

/// Note [Planes that share the cache's sets]
/// OpenVINO computes with the channels innermost, and copies 16 to 64 channels into planes value by value (Reorder::optimizedNspc2Ncsp).
/// A cache of 64 sets keeps a line of each plane at hand, unless the planes lie whole multiples of 4,096 bytes apart, as those of 640×360
/// and 320×240 do: then all lines belong to one set of 8 or 12. Fewer than 16 channels go another, faster way. So an output with such planes
/// is cut into slices, whose tensors lie one behind the other. `bench:networks --scale 4 --model detail-large --size …` (48 planes, int8, two
/// cores of an EPYC), ms without → with slices: 640×360 90 → 57, 320×240 29 → 18; 480×270 has no such planes and took 28. Not used, by a
/// script that is not kept, one core at 640×360 (193 without, 118 with slices): planes of 16-bit floats (103; they round by up to 0.06
/// 8-bit levels), a Transpose (129), and slices everywhere (480×270: 59 → 63).
constexpr int kSliceChannels = 12;

/// Most planes of which lines share one set of a cache with 64 sets of 64 bytes.
int PlanesInOneSet(int planes, std::size_t plane_bytes) {
  constexpr std::size_t kLine = 64;
  std::array<int, 64> in_set = {};
  for (int i = 0; i < planes; ++i) ++in_set[static_cast<std::size_t>(i) * plane_bytes / kLine % in_set.size()];
  return *std::ranges::max_element(in_set);
}

ov::PartialShape Batch1(const Shape& shape) { return {1, shape.channels, shape.height, shape.width}; }

Shape ToShape(const ov::Shape& shape) {
  return {static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3])};
}

class OpenVinoNetwork : public Network {
 public:
  /// The outputs of `compiled` are slices of `output`'s channels.
  OpenVinoNetwork(ov::CompiledModel compiled, const ov::Shape& output, int requests, std::string precision, int shuffle)
      : compiled_(std::move(compiled)), output_(ToShape(output)), precision_(std::move(precision)), shuffle_(shuffle) {
    for (int i = 0; i < requests; ++i) {
      requests_.push_back(compiled_.create_infer_request());
      outputs_.emplace_back(ov::element::f32, output);
      float* slice = outputs_.back().data<float>();
      for (std::size_t at = 0; at < compiled_.outputs().size(); ++at) {
        const ov::Shape shape = compiled_.output(at).get_shape();
        requests_.back().set_output_tensor(at, ov::Tensor(ov::element::f32, shape, slice));
        slice += ov::shape_size(shape);
      }
    }
  }

  ~OpenVinoNetwork() override {
    for (ov::InferRequest& request : requests_) {
      try {
        request.wait();
      } catch (const std::exception&) {  // errors at destruction interest nobody
      }
    }
  }

  Shape input_shape() const override { return ToShape(compiled_.input().get_shape()); }
  Shape output_shape() const override {
    return {output_.channels / (shuffle_ * shuffle_), output_.height * shuffle_, output_.width * shuffle_};
  }
  int shuffle() const override { return shuffle_; }
  std::string precision() const override { return precision_; }
  int requests() const override { return static_cast<int>(requests_.size()); }
  float* Input(int request) override { return requests_[request].get_input_tensor().data<float>(); }
  const float* Output(int request) const override { return outputs_[request].data<const float>(); }

  void Start(int request) override {
    try {
      requests_[request].start_async();
    } catch (const std::exception&) {
      throw Error(ErrorCode::kInternal, "The network could not be started.");
    }
  }

  void Wait(int request) override {
    try {
      requests_[request].wait();
    } catch (const std::exception&) {
      throw Error(ErrorCode::kInternal, "The network failed while it ran.");
    }
  }

 private:
  ov::CompiledModel compiled_;
  Shape output_;  ///< with the planes of a shuffle
  std::string precision_;
  int shuffle_ = 1;
  std::vector<ov::Tensor> outputs_;  ///< of each request
  std::vector<ov::InferRequest> requests_;
};

/// The input or output of that name; the only one if the name is empty.
template <typename Ports>
std::size_t FindPort(const Ports& ports, const std::string& name, const char* what) {
  if (name.empty()) {
    if (ports.size() == 1) return 0;
    Refuse("The model has " + std::to_string(ports.size()) + " " + what + "s, and none is named.");
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].get_names().count(name) > 0) return i;
  }
  Refuse("The model has no " + std::string(what) + " named “" + name + "”.");
}

class OpenVinoModel : public Model {
 public:
  OpenVinoModel(std::shared_ptr<ov::Model> model, const std::string& input, const std::string& output)
      : model_(std::move(model)) {
    const std::size_t in = FindPort(model_->inputs(), input, "input");
    const std::size_t out = FindPort(model_->outputs(), output, "output");
    if (model_->inputs().size() != 1) Refuse("The model needs more inputs than the picture.");
    if (model_->input(in).get_partial_shape().rank().is_dynamic()) RefuseUnknownShape();
    CheckRank(model_->input(in).get_partial_shape(), "input");
    CheckRank(model_->output(out).get_partial_shape(), "output");
    ConvertToFloat(in, out);
    is_int8_ = std::ranges::any_of(model_->get_ops(), [](const auto& op) {
      return std::string_view(op->get_type_name()) == "FakeQuantize";
    });
  }

  int input_channels() const override {
    const ov::Dimension channels = model_->input().get_partial_shape()[1];
    return channels.is_static() ? static_cast<int>(channels.get_length()) : 0;
  }

  Shape OutputShape(const Shape& input) override {
    return ToShape(Bound(input)->output(0).get_shape());
  }

  std::int64_t WorkingBytes(const Shape& input) override {
    // Layers run one after the other and share buffers. The input and output of the largest one exist at once; blocked
    // layouts or a shortcut add a third. The tests compare this with measured peaks.
    std::int64_t largest = 0;
    const auto model = Bound(input);
    for (const auto& op : model->get_ops()) {
      if (ov::is_type<ov::op::v0::Constant>(op)) continue;
      for (const auto& output : op->outputs()) {
        if (output.get_partial_shape().is_dynamic()) continue;
        largest = std::max(largest, static_cast<std::int64_t>(ov::shape_size(output.get_shape())));
      }
    }
    const auto out = static_cast<std::int64_t>(ov::shape_size(model->output(0).get_shape()));
    return static_cast<std::int64_t>(sizeof(float)) * (3 * largest + input.count() + out);
  }

  std::unique_ptr<Network> Compile(const CompileOptions& options) override {
    const auto model = Bound(options.input);
    const std::string precision = ChoosePrecision(options);
    try {
      ov::AnyMap settings = {
          ov::num_streams(options.requests),
          ov::inference_num_threads(options.threads),
          // No pinning: other stages and processes share these cores, and the scheduler distributes them best.
          ov::hint::enable_cpu_pinning(false),
          ov::hint::inference_precision(precision == "bf16" ? ov::element::bf16 : ov::element::f32),
      };
      const int shuffle = LeaveShuffle(*model, options.shuffle_multiple);
      const ov::Shape output = model->output(0).get_shape();
      CutOutput(*model);
      return std::make_unique<OpenVinoNetwork>(Core().compile_model(model, "CPU", settings), output, options.requests, precision,
                                               shuffle);
    } catch (const std::exception& error) {
      const std::string name = UnsupportedOperator(error.what());
      Refuse("The model cannot be compiled for this processor" + (name.empty() ? "." : ": it uses the operator " + name + "."));
    }
  }

 private:
  static void CheckRank(const ov::PartialShape& shape, const char* what) {
    // An output may get its shape from the input's.
    if (shape.rank().is_dynamic()) return;
    if (shape.rank().get_length() != 4) {
      Refuse(std::string("The model's ") + what + " has " + std::to_string(shape.rank().get_length()) +
             " dimensions; four are wanted: 1, planes, height, width.");
    }
    if (shape[0].is_static() && shape[0].get_length() != 1) {
      Refuse(std::string("The model's ") + what + " is a batch of " + std::to_string(shape[0].get_length()) +
             "; the batch size must be 1.");
    }
  }

  /// Half-precision files get float32 inputs and outputs here.
  void ConvertToFloat(std::size_t in, std::size_t out) {
    try {
      ov::preprocess::PrePostProcessor ends(model_);
      ends.input(in).tensor().set_element_type(ov::element::f32);
      ends.output(out).tensor().set_element_type(ov::element::f32);
      model_ = ends.build();
      if (model_->outputs().size() > 1) {
        const ov::Output<ov::Node> kept = model_->output(out);
        model_ = std::make_shared<ov::Model>(ov::OutputVector{kept}, model_->get_parameters());
      }
    } catch (const std::exception&) {
      Refuse("The model's input and output are not of a kind that holds a picture.");
    }
  }

  /// Removes a final depth-to-space by a divisor of `multiple` and returns its factor, else 1. Several planes only in
  /// the order of Network::shuffle (ONNX's CRD); for one plane both orders of ONNX are the same.
  static int LeaveShuffle(ov::Model& model, int multiple) {
    const auto result = model.get_results()[0];
    const auto last = ov::as_type_ptr<ov::op::v0::DepthToSpace>(result->get_input_node_shared_ptr(0));
    if (!last) return 1;
    const bool is_by_plane = last->get_mode() == ov::op::v0::DepthToSpace::DepthToSpaceMode::DEPTH_FIRST;
    if (!is_by_plane && model.output(0).get_shape()[1] != 1) return 1;
    const auto factor = static_cast<int>(last->get_block_size());
    if (factor < 2 || factor > kMaxShuffle || multiple % factor != 0) return 1;
    result->input(0).replace_source_output(last->input_value(0));
    model.validate_nodes_and_infer_types();
    return factor;
  }

  /// Cuts an output into slices of its channels: Note [Planes that share the cache's sets].
  static void CutOutput(ov::Model& model) {
    constexpr int kMostInOneSet = 8;
    const auto result = model.get_results()[0];
    const ov::Output<ov::Node> whole = result->input_value(0);
    const Shape shape = ToShape(whole.get_shape());
    const std::size_t plane_bytes = sizeof(float) * static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
    if (shape.channels < 16 || shape.channels > 64 || PlanesInOneSet(shape.channels, plane_bytes) <= kMostInOneSet) return;
    const auto constant = [](std::int64_t value) { return ov::op::v0::Constant::create(ov::element::i64, {1}, {value}); };
    ov::ResultVector slices;
    for (int first = 0; first < shape.channels; first += kSliceChannels) {
      const auto slice = std::make_shared<ov::op::v8::Slice>(whole, constant(first), constant(std::min(first + kSliceChannels, shape.channels)),
                                                             constant(1), constant(1));
      slices.push_back(std::make_shared<ov::op::v0::Result>(slice));
    }
    model.add_results(slices);
    model.remove_result(result);
  }

  std::string ChoosePrecision(const CompileOptions& options) const {
    if (is_int8_) return "int8";
    return options.allow_bf16 && CanBf16() ? "bf16" : "fp32";
  }

  /// A copy of the model for fixed shapes.
  std::shared_ptr<ov::Model> Bound(const Shape& input) {
    if (bound_ && bound_for_ == input) return bound_->clone();
    const std::string size = std::to_string(input.width) + "×" + std::to_string(input.height);
    if (const int channels = input_channels(); channels != 0 && channels != input.channels) {
      Refuse("The model takes " + std::to_string(channels) + " planes, but its layout has " +
             std::to_string(input.channels) + ".");
    }
    std::shared_ptr<ov::Model> model = model_->clone();
    try {
      model->reshape(Batch1(input));
    } catch (const std::exception&) {
      Refuse("The model cannot take a picture of " + size + ".");
    }
    const ov::PartialShape output = model->output(0).get_partial_shape();
    if (output.is_dynamic() || output.size() != 4 || output[0] != 1) {
      Refuse("The model does not state the size of its output for a picture of " + size + ".");
    }
    bound_ = model;
    bound_for_ = input;
    return bound_->clone();
  }

  std::shared_ptr<ov::Model> model_;
  std::shared_ptr<ov::Model> bound_;
  Shape bound_for_;
  bool is_int8_ = false;
};

class OpenVinoTensorNetwork : public TensorNetwork {
 public:
  /// `outputs` state their shapes.
  OpenVinoTensorNetwork(ov::CompiledModel compiled, std::vector<TensorEnd> outputs)
      : compiled_(std::move(compiled)), request_(compiled_.create_infer_request()), outputs_(std::move(outputs)) {}

  /// Gives an input its shape, which `compiled` leaves open.
  void Shape(std::size_t end, const std::vector<std::int64_t>& dims) {
    request_.set_input_tensor(end, ov::Tensor(ov::element::f32, ov::Shape(dims.begin(), dims.end())));
  }

  float* Input(std::size_t end) override { return request_.get_input_tensor(end).data<float>(); }
  const float* Output(std::size_t end) const override {
    return const_cast<ov::InferRequest&>(request_).get_output_tensor(end).data<float>();
  }
  const std::vector<TensorEnd>& outputs() const override { return outputs_; }

  void Run() override {
    try {
      request_.infer();
    } catch (const std::exception&) {
      throw Error(ErrorCode::kInternal, "The network failed while it ran.");
    }
  }

 private:
  ov::CompiledModel compiled_;
  ov::InferRequest request_;
  std::vector<TensorEnd> outputs_;
};

class OpenVinoTensorModel : public TensorModel {
 public:
  explicit OpenVinoTensorModel(std::shared_ptr<ov::Model> model) : model_(std::move(model)) {
    inputs_ = Ends(model_->inputs());
    outputs_ = Ends(model_->outputs());
    try {
      ov::preprocess::PrePostProcessor ends(model_);
      for (std::size_t i = 0; i < inputs_.size(); ++i) ends.input(i).tensor().set_element_type(ov::element::f32);
      for (std::size_t i = 0; i < outputs_.size(); ++i) ends.output(i).tensor().set_element_type(ov::element::f32);
      model_ = ends.build();
    } catch (const std::exception&) {
      Refuse("The model's inputs and outputs are not of a kind that holds numbers.");
    }
  }

  const std::vector<TensorEnd>& inputs() const override { return inputs_; }
  const std::vector<TensorEnd>& outputs() const override { return outputs_; }

  std::unique_ptr<TensorNetwork> Compile(const std::vector<std::vector<std::int64_t>>& input_dims, int threads) override {
    return OrRefuse([&] {
      const std::shared_ptr<ov::Model> model = Reshaped(input_dims);
      return std::make_unique<OpenVinoTensorNetwork>(CompileModel(model, threads), OutputsOf(*model));
    });
  }

  std::vector<std::unique_ptr<TensorNetwork>> CompileShapes(const std::vector<std::vector<std::int64_t>>& shapes, int threads) override {
    return OrRefuse([&] {
      std::vector<std::int64_t> open = shapes.at(0);
      for (const auto& shape : shapes) {
        for (std::size_t i = 0; i < open.size(); ++i) open[i] = shape.at(i) == open[i] ? open[i] : -1;
      }
      const ov::CompiledModel compiled = CompileModel(Reshaped({open}), threads);
      std::vector<std::unique_ptr<TensorNetwork>> networks;
      for (const auto& shape : shapes) {
        auto network = std::make_unique<OpenVinoTensorNetwork>(compiled, OutputsOf(*Reshaped({shape})));
        network->Shape(0, shape);
        networks.push_back(std::move(network));
      }
      return networks;
    });
  }

 private:
  /// What `compile` returns. Its faults become one sentence.
  template <typename Compile>
  static auto OrRefuse(const Compile& compile) -> decltype(compile()) {
    try {
      return compile();
    } catch (const std::exception& error) {
      const std::string name = UnsupportedOperator(error.what());
      Refuse(name.empty() ? "The model does not support inputs of the required size."
                          : "The model cannot be compiled for this processor: it uses the operator " + name + ".");
    }
  }

  static ov::CompiledModel CompileModel(const std::shared_ptr<ov::Model>& model, int threads) {
    return Core().compile_model(model, "CPU", {ov::num_streams(1), ov::inference_num_threads(threads), ov::hint::enable_cpu_pinning(false),
                                               ov::hint::inference_precision(ov::element::f32)});
  }

  /// A copy with these shapes of its inputs; −1: an open dimension.
  std::shared_ptr<ov::Model> Reshaped(const std::vector<std::vector<std::int64_t>>& input_dims) const {
    const std::shared_ptr<ov::Model> model = model_->clone();
    std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
    for (std::size_t i = 0; i < input_dims.size(); ++i) {
      shapes[model->input(i)] = ov::PartialShape(std::vector<ov::Dimension>(input_dims[i].begin(), input_dims[i].end()));
    }
    model->reshape(shapes);
    return model;
  }

  /// The outputs of a model without open dimensions.
  std::vector<TensorEnd> OutputsOf(const ov::Model& model) const {
    std::vector<TensorEnd> outputs = outputs_;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ov::Shape shape = model.output(i).get_shape();
      outputs[i].dims.assign(shape.begin(), shape.end());
    }
    return outputs;
  }

  template <typename Ports>
  static std::vector<TensorEnd> Ends(const Ports& ports) {
    std::vector<TensorEnd> ends;
    for (const auto& port : ports) {
      TensorEnd end;
      if (!port.get_names().empty()) end.name = port.get_any_name();
      const ov::PartialShape shape = port.get_partial_shape();
      if (shape.rank().is_dynamic()) Refuse("The model does not state the shapes of its inputs and outputs.");
      for (const ov::Dimension& dim : shape) end.dims.push_back(dim.is_static() ? dim.get_length() : -1);
      ends.push_back(std::move(end));
    }
    return ends;
  }

  std::shared_ptr<ov::Model> model_;
  std::vector<TensorEnd> inputs_;
  std::vector<TensorEnd> outputs_;
};

class OpenVinoBackend : public Backend {
 public:
  std::string name() const override { return "openvino"; }

  std::unique_ptr<TensorModel> LoadTensors(const std::string& onnx) override {
    return std::make_unique<OpenVinoTensorModel>(Read(onnx));
  }

  std::unique_ptr<Model> Load(const std::string& onnx, const std::string& input, const std::string& output) override {
    return std::make_unique<OpenVinoModel>(Read(onnx), input, output);
  }

 private:
  static std::shared_ptr<ov::Model> Read(const std::string& onnx) {
    try {
      // From memory, so that a file cannot refer to other files (external weights, libraries).
      return Core().read_model(onnx, ov::Tensor());
    } catch (const std::exception& error) {
      const std::string name = UnsupportedOperator(error.what());
      if (!name.empty()) Refuse("The model uses the operator " + name + ", which this build cannot run.");
      if (HasInputWithoutShape(onnx)) RefuseUnknownShape();
      Refuse("The model file is not an ONNX network, or it is damaged.");
    }
  }
};

}  // namespace
}  // namespace reelmend::inference

extern "C" {

__attribute__((visibility("default"))) int reelmend_openvino_interface() {
  return reelmend::inference::kModuleInterface;
}

__attribute__((visibility("default"))) reelmend::inference::Backend* reelmend_openvino_create() {
  try {
    return new reelmend::inference::OpenVinoBackend();
  } catch (const std::exception&) {
    throw reelmend::Error(reelmend::ErrorCode::kUnavailable, "OpenVINO cannot be started on this machine.");
  }
}
}
