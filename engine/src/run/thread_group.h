// Threads that end together.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace reelmend::run {

/// The threads of one job. The first exception of any of them stops the others and is rethrown by Join.
class ThreadGroup {
 public:
  explicit ThreadGroup(std::stop_source& stop) : stop_(stop) {}
  ~ThreadGroup() {
    stop_.request_stop();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  template <typename Work>
  void Start(Work work) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    threads_.emplace_back([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        Fail(std::current_exception());
      }
      const std::lock_guard lock(mutex_);
      --running_;
      changed_.notify_all();
    });
  }

  /// Keeps the first failure and stops everything.
  void Fail(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(failure);
    }
    stop_.request_stop();
  }

  /// Waits at most `time`. Returns true if all threads have ended.
  bool WaitFor(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return running_ == 0; });
  }

  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::stop_source& stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace reelmend::run
