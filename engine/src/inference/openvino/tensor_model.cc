#include "inference/openvino/tensor_model.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "inference/openvino/openvino_core.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

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

}  // namespace

std::unique_ptr<TensorModel> MakeTensorModel(std::shared_ptr<ov::Model> model) {
  return std::make_unique<OpenVinoTensorModel>(std::move(model));
}

}  // namespace reelmend::inference
