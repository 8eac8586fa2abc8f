#include "inference/openvino_module.h"

#include "reelmend/error.h"
#include "inference/shared_module.h"

namespace reelmend::inference {
namespace {

/// Opened once and never closed: OpenVINO's threads outlive its objects.
ModuleCreateFunction* Open() {
  void* module = OpenModule("openvino/reelmend_openvino.so", "OpenVINO");
  if (module == nullptr) {
    throw Error(ErrorCode::kUnavailable, "The OpenVINO backend was not built into this engine, so no network can run.");
  }
  auto* interface = reinterpret_cast<ModuleInterfaceFunction*>(FindSymbol(module, "reelmend_openvino_interface"));
  auto* create = reinterpret_cast<ModuleCreateFunction*>(FindSymbol(module, "reelmend_openvino_create"));
  if (interface == nullptr || create == nullptr || interface() != kModuleInterface) {
    throw Error(ErrorCode::kUnavailable, "The OpenVINO backend is of another version than the engine: build both again.");
  }
  return create;
}

}  // namespace

std::unique_ptr<Backend> CreateOpenVinoBackend() {
  static ModuleCreateFunction* const create = Open();  // tried again after a failure
  return std::unique_ptr<Backend>(create());
}

}  // namespace reelmend::inference
