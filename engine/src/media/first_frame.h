// The first decoded frame of a source, and the facts that only a decoded frame shows.
#pragma once

#include "media/demuxer.h"
#include "media/span_meter.h"
#include "media/video_decoder.h"

namespace reelmend::media {

/// Decodes the first frame, reading from the demuxer's position; `meter` gets every packet of the video. The frame carries
/// the stream's quantisers if the decoder exports them. Throws Error{kUnreadableVideo} if a limited number of packets yields
/// none.
UniqueFrame DecodeFirstFrame(Demuxer& demuxer, const SourceLimits& limits, SpanMeter& meter);

/// Everything in a ProbeResult but the duration. Throws what CheckConvertible throws.
ProbeResult DescribeSource(Demuxer& demuxer, AVFrame& first_frame);

}  // namespace reelmend::media
