// Destroys slow objects on another thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace reelmend::run {

/// Note [Cancelling]
/// Libraries cannot be stopped within a frame: at 4K, x264 and a frame-threaded decoder take some tenths of a second. A
/// cancelled call does not wait for them. It removes the output and returns, and another thread destroys the run. The
/// program waits for these threads before it exits.
class DeferredDestruction {
 public:
  static DeferredDestruction& Instance() {
    static DeferredDestruction instance;
    return instance;
  }

  /// Releases `work` on another thread.
  void Release(std::shared_ptr<void> work) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [](const std::future<void>& f) { return f.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    // The caller still holds a reference. Waits for its release, so that the run is destroyed on this thread.
    waiting_.push_back(std::async(std::launch::async, [work = std::move(work)]() mutable {
      while (work.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      work.reset();
    }));
  }

 private:
  std::mutex mutex_;
  std::vector<std::future<void>> waiting_;  // the destructor of a std::async future waits for its thread
};

}  // namespace reelmend::run
