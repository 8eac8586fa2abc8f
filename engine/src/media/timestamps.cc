#include "media/timestamps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "reelmend/error.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {

namespace {

constexpr std::int64_t kMostTicks = std::int64_t{1} << 56;

}  // namespace

bool IsAbsurd(std::int64_t timestamp, AVRational time_base) {
  constexpr double kMostSeconds = 1e10;
  return timestamp > kMostTicks || timestamp < -kMostTicks ||
         std::abs(static_cast<double>(timestamp)) * av_q2d(time_base) > kMostSeconds;
}

void ThrowDamagedTimes() { throw Error(ErrorCode::kUnreadableVideo, "The video's timestamps are damaged."); }

std::int64_t ToTicks(double seconds, AVRational time_base) {
  const double ticks = seconds / av_q2d(time_base);
  if (!std::isfinite(ticks)) return 0;
  constexpr auto kMost = static_cast<double>(kMostTicks);
  return static_cast<std::int64_t>(std::clamp(ticks, -kMost, kMost));
}

AVRational OutputTimeBase(AVRational source) {
  constexpr int kCoarsest = 10'000;
  constexpr int kFinest = 1'000'000;
  if (source.num <= 0 || source.den <= 0) return {1, 90'000};
  if (source.den > kFinest) return {1, kFinest};
  int ticks = source.den;
  while (ticks < kCoarsest) ticks *= 2;
  return {1, ticks};
}

TimestampMender::TimestampMender(AVRational source, AVRational output, AVRational frame_rate)
    : source_(source), output_(output), one_second_(output.den / output.num) {
  if (frame_rate.num <= 0 || frame_rate.den <= 0) frame_rate = {25, 1};
  interval_ = std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(frame_rate), output));
  step_ = interval_;
}

/// A timestamp in the output's time base, on the clock of the frames so far.
std::int64_t TimestampMender::TimeOf(std::int64_t timestamp) const { return av_rescale_q(timestamp, source_, output_) + offset_; }

/// Whether a timestamp is more than a second from that which is due so many frames after the last one.
bool TimestampMender::IsAway(std::int64_t timestamp, int frames) const {
  if (last_ == AV_NOPTS_VALUE || IsMissing(timestamp)) return false;
  return std::abs(TimeOf(timestamp) - last_ - frames * interval_) > one_second_;
}

bool TimestampMender::IsDamaged(std::int64_t jumped, std::int64_t next) const {
  if (IsMissing(next) || IsAway(next, 2)) return false;
  const bool is_in_order = TimeOf(jumped) > last_ && jumped < next;
  return !is_in_order;
}

std::int64_t TimestampMender::Mend(std::int64_t timestamp) {
  const bool is_first = last_ == AV_NOPTS_VALUE;
  const bool is_missing = IsMissing(timestamp);
  const std::int64_t due = is_first ? 0 : last_ + interval_;
  std::int64_t time = is_missing ? due : TimeOf(timestamp);
  if (!is_first && time <= last_) {
    if (last_ - time > one_second_) {
      offset_ += due - time;
      time = due;
    } else {
      time = last_ + std::max<std::int64_t>(1, std::min(step_, interval_) / 2);
    }
  }
  if (IsNearOverflow(time) || IsNearOverflow(offset_)) ThrowDamagedTimes();
  if (!is_first && !is_missing) step_ = time - last_;
  last_ = time;
  return time;
}

}  // namespace reelmend::media
