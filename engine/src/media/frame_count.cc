#include "media/frame_count.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "media/av_error.h"

namespace reelmend::media {
namespace {

double MostFrames(double duration_s, const SourceLimits& limits) {
  return limits.max_frame_rate * std::max(1.0, std::ceil(duration_s));
}

}  // namespace

void CheckFrameRate(std::int64_t frames, double duration_s, const SourceLimits& limits) {
  if (limits.max_frame_rate <= 0 || static_cast<double>(frames) <= MostFrames(duration_s, limits)) return;
  throw Error(ErrorCode::kLimitExceeded, "The video has too many frames: at most " +
                                             std::to_string(limits.max_frame_rate) +
                                             " for each second are accepted.");
}

std::int64_t IndexedFrames(const Demuxer& demuxer) {
  const char* format = demuxer.context()->iformat->name;
  if (std::strstr(format, "mov") == nullptr && std::strcmp(format, "avi") != 0) return 0;
  std::int64_t frames = 0;
  for (int i = 0; i < avformat_index_get_entries_count(demuxer.video()); ++i) {
    if ((avformat_index_get_entry(demuxer.video(), i)->flags & AVINDEX_DISCARD_FRAME) == 0) ++frames;
  }
  return frames;
}

std::int64_t CountDenseFrames(ByteSource& source, const DemuxerOptions& options, double duration_s) {
  Demuxer demuxer(source, options);
  demuxer.ReadVideoOnly();
  SpanMeter meter(*demuxer.video());
  const double most = MostFrames(duration_s, options.limits);
  const auto is_allowed = [&] {
    const double seconds = meter.duration_s();
    return seconds >= 1 && static_cast<double>(meter.packets()) <= MostFrames(seconds, options.limits);
  };
  for (const UniquePacket packet = MakePacket(); demuxer.ReadPacket(packet.get()); av_packet_unref(packet.get())) {
    meter.Add(*packet);
    if (static_cast<double>(meter.packets()) > most || is_allowed()) break;
  }
  return meter.packets();
}

Rational FirstSecondsRate(Demuxer& demuxer, SpanMeter& meter) {
  const UniquePacket packet = MakePacket();
  while (meter.duration_s() < 1 && demuxer.ReadPacket(packet.get())) {
    if (packet->stream_index == demuxer.video()->index) meter.Add(*packet);
    av_packet_unref(packet.get());
  }
  const double seconds = meter.duration_s();
  if (!(seconds > 0)) return {0, 1};
  return {std::llround(static_cast<double>(meter.packets()) / seconds * 1000), 1000};
}

}  // namespace reelmend::media
