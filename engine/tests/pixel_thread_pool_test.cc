#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "pixel/thread_pool.h"

namespace reelmend::pixel {
namespace {

TEST(ThreadPool, VisitsEveryRowOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int rows : {0, 1, 2, 7, 31, 540, 1081}) {
      for (const int grain : {0, 1, 16, 5000}) {
        std::vector<std::atomic<int>> visits(rows);
        pool.ParallelRows(rows, grain, [&](int first, int last) {
          EXPECT_LT(first, last);
          for (int y = first; y < last; ++y) ++visits[y];
        });
        for (int y = 0; y < rows; ++y)
          ASSERT_EQ(visits[y], 1) << threads << " threads, row " << y << " of " << rows;
      }
    }
  }
}

TEST(ThreadPool, BandsHaveAtLeastTheGrain) {
  ThreadPool pool(3);
  pool.ParallelRows(1000, 64, [&](int first, int last) { EXPECT_TRUE(last - first >= 64 || last == 1000); });
}

TEST(ThreadPool, RethrowsAndStaysUsable) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      EXPECT_THROW(pool.ParallelRows(100, 1,
                                     [](int first, int last) {
                                       if (first <= 60 && 60 < last) throw std::runtime_error("row 60");
                                     }),
                   std::runtime_error);
      std::atomic<int> rows{0};
      pool.ParallelRows(100, 1, [&](int first, int last) { rows += last - first; });
      EXPECT_EQ(rows, 100);
    }
  }
}

TEST(ThreadPool, ManyShortLoopsFinish) {
  ThreadPool pool(3);
  std::atomic<long> rows{0};
  for (int i = 0; i < 20000; ++i) pool.ParallelRows(6, 1, [&](int first, int last) { rows += last - first; });
  EXPECT_EQ(rows, 120000);
}

TEST(ThreadPool, CountsItsWorkersCpuTime) {
  ThreadPool alone(1);
  EXPECT_EQ(alone.WorkerCpuSeconds(), 0);
  ThreadPool pool(2);
  const double before = pool.WorkerCpuSeconds();
  std::atomic<unsigned> sink{0};
  // On a busy machine the caller may do nearly all rows itself, so there are many: a minute of them, if the worker gets none.
  for (int i = 0; i < 5000 && pool.WorkerCpuSeconds() < before + 0.002; ++i) {
    pool.ParallelRows(64, 1, [&](int first, int) {
      unsigned v = first;
      for (int k = 0; k < 200000; ++k) v = v * 1664525U + 1013904223U;
      sink += v;
    });
  }
  EXPECT_GE(pool.WorkerCpuSeconds(), before + 0.002);
}

}  // namespace
}  // namespace reelmend::pixel
