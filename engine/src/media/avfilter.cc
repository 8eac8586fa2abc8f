#include "media/avfilter.h"

#include <dlfcn.h>

#include <string>

#include "reelmend/error.h"

namespace reelmend::media {
namespace {

/// For the first call of a process. The library is never closed.
class Library {
 public:
  Library() : name_("libavfilter.so." + std::to_string(LIBAVFILTER_VERSION_MAJOR)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) Fail(dlerror());
  }

  template <typename Function>
  void Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) Fail(dlerror());
  }

 private:
  [[noreturn]] void Fail(const char* reason) const {
    throw Error(ErrorCode::kUnavailable, "Interlaced video needs " + name_ + ", which cannot be loaded (" + (reason ? reason : "unknown reason") + ").");
  }

  std::string name_;
  void* handle_;
};

AvfilterFunctions Load() {
  const Library library;
  AvfilterFunctions found = {};
  library.Find("avfilter_get_by_name", found.get_by_name);
  library.Find("avfilter_graph_alloc", found.graph_alloc);
  library.Find("avfilter_graph_config", found.graph_config);
  library.Find("avfilter_graph_create_filter", found.graph_create_filter);
  library.Find("avfilter_graph_free", found.graph_free);
  library.Find("avfilter_link", found.link);
  library.Find("av_buffersrc_add_frame", found.buffersrc_add_frame);
  library.Find("av_buffersink_get_frame", found.buffersink_get_frame);
  library.Find("av_buffersink_get_time_base", found.buffersink_get_time_base);
  return found;
}

}  // namespace

const AvfilterFunctions& Avfilter() {
  static const AvfilterFunctions functions = Load();  // tried again after a failure
  return functions;
}

}  // namespace reelmend::media
