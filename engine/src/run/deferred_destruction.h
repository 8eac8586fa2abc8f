// Destroys slow objects on another thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
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

  /// Releases `work` on another thread. If the system gives no thread, the caller's own reference destroys it, which takes longer.
  void Release(std::shared_ptr<void> work) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      Start(std::move(work));
    } catch (const std::exception&) {
    }
  }

 private:
  void Start(std::shared_ptr<void> work) {
    std::erase_if(waiting_, [](const std::future<void>& f) { return f.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    // Reserved before: a future that cannot be kept would wait for its thread, and that for the caller.
    waiting_.reserve(waiting_.size() + 1);
    // The caller still holds a reference. Waits for its release, so that the run is destroyed on this thread.
    waiting_.push_back(std::async(std::launch::async, [work = std::move(work)]() mutable {
      while (work.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      work.reset();
    }));
  }

  std::mutex mutex_;
  std::vector<std::future<void>> waiting_;  // the destructor of a std::async future waits for its thread
};

}  // namespace reelmend::run
