// Where a video is cut into segments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/frame_index.h"
#include "reelmend/segments.h"

namespace reelmend::plan {

/// A segment, exact to the frame. Times are in the plan's time base, from the first displayed frame.
struct SegmentCut {
  /// Decoding begins at this key frame or before it, in the time base of the source's video stream; none: at the beginning.
  std::optional<std::int64_t> seek;
  std::int64_t warm_up = 0;          ///< first frame that runs through the temporal stages
  std::int64_t start = 0;            ///< first frame that is encoded
  std::optional<std::int64_t> end;   ///< first frame after the segment; none: it ends with the video
  std::int64_t warm_up_frames = 0;
  std::int64_t frames = 0;

  bool operator==(const SegmentCut&) const = default;
};

/// Frames before a segment that run through the temporal stages: as many as Segment::warm_up_frames, and two for the
/// deinterlacer, which reads the neighbours of a frame.
inline constexpr std::int64_t kWarmUpFrames = 29;

/// Cuts at the key frames nearest to the wanted length. A video without key frames at useful positions is cut in between;
/// then some frames are decoded only to reach the cut. A short video gets a single segment. `source` and `output`: the time
/// bases of the index and of the plan.
std::vector<SegmentCut> ChooseCuts(const media::FrameIndex& index, AVRational source, AVRational output, const SegmentLengths& lengths);

/// The cut in seconds; `duration_s` is that of the video.
PlannedSegment SpanOf(const SegmentCut& cut, AVRational time_base, double duration_s);

}  // namespace reelmend::plan
