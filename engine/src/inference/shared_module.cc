#include "inference/shared_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

/// Folder of the program or shared object that contains this code, with a slash at its end.
std::string OwnFolder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&OpenModule), &info) == 0 || info.dli_fname == nullptr) return "";
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

}  // namespace

std::string FindModule(const std::string& file) {
  const std::string folder = OwnFolder();
  for (const std::string& candidate : {folder + file, folder + "../" + file}) {
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return "";
}

void* OpenModule(const std::string& file, const std::string& what) {
  const std::string path = FindModule(file);
  if (path.empty()) return nullptr;
  // Keeps its libraries' symbols apart from those of other libraries in the process.
  if (void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return module;
  const char* reason = dlerror();
  throw Error(ErrorCode::kUnavailable, "The " + what + " backend cannot be loaded: " + (reason ? reason : "unknown"));
}

void* FindSymbol(void* module, const char* name) { return dlsym(module, name); }

}  // namespace reelmend::inference
