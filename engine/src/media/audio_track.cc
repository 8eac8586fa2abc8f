#include "media/audio_track.h"

#include <algorithm>
#include <string>

#include "media/audio_encoder.h"
#include "media/av_error.h"
#include "media/stream_tags.h"
#include "media/timestamps.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

/// Codecs that MP4 holds and that need nothing but their parameters for it.
bool CanCopy(const AVStream& stream) {
  const AVCodecParameters& codec = *stream.codecpar;
  if (codec.sample_rate <= 0 || codec.ch_layout.nb_channels <= 0) return false;
  switch (codec.codec_id) {
    case AV_CODEC_ID_MP3: return codec.sample_rate >= 16'000;  // MPEG-2.5 rates are not in the MP4 registry
    case AV_CODEC_ID_AAC:
    case AV_CODEC_ID_AC3:
    case AV_CODEC_ID_EAC3:
    case AV_CODEC_ID_DTS: return true;
    case AV_CODEC_ID_OPUS:
    case AV_CODEC_ID_FLAC:
    case AV_CODEC_ID_ALAC: return codec.extradata_size > 0;
    default: return false;
  }
}

class CopiedAudio : public AudioTrack {
 public:
  CopiedAudio(const AVStream& stream, Muxer& muxer)
      : muxer_(muxer),
        time_base_(stream.time_base),
        index_(muxer.AddStream(*stream.codecpar, stream.time_base, ReadTags(stream))),
        copy_(MakePacket()) {}

  void Send(const AVPacket& packet) override {
    if (packet.size <= 0 || IsOutsideEditList(packet)) return;
    if (IsNearOverflow(offset_)) return;
    CheckAv(av_packet_ref(copy_.get(), &packet), ErrorCode::kInternal, "A packet cannot be copied");
    Retime();
    muxer_.Write(index_, *copy_);
    av_packet_unref(copy_.get());
  }

  void Finish() override {}

 private:
  /// Packets shortly before the first audible one prime the decoder and are kept; the muxer's edit list hides them again.
  /// Earlier ones were cut off by the source's edit list.
  bool IsOutsideEditList(const AVPacket& packet) {
    if ((packet.flags & AV_PKT_FLAG_DISCARD) == 0) {
      has_begun_ = true;
      return false;
    }
    const std::int64_t run_in = av_rescale_q(200, {1, 1000}, time_base_);
    return has_begun_ || packet.pts == AV_NOPTS_VALUE || packet.pts < origin_.In(time_base_) - run_in;
  }

  /// Shifts to the output's origin, fills gaps, keeps decoding times increasing, and closes the jump of a restarted clock.
  void Retime() {
    AVPacket& p = *copy_;
    if (p.dts == AV_NOPTS_VALUE) p.dts = p.pts;
    if (p.dts == AV_NOPTS_VALUE) p.dts = last_ == AV_NOPTS_VALUE ? origin_.In(time_base_) : end_ - offset_;
    const std::int64_t shown_later = p.pts == AV_NOPTS_VALUE ? 0 : std::max<std::int64_t>(0, p.pts - p.dts);
    std::int64_t time = p.dts - origin_.In(time_base_) + offset_;
    const std::int64_t one_second = av_rescale_q(1, {1, 1}, time_base_);
    if (last_ != AV_NOPTS_VALUE && time <= last_) {
      const std::int64_t better = last_ - time > one_second ? end_ : last_ + 1;
      if (last_ - time > one_second) offset_ += better - time;
      time = better;
    }
    last_ = time;
    end_ = time + std::max<std::int64_t>(1, p.duration);
    p.dts = time;
    p.pts = time + shown_later;
    p.time_base = time_base_;
    p.flags &= ~AV_PKT_FLAG_DISCARD;
  }

  Muxer& muxer_;
  AVRational time_base_;
  int index_;
  UniquePacket copy_;
  std::int64_t offset_ = 0;
  std::int64_t last_ = AV_NOPTS_VALUE;
  std::int64_t end_ = 0;
  bool has_begun_ = false;
};

}  // namespace

std::int64_t Origin::In(AVRational other) const { return av_rescale_q(time, time_base, other); }

std::unique_ptr<AudioTrack> MakeAudioTrack(const AVStream& stream, Muxer& muxer) {
  if (CanCopy(stream)) return std::make_unique<CopiedAudio>(stream, muxer);
  return MakeEncodedAudio(stream, muxer);
}

}  // namespace reelmend::media
