// The registry of inference backends. What was not built says so in one sentence.
#include "inference/backend.h"

#include <array>

#include "reelmend/error.h"
#include "inference/amx.h"
#include "inference/openvino_module.h"

namespace reelmend::inference {
namespace {

struct KnownBackend {
  const char* name;
  std::unique_ptr<Backend> (*create)();
};
/// Those of GPUs have a registry of their own (gpu_backend.h).
constexpr std::array<KnownBackend, 1> kKnownBackends = {{{"openvino", CreateOpenVinoBackend}}};

}  // namespace

std::vector<std::string> AvailableBackends() {
  std::vector<std::string> names;
  for (const KnownBackend& known : kKnownBackends) {
    try {
      known.create();
      names.emplace_back(known.name);
    } catch (const Error&) {
    }
  }
  return names;
}

std::unique_ptr<Backend> CreateBackend(const std::string& name) {
  for (const KnownBackend& known : kKnownBackends) {
    if (name == known.name) return known.create();
  }
  throw Error(ErrorCode::kInvalidArgument,
              "There is no inference backend named '" + name + "'; known is openvino.");
}

bool HasFastInt8() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

bool HasFastBf16() { return HasFastBf16Instructions(); }

}  // namespace reelmend::inference
