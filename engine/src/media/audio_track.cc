#include "media/audio_track.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "media/adts.h"
#include "media/audio_encoder.h"
#include "media/av_error.h"
#include "media/channel_layouts.h"
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
    // Sizes of the headers that MP4 needs: RFC 7845 (5.1), RFC 9639 (8.2) without and with its block header.
    case AV_CODEC_ID_OPUS: return codec.extradata_size >= 19;
    case AV_CODEC_ID_FLAC: return codec.extradata_size == 34 && IsUsualInFlac(codec.ch_layout);
    case AV_CODEC_ID_ALAC: return codec.extradata_size > 0;
    default: return false;
  }
}

UniquePacket Reference(const AVPacket& packet) {
  UniquePacket copy = MakePacket();
  CheckAv(av_packet_ref(copy.get(), &packet), ErrorCode::kInternal, "A packet cannot be copied");
  return copy;
}

/// Note [Changed format]
/// Each AAC frame of a transport stream states its sample rate and channels, which may change between two programmes. MP4 states them once
/// for the whole track. So everything from the change on is decoded and encoded in the first format. One frame whose header differs is
/// taken for damage: the format has changed if the next frame differs, too. In FLV and MP4 the format is stated apart from the frames, and
/// libav gives a new statement to the first packet that it applies to.
class CopiedAudio : public AudioTrack {
 public:
  CopiedAudio(const AVStream& stream, Muxer& muxer)
      : muxer_(muxer),
        time_base_(stream.time_base),
        parameters_(CheckAlloc(avcodec_parameters_alloc())),
        index_(muxer.AddStream(*stream.codecpar, stream.time_base, ReadTags(stream))) {
    CheckAv(avcodec_parameters_copy(parameters_.get(), stream.codecpar), ErrorCode::kInternal, "The sound's parameters cannot be copied");
  }

  void Send(const AVPacket& packet) override {
    if (encoded_) return encoded_->Send(packet);
    if (packet.size <= 0 || IsOutsideEditList(packet)) return;
    if (IsNearOverflow(offset_)) return;
    if (StatesOtherFormat(packet) && EncodeFrom(packet)) return;
    const bool has_changed = HasChanged(packet);
    if (has_changed && !changed_) {
      changed_ = Reference(packet);
      return;
    }
    if (has_changed && EncodeFrom(*changed_)) {
      changed_.reset();
      return encoded_->Send(packet);
    }
    if (changed_) Copy(*std::exchange(changed_, nullptr));
    Copy(packet);
  }

  void Finish() override {
    if (encoded_) return encoded_->Finish();
    if (changed_) Copy(*std::exchange(changed_, nullptr));
    if (jumped_) Write(*std::exchange(jumped_, nullptr));
  }

 private:
  /// Whether an AAC frame has another format than the first one.
  bool HasChanged(const AVPacket& packet) {
    if (!encodes_changes_ || parameters_->codec_id != AV_CODEC_ID_AAC || parameters_->extradata_size > 0) return false;
    const std::optional<AacFormat> format = ReadAdtsFormat(packet);
    if (!format_) format_ = format;
    return format && format != format_;
  }

  /// Whether an AAC packet brings another statement of the format than the track has.
  bool StatesOtherFormat(const AVPacket& packet) {
    if (!encodes_changes_ || parameters_->codec_id != AV_CODEC_ID_AAC || parameters_->extradata_size == 0) return false;
    std::size_t size = 0;
    const std::uint8_t* config = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (config == nullptr) return false;
    format_ = ReadConfigFormat(parameters_->extradata, parameters_->extradata_size);
    const std::optional<AacFormat> stated = ReadConfigFormat(config, static_cast<int>(size));
    return format_ && stated && stated != format_;
  }

  /// Sends a packet of another format to an encoder, and all later ones. False if the encoder does not know the first format.
  bool EncodeFrom(const AVPacket& first) {
    if (jumped_) WriteJumped(first);
    encoded_ = MakeContinuedAudio({index_, *format_, *parameters_, time_base_, end_, offset_}, muxer_);
    encodes_changes_ = encoded_ != nullptr;
    if (!encoded_) return false;
    encoded_->set_origin(origin_);
    encoded_->set_longest_silence(longest_silence_s_);
    encoded_->Send(first);
    return true;
  }

  void Copy(const AVPacket& packet) {
    if (jumped_) WriteJumped(packet);
    UniquePacket copy = Reference(packet);
    if (IsAway(packet, 0)) {
      jumped_ = std::move(copy);
    } else {
      Write(*copy);
    }
  }

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

  /// Note [Damaged times] in timestamps.h. `next`: the packet after it.
  void WriteJumped(const AVPacket& next) {
    const UniquePacket jumped = std::exchange(jumped_, nullptr);
    const bool has_time = next.dts != AV_NOPTS_VALUE || next.pts != AV_NOPTS_VALUE;
    if (has_time && !IsAway(next, jumped->duration)) jumped->dts = jumped->pts = AV_NOPTS_VALUE;
    Write(*jumped);
  }

  /// Whether a packet's time is more than a second from `later` after the last packet's end.
  bool IsAway(const AVPacket& packet, std::int64_t later) const {
    const std::int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
    if (last_ == AV_NOPTS_VALUE || time == AV_NOPTS_VALUE) return false;
    return std::abs(time - origin_.In(time_base_) + offset_ - end_ - later) > OneSecond();
  }

  std::int64_t OneSecond() const { return av_rescale_q(1, {1, 1}, time_base_); }

  void Write(AVPacket& packet) {
    Retime(packet);
    muxer_.Write(index_, packet);
  }

  /// Shifts to the output's origin, fills gaps, keeps decoding times increasing, and closes the jump of a restarted clock.
  void Retime(AVPacket& p) {
    if (p.dts == AV_NOPTS_VALUE) p.dts = p.pts;
    if (p.dts == AV_NOPTS_VALUE) p.dts = origin_.In(time_base_) + (last_ == AV_NOPTS_VALUE ? 0 : end_ - offset_);
    const std::int64_t shown_later = p.pts == AV_NOPTS_VALUE ? 0 : std::max<std::int64_t>(0, p.pts - p.dts);
    std::int64_t time = p.dts - origin_.In(time_base_) + offset_;
    if (last_ != AV_NOPTS_VALUE && time <= last_) {
      const std::int64_t better = last_ - time > OneSecond() ? end_ : last_ + 1;
      if (last_ - time > OneSecond()) offset_ += better - time;
      time = better;
    }
    // Without a duration, as ALAC in Matroska, the last packet would not be heard: MP4 ends a track with its durations.
    if (last_ != AV_NOPTS_VALUE && time - last_ <= OneSecond()) step_ = time - last_;
    if (p.duration <= 0) p.duration = step_;
    last_ = time;
    end_ = time + std::max<std::int64_t>(1, p.duration);
    p.dts = time;
    p.pts = time + shown_later;
    p.time_base = time_base_;
    p.flags &= ~AV_PKT_FLAG_DISCARD;
  }

  Muxer& muxer_;
  AVRational time_base_;
  UniqueCodecParameters parameters_;
  int index_;
  std::optional<AacFormat> format_;      ///< of the first frame; see Note [Changed format]
  UniquePacket changed_;                 ///< a frame of another format, until the next one arrives
  std::unique_ptr<AudioTrack> encoded_;  ///< since the format has changed
  bool encodes_changes_ = true;          ///< as far as known, the encoder can go on in the first format
  UniquePacket jumped_;  ///< a packet whose time jumps, until the next one arrives
  std::int64_t offset_ = 0;
  std::int64_t last_ = AV_NOPTS_VALUE;
  std::int64_t step_ = 0;  ///< from a packet to the next one
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
