// What libav does not tell about Matroska and WebM files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/duration.h"

namespace reelmend::media {

/// Offset of the end of the file according to its header, of which `head` is the beginning; −1 if it declares none.
std::int64_t MatroskaEnd(const std::vector<std::uint8_t>& head);

/// Note [Streamed recordings]
/// A recording that was written as a stream, by a browser for example, declares no duration and has no index. Its last clusters tell when it
/// ends. libav cannot be sent there, so it reads a file that consists of the header and these clusters.

/// The duration of such a recording; nothing for a small file, which is read whole, and where no cluster is found near the end. `start` has
/// seen the first packets.
std::optional<Duration> StreamedMatroskaDuration(const Demuxer& demuxer, const SpanMeter& start, ByteSource& source);

}  // namespace reelmend::media
