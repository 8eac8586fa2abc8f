// The motion of all blocks of a picture. Note [Motion search] and Note [Global motion] in motion_search.h; Note [Refined motion].
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "pixel/motion_search.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

/// The vectors of a picture's blocks of kMotionBlock samples, row by row.
struct SourceMotion {
  std::vector<MotionVectors> vectors;
  int columns = 0;
  int width = 0;  ///< of the picture
  int height = 0;
};

/// Note [Refined motion]
/// Vectors of a source have a precision of 1/16 of its samples, which is too coarse for the enlarged picture. There, each cell of
/// kRefinedCell × kRefinedCell samples begins with the vector of the source's block at its centre, and the third level of the motion
/// search fits it to the enlarged pictures, in the window in the middle of the cell. Then the global motion of the enlarged pictures is
/// found and followed as in a source.

/// The vectors of all cells: each cell's own, or the global motion. No more pictures influence them than those that are passed.
class MotionField {
 public:
  /// Of luma. `cell`: side of a cell; its block is in its middle.
  MotionField(int width, int height, int cell = kMotionBlock);

  /// Replaces the vectors. `older` holds one picture for each lag; only the first `count` exist. `still_sad`: see SearchMotion.
  void Find(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, unsigned still_sad,
            ThreadPool& pool);

  /// The same for an enlarged picture, from the vectors of its source. The means of the pictures are not used.
  void Refine(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, const SourceMotion& source,
              ThreadPool& pool);

  /// Writes the vectors of `count` lags; those of the others become 0.
  void CopyTo(SourceMotion& motion, int count) const;

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  /// Of the cells of a row, from left to right.
  const BlockMotion* Row(int row) const { return &blocks_[static_cast<std::size_t>(row) * columns_]; }

 private:
  /// The first sample of a cell's block. A block at the right or lower edge is moved inside.
  int BlockX(int column) const { return std::min(column * cell_ + (cell_ - kMotionBlock) / 2, width_ - kMotionBlock); }
  int BlockY(int row) const { return std::min(row * cell_ + (cell_ - kMotionBlock) / 2, height_ - kMotionBlock); }
  template <typename Visit>
  void ForEachRow(ThreadPool& pool, const Visit& visit);
  void FollowGlobalMotion(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, ThreadPool& pool);
  /// Candidates for the global motion; 0 for a lag that has none.
  MotionVectors MedianVectors(int count);
  /// Gives blocks the global motion, if enough of them vote for it.
  void FollowGlobal(const MotionVectors& global);

  int width_;
  int height_;
  int cell_;
  int columns_;
  int rows_;
  std::vector<BlockMotion> blocks_;
  std::vector<std::int16_t> across_;  ///< components, for the median
  std::vector<std::int16_t> down_;
};

}  // namespace reelmend::pixel
