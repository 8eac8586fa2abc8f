#include "inference/openvino/picture_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "inference/amx.h"
#include "inference/openvino/model_transformations.h"
#include "inference/openvino/openvino_core.h"
#include "openvino/op/constant.hpp"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

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

ov::PartialShape Batch1(const Shape& shape) { return {1, shape.channels, shape.height, shape.width}; }

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

class OpenVinoPictureModel : public Model {
 public:
  OpenVinoPictureModel(std::shared_ptr<ov::Model> model, const std::string& input, const std::string& output)
      : model_(std::move(model)) {
    const std::size_t in = FindPort(model_->inputs(), input, "input");
    const std::size_t out = FindPort(model_->outputs(), output, "output");
    if (model_->inputs().size() != 1) Refuse("The model needs more inputs than the picture.");
    if (model_->input(in).get_partial_shape().rank().is_dynamic()) RefuseUnknownShape();
    CheckRank(model_->input(in).get_partial_shape(), "input");
    CheckRank(model_->output(out).get_partial_shape(), "output");
    ConvertToFloat(in, out);
    MatchSlopesToRank(*model_);
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
      const int shuffle = RemoveShuffle(*model, options.shuffle_multiple);
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

}  // namespace

std::unique_ptr<Model> MakePictureModel(std::shared_ptr<ov::Model> model, const std::string& input, const std::string& output) {
  return std::make_unique<OpenVinoPictureModel>(std::move(model), input, output);
}

}  // namespace reelmend::inference
