#include "pixel/motion_field.h"

#include <algorithm>
#include <functional>

namespace reelmend::pixel {
namespace {

std::int16_t Median(std::vector<std::int16_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

MotionField::MotionField(int width, int height)
    : columns_((width + kMotionBlock - 1) / kMotionBlock),
      rows_((height + kMotionBlock - 1) / kMotionBlock),
      blocks_(static_cast<std::size_t>(columns_) * rows_) {
  across_.reserve(blocks_.size());
  down_.reserve(blocks_.size());
}

void MotionField::Find(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, unsigned still_sad,
                       ThreadPool& pool) {
  const auto search = [&](int first, int last) {
    for (int row = first; row < last; ++row) {
      BlockMotion* blocks = &blocks_[static_cast<std::size_t>(row) * columns_];
      for (int i = 0; i < columns_; ++i) {
        const MotionVectors left = i == 0 ? MotionVectors{} : blocks[i - 1].vectors;
        blocks[i] = SearchMotion(now, older, count, i * kMotionBlock, row * kMotionBlock, left, still_sad);
      }
    }
  };
  pool.ParallelRows(rows_, 1, std::ref(search));
  const MotionVectors global = MedianVectors(count);
  if (global == MotionVectors{}) return;
  const auto add_errors = [&](int first, int last) {
    for (int row = first; row < last; ++row) {
      BlockMotion* blocks = &blocks_[static_cast<std::size_t>(row) * columns_];
      for (int i = 0; i < columns_; ++i) AddGlobalErrors(now.luma, older, i * kMotionBlock, row * kMotionBlock, global, blocks[i]);
    }
  };
  pool.ParallelRows(rows_, 1, std::ref(add_errors));
  FollowGlobal(global);
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
