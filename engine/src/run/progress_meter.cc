#include "run/progress_meter.h"

#include <algorithm>

namespace reelmend::run {

Progress ProgressMeter::Update(std::int64_t frames, double done_s, Clock::time_point now) {
  constexpr std::chrono::seconds kShortest(10);
  constexpr double kNotYetDone = 0.999;  // 1 is reported only when the file is finished
  const double fraction = total_s_ > 0 ? std::clamp(done_s / total_s_, 0.0, kNotYetDone) : 0.0;
  fraction_ = std::max(fraction_, fraction);
  if (recent_.empty()) recent_.push_back({start_, 0, 0});
  recent_.push_back({now, frames, fraction_});
  // A third of the elapsed time: long enough to average scenes, short enough to notice a change.
  const auto window = std::max<Clock::duration>(kShortest, (now - start_) / 3);
  while (recent_.size() > 2 && now - recent_[1].when >= window) recent_.pop_front();
  const Sample& oldest = recent_.front();
  const double seconds = std::chrono::duration<double>(now - oldest.when).count();
  Progress progress;
  progress.fraction = fraction_;
  progress.frames_done = frames;
  progress.frames_per_second = seconds > 0 ? static_cast<double>(frames - oldest.frames) / seconds : 0;
  const double gained = fraction_ - oldest.fraction;
  progress.eta_s = gained > 0 && seconds > 0.5 ? (1 - fraction_) * seconds / gained : -1;
  return progress;
}

}  // namespace reelmend::run
