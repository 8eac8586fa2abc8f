#include "pictures.h"

#include <string>
#include <utility>
#include <vector>

#include "args.h"
#include "reelmend/pictures.h"
#include "results.h"
#include "task.h"

namespace reelmend::native {

/// takePictures(videoPath: string, folder: string, options: PicturesOptions): Promise<Picture[]>
Napi::Value TakePictures(const Napi::CallbackInfo& info) {
  const std::string video = PathArgument(info[0], "videoPath");
  const std::string folder = PathArgument(info[1], "folder");
  const Options options(info[2], "options");
  return Task::Start(info.Env(), options, [video, folder, plain = ToPicturesOptions(options)](Task& task) {
    PicturesOptions cancellable = plain;
    cancellable.is_cancelled = [&task] { return task.is_cancelled(); };
    std::vector<Picture> pictures = reelmend::TakePictures(video, folder, cancellable);
    return [pictures = std::move(pictures)](Napi::Env env) -> Napi::Value { return ToJs(env, pictures); };
  });
}

}  // namespace reelmend::native
