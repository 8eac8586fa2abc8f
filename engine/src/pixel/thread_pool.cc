#include "pixel/thread_pool.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace reelmend::pixel {
namespace {

/// More bands than threads, so that a thread held up by the encoder's threads does not hold up the stage.
constexpr int kBandsPerThread = 4;

using Body = std::function<void(int, int)>;

/// The rows of one loop, handed out band by band.
struct Loop {
  const Body* body = nullptr;
  int rows = 0;
  int band = 0;
  std::atomic<int> next{0};

  void Work() {
    for (;;) {
      const int first = next.fetch_add(band, std::memory_order_relaxed);
      if (first >= rows) return;
      (*body)(first, std::min(rows, first + band));
    }
  }

  /// Makes the remaining bands unavailable after a failure.
  void Abandon() { next.store(rows, std::memory_order_relaxed); }
};

}  // namespace

struct ThreadPool::Impl {
  std::mutex run_mutex;  // one loop at a time, even if callers break that rule
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable idle;
  Loop* loop = nullptr;  // set while bands may remain
  unsigned generation = 0;
  int active = 0;  // workers inside the loop
  bool stopping = false;
  std::exception_ptr failure;
  std::vector<std::thread> workers;

  void RunLoop(Loop& work) {
    try {
      work.Work();
    } catch (...) {
      work.Abandon();
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void WorkerMain() {
    unsigned seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stopping || (loop != nullptr && generation != seen); });
      if (stopping) return;
      seen = generation;
      Loop& work = *loop;
      ++active;
      lock.unlock();
      RunLoop(work);
      lock.lock();
      if (--active == 0) idle.notify_one();
    }
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  try {
    for (int i = 1; i < threads; ++i)
      impl_->workers.emplace_back([impl = impl_.get()] { impl->WorkerMain(); });
  } catch (...) {
    impl_->Stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { impl_->Stop(); }

int ThreadPool::threads() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::ParallelRows(int rows, int grain, const std::function<void(int, int)>& body) {
  if (rows <= 0) return;
  const int count = threads();
  grain = std::max(grain, 1);
  if (count == 1 || rows <= grain) {
    body(0, rows);
    return;
  }
  const std::lock_guard run_lock(impl_->run_mutex);
  const int bands = count * kBandsPerThread;
  Loop work;
  work.body = &body;
  work.rows = rows;
  work.band = std::max(grain, (rows + bands - 1) / bands);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->loop = &work;
    ++impl_->generation;
  }
  impl_->wake.notify_all();
  impl_->RunLoop(work);
  std::unique_lock lock(impl_->mutex);
  impl_->loop = nullptr;  // workers that wake up from here on find nothing and are not waited for
  impl_->idle.wait(lock, [&] { return impl_->active == 0; });
  if (impl_->failure) std::rethrow_exception(std::exchange(impl_->failure, nullptr));
}

double ThreadPool::WorkerCpuSeconds() const {
  double total = 0;
  for (std::thread& worker : impl_->workers) {
    clockid_t clock;
    timespec time{};
    if (pthread_getcpuclockid(worker.native_handle(), &clock) == 0 && clock_gettime(clock, &time) == 0) {
      total += static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
  }
  return total;
}

}  // namespace reelmend::pixel
