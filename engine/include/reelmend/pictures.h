// Still pictures of a video, as JPEG files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reelmend/probe.h"

namespace reelmend {

struct PicturesOptions {
  bool poster = false;  ///< `poster.jpg`: the most detailed of a few frames, at most 1280 pixels wide and high
  int thumbnails = 0;   ///< 0…50: `thumbnail-1.jpg` and so on, evenly spaced, at most 320 pixels wide and high
  SourceLimits limits;
  std::function<bool()> is_cancelled;  ///< polled; optional
};

struct Picture {
  std::string file;    ///< name in the folder
  bool is_poster = false;
  double time_s = 0;   ///< presentation time, from the first frame
  int width = 0;
  int height = 0;
  std::int64_t size_bytes = 0;
};

/// Takes pictures of an upright SDR video, such as a result of Enhance, and writes them into `folder`: the poster first,
/// then the thumbnails in order of time. Smaller videos are not enlarged. Throws what Probe throws, and Error{kIo} when a
/// file cannot be written.
std::vector<Picture> TakePictures(const std::string& video_path, const std::string& folder, const PicturesOptions& options);

}  // namespace reelmend
