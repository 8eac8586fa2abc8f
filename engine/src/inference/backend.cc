// The registry of inference backends. None is compiled into this build: the stub says so in one sentence.
#include "inference/backend.h"

#include <array>

#include "framelift/error.h"

namespace framelift::inference {
namespace {

struct KnownBackend {
  const char* name;
  const char* title;
};
constexpr std::array<KnownBackend, 2> kKnownBackends = {{{"openvino", "OpenVINO"}, {"tensorrt", "TensorRT"}}};

}  // namespace

std::vector<std::string> AvailableBackends() { return {}; }

std::unique_ptr<Backend> CreateBackend(const std::string& name) {
  for (const KnownBackend& known : kKnownBackends) {
    if (name == known.name) {
      throw Error(ErrorCode::kUnavailable,
                  std::string("The ") + known.title +
                      " backend was not built into this engine, so no network can run.");
    }
  }
  throw Error(ErrorCode::kInvalidArgument,
              "There is no inference backend named '" + name + "'; known are openvino and tensorrt.");
}

}  // namespace framelift::inference
