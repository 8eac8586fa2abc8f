// The CPU backend: OpenVINO's C++ API, linked into a module of its own (Note [A module of its own]).
#include <memory>
#include <string>
#include <string_view>

#include "inference/backend.h"
#include "inference/onnx_fields.h"
#include "inference/openvino/openvino_core.h"
#include "inference/openvino/picture_model.h"
#include "inference/openvino/tensor_model.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

/// Whether an input is a tensor of any number of dimensions. OpenVINO reports that as an error of the first operator that needs to know it.
bool HasInputWithoutShape(std::string_view onnx) {
  for (const std::string& value : onnx::FindAll(onnx::Find(onnx, onnx::kModelGraph), onnx::kInput)) {
    const std::string_view tensor = onnx::Find(onnx::Find(value, onnx::kValueType), onnx::kTensorOfType);
    if (!tensor.empty() && onnx::FindAll(tensor, onnx::kShape).empty()) return true;
  }
  return false;
}

class OpenVinoBackend : public Backend {
 public:
  std::string name() const override { return "openvino"; }

  std::unique_ptr<TensorModel> LoadTensors(const std::string& onnx) override {
    return MakeTensorModel(Read(onnx));
  }

  std::unique_ptr<Model> Load(const std::string& onnx, const std::string& input, const std::string& output) override {
    return MakePictureModel(Read(onnx), input, output);
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
