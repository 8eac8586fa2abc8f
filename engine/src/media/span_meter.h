// Presentation time of a stream's packets.
#pragma once

#include <cstdint>
#include <optional>

#include "media/av_handles.h"

namespace reelmend::media {

/// Average frame rate according to the container; 0/1 if it declares none or an absurd one (over 480).
AVRational AverageFrameRate(const AVStream& stream);

/// Nominal frame interval in the stream's time base, at least 1; for 25 frames a second if the rate is unknown.
std::int64_t NominalInterval(const AVStream& stream);

/// Measures the presentation time that the packets of a video stream cover, from the start of the first displayed frame to
/// the end of the last one. Closes a backward jump of the clock by more than a second (a joined transport stream) and does not
/// count one damaged time, as TimestampMender does for frames.
class SpanMeter {
 public:
  explicit SpanMeter(const AVStream& stream);

  void Add(const AVPacket& packet);
  /// Sets the time of the first frame that could be decoded. Packets before it (a recording that begins between two key
  /// frames) are not displayed. AV_NOPTS_VALUE is ignored.
  void SetFirstFrame(std::int64_t timestamp);
  bool empty() const { return packets_ == 0; }
  std::int64_t packets() const { return packets_; }
  double first_s() const;
  /// Decoding time of the first packet.
  double first_decode_s() const;
  double end_s() const;
  /// When the last frame is shown. Unlike its end, it does not depend on a stated duration.
  double last_s() const;
  double duration_s() const { return empty() ? 0 : end_s() - first_s(); }
  /// Time between the first packet and the first frame.
  double undecodable_lead_s() const { return first_s() - first_packet_s(); }

 private:
  /// When a frame is shown.
  struct Shown {
    std::int64_t time = 0;
    std::int64_t end = 0;
  };

  struct Clock {
    std::int64_t offset;  ///< added to the stream's times
    std::int64_t decode;  ///< of the last packet
    Shown last;
  };

  /// A frame whose time may be damaged.
  struct Far {
    Shown shown;
    int packets_after;
  };

  double first_packet_s() const;
  const Shown& Last() const;
  std::int64_t end() const { return Last().end; }
  void Extend(const Shown& shown);
  void AddUntimed(std::int64_t step);
  void FollowClock(std::int64_t dts, std::int64_t step);
  void Show(std::int64_t time, std::int64_t step);

  AVRational time_base_;
  std::int64_t interval_;
  std::int64_t one_second_;
  std::int64_t first_frame_ = AV_NOPTS_VALUE;
  std::int64_t packets_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t last_decode_ = AV_NOPTS_VALUE;
  std::optional<Clock> before_jump_;  ///< if the last packet's time has jumped
  std::int64_t first_ = 0;
  std::int64_t first_decode_ = 0;
  Shown last_;              ///< the frame that is shown last; another one ends when the next begins, whatever duration is stated
  std::optional<Far> far_;  ///< not counted in last_
};

}  // namespace reelmend::media
