#include "pixel/block_differences.h"

#include <algorithm>
#include <numeric>

#include "pixel/temporal_limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/block_differences.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_BLOCK_DIFFERENCES_TYPES
#define REELMEND_PIXEL_BLOCK_DIFFERENCES_TYPES
namespace reelmend::pixel {

struct DifferenceRows {
  const std::uint16_t* a;
  const std::uint16_t* b;
  std::ptrdiff_t a_stride;  ///< samples
  std::ptrdiff_t b_stride;
  int rows;
  int count;
  std::uint32_t* sums;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

/// |a − b| over the rows of a block row, column by column. The last vector overlaps the one before: what lies behind the last column may be
/// the next row, which another thread writes. Prefetches the next block row's samples: its rows are pages apart, which the
/// hardware does not anticipate.
void SumDifferences(const DifferenceRows& r) {
  const D16 d16;
  const hn::Rebind<uint32_t, D16> d32;
  const int lanes = FloatLanes();
  const int last = std::max(0, r.count - lanes);
  for (int next = 0; next < r.count; next += lanes) {
    const int x = std::min(next, last);
    auto sum = hn::Zero(d32);
    const uint16_t* a = r.a + x;
    const uint16_t* b = r.b + x;
    for (int y = 0; y < r.rows; ++y, a += r.a_stride, b += r.b_stride) {
      const auto u = hn::LoadU(d16, a);
      const auto v = hn::LoadU(d16, b);
      const auto difference = hn::Or(hn::SaturatedSub(u, v), hn::SaturatedSub(v, u));
      sum = hn::Add(sum, hn::PromoteTo(d32, difference));
      hwy::Prefetch(a + r.rows * r.a_stride);
      hwy::Prefetch(b + r.rows * r.b_stride);
    }
    hn::StoreU(sum, d32, r.sums + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {
HWY_EXPORT(SumDifferences);
}  // namespace

void SumBlockDifferences(ConstPlane a, ConstPlane b, int block, int left_out, std::uint32_t* columns, std::vector<std::uint32_t>& sums) {
  HWY_DYNAMIC_DISPATCH(SumDifferences)({a.data, b.data, a.stride, b.stride, a.height, a.width - left_out, columns});
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const int first = static_cast<int>(i) * block;
    sums[i] = std::accumulate(columns + first, columns + std::min(a.width, first + block) - left_out, 0U);
  }
}

void BlockTextures::Measure(ConstPlane block_row, int block, std::uint32_t* columns, std::vector<double>& textures) {
  const auto& [data, stride, width, height] = block_row;
  SumBlockDifferences(block_row, {data + 1, stride, width, height}, block, 1, columns, across_);
  SumBlockDifferences({data, stride, width, height - 1}, {data + stride, stride, width, height - 1}, block, 0, columns, down_);
  for (std::size_t i = 0; i < textures.size(); ++i) {
    textures[i] = TextureOf(across_[i], down_[i], std::min(block, width - static_cast<int>(i) * block), height);
  }
}

}  // namespace reelmend::pixel
#endif
