// CPU seconds per stage.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "reelmend/enhance.h"

namespace reelmend::device {

/// CPU seconds that the calling thread has used.
double ThreadCpuSeconds();

/// Note [Threads of the libraries]
/// libav's decoders and x264 start their own threads inside avcodec_open2. This class attributes all threads that appear
/// in the process during that call to the codec, and reads their CPU time through Linux's per-thread clocks. A lock
/// serialises calls, so that two runs do not count each other's threads. If other code starts a thread during the call,
/// it is counted too; this only affects a statistic. Systems other than Linux report zero.
class LibraryThreads {
 public:
  /// Runs `open` and remembers the threads that it started.
  template <typename Open>
  auto Watch(const Open& open) {
    const Guard guard(*this);
    return open();
  }

  /// Adds the threads of another object.
  void Add(const LibraryThreads& other) { threads_.insert(threads_.end(), other.threads_.begin(), other.threads_.end()); }

  /// CPU seconds of the threads so far. Call it before the codec is closed. A thread that has ended counts with its value
  /// at the previous call. x264's lookahead thread ends during the drain, so call it before the drain as well.
  double CpuSeconds();

 private:
  class Guard {
   public:
    explicit Guard(LibraryThreads& owner);
    ~Guard();

   private:
    LibraryThreads& owner_;
    std::unique_lock<std::mutex> lock_;
    std::vector<int> before_;
  };
  struct Watched {
    int id = 0;
    double cpu_seconds = 0;  ///< at the last call of CpuSeconds
  };
  std::vector<Watched> threads_;
};

/// The stages that are timed, in pipeline order.
enum class Stage {
  kDecode,
  kDeinterlace,
  kConvert,
  kDenoise,
  kNetwork,
  kResize,
  kFaces,
  kContrast,
  kSharpen,
  kEncode,
  kMux,
  kCount
};

/// Adds up CPU time per stage. Each stage's own thread adds to it; read it when all threads are done.
class StageClocks {
 public:
  void Add(Stage stage, double cpu_seconds);
  /// Stages that took any time, in pipeline order.
  std::vector<StageTime> Report() const;

 private:
  std::atomic<double> seconds_[static_cast<int>(Stage::kCount)] = {};
};

/// Adds the CPU time that this thread uses in a scope to a stage.
class StageScope {
 public:
  StageScope(StageClocks& clocks, Stage stage) : clocks_(clocks), stage_(stage), start_(ThreadCpuSeconds()) {}
  ~StageScope() { clocks_.Add(stage_, ThreadCpuSeconds() - start_); }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  StageClocks& clocks_;
  Stage stage_;
  double start_;
};

}  // namespace reelmend::device
