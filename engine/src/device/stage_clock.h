// CPU seconds per stage.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "reelmend/enhance.h"

namespace reelmend::device {

/// CPU seconds that the calling thread has used.
double ThreadCpuSeconds();

/// Note [Threads of the libraries]
/// libav's decoders and x264 start their own threads inside avcodec_open2. Thread ids that appear in this process
/// during the call are taken as the codec's, and their CPU clocks are read through Linux's per-thread clock ids. A
/// lock serialises engines that open codecs at once. A thread that something else starts at that moment is counted
/// wrongly, which only affects a statistic. Other systems than Linux count these threads as zero.
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

  /// CPU seconds of the threads so far; call it before the codec is closed. A thread that has ended counts with its
  /// value of the last call. x264's lookahead ends while draining, so call it before that too.
  double CpuSeconds();

 private:
  class Guard {
   public:
    explicit Guard(LibraryThreads& owner);
    ~Guard();

   private:
    LibraryThreads& owner_;
    std::vector<int> before_;
  };
  struct Watched {
    int id = 0;
    double cpu_seconds = 0;  ///< at the last look
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

/// Adds up CPU time per stage; written by the stage's own thread, read when all are done.
class StageClocks {
 public:
  void Add(Stage stage, double cpu_seconds);
  /// Stages that took any time, in pipeline order.
  std::vector<StageTime> Report() const;

 private:
  std::atomic<double> seconds_[static_cast<int>(Stage::kCount)] = {};
};

/// Charges the CPU time of a scope on this thread to a stage.
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
