#include "pixel/motion_field.h"

#include <algorithm>
#include <functional>

#include "pixel/subpixel_fit.h"

namespace reelmend::pixel {
namespace {

std::int16_t Median(std::vector<std::int16_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

MotionField::MotionField(int width, int height, int cell)
    : width_(width),
      height_(height),
      cell_(cell),
      columns_((width + cell - 1) / cell),
      rows_((height + cell - 1) / cell),
      blocks_(static_cast<std::size_t>(columns_) * rows_) {
  across_.reserve(blocks_.size());
  down_.reserve(blocks_.size());
}

/// Calls `visit` with the cells of each row and the row's number.
template <typename Visit>
void MotionField::ForEachRow(ThreadPool& pool, const Visit& visit) {
  const auto rows = [&](int first, int last) {
    for (int row = first; row < last; ++row) visit(&blocks_[static_cast<std::size_t>(row) * columns_], row);
  };
  pool.ParallelRows(rows_, 1, std::ref(rows));
}

void MotionField::Find(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, unsigned still_sad,
                       ThreadPool& pool) {
  ForEachRow(pool, [&](BlockMotion* blocks, int row) {
    for (int i = 0; i < columns_; ++i) {
      const MotionVectors left = i == 0 ? MotionVectors{} : blocks[i - 1].vectors;
      blocks[i] = SearchMotion(now, older, count, i * kMotionBlock, row * kMotionBlock, left, still_sad);
    }
  });
  FollowGlobalMotion(now, older, count, pool);
}

void MotionField::Refine(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count,
                         const SourceMotion& source, ThreadPool& pool) {
  ForEachRow(pool, [&](BlockMotion* blocks, int row) {
    const int y = BlockY(row);
    const std::ptrdiff_t source_row = SourceBlockOf(y + kMotionBlock / 2, height_, source.height);
    for (int i = 0; i < columns_; ++i) {
      const int x = BlockX(i);
      const MotionVectors& begin = source.vectors[source_row * source.columns + SourceBlockOf(x + kMotionBlock / 2, width_, source.width)];
      SubpixelFit fit(now.luma, x, y);
      blocks[i] = {};
      for (int step = 0; step < count; ++step) {
        const int dx = EnlargedInSamples(begin[step].x, width_, source.width);
        const int dy = EnlargedInSamples(begin[step].y, height_, source.height);
        blocks[i].vectors[step] = fit.Run(older[step].luma, dx, dy, blocks[i].errors[step]);
      }
    }
  });
  FollowGlobalMotion(now, older, count, pool);
}

void MotionField::FollowGlobalMotion(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count,
                                     ThreadPool& pool) {
  const MotionVectors global = MedianVectors(count);
  if (global == MotionVectors{}) return;
  ForEachRow(pool, [&](BlockMotion* blocks, int row) {
    for (int i = 0; i < columns_; ++i) AddGlobalErrors(now.luma, older, BlockX(i), BlockY(row), global, blocks[i]);
  });
  FollowGlobal(global);
}

void MotionField::CopyTo(SourceMotion& motion, int count) const {
  motion.columns = columns_;
  motion.width = width_;
  motion.height = height_;
  motion.vectors.resize(blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    MotionVectors& vectors = motion.vectors[i] = blocks_[i].vectors;
    std::fill(vectors.begin() + count, vectors.end(), MotionVector{});
  }
}

/// Of the vectors that are not 0; 0 for a lag at which too few blocks agree.
MotionVectors MotionField::MedianVectors(int count) {
  MotionVectors medians{};
  for (int step = 0; step < count; ++step) {
    across_.clear();
    down_.clear();
    for (const BlockMotion& block : blocks_) {
      const MotionVector vector = block.vectors[step];
      if (vector == MotionVector{}) continue;
      across_.push_back(vector.x);
      down_.push_back(vector.y);
    }
    if (across_.empty()) continue;
    const MotionVector median{Median(across_), Median(down_)};
    const auto agrees = [&](const BlockMotion& block) { return block.vectors[step] != MotionVector{} && IsNear(block.vectors[step], median); };
    const auto agreeing = static_cast<std::size_t>(std::ranges::count_if(blocks_, agrees));
    if (agreeing * kGlobalQuorum >= blocks_.size()) medians[step] = median;
  }
  return medians;
}

void MotionField::FollowGlobal(const MotionVectors& global) {
  for (int step = 0; step < kTemporalSteps; ++step) {
    if (global[step] == MotionVector{}) continue;
    int votes = 0;
    for (const BlockMotion& block : blocks_) votes += VoteOf(block.errors[step]);
    if (votes <= 0) continue;
    for (BlockMotion& block : blocks_) block.vectors[step] = ChosenVector(block.vectors[step], global[step], block.errors[step]);
  }
}

}  // namespace reelmend::pixel
