// Whether a file is complete, by the container's own sizes.
#pragma once

#include <cstdint>

#include "media/demuxer.h"

namespace reelmend::media {

/// Offset of the container's end according to its header; −1 if it declares none.
std::int64_t DeclaredEnd(const Demuxer& demuxer, ByteSource& source);

/// Throws Error{kUnreadableVideo} if, by the container's own sizes, more than a tenth of the video's bytes are missing at
/// the end of the file (MP4/MOV sample table, Matroska segment, AVI RIFF, ASF header).
void CheckComplete(Demuxer& demuxer, ByteSource& source);

}  // namespace reelmend::media
