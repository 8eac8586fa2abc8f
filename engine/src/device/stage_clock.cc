#include "device/stage_clock.h"

#include <dirent.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <mutex>

namespace reelmend::device {
namespace {

double Seconds(clockid_t clock) {
  timespec time = {};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Sorted ids of this process's threads.
std::vector<int> ThreadIds() {
  std::vector<int> ids;
  DIR* directory = opendir("/proc/self/task");
  if (directory == nullptr) return ids;
  while (const dirent* entry = readdir(directory)) {
    if (const int id = std::atoi(entry->d_name); id > 0) ids.push_back(id);
  }
  closedir(directory);
  std::ranges::sort(ids);
  return ids;
}

/// Linux's clock id of a thread of this process: the inverted id above three bits that say "scheduler time of
/// one thread" (kernel: include/linux/posix-timers_types.h, CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED).
clockid_t ThreadClock(int thread_id) {
  return static_cast<clockid_t>((~static_cast<unsigned>(thread_id) << 3) | 4U | 2U);
}

std::mutex open_mutex;

constexpr std::array kNames = {"decode",   "deinterlace", "convert", "denoise", "network", "resize",
                               "faces",    "contrast", "sharpen",     "encode",  "mux"};
static_assert(kNames.size() == static_cast<std::size_t>(Stage::kCount));

}  // namespace

double ThreadCpuSeconds() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }

LibraryThreads::Guard::Guard(LibraryThreads& owner) : owner_(owner), lock_(open_mutex), before_(ThreadIds()) {}

LibraryThreads::Guard::~Guard() {
  const std::vector<int> after = ThreadIds();
  std::vector<int> appeared;
  std::ranges::set_difference(after, before_, std::back_inserter(appeared));
  for (const int id : appeared) owner_.threads_.push_back({id, 0});
}

double LibraryThreads::CpuSeconds() {
  double sum = 0;
  for (Watched& thread : threads_) {
    thread.cpu_seconds = std::max(thread.cpu_seconds, Seconds(ThreadClock(thread.id)));
    sum += thread.cpu_seconds;
  }
  return sum;
}

void StageClocks::Add(Stage stage, double cpu_seconds) { seconds_[static_cast<int>(stage)] += cpu_seconds; }

std::vector<StageTime> StageClocks::Report() const {
  std::vector<StageTime> report;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (const double seconds = seconds_[i]; seconds > 0) report.push_back({kNames[i], seconds});
  }
  return report;
}

}  // namespace reelmend::device
