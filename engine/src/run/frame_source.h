// Reads and decodes a source: packets in, progressive frames with times out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device/stage_clock.h"
#include "media/deinterlacer.h"
#include "media/demuxer.h"
#include "media/timestamps.h"
#include "media/video_decoder.h"
#include "plan/plan.h"

namespace reelmend::run {

/// A decoded frame. Times are in the plan's time base, from the first displayed frame of the video.
struct TimedFrame {
  media::UniqueFrame frame;
  std::int64_t pts = 0;
  std::int64_t duration = 0;
  bool is_warm_up = false;  ///< before the segment: goes through the temporal stages, is not encoded
};

/// Sets every frame's duration, the distance to the next one. So it holds one frame back.
class FrameTimer {
 public:
  FrameTimer(std::int64_t nominal_interval, AVRational time_base)
      : nominal_interval_(nominal_interval), one_second_(time_base.den / time_base.num), interval_(nominal_interval) {}
  /// Takes `frame` and returns the one before it, whose end is now known.
  std::optional<TimedFrame> Next(media::UniqueFrame frame, std::int64_t pts, std::int64_t own_duration);
  /// The last frame, with the container's duration or else the last interval. If that is a pause, it is shown for the nominal interval,
  /// as SpanMeter measures it.
  std::optional<TimedFrame> Last();

 private:
  std::int64_t nominal_interval_;
  std::int64_t one_second_;
  std::int64_t interval_;
  std::int64_t own_duration_ = 0;
  std::optional<TimedFrame> held_;
};

struct FrameSourceOptions {
  int threads = 1;                        ///< of the decoder
  AVBufferRef* gpu = nullptr;             ///< see media::VideoDecoder
  std::function<bool()> is_stopped = {};  ///< polled while reading; optional
};

/// Reads a source to its end or to the end of the segment.
class FrameSource {
 public:
  /// `source` and `clocks` live longer.
  FrameSource(ByteSource& source, const plan::Plan& plan, const EnhanceOptions& options, device::StageClocks& clocks,
              const FrameSourceOptions& decoding);

  AVCodecID codec() const { return demuxer_->video()->codecpar->codec_id; }
  const media::Demuxer& demuxer() const { return *demuxer_; }

  /// Called with every packet of sound and subtitles; not set for segments.
  std::function<void(const AVPacket&)> on_side_packet;

  /// Passes every frame to `on_frame`, which returns false to stop. Throws Error{kUnreadableVideo} if more than a tenth of
  /// the frames cannot be decoded, Error{kLimitExceeded} beyond the longest duration, Error{kSegmentMismatch} if a planned
  /// segment does not have the planned frames.
  void Run(const std::function<bool(TimedFrame)>& on_frame);

  std::int64_t undecodable() const { return decoder_->undecodable(); }
  /// End of the last decoded frame in seconds; without a segment, the video's duration.
  double decoded_end_s() const { return decoded_end_s_; }

 private:
  void SeekToSegment();
  void SeekToCut();
  /// Seeks to a key frame near `target`; false if it lies after `latest`. Both in the source's time base.
  bool SeekTo(std::int64_t target, std::int64_t latest);
  void StartAnew();
  void SetOrigin();
  bool IsBeforeWarmUp(std::int64_t pts) const;
  /// Whether a frame at `pts` comes after the segment, and whether it belongs to its warm-up.
  bool IsAfterSegment(std::int64_t pts) const;
  bool IsWarmUp(std::int64_t pts) const;
  void CheckCut() const;
  void Decode(const AVPacket* packet);
  void OnDecoded(media::UniqueFrame frame);
  void OnTimed(media::UniqueFrame frame);
  media::UniqueFrame InFirstShape(media::UniqueFrame frame) const;
  void Deliver(std::optional<TimedFrame> frame);
  void DeliverLast();
  void CheckLength(double time_s) const;
  void CheckDamage() const;
  double Seconds(std::int64_t ticks) const { return static_cast<double>(ticks) * av_q2d(plan_.time_base); }

  plan::Plan plan_;
  EnhanceOptions options_;
  device::StageClocks& clocks_;
  ByteSource& source_;
  media::DemuxerOptions demuxer_options_;
  std::unique_ptr<media::Demuxer> demuxer_;
  device::LibraryThreads library_threads_;
  std::unique_ptr<media::VideoDecoder> decoder_;
  media::TimestampMender mender_;
  media::UniqueFrame jumped_;  ///< a frame whose timestamp jumps, until the next one arrives
  media::Deinterlacer deinterlacer_;
  FrameTimer timer_;
  std::int64_t origin_ = 0;  ///< of the first displayed frame, in the plan's time base
  bool has_origin_ = false;
  bool is_done_ = false;
  bool is_refused_ = false;  ///< on_frame_ returned false
  double decoded_end_s_ = 0;
  std::int64_t warm_up_frames_ = 0;  ///< passed to on_frame_
  std::int64_t frames_ = 0;          ///< passed to on_frame_, without those
  std::function<bool(TimedFrame)> on_frame_;
};

}  // namespace reelmend::run
