#include "inference/openvino_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "framelift/error.h"

namespace framelift::inference {
namespace {

constexpr const char* kModule = "openvino/framelift_openvino.so";

/// Folder of the program or shared object that this code is in, with a slash at its end.
std::string OwnFolder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&CreateOpenVinoBackend), &info) == 0 || info.dli_fname == nullptr) return "";
  std::string path = info.dli_fname;
  // A program that was found through PATH is known by its bare name.
  if (path.find('/') == std::string::npos) {
    char own[4096];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own);
    if (length <= 0) return "";
    path.assign(own, static_cast<std::size_t>(length));
  }
  return path.substr(0, path.rfind('/') + 1);
}

std::string FindModule() {
  const std::string folder = OwnFolder();
  for (const std::string& candidate : {folder + kModule, folder + "../" + kModule}) {
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  throw Error(ErrorCode::kUnavailable, "The OpenVINO backend was not built into this engine, so no network can run.");
}

template <typename Function>
Function* Symbol(void* module, const char* name) {
  return reinterpret_cast<Function*>(dlsym(module, name));
}

/// Opened once and never closed: OpenVINO's threads outlive its objects.
ModuleCreateFunction* OpenModule() {
  // Its libraries' symbols stay apart from those of other libraries in the process.
  void* module = dlopen(FindModule().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* reason = dlerror();
    throw Error(ErrorCode::kUnavailable, std::string("The OpenVINO backend cannot be loaded: ") + (reason ? reason : "unknown"));
  }
  auto* interface = Symbol<ModuleInterfaceFunction>(module, "framelift_openvino_interface");
  auto* create = Symbol<ModuleCreateFunction>(module, "framelift_openvino_create");
  if (interface == nullptr || create == nullptr || interface() != kModuleInterface) {
    throw Error(ErrorCode::kUnavailable, "The OpenVINO backend is of another version than the engine: build both again.");
  }
  return create;
}

}  // namespace

std::unique_ptr<Backend> CreateOpenVinoBackend() {
  static ModuleCreateFunction* const create = OpenModule();  // tried again after a failure
  return std::unique_ptr<Backend>(create());
}

}  // namespace framelift::inference
