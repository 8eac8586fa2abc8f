// Progress, speed and remaining time of a job.
#pragma once

#include <chrono>
#include <deque>

#include "reelmend/enhance.h"

namespace reelmend::run {

/// Turns counts of frames and presentation time into Progress.
class ProgressMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// `total_s`: presentation time of the job, 0 if unknown.
  ProgressMeter(double total_s, Clock::time_point start) : total_s_(total_s), start_(start) {}

  /// `done_s` is the presentation time that has been encoded.
  Progress Update(std::int64_t frames, double done_s, Clock::time_point now);

 private:
  struct Sample {
    Clock::time_point when;
    std::int64_t frames;
    double fraction;
  };
  double total_s_;
  Clock::time_point start_;
  double fraction_ = 0;
  std::deque<Sample> recent_;  ///< of the last few seconds
};

}  // namespace reelmend::run
