// Progress reports: how often they come, and the remaining time that they state.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <string>
#include <vector>

#include "helpers/clip_test.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::PlainOptions;
using testing::VideoInput;

using ProgressTest = testing::ClipTest;

/// Checks the progress reports of one run. Returns the shortest time between two reports, without the last report, which is sent
/// at the end of the job.
std::chrono::steady_clock::duration ShortestPause(const std::string& source, const std::string& output,
                                                  const EnhanceOptions& options) {
  std::vector<Progress> reports;
  std::vector<std::chrono::steady_clock::time_point> times;
  EnhanceCallbacks callbacks;
  callbacks.on_progress = [&](const Progress& progress) {
    reports.push_back(progress);
    times.push_back(std::chrono::steady_clock::now());
  };
  const EnhanceResult result = Enhance(source, output, options, callbacks);
  EXPECT_GE(reports.size(), 3U);
  auto shortest = std::chrono::steady_clock::duration::max();
  for (std::size_t i = 1; i < reports.size(); ++i) {
    EXPECT_GE(reports[i].fraction, reports[i - 1].fraction);
    EXPECT_GE(reports[i].frames_done, reports[i - 1].frames_done);
    if (i + 1 < reports.size()) shortest = std::min(shortest, times[i] - times[i - 1]);
  }
  EXPECT_EQ(reports.back().fraction, 1);
  EXPECT_EQ(reports.back().frames_done, result.frames);
  EXPECT_GT(reports[reports.size() / 2].fraction, 0);
  // At most ten reports per second, plus the last one.
  const double seconds = std::chrono::duration<double>(times.back() - times.front()).count();
  EXPECT_LE(static_cast<double>(reports.size()), 10 * seconds + 2.5);
  return shortest;
}

TEST_F(ProgressTest, TellsItsProgress) {
  const std::string source = Clip("clip.mp4", VideoInput("640x360", 6) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p");
  EnhanceOptions options = PlainOptions();
  options.target = Target::k1080p;
  auto longest = std::chrono::steady_clock::duration::zero();
  // The scheduler also affects the times between reports, so take the best of three runs.
  for (int i = 0; i < 3 && longest <= std::chrono::milliseconds(90); ++i) {
    longest = std::max(longest, ShortestPause(source, output_, options));
  }
  EXPECT_GT(longest, std::chrono::milliseconds(90));
}

/// Processor time of this process, in seconds. Unlike elapsed time, other work on the machine hardly changes it.
double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Report {
  Progress progress;
  double elapsed_s;    ///< since the call
  double processor_s;  ///< since the first report
};

/// The reports of a job of fifteen seconds of video with the service's default encoder, which looks ahead at the start and drains at the end.
std::vector<Report> Reports(const std::string& source, const std::string& output) {
  EnhanceOptions options = PlainOptions();
  options.target = Target::k1080p;
  options.encoder = {};
  std::vector<Report> reports;
  double first_s = 0;
  EnhanceCallbacks callbacks;
  const auto called = std::chrono::steady_clock::now();
  callbacks.on_progress = [&](const Progress& progress) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - called;
    if (reports.empty()) first_s = ProcessorSeconds();
    reports.push_back({progress, elapsed.count(), ProcessorSeconds() - first_s});
  };
  Enhance(source, output, options, callbacks);
  return reports;
}

/// The time left is the time so far, extrapolated. The engine counts from between the call and the first report until between the last
/// report and this one. After ten seconds it takes only the last ones.
void ExpectTimeLeft(const std::vector<Report>& reports) {
  for (std::size_t i = 1; i < reports.size() && reports[i].elapsed_s < 10; ++i) {
    const Progress& progress = reports[i].progress;
    const double least_s = reports[i - 1].elapsed_s - reports[0].elapsed_s;
    if (progress.fraction == 0 || least_s <= 0.5) continue;
    const double left_for_each = (1 - progress.fraction) / progress.fraction;
    EXPECT_GE(progress.eta_s, least_s * left_for_each) << progress.fraction;
    EXPECT_LE(progress.eta_s, reports[i].elapsed_s * left_for_each) << progress.fraction;
  }
}

/// Processor time until this share was done, between the reports before and after it.
double ProcessorSecondsAt(const std::vector<Report>& reports, double share) {
  const auto after = std::ranges::find_if(reports, [&](const Report& report) { return report.progress.fraction >= share; });
  if (after == reports.begin()) return 0;
  if (after == reports.end()) return reports.back().processor_s;
  const auto before = std::prev(after);
  const double part = (share - before->progress.fraction) / (after->progress.fraction - before->progress.fraction);
  return std::lerp(before->processor_s, after->processor_s, part);
}

constexpr int kSteps = 50;

/// Processor time until each fiftieth of the work was done. Each fiftieth counts with the shorter time of two runs: a machine that is slower for
/// a while only ever adds time.
std::vector<double> WorkDone(const std::vector<Report>& one, const std::vector<Report>& other) {
  std::vector<double> done = {0};
  const auto took = [](const std::vector<Report>& reports, int step) {
    return ProcessorSecondsAt(reports, (step + 1.0) / kSteps) - ProcessorSecondsAt(reports, 1.0 * step / kSteps);
  };
  for (int step = 0; step < kSteps; ++step) done.push_back(done.back() + std::min(took(one, step), took(other, step)));
  return done;
}

/// Such an estimate assumes that the share that is done rises evenly with the work. Measured in processor time, at least four fifths
/// of those between a tenth and nine tenths of the work lie within 30 %.
TEST_F(ProgressTest, TellsTheTimeLeft) {
  const std::string clip = Clip("clip.mp4", VideoInput("640x360", 15) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p");
  const std::vector<Report> one = Reports(clip, output_);
  const std::vector<Report> other = Reports(clip, output_);
  const std::vector<double> done = WorkDone(one, other);
  int count = 0;
  int good = 0;
  std::string list;
  for (int step = kSteps / 10; step <= kSteps * 9 / 10; ++step) {
    const double share = 1.0 * step / kSteps;
    const double left_s = done.back() - done[step];
    const double estimate_s = done[step] * (1 - share) / share;
    ++count;
    if (std::abs(estimate_s - left_s) <= 0.3 * left_s) ++good;
    list += std::to_string(share) + ": estimated " + std::to_string(estimate_s) + " s, actual " + std::to_string(left_s) + " s\n";
  }
  EXPECT_GE(good, 0.8 * count) << list;
  for (const auto& reports : {one, other}) {
    EXPECT_GT(reports.size(), 3U);
    ExpectTimeLeft(reports);
  }
}

}  // namespace
}  // namespace reelmend
