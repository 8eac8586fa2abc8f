// A fixed set of threads that split one stage's rows among them.
#pragma once

#include <functional>
#include <memory>

namespace reelmend::pixel {

/// Threads for data-parallel loops over rows. One ParallelRows at a time per pool (the pipeline runs one
/// pixel stage at a time); the calling thread takes part.
class ThreadPool {
 public:
  /// `threads` ≥ 1 counts the caller; 1 runs everything inline.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Calls body(first, last) over [0, rows) in bands of at least `grain` rows, from several threads,
  /// and returns when all are done. Exceptions of a body are rethrown here.
  void ParallelRows(int rows, int grain, const std::function<void(int first, int last)>& body);

  /// Thread CPU seconds that the pool's own threads (not the caller) have used so far.
  double WorkerCpuSeconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reelmend::pixel
