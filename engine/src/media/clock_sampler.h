// Duration of transport and program streams, from a few places of the file.
#pragma once

#include <optional>

#include "media/duration.h"

namespace reelmend::media {

/// Note [Sampled clocks]
/// Transport and program streams declare no duration. libav subtracts the first time from the last one. So a joined recording whose clock
/// starts again has the duration of its last part, and pictures that end long before the sound have that of the sound. Here times are read at
/// places all over the file. Where the clock is behind that of the place before it, the step back is searched by bisection, and closed as
/// SpanMeter does it when it reads everything. Small files are read whole. In a larger one, a part that is shorter than the distance of two
/// places may be missed.

/// The duration; nothing for other formats, and where no picture is found near the end of the file. `start` has seen the packets from the
/// beginning of the file up to the demuxer's position.
std::optional<Duration> SampledDuration(Demuxer& demuxer, SpanMeter& start);

}  // namespace reelmend::media
