// The motion of all blocks of a picture. Note [Motion search] and Note [Global motion] in motion_search.h.
#pragma once

#include <array>
#include <vector>

#include "pixel/motion_search.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

/// The vectors of all blocks: each block's own, or the global motion. No more pictures influence them than those that are passed.
class MotionField {
 public:
  /// Of luma.
  MotionField(int width, int height);

  /// Replaces the vectors. `older` holds one picture for each lag; only the first `count` exist. `still_sad`: see SearchMotion.
  void Find(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, unsigned still_sad,
            ThreadPool& pool);

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  /// Of the blocks of a row, from left to right.
  const BlockMotion* Row(int row) const { return &blocks_[static_cast<std::size_t>(row) * columns_]; }

 private:
  /// Candidates for the global motion; 0 for a lag that has none.
  MotionVectors MedianVectors(int count);
  /// Gives blocks the global motion, if enough of them vote for it.
  void FollowGlobal(const MotionVectors& global);

  int columns_;
  int rows_;
  std::vector<BlockMotion> blocks_;
  std::vector<std::int16_t> across_;  ///< components, for the median
  std::vector<std::int16_t> down_;
};

}  // namespace reelmend::pixel
