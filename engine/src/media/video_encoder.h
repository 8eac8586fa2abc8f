// H.264 encoding by libx264 or NVENC.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "media/av_handles.h"
#include "media/color_tags.h"

namespace reelmend::media {

/// Longest sample that VideoEncoder makes, in ticks. MP4 has 31 bits for the time between two samples.
constexpr std::int64_t kLongestSample = std::int64_t{1} << 30;

/// A GPU cannot encode at all, or not this size. Another attempt would fail, too.
class EncoderUnsupported : public Error {
 public:
  explicit EncoderUnsupported(const std::string& sentence) : Error(ErrorCode::kUnavailable, sentence) {}
};

/// Longest side that x264 encodes, in samples.
constexpr int kLongestSide = 16'384;

/// Throws Error{kInvalidArgument} for a preset that x264 does not know, or a crf or bitrate out of range.
void CheckQuality(const EncoderOptions& quality);

struct VideoEncoderOptions {
  int width = 0;
  int height = 0;
  AVRational time_base = {1, 90'000};
  AVRational frame_rate = {25, 1};  ///< average, for rate control and the level; timestamps rule the display
  SourceColor color;
  EncoderOptions quality;
  int threads = 1;
  bool is_reproducible = false;      ///< x264: the same bits whatever the CPU's instruction set; they still depend on the threads
  bool knows_cuts = false;           ///< x264: pict_type is I for frames that begin a scene, Note [Scene cuts for x264]
  AVBufferRef* hw_frames = nullptr;  ///< frames context of NV12 on a GPU: h264_nvenc encodes; borrowed
  int hw_surfaces = 0;               ///< frames that the GPU's encoder may hold at once
};

/// Decoding times for packets in coding order, from frame times in presentation order.
///
/// Note [Decoding times of NVENC]
/// libav 5 sets a packet's decoding time to the frame times in order of arrival, minus one tick of the time base per
/// B-frame. That is right if a tick is a frame. With the finer time bases that a video's own timestamps need,
/// B-frames would be decoded after they are shown. So decoding times are computed as x264 does: packet k is decoded
/// when frame k − delay is shown; the first ones lie before all frames. Packets are never late as long as no frame
/// waits for more than `delay` later ones.
class DecodeTimes {
 public:
  static constexpr int kDelay = 2;  ///< 1 for B-frames that are not referenced, 2 for a pyramid of them

  void AddFrame(std::int64_t pts) { shown_.push_back(pts); }
  /// Decoding time of the next packet. `frame_ticks`, ≥ 1, is a frame's duration, for videos of fewer than kDelay + 1
  /// frames.
  std::int64_t Next(std::int64_t frame_ticks);

 private:
  std::deque<std::int64_t> shown_;  ///< from frame `first_` on
  std::int64_t first_ = 0;
  std::int64_t next_ = 0;
  std::int64_t lead_ = 0;  ///< how long before the first frame the first packet is decoded
};

/// Brings decoding times closer to the times at which frames are shown.
///
/// Note [Decoding times after pauses]
/// x264 decodes a frame when the frame two before it is shown. After pauses, as between slides, that is long before the frame itself is
/// shown. libav's MP4 demuxer takes the time until the next decoding for the frame's duration, and drops what follows two key frames that
/// seem to last beyond the video's end. More than 2^28 ticks before the frame, it ignores when frames are shown. So a packet is decoded at
/// most three frames, but 1 to 10 s, before the next frame is shown. Packets of a steady frame rate keep x264's times. Joining pieces of a
/// video computes the same for all of it.
class LatestDecoding {
 public:
  LatestDecoding(AVRational frame_rate, AVRational time_base);

  /// Decoding time of a packet. `next_shown`: the earliest time at which this frame or one of the later packets is shown.
  std::int64_t Of(std::int64_t encoder_time, std::int64_t next_shown);

 private:
  std::int64_t longest_lead_;
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

/// Note [Scene cuts for x264]
/// The stages detect scene cuts anyway (pixel/scene_detector.h), and better than x264's fastest presets: those take each
/// change of grain for a cut and spend a key frame's bits on it. So a cut that the stages found becomes a key frame, unless
/// one came shortly before, and `superfast` detects none itself. Slower presets need their lookahead for the macroblock tree
/// and keep their own detection. Figures: engine/bench/results/encoder.md.
///
/// Encodes High profile 8-bit 4:2:0. A key frame (IDR) comes at least every two seconds of presentation time, on a
/// fixed grid counted from time 0, so that neighbouring segments of a video use the same grid.
class VideoEncoder {
 public:
  /// Throws what CheckQuality throws; EncoderUnsupported if the GPU can never encode this size; Error{kUnavailable} if the GPU opens no session now.
  explicit VideoEncoder(const VideoEncoderOptions& options);

  const AVCodecContext& context() const { return *context_; }

  /// Number of frames that a GPU's encoder may hold: the option's value, or more if libav needs more.
  int hw_surfaces() const;

  /// A frame to fill for Encode, from a pool that is reused as x264 releases frames. Not for a GPU's encoder, whose
  /// frames come from the owner of `hw_frames`.
  UniqueFrame TakeFrame();

  /// Encodes a frame; `pts` and `duration` are in the time base, pts strictly increasing. Packets that are
  /// ready go to `on_packet` with pts, dts, duration and time_base set. A longer frame than
  /// kLongestSample becomes several samples.
  void Encode(AVFrame& frame, std::int64_t pts, std::int64_t duration, const std::function<void(AVPacket&)>& on_packet);

  /// Flushes everything that is held back.
  void Drain(const std::function<void(AVPacket&)>& on_packet);

 private:
  struct Timing {
    std::int64_t pts;
    std::int64_t duration;
  };
  void EncodeSample(AVFrame& frame, std::int64_t pts, std::int64_t duration, const std::function<void(AVPacket&)>& on_packet);
  bool StartsGroup(std::int64_t pts, bool is_cut) const;
  bool is_on_gpu() const { return context_->hw_frames_ctx != nullptr; }
  /// Throws for a negative result of the encoder.
  void CheckEncoder(int result) const;
  void LimitBitrate(std::int64_t max_bitrate);
  void OpenX264(const VideoEncoderOptions& options);
  void OpenNvenc(const VideoEncoderOptions& options);
  void Receive(const std::function<void(AVPacket&)>& on_packet);
  std::int64_t TakeDuration(std::int64_t pts);

  UniqueCodecContext context_;
  UniqueBufferPool pool_;
  UniquePacket packet_;
  int stride_[3] = {};
  bool knows_cuts_;
  std::int64_t key_interval_;
  std::int64_t next_key_;
  std::int64_t last_key_;
  std::int64_t frame_ticks_;
  DecodeTimes decode_times_;
  LatestDecoding latest_decoding_;
  std::deque<Timing> timings_;  ///< of frames whose packets have not come out; libav 5 does not carry durations
};

}  // namespace reelmend::media
