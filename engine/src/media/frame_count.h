// How many frames a video has for each second.
#pragma once

#include <cstdint>

#include "media/duration.h"

namespace reelmend::media {

/// Throws Error{kLimitExceeded} when `frames` in `duration_s` are more than limits.max_frame_rate for each second, rounded up.
void CheckFrameRate(std::int64_t frames, double duration_s, const SourceLimits& limits);

/// Frames that the container's index lists to be displayed; 0 where it does not list every frame.
std::int64_t IndexedFrames(const Demuxer& demuxer);

/// Frames of a video whose header is not to be believed, by reading its packets from the beginning: until their rate is
/// allowed, or there are more than the limits allow in `duration_s`.
std::int64_t CountDenseFrames(ByteSource& source, const DemuxerOptions& options, double duration_s);

/// Reads packets into `meter` until they cover a second; their frame rate in thousandths, 0/1 when they tell none.
Rational FirstSecondsRate(Demuxer& demuxer, SpanMeter& meter);

}  // namespace reelmend::media
