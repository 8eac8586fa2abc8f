// Duration of a video.
#pragma once

#include "media/demuxer.h"
#include "media/span_meter.h"

namespace reelmend::media {

struct Duration {
  double seconds = 0;
  bool is_exact = false;
};

/// Duration of the video with little reading: as declared for the stream, or from the packets at the end of the file, or
/// from the index of fragments. Reads every packet if nothing is declared. `start` has seen the packets from the beginning
/// of the file up to the demuxer's position.
Duration DeclaredDuration(Demuxer& demuxer, SpanMeter& start, ByteSource& source);

/// Reads all remaining packets.
Duration WalkedDuration(Demuxer& demuxer, SpanMeter& start);

}  // namespace reelmend::media
