// When each frame of a video is shown, from its packets alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/demuxer.h"

namespace reelmend::media {

/// Times are in the time base of the video stream.
struct FrameIndex {
  std::vector<std::int64_t> times;  ///< of the displayed frames, increasing
  std::vector<std::int64_t> keys;   ///< of the key frames, increasing
  /// Whether a decoder may need the key frame before the nearest one: an H.264 key frame may be a recovery point, whose
  /// picture is complete only some frames later.
  bool has_recovery_points = false;
  std::string why_unknown;  ///< why the packets do not determine the frames: one clause; else empty
};

/// Reads all packets from the beginning, where the demuxer must stand. `first_timestamp`: of the first frame that can be
/// decoded; packets before it are not displayed.
FrameIndex ReadFrameIndex(Demuxer& demuxer, std::int64_t first_timestamp);

}  // namespace reelmend::media
