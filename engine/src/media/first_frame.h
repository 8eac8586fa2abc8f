// The first decoded frame of a source, and the facts that only a decoded frame tells.
#pragma once

#include "media/demuxer.h"
#include "media/duration.h"
#include "media/video_decoder.h"

namespace reelmend::media {

/// Decodes the first frame, reading from the demuxer's place on; every packet of the video goes through `meter`.
/// The frame carries the stream's quantisers, where the decoder tells them.
/// Throws Error{kUnreadableVideo} when there is none within a bounded number of packets.
UniqueFrame DecodeFirstFrame(Demuxer& demuxer, const SourceLimits& limits, SpanMeter& meter);

/// Everything in a ProbeResult but the duration. Throws what CheckConvertible throws.
ProbeResult DescribeSource(Demuxer& demuxer, AVFrame& first_frame);

}  // namespace reelmend::media
