// Global motion: Note [Global motion] in pixel/motion_search.h. The results equal those of the CPU.
#pragma once

#include "cuda/launch.h"
#include "cuda/motion_kernels.h"
#include "cuda/time_kernels.h"
#include "pixel/motion_vector.h"

namespace reelmend::cuda {

/// Finds the global motion of a step. One tile a step.
struct GlobalMotionKernel {
  static constexpr int kThreads = 256;
  struct Shared {
    int count;
    int rank;  ///< of the median among the moving blocks
    int low;   ///< bounds of the median
    int high;
    pixel::MotionVector median;
  };

  MotionField field;

  REELMEND_HD void operator()(auto& block, Shared& s, int step, int, int) const {
    Count(block, s, step, [](pixel::MotionVector) { return true; });
    block.Each([&](int thread) {
      if (thread == 0) s.rank = s.count / 2;
    });
    FindMedian(block, s, step, [](pixel::MotionVector vector) { return vector.x; });
    block.Each([&](int thread) {
      if (thread == 0) s.median.x = static_cast<std::int16_t>(s.low);
    });
    FindMedian(block, s, step, [](pixel::MotionVector vector) { return vector.y; });
    block.Each([&](int thread) {
      if (thread == 0) s.median.y = static_cast<std::int16_t>(s.low);
    });
    Count(block, s, step, [&](pixel::MotionVector vector) { return pixel::IsNear(vector, s.median); });
    block.Each([&](int thread) {
      if (thread != 0) return;
      const bool agrees = s.count > 0 && s.count * pixel::kGlobalQuorum >= field.columns * field.rows;
      field.global[step] = agrees ? s.median : pixel::MotionVector{};
    });
  }

 private:
  /// Sets s.count to the number of moving blocks whose vector fulfils a condition.
  template <typename Condition>
  REELMEND_HD void Count(auto& block, Shared& s, int step, const Condition& condition) const {
    block.Each([&](int thread) {
      if (thread == 0) s.count = 0;
    });
    block.Each([&](int thread) {
      int count = 0;
      for (int i = thread; i < field.columns * field.rows; i += kThreads) {
        const pixel::MotionVector vector = field.vectors[i * pixel::kTemporalSteps + step];
        if (!(vector == pixel::MotionVector{}) && condition(vector)) ++count;
      }
      block.Add(s.count, count);
    });
  }

  /// Leaves in s.low the component that s.rank others do not exceed. Halves the range of its values until one is left.
  template <typename Component>
  REELMEND_HD void FindMedian(auto& block, Shared& s, int step, const Component& component) const {
    block.Each([&](int thread) {
      if (thread != 0) return;
      s.low = -(1 << 15);
      s.high = (1 << 15) - 1;
    });
    for (int i = 0; i < 16; ++i) {
      Count(block, s, step, [&](pixel::MotionVector vector) { return component(vector) <= (s.low + s.high) >> 1; });
      block.Each([&](int thread) {
        if (thread != 0) return;
        const int middle = (s.low + s.high) >> 1;
        (s.count > s.rank ? s.high : s.low) = s.count > s.rank ? middle : middle + 1;
      });
    }
  }
};

/// Sets the errors of a block along the global motion, and those still unknown. A tile is one of the search, MotionKernel or RefineKernel.
template <typename Search>
struct GlobalErrorKernel {
  static constexpr int kThreads = Search::kThreads;
  using Shared = MotionFit::Shared;

  Search search;

  REELMEND_HD void operator()(auto& block, Shared& s, int tile_x, int tile_y, int) const {
    const MotionField& field = search.field;
    if (!MovesAtAll(field)) return;
    const MotionFit::Point at = search.BlockAt(tile_x, tile_y);
    search.LoadWindow(block, s, at);
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      pixel::MotionErrors& errors = field.errors[field.Index(tile_x, tile_y) + step];
      if (field.global[step] == pixel::MotionVector{} || errors.none == 0) continue;
      const bool is_unknown = errors.none == pixel::kUnknownError;
      const Plane& older = search.Older(step);
      block.Each([&](int thread) {
        if (thread == 0) s.is_done = 0;
      });
      search.SumFit(block, s, at, older, field.global[step]);
      block.Each([&](int thread) {
        if (thread == 0) errors.global = s.sums.error;
      });
      if (!is_unknown) continue;
      search.SumFit(block, s, at, older, {});
      block.Each([&](int thread) {
        if (thread == 0) errors.found = errors.none = s.sums.error;
      });
    }
  }

 private:
  REELMEND_HD static bool MovesAtAll(const MotionField& field) {
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      if (!(field.global[step] == pixel::MotionVector{})) return true;
    }
    return false;
  }
};

/// Gives blocks the global motion, if enough of them vote for it. One tile a step.
struct FollowGlobalKernel {
  static constexpr int kThreads = 256;
  struct Shared {
    int votes;
  };

  MotionField field;

  REELMEND_HD void operator()(auto& block, Shared& s, int step, int, int) const {
    const pixel::MotionVector global = field.global[step];
    if (global == pixel::MotionVector{}) return;
    block.Each([&](int thread) {
      if (thread == 0) s.votes = 0;
    });
    block.Each([&](int thread) {
      int votes = 0;
      ForEach(thread, step, [&](int i) { votes += pixel::VoteOf(field.errors[i]); });
      block.Add(s.votes, votes);
    });
    block.Each([&](int thread) {
      if (s.votes <= 0) return;
      ForEach(thread, step, [&](int i) { field.vectors[i] = pixel::ChosenVector(field.vectors[i], global, field.errors[i]); });
    });
  }

 private:
  /// Calls `visit` with the index of the step's motion in every block that belongs to a thread.
  template <typename Visit>
  REELMEND_HD void ForEach(int thread, int step, const Visit& visit) const {
    for (int i = thread; i < field.columns * field.rows; i += kThreads) visit(i * pixel::kTemporalSteps + step);
  }
};

}  // namespace reelmend::cuda
