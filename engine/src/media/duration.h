// How long a video is, and whether all of it is there.
#pragma once

#include <cstdint>

#include "media/demuxer.h"

namespace framelift::media {

/// Collects the span of presentation time that the packets of a video stream cover, from the start of the
/// first displayed frame to the end of the last one. A clock that jumps back by more than a second (a joined
/// transport stream) is closed up, as TimestampMender does for frames.
class SpanMeter {
 public:
  explicit SpanMeter(const AVStream& stream);

  void Add(const AVPacket& packet);
  bool empty() const { return packets_ == 0; }
  std::int64_t packets() const { return packets_; }
  double first_s() const;
  double end_s() const;
  double duration_s() const { return empty() ? 0 : end_s() - first_s(); }

 private:
  AVRational time_base_;
  std::int64_t interval_;
  std::int64_t packets_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t last_decode_ = AV_NOPTS_VALUE;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t end_ = 0;
};

struct Duration {
  double seconds = 0;
  bool is_exact = false;
};

/// Duration of the video as the container tells it, reading little: declared per stream, or from the packets
/// at the file's end, or from the index of fragments. When nothing is declared every packet is read.
/// `start` has seen the packets from the file's beginning up to where the demuxer stands.
Duration DeclaredDuration(Demuxer& demuxer, SpanMeter& start);

/// Reads every packet that is left.
Duration WalkedDuration(Demuxer& demuxer, SpanMeter& start);

/// Throws Error{kUnreadableVideo} when the container's own sizes say that more than a tenth of the video's
/// bytes are missing at the end of the file (MP4/MOV sample table, Matroska segment, AVI RIFF, ASF header).
void CheckComplete(Demuxer& demuxer, ByteSource& source);

}  // namespace framelift::media
