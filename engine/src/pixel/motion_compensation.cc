#include "pixel/motion_compensation.h"

#include "pixel/edge_patch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/motion_compensation.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_COMPENSATION_TYPES
#define REELMEND_PIXEL_COMPENSATION_TYPES
namespace reelmend::pixel {

struct InterpolationRows {
  const std::uint16_t* in;  ///< the area's first sample without the fraction of the vector
  std::ptrdiff_t in_stride;
  std::uint16_t* out;
  std::ptrdiff_t out_stride;
  int width;
  int height;
  int phase_x;
  int phase_y;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void Interpolate(const InterpolationRows& r) {
  const DF d;
  const int lanes = FloatLanes();
  HWY_ALIGN float rows[(kMotionBlock + kMotionTaps - 1) * kMotionBlock];
  for (int x = 0; x < r.width; x += lanes) {
    const std::uint16_t* in = r.in - r.in_stride + x;
    for (int y = 0; y < r.height + kMotionTaps - 1; ++y, in += r.in_stride) {
      VF sum = hn::Mul(LoadSamples(in - 1), hn::Set(d, MotionWeight(r.phase_x, 0)));
      for (int k = 1; k < kMotionTaps; ++k) sum = hn::MulAdd(LoadSamples(in + k - 1), hn::Set(d, MotionWeight(r.phase_x, k)), sum);
      hn::StoreU(sum, d, rows + y * kMotionBlock);
    }
    for (int y = 0; y < r.height; ++y) {
      const float* row = rows + y * kMotionBlock;
      VF sum = hn::Mul(hn::LoadU(d, row), hn::Set(d, MotionWeight(r.phase_y, 0)));
      for (int k = 1; k < kMotionTaps; ++k) {
        sum = hn::MulAdd(hn::LoadU(d, row + k * kMotionBlock), hn::Set(d, MotionWeight(r.phase_y, k)), sum);
      }
      StoreSamples(sum, r.out + y * r.out_stride + x);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {

HWY_EXPORT(Interpolate);

void CompensateBlock(ConstPlane older, const BlockArea& area, MotionVector vector, Subsampling subsampling, std::uint16_t* out,
                     std::ptrdiff_t out_stride) {
  const InterpolationOffset offset = InterpolationOffsetOf(vector, subsampling.log2_x, subsampling.log2_y);
  const int x = area.x + offset.x;
  const int y = area.y + offset.y;
  InterpolationRows rows{nullptr, older.stride, out, out_stride, area.width, area.height, offset.phase_x, offset.phase_y};
  constexpr int kMost = kMotionBlock + kMotionTaps - 1;
  // Whole SIMD vectors are read: up to a block's width, and the taps beyond it.
  const bool is_inside = x >= 1 && y >= 1 && x + kMotionBlock + 2 <= older.width && y + area.height + 2 <= older.height;
  if (is_inside) {
    rows.in = older.Row(y) + x;
    return HWY_DYNAMIC_DISPATCH(Interpolate)(rows);
  }
  using Around = EdgePatch<kMost>;
  const Around patch(older, x - 1, y - 1, area.width + kMotionTaps - 1, area.height + kMotionTaps - 1);
  rows.in = patch.samples + Around::kStride + 1;
  rows.in_stride = Around::kStride;
  HWY_DYNAMIC_DISPATCH(Interpolate)(rows);
}

}  // namespace reelmend::pixel
#endif
