// Frames per second of a video, and their limit.
#pragma once

#include <cstdint>

#include "media/demuxer.h"
#include "media/span_meter.h"

namespace reelmend::media {

/// Throws Error{kLimitExceeded} when `frames` in `duration_s` are more than limits.max_frame_rate for each second, rounded up.
void CheckFrameRate(std::int64_t frames, double duration_s, const SourceLimits& limits);

/// Number of displayed frames according to the container's index; 0 if it does not list every frame.
std::int64_t IndexedFrames(const Demuxer& demuxer);

/// Counts frames by reading packets from the beginning, for headers that cannot be trusted. Stops when the rate is
/// allowed or exceeds the limit for `duration_s`.
std::int64_t CountDenseFrames(ByteSource& source, const DemuxerOptions& options, double duration_s);

/// Reads packets into `meter` until they cover a second. Returns their frame rate in thousandths, 0/1 if it cannot be told.
Rational FirstSecondsRate(Demuxer& demuxer, SpanMeter& meter);

}  // namespace reelmend::media
