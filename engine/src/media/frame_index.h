// Which frames a video shows and when, told by its packets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/demuxer.h"

namespace reelmend::media {

/// Times are in the time base of the video stream.
struct FrameIndex {
  std::vector<std::int64_t> times;  ///< of the displayed frames, rising
  std::vector<std::int64_t> keys;   ///< of the key frames, rising
  /// Where a decoder may need the key frame before the nearest one: an H.264 key frame may be a recovery point, from
  /// which the picture is complete only some frames later.
  bool has_recovery_points = false;
  std::string why_unknown;  ///< why the packets do not tell: one clause; else empty
};

/// Reads all packets from the demuxer's place, which is the beginning. `first_timestamp`: of the first frame that can be
/// decoded; packets before it are not displayed.
FrameIndex ReadFrameIndex(Demuxer& demuxer, std::int64_t first_timestamp);

}  // namespace reelmend::media
