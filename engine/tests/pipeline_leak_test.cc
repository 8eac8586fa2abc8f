// Many jobs in one process: memory, files and threads must be released.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "helpers/clips.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::PlainOptions;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

double ResidentMb() {
  malloc_trim(0);  // returns free memory to the system, so that the allocator's caches do not count
  std::ifstream file("/proc/self/statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::ptrdiff_t CountEntries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

TEST(Leaks, TwoHundredJobsInOneProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "Sanitizers keep freed memory.";
#endif
  const TemporaryFolder folder;
  std::ofstream(folder.File("cues.srt")) << "1\n00:00:00,100 --> 00:00:00,200\nwords\n\n";
  const std::string good = folder.File("good.mkv");
  Ffmpeg(VideoInput("96x64", 0.4) + " " + ToneInput(0.4) + " -i " + folder.File("cues.srt") +
         " -map 0 -map 1 -map 1 -map 2 -c:v libx264 -pix_fmt yuv420p -c:a:0 aac -c:a:1 libvorbis " + good);
  const std::string bad = folder.File("bad.mkv");
  std::filesystem::copy_file(good, bad);
  std::filesystem::resize_file(bad, std::filesystem::file_size(bad) / 2);
  const auto work = [&](int number) {
    EnhanceOptions options = PlainOptions();
    options.denoise = options.sharpen = options.adaptive_contrast = {Strength::Mode::kFixed, 0.5F};
    EnhanceCallbacks callbacks;
    if (number % 5 == 4) callbacks.is_cancelled = [calls = 0]() mutable { return ++calls > 8; };
    try {
      Enhance(number % 5 == 3 ? bad : good, folder.File("out.mp4"), options, callbacks);
    } catch (const Error&) {  // two of five jobs fail on purpose
    }
  };
  constexpr int kWarmUp = 50;
  for (int i = 0; i < kWarmUp; ++i) work(i);
  // Cancelled jobs are still being destroyed; on a busy machine this takes longer.
  auto threads = CountEntries("/proc/self/task");
  for (decltype(threads) before = threads + 1; threads < before;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    before = std::exchange(threads, CountEntries("/proc/self/task"));
  }
  const double memory_mb = ResidentMb();
  const auto files = CountEntries("/proc/self/fd");
  for (int i = 0; i < 200; ++i) work(i);
  // Waits until their threads have ended.
  for (int i = 0; i < 100 && CountEntries("/proc/self/task") > threads; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double growth_mb = ResidentMb() - memory_mb;
  std::printf("resident memory: %.1f MB after %d jobs, %+.2f MB after 200 more\n", memory_mb, kWarmUp, growth_mb);
  EXPECT_LT(growth_mb, 3.0);
  EXPECT_EQ(CountEntries("/proc/self/fd"), files);
  EXPECT_EQ(CountEntries("/proc/self/task"), threads);
}

}  // namespace
}  // namespace reelmend
