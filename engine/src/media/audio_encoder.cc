#include "media/audio_encoder.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "media/audio_codecs.h"
#include "media/audio_resampler.h"
#include "media/av_error.h"
#include "media/stream_tags.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

/// Note [Timestamp jumps]
/// The timestamps of a joined recording start again; those of a paused recording skip ahead. The track follows both, as
/// the picture does: it removes a step back of more than a second, and fills a step forward with silence. But a single
/// damaged timestamp also looks like a jump. So a frame that jumps is held until the next frame arrives. If that frame
/// has jumped too, the clock has changed. The first frames are held as well, until the timestamps of two consecutive
/// frames agree. Several damaged timestamps in a row look like a step back that is soon followed by a step forward. In
/// that case the step back is undone, and no silence is written.
///
/// Note [Late sound]
/// Sound that is longer than its timestamps say falls behind the picture: sounds of two recordings that overlap where they were joined,
/// or a sound card whose clock is fast. What has been more than a tenth of a second late for two seconds is made up for by leaving out
/// samples. Two seconds, because coarse timestamps make sound look late for a moment.
class EncodedAudio : public AudioTrack {
 public:
  EncodedAudio(UniqueCodecContext decoder, UniqueCodecContext encoder, AVRational time_base, Muxer& muxer,
               const StreamTags& tags)
      : EncodedAudio(std::move(decoder), std::move(encoder), time_base, muxer) {
    const UniqueCodecParameters parameters(CheckAlloc(avcodec_parameters_alloc()));
    CheckAv(avcodec_parameters_from_context(parameters.get(), encoder_.get()), ErrorCode::kInternal,
            "The sound's parameters cannot be read");
    index_ = muxer.AddStream(*parameters, encoder_->time_base, tags);
  }

  EncodedAudio(UniqueCodecContext decoder, UniqueCodecContext encoder, const CopiedAac& before, Muxer& muxer)
      : EncodedAudio(std::move(decoder), std::move(encoder), before.time_base, muxer) {
    index_ = before.stream;
    continued_ = before.format;
    has_headers_ = before.parameters.extradata_size == 0;
    has_started_ = true;
    offset_ = av_rescale_q(before.offset, time_base_, encoder_->time_base);
    next_in_ = next_out_ = first_out_ = av_rescale_q(before.end, time_base_, encoder_->time_base);
  }

  void Send(const AVPacket& packet) override {
    if (avcodec_send_packet(decoder_.get(), &packet) >= 0) ReceiveDecoded();
  }

  void Finish() override {
    if (avcodec_send_packet(decoder_.get(), nullptr) >= 0) ReceiveDecoded();
    if (!has_started_) StartAt(FirstPosition());
    if (held_) WriteSound(*std::exchange(held_, nullptr));
    if (const UniqueFrame last = resampler_.Flush()) Queue(*last);
    EncodeReady(1);
    if (avcodec_send_frame(encoder_.get(), nullptr) >= 0) ReceiveEncoded();
  }

 private:
  EncodedAudio(UniqueCodecContext decoder, UniqueCodecContext encoder, AVRational time_base, Muxer& muxer)
      : decoder_(std::move(decoder)),
        encoder_(std::move(encoder)),
        time_base_(time_base),
        muxer_(muxer),
        packet_(MakePacket()),
        fifo_(CheckAlloc(
            av_audio_fifo_alloc(AV_SAMPLE_FMT_FLTP, encoder_->ch_layout.nb_channels, encoder_->frame_size))),
        resampler_(*encoder_) {}

  void ReceiveDecoded() {
    for (UniqueFrame frame = MakeFrame(); avcodec_receive_frame(decoder_.get(), frame.get()) >= 0; frame = MakeFrame()) {
      if (IsSoundRate(frame->sample_rate)) AddFrame(std::move(frame));
    }
  }

  /// Adds a decoded frame to the track. See Note [Timestamp jumps].
  void AddFrame(UniqueFrame frame) {
    if (!has_started_) return FindStart(std::move(frame));
    if (held_) {
      const UniqueFrame held = std::exchange(held_, nullptr);
      if (HasJumpedToo(*frame, *held)) FollowClock(Drift(*held));
      WriteSound(*held);
    }
    if (HasJumped(Drift(*frame))) {
      held_ = std::move(frame);
    } else {
      FollowLateness(*frame);
      WriteSound(*frame);
    }
  }

  /// Note [Late sound].
  void FollowLateness(const AVFrame& frame) {
    if (frame.best_effort_timestamp == AV_NOPTS_VALUE) return;
    const std::int64_t rate = encoder_->sample_rate;
    const std::int64_t late = -Drift(frame);
    if (late <= rate / 10) {
      late_for_ = 0;
      return;
    }
    least_late_ = late_for_ == 0 ? late : std::min(least_late_, late);
    late_for_ += OutputSamples(frame);
    if (late_for_ < 2 * rate) return;
    left_out_ += least_late_;
    late_for_ = 0;
  }

  /// Collects the first frames until the timestamps of two consecutive frames agree within a second. The first of the
  /// two then gives the start of the track. A gap between them is kept.
  void FindStart(UniqueFrame frame) {
    constexpr std::size_t kMostFrames = 32;
    if (frame->best_effort_timestamp != AV_NOPTS_VALUE) {
      const std::int64_t position = Position(*frame);
      if (reference_ && std::abs(position - *reference_ - (first_samples_ - before_reference_)) <= encoder_->sample_rate) {
        StartAt(*reference_ - before_reference_);
        return AddFrame(std::move(frame));
      }
      reference_ = position;
      before_reference_ = first_samples_;
    }
    first_samples_ += OutputSamples(*frame);
    first_frames_.push_back(std::move(frame));
    if (first_frames_.size() >= kMostFrames) StartAt(FirstPosition());
  }

  /// Start of the first frames, from the first timestamp among them; the origin if none has a timestamp.
  std::int64_t FirstPosition() const {
    std::int64_t before = 0;
    for (const UniqueFrame& frame : first_frames_) {
      if (frame->best_effort_timestamp != AV_NOPTS_VALUE) return Position(*frame) - before;
      before += OutputSamples(*frame);
    }
    return 0;
  }

  void StartAt(std::int64_t position) {
    has_started_ = true;
    next_in_ = next_out_ = position;
    for (const UniqueFrame& frame : first_frames_) WriteSound(*frame);
    first_frames_.clear();
  }

  /// Number of output samples that a frame becomes.
  std::int64_t OutputSamples(const AVFrame& frame) const {
    return av_rescale(frame.nb_samples, encoder_->sample_rate, frame.sample_rate);
  }

  /// Timestamp of a frame, in output samples from the origin.
  std::int64_t Position(const AVFrame& frame) const {
    return av_rescale_q(frame.best_effort_timestamp - origin_.In(time_base_), time_base_, encoder_->time_base) + offset_;
  }

  /// Samples between the end of what has been written and the frame's timestamp; 0 if it has none.
  std::int64_t Drift(const AVFrame& frame) const {
    return frame.best_effort_timestamp == AV_NOPTS_VALUE ? 0 : Position(frame) - next_in_;
  }

  bool HasJumped(std::int64_t drift) const {
    const std::int64_t rate = encoder_->sample_rate;
    return drift < -rate || drift > rate / 10;
  }

  /// Whether `frame` continues from the jump of `held`, the frame before it.
  bool HasJumpedToo(const AVFrame& frame, const AVFrame& held) const {
    if (frame.best_effort_timestamp == AV_NOPTS_VALUE) return true;
    const std::int64_t rate = encoder_->sample_rate;
    const std::int64_t drift = Drift(frame) - OutputSamples(held);
    return Drift(held) < 0 ? drift < -rate : drift > Drift(held) - rate / 10;
  }

  /// Follows a jump of the timestamps. A step back is removed. A step forward that returns to the time before the last
  /// step back undoes that step. Any other step forward becomes silence, up to a plausible total.
  void FollowClock(std::int64_t drift) {
    if (step_back_ > 0 && !HasJumped(drift - step_back_)) {
      offset_ -= std::exchange(step_back_, 0);
      return;
    }
    step_back_ = std::max<std::int64_t>(0, -drift);
    const auto longest = static_cast<std::int64_t>(longest_silence_s_ * encoder_->sample_rate);
    if (drift < 0 || drift > longest - silence_) {
      offset_ -= drift;
    } else {
      silence_ += drift;
      WriteSilence(drift);
    }
  }

  void WriteSound(const AVFrame& frame) {
    if (!resampler_.Prepare(frame)) return;
    if (const UniqueFrame out = resampler_.Convert(frame)) Queue(*out);
    EncodeReady(encoder_->frame_size);
  }

  void WriteSilence(std::int64_t samples) {
    while (samples > 0) {
      UniqueFrame frame = MakeSoundFrame(*encoder_, static_cast<int>(std::min<std::int64_t>(samples, encoder_->frame_size)));
      av_samples_set_silence(frame->extended_data, 0, frame->nb_samples, encoder_->ch_layout.nb_channels,
                             encoder_->sample_fmt);
      Queue(*frame);
      samples -= frame->nb_samples;
      EncodeReady(encoder_->frame_size);
    }
  }

  void Queue(const AVFrame& frame) {
    const auto first = static_cast<int>(std::min<std::int64_t>(left_out_, frame.nb_samples));
    left_out_ -= first;
    std::vector<void*> planes(static_cast<std::size_t>(frame.ch_layout.nb_channels));  // AV_SAMPLE_FMT_FLTP
    for (std::size_t i = 0; i < planes.size(); ++i) planes[i] = reinterpret_cast<float*>(frame.extended_data[i]) + first;
    const int count = av_audio_fifo_write(fifo_.get(), planes.data(), frame.nb_samples - first);
    CheckAv(count, ErrorCode::kInternal, "No memory for sound");
    next_in_ += frame.nb_samples - first;
  }

  /// Encodes full frames while at least `min_samples` samples wait.
  void EncodeReady(int min_samples) {
    while (av_audio_fifo_size(fifo_.get()) >= min_samples) {
      UniqueFrame frame = MakeSoundFrame(*encoder_, std::min(av_audio_fifo_size(fifo_.get()), encoder_->frame_size));
      av_audio_fifo_read(fifo_.get(), reinterpret_cast<void**>(frame->extended_data), frame->nb_samples);
      frame->pts = next_out_;
      next_out_ += frame->nb_samples;
      if (avcodec_send_frame(encoder_.get(), frame.get()) >= 0) ReceiveEncoded();
    }
  }

  void ReceiveEncoded() {
    while (avcodec_receive_packet(encoder_.get(), packet_.get()) >= 0) {
      packet_->time_base = encoder_->time_base;
      Write(*packet_);
      av_packet_unref(packet_.get());
    }
  }

  void Write(AVPacket& packet) {
    if (!continued_) return muxer_.Write(index_, packet);
    if (packet.pts < first_out_) return;  // primes the decoder, which has been playing
    if (!has_headers_) return muxer_.Write(index_, packet);
    muxer_.Write(index_, *WithAdtsHeader(packet, *continued_));
  }

  UniqueCodecContext decoder_;
  UniqueCodecContext encoder_;
  AVRational time_base_;
  Muxer& muxer_;
  int index_ = 0;
  std::optional<AacFormat> continued_;  ///< of the track that was copied before
  bool has_headers_ = false;            ///< whether that track's frames have ADTS headers
  std::int64_t first_out_ = 0;          ///< position where it ends
  UniqueFrame held_;  ///< a frame whose timestamp jumped, until the next one confirms or refutes the jump
  UniquePacket packet_;
  UniqueAudioFifo fifo_;
  AudioResampler resampler_;
  bool has_started_ = false;
  std::vector<UniqueFrame> first_frames_;  ///< until the track has started
  std::int64_t first_samples_ = 0;         ///< total length of first_frames_, in output samples
  std::optional<std::int64_t> reference_;    ///< position of the last of first_frames_ with a timestamp
  std::int64_t before_reference_ = 0;        ///< output samples before that frame
  std::int64_t offset_ = 0;     ///< samples added to the source's timestamps
  std::int64_t step_back_ = 0;  ///< the last step back that is part of offset_; 0 if none
  std::int64_t silence_ = 0;   ///< samples of silence written so far
  std::int64_t late_for_ = 0;    ///< samples for which the sound has been late
  std::int64_t least_late_ = 0;  ///< in that time, in samples
  std::int64_t left_out_ = 0;    ///< samples still to be left out
  std::int64_t next_in_ = 0;   ///< position of the next sample to queue, in samples from the origin
  std::int64_t next_out_ = 0;  ///< position of the next sample to encode
};

}  // namespace

std::unique_ptr<AudioTrack> MakeEncodedAudio(const AVStream& stream, Muxer& muxer) {
  UniqueCodecContext decoder = OpenSoundDecoder(*stream.codecpar, stream.time_base);
  UniqueCodecContext encoder = decoder ? OpenAacEncoder(*decoder) : nullptr;
  if (!encoder) return nullptr;
  return std::make_unique<EncodedAudio>(std::move(decoder), std::move(encoder), stream.time_base, muxer, ReadTags(stream));
}

std::unique_ptr<AudioTrack> MakeContinuedAudio(const CopiedAac& track, Muxer& muxer) {
  UniqueCodecContext decoder = OpenSoundDecoder(track.parameters, track.time_base);
  UniqueCodecContext encoder = OpenAacEncoder(track.format);
  if (!decoder || !encoder) return nullptr;
  return std::make_unique<EncodedAudio>(std::move(decoder), std::move(encoder), track, muxer);
}

}  // namespace reelmend::media
