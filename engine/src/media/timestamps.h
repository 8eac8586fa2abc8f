// Presentation times: the output's time base, and the repair of broken timestamps.
#pragma once

#include <cstdint>

#include "media/av_handles.h"

namespace reelmend::media {

/// Note [Absurd timestamps]
/// A damaged file may hold any 64-bit number. Timestamps beyond 2^56 ticks or 10^10 seconds (300 years, enough for
/// clocks that count from 1970) are treated as missing before any calculation.
bool IsAbsurd(std::int64_t timestamp, AVRational time_base);

/// Whether a sum of timestamps nears the end of the number range, after many absurd jumps.
constexpr bool IsNearOverflow(std::int64_t ticks) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  return ticks > kFar || ticks < -kFar;
}

/// What to do then. Throws Error{kUnreadableVideo}.
[[noreturn]] void ThrowDamagedTimes();

/// Seconds to ticks, kept within ±2^56.
std::int64_t ToTicks(double seconds, AVRational time_base);

/// A time base 1/n in which every timestamp of `source` is a whole number (rounded to 1 µs when the source is
/// finer), with n ≥ 10,000 so that mended timestamps can lie between two ticks of a coarse source.
AVRational OutputTimeBase(AVRational source);

/// Note [Damaged times]
/// A timestamp that jumps by more than a second may be damaged, or the clock may have changed. The frame after it tells: if that goes on
/// as if nothing had happened, the timestamp is damaged, and is taken as missing. Otherwise one damaged timestamp would move all that
/// follows against the other streams. A timestamp between its neighbours is no damage but a pause, after which a frame is shown only briefly:
/// a slide, or the first picture of a screen recording that goes on.

/// Makes the timestamps of decoded frames strictly increasing, in an output time base. A frame without a timestamp comes one
/// frame interval after the one before. A timestamp that does not advance is set half an interval later (half of the last step
/// if that is shorter), which leaves room for the next. A jump back of more than a second is a restarted clock and is closed.
class TimestampMender {
 public:
  /// `frame_rate` may be 0/1 (unknown: 25 is assumed).
  TimestampMender(AVRational source, AVRational output, AVRational frame_rate);

  /// `timestamp` is in the source's time base or AV_NOPTS_VALUE; the result is in the output's.
  std::int64_t Mend(std::int64_t timestamp);

  /// Whether a timestamp is more than a second before or after the one that is due.
  bool Jumps(std::int64_t timestamp) const { return IsAway(timestamp, 1); }
  /// Whether a timestamp that jumps is damaged, by the timestamp after it. Note [Damaged times].
  bool IsDamaged(std::int64_t jumped, std::int64_t next) const;

  /// Nominal frame interval in the output's time base, at least 1.
  std::int64_t interval() const { return interval_; }

 private:
  bool IsMissing(std::int64_t timestamp) const { return timestamp == AV_NOPTS_VALUE || IsAbsurd(timestamp, source_); }
  bool IsAway(std::int64_t timestamp, int frames) const;
  std::int64_t TimeOf(std::int64_t timestamp) const;

  AVRational source_;
  AVRational output_;
  std::int64_t interval_;
  std::int64_t one_second_;
  std::int64_t offset_ = 0;
  std::int64_t step_ = 0;  ///< between the last two
  std::int64_t last_ = AV_NOPTS_VALUE;
};

}  // namespace reelmend::media
