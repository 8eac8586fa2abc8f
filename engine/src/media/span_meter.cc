#include "media/span_meter.h"

#include <algorithm>
#include <cstdlib>

#include "media/timestamps.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {

AVRational AverageFrameRate(const AVStream& stream) {
  constexpr double kFastest = 480;  // a higher rate is a time base mistaken for a rate
  for (const AVRational rate : {stream.avg_frame_rate, stream.r_frame_rate}) {
    if (rate.num > 0 && rate.den > 0 && av_q2d(rate) <= kFastest) return rate;
  }
  return {0, 1};
}

std::int64_t NominalInterval(const AVStream& stream) {
  AVRational rate = AverageFrameRate(stream);
  if (rate.num == 0) rate = {25, 1};
  return std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(rate), stream.time_base));
}

SpanMeter::SpanMeter(const AVStream& stream)
    : time_base_(stream.time_base), interval_(NominalInterval(stream)), one_second_(ToTicks(1, time_base_) + 1) {}

void SpanMeter::Add(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) return;  // cut off by the edit list
  const std::int64_t stamp = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  const std::int64_t step = packet.duration > 0 ? packet.duration : interval_;
  if (stamp == AV_NOPTS_VALUE) {
    AddUntimed(step);
    return;
  }
  if (empty()) first_decode_ = packet.dts != AV_NOPTS_VALUE ? packet.dts : stamp;
  if (packet.dts != AV_NOPTS_VALUE) FollowClock(packet.dts, step);
  Show(stamp + offset_, step);
}

/// A packet without a time follows the one before, as a frame does in TimestampMender. It does not prove that a time before it is damaged.
void SpanMeter::AddUntimed(std::int64_t step) {
  before_jump_.reset();
  const std::int64_t time = empty() ? 0 : last_.end;
  last_decode_ = last_decode_ == AV_NOPTS_VALUE ? time : last_decode_ + step;
  if (IsNearOverflow(time) || IsNearOverflow(last_decode_)) ThrowDamagedTimes();
  Show(time, step);
}

/// Counts a frame. If its time is far behind the end although its decoding time is not, it may be damaged: Note [Damaged times]. Then it counts
/// once another frame is behind the end, too, or if it is the last one that is shown.
void SpanMeter::Show(std::int64_t time, std::int64_t step) {
  constexpr int kMostReordered = 16;  // frames that a decoder can hold back
  const auto is_far = [&] { return !empty() && time > last_.end + one_second_; };
  if (far_ && ++far_->packets_after > kMostReordered) far_.reset();
  if (far_ && is_far()) {
    Extend(far_->shown);
    far_.reset();
  }
  if (empty() || time < first_) first_ = time;
  if (is_far() && !before_jump_) {
    far_ = {{time, time + step}, 0};
  } else {
    Extend({time, time + step});
  }
  ++packets_;
}

void SpanMeter::Extend(const Shown& shown) {
  if (empty() || shown.time >= last_.time) last_ = shown;
}

/// Sets offset_ and last_decode_ for a decoding time. `step`: the packet's duration.
void SpanMeter::FollowClock(std::int64_t dts, std::int64_t step) {
  const auto is_away = [&](const Clock& clock, std::int64_t later) { return std::abs(dts + clock.offset - clock.decode - later) > one_second_; };
  Clock clock{offset_, last_decode_, last_};
  if (last_decode_ != AV_NOPTS_VALUE) {
    if (before_jump_ && is_away(clock, step) && !is_away(*before_jump_, 2 * step)) {  // Note [Damaged times] in timestamps.h
      const std::int64_t end = before_jump_->last.end;
      clock = {before_jump_->offset, before_jump_->decode + step, {end, end + step}};
      offset_ = clock.offset;
      last_ = clock.last;
    }
    before_jump_.reset();
    if (is_away(clock, step)) before_jump_ = clock;
    if (dts + offset_ < clock.decode - one_second_) offset_ = clock.decode + step - dts;
    if (IsNearOverflow(offset_)) ThrowDamagedTimes();
  }
  last_decode_ = dts + offset_;
}

void SpanMeter::SetFirstFrame(std::int64_t timestamp) { first_frame_ = timestamp; }

double SpanMeter::first_packet_s() const { return static_cast<double>(first_) * av_q2d(time_base_); }

double SpanMeter::first_decode_s() const { return static_cast<double>(first_decode_) * av_q2d(time_base_); }

double SpanMeter::first_s() const {
  if (first_frame_ == AV_NOPTS_VALUE || first_frame_ <= first_ || first_frame_ >= end()) return first_packet_s();
  return static_cast<double>(first_frame_) * av_q2d(time_base_);
}

const SpanMeter::Shown& SpanMeter::Last() const { return far_ && far_->shown.time > last_.time ? far_->shown : last_; }

double SpanMeter::last_s() const { return static_cast<double>(Last().time) * av_q2d(time_base_); }

double SpanMeter::end_s() const { return static_cast<double>(end()) * av_q2d(time_base_); }

}  // namespace reelmend::media
