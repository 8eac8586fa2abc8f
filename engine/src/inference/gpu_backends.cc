// The registry of GPU backends. A backend that was not built is reported in one sentence.
#include <array>

#include "reelmend/error.h"
#include "inference/gpu_backend.h"
#include "inference/gpu_support.h"
#include "inference/shared_module.h"

namespace reelmend::inference {
namespace {

struct KnownBackend {
  const char* name;
  const char* module;
  const char* title;
  bool (*supports)(const GpuTarget& target);
};
/// In order of preference: TensorRT-RTX's engines are built without a GPU and without minutes of timing.
constexpr std::array<KnownBackend, 2> kKnownBackends = {{{"tensorrt-rtx", "tensorrt/reelmend_tensorrt_rtx.so", "TensorRT-RTX", TensorRtRtxSupports},
                                                         {"tensorrt", "tensorrt/reelmend_tensorrt.so", "TensorRT", TensorRtSupports}}};

/// Never closed: the libraries keep threads and callbacks of the driver.
std::unique_ptr<GpuBackend> Open(const KnownBackend& known) {
  void* module = OpenModule(known.module, known.title);
  if (module == nullptr) {
    throw Error(ErrorCode::kUnavailable,
                std::string("The ") + known.title + " backend was not built into this engine (run the script setup-tensorrt and build again).");
  }
  auto* interface = reinterpret_cast<ModuleInterfaceFunction*>(FindSymbol(module, "reelmend_gpu_interface"));
  auto* create = reinterpret_cast<GpuModuleCreateFunction*>(FindSymbol(module, "reelmend_gpu_create"));
  if (interface == nullptr || create == nullptr || interface() != kGpuModuleInterface) {
    throw Error(ErrorCode::kUnavailable, std::string("The ") + known.title + " backend is of another version than the engine: build both again.");
  }
  return std::unique_ptr<GpuBackend>(create());
}

}  // namespace

std::vector<std::string> AvailableGpuBackends() {
  std::vector<std::string> names;
  for (const KnownBackend& known : kKnownBackends) {
    try {
      Open(known);
      names.emplace_back(known.name);
    } catch (const Error&) {
    }
  }
  return names;
}

std::vector<std::string> GpuBackendsFor(const GpuTarget& target) {
  std::vector<std::string> names;
  for (const KnownBackend& known : kKnownBackends) {
    if (known.supports(target)) names.emplace_back(known.name);
  }
  return names;
}

std::unique_ptr<GpuBackend> CreateGpuBackend(const std::string& name) {
  for (const KnownBackend& known : kKnownBackends) {
    if (name == known.name) return Open(known);
  }
  throw Error(ErrorCode::kInvalidArgument, "There is no GPU backend named '" + name + "'; known are tensorrt-rtx and tensorrt.");
}

}  // namespace reelmend::inference
