#include "media/frame_index.h"

#include <algorithm>
#include <span>

#include "media/container_format.h"
#include "media/timestamps.h"
#include "media/video_encoder.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

/// Codecs whose packets are one displayed frame each. VP8 has hidden frames; others are too rare to be worth a proof.
bool HasFrameInEachPacket(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_PRORES:
    case AV_CODEC_ID_DNXHD:
    case AV_CODEC_ID_MJPEG: return true;
    default: return false;
  }
}

/// Whether the output times for `times` increase, so that TimestampMender changes none of them.
bool AllRise(const std::vector<std::int64_t>& times, AVRational time_base) {
  const AVRational output = OutputTimeBase(time_base);
  const auto same = [&](std::int64_t a, std::int64_t b) {
    return av_rescale_q(a, time_base, output) >= av_rescale_q(b, time_base, output);
  };
  return std::ranges::adjacent_find(times, same) == times.end();
}

/// Whether a frame becomes several samples, which a piece does not have. `last`: duration of the last frame.
bool HasLongFrame(const std::vector<std::int64_t>& times, std::int64_t last, AVRational time_base) {
  const AVRational output = OutputTimeBase(time_base);
  const auto is_long = [&](std::int64_t a, std::int64_t b) { return av_rescale_q(b - a, time_base, output) >= kLongestSample; };
  return is_long(0, last) || std::ranges::adjacent_find(times, is_long) != times.end();
}

/// Whether a packet brings other parameters than the header has. MP4 brings them again after seeking: Note [Changed parameters] in demuxer.cc.
bool BringsOtherParameters(const AVPacket& packet, const AVCodecParameters& header) {
  std::size_t size = 0;
  const std::uint8_t* stated = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  const std::span before(header.extradata, static_cast<std::size_t>(header.extradata_size));
  return stated != nullptr && !std::ranges::equal(std::span(stated, size), before);
}

/// Collects the packets' times, and the first reason why they do not determine the frames.
class IndexReader {
 public:
  void Add(const AVPacket& packet) {
    if (packet.pts == AV_NOPTS_VALUE) return Refuse("its frames have no timestamps");
    if (packet.dts != AV_NOPTS_VALUE) {
      if (last_decode_ != AV_NOPTS_VALUE && packet.dts < last_decode_) Refuse("its timestamps start again");
      last_decode_ = packet.dts;
    }
    const bool is_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    if (is_key && !index.keys.empty() && packet.pts <= index.keys.back()) return Refuse("its timestamps start again");
    if (is_key) index.keys.push_back(packet.pts);
    if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) return;  // cut off by the edit list
    index.times.push_back(packet.pts);
    if (packet.pts < last_shown_) return;
    last_shown_ = packet.pts;
    last_duration_ = packet.duration;
  }

  std::int64_t last_duration() const { return last_duration_; }

  void Refuse(const char* why) {
    if (index.why_unknown.empty()) index.why_unknown = why;
  }

  FrameIndex index;

 private:
  std::int64_t last_decode_ = AV_NOPTS_VALUE;
  std::int64_t last_shown_ = AV_NOPTS_VALUE;  ///< less than any time
  std::int64_t last_duration_ = 0;            ///< of that frame
};

}  // namespace

FrameIndex ReadFrameIndex(Demuxer& demuxer, std::int64_t first_timestamp) {
  const AVStream& video = *demuxer.video();
  IndexReader reader;
  FrameIndex& index = reader.index;
  index.has_recovery_points = video.codecpar->codec_id == AV_CODEC_ID_H264;
  if (!HasFrameInEachPacket(video.codecpar->codec_id)) reader.Refuse("its codec may hide frames");
  if (first_timestamp == AV_NOPTS_VALUE) reader.Refuse("its frames have no timestamps");
  demuxer.ReadVideoOnly();
  const UniquePacket packet = MakePacket();
  while (index.why_unknown.empty() && demuxer.ReadPacket(packet.get())) {
    if (packet->stream_index == video.index) {
      reader.Add(*packet);
      if (!IsFormat(demuxer, "mov") && BringsOtherParameters(*packet, *video.codecpar)) reader.Refuse("its parameters change");
    }
    av_packet_unref(packet.get());
  }
  if (!index.why_unknown.empty()) return index;
  std::erase_if(index.times, [&](std::int64_t time) { return time < first_timestamp; });
  std::ranges::sort(index.times);
  if (index.times.empty() || index.times.front() != first_timestamp) reader.Refuse("its first frame cannot be found again");
  if (!AllRise(index.times, video.time_base)) reader.Refuse("its timestamps do not rise");
  if (HasLongFrame(index.times, reader.last_duration(), video.time_base)) reader.Refuse("one of its frames is shown for very long");
  return index;
}

}  // namespace reelmend::media
