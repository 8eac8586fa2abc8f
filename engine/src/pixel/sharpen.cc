// Sharpener: contrast-adaptive sharpening of luma.
//
// Note [Method]
// After T. Lottes and AMD, FidelityFX Contrast Adaptive Sharpening (2019), on the plus-shaped neighbourhood:
// a negative lobe w on the four neighbours, strong where the neighbourhood's range is far from black and
// white and weak where it already spans them: w = −strength/5 × √(min(min, 1 − max) / max). The result is
// kept inside the neighbourhood's range, so an edge gets steeper and never gets a halo.
#include <functional>

#include "reelmend/error.h"
#include "pixel/row_ring.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/sharpen.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_SHARPEN_TYPES
#define REELMEND_PIXEL_SHARPEN_TYPES
namespace reelmend::pixel {

struct SharpenRow {
  const std::uint16_t* above;
  const std::uint16_t* row;
  const std::uint16_t* below;
  std::uint16_t* out;
  int count;
  std::uint16_t black;  ///< working units
  std::uint16_t white;
  float lobe;  ///< strength / 5
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

// Processors' estimates differ, so each gets one Newton step.

/// 1/√x
HWY_INLINE VF InverseSqrt(VF x) {
  const DF d;
  const VF y = hn::ApproximateReciprocalSqrt(x);
  const VF half_xyy = hn::Mul(hn::Mul(hn::Set(d, 0.5F), x), hn::Mul(y, y));
  return hn::Mul(y, hn::Sub(hn::Set(d, 1.5F), half_xyy));
}

/// a / x
HWY_INLINE VF Quotient(VF a, VF x) {
  const VF y = hn::ApproximateReciprocal(x);
  return hn::Mul(a, hn::Mul(y, hn::NegMulAdd(x, y, hn::Set(DF(), 2.0F))));
}

using DW = hn::CappedTag<uint16_t, 32>;
using VW = hn::Vec<DW>;
using VHalf = hn::Vec<D16>;

/// The float part, for half a vector of samples. `mean` is that of the four neighbours; `room` the smaller distance to black
/// and white, `above_black` the brightest sample's distance to black.
HWY_INLINE VHalf SharpenHalf(VHalf middle, VHalf mean, VHalf room, VHalf above_black, VF lobe) {
  const DF d;
  const VF one = hn::Set(d, 1.0F);
  const VF space = ToFloat(room);
  const VF amplitude = hn::Mul(space, InverseSqrt(hn::Max(one, hn::Mul(space, ToFloat(above_black)))));
  const VF w4 = hn::Mul(lobe, amplitude);  // weight of the four neighbours together
  return ToSamples(Quotient(hn::MulAdd(w4, ToFloat(mean), ToFloat(middle)), hn::Add(w4, one)));
}

/// The part that is exact in 16 bits, on twice as many samples at a time.
HWY_INLINE void SharpenStep(const SharpenRow& r, int x, VF lobe) {
  const DW d;
  const VW up = hn::LoadU(d, r.above + x);
  const VW left = hn::LoadU(d, r.row + x - 1);
  const VW middle = hn::LoadU(d, r.row + x);
  const VW right = hn::LoadU(d, r.row + x + 1);
  const VW down = hn::LoadU(d, r.below + x);
  const VW low = hn::Min(hn::Min(hn::Min(up, down), hn::Min(left, right)), middle);
  const VW high = hn::Max(hn::Max(hn::Max(up, down), hn::Max(left, right)), middle);
  const VW mean = hn::AverageRound(hn::AverageRound(up, down), hn::AverageRound(left, right));
  const VW black = hn::Set(d, r.black);
  const VW room = hn::Min(hn::SaturatedSub(low, black), hn::SaturatedSub(hn::Set(d, r.white), high));
  const VW above_black = hn::SaturatedSub(high, black);
#if HWY_TARGET == HWY_SCALAR
  const VW sharp = SharpenHalf(middle, mean, room, above_black, lobe);
#else
  const hn::Half<DW> dh;
  const auto lower = SharpenHalf(hn::LowerHalf(dh, middle), hn::LowerHalf(dh, mean), hn::LowerHalf(dh, room),
                                 hn::LowerHalf(dh, above_black), lobe);
  const auto upper = SharpenHalf(hn::UpperHalf(dh, middle), hn::UpperHalf(dh, mean), hn::UpperHalf(dh, room),
                                 hn::UpperHalf(dh, above_black), lobe);
  const VW sharp = hn::Combine(d, upper, lower);
#endif
  hn::StoreU(hn::Min(hn::Max(sharp, low), high), d, r.out + x);
}

void Sharpen(const SharpenRow& r) {
  const VF lobe = hn::Set(DF(), -4.0F * r.lobe);
  const int lanes = static_cast<int>(hn::Lanes(DW()));
  for (int x = 0; x < r.count; x += lanes) SharpenStep(r, x, lobe);
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(Sharpen);

constexpr int kGrainRows = 32;

}  // namespace

struct Sharpener::Impl {
  int width;
  int height;
  ScratchPool<RowRing<std::uint16_t>> rings;
};

Sharpener::Sharpener(int width, int height) : impl_(std::make_unique<Impl>()) {
  impl_->width = width;
  impl_->height = height;
}

Sharpener::~Sharpener() = default;

void Sharpener::Run(const Image& in, Image& out, float strength, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (in.width() != impl.width || in.height() != impl.height || out.width() != impl.width ||
      out.height() != impl.height || in.subsampling() != out.subsampling()) {
    throw Error(ErrorCode::kInternal,
                "A picture does not have the size that the sharpening was planned for.");
  }
  const bool limited = in.color().range == Range::kLimited;
  const std::uint16_t black = limited ? 16 * kUnitsPer8BitLevel : 0;
  const std::uint16_t white = (limited ? 235 : 255) * kUnitsPer8BitLevel;
  impl.rings.Prepare(pool.threads(),
                     [&] { return std::make_unique<RowRing<std::uint16_t>>(impl.width, 1, CopySamples); });
  const auto rows = [&](int plane, int first, int last) {
    const ConstPlane from = in.plane(plane);
    const Plane to = out.plane(plane);
    if (plane > 0 || strength <= 0) return CopyRows(from, to, first, last);
    const auto ring = impl.rings.Borrow();
    ring->Start(from, first);
    for (int y = first; y < last; ++y) {
      ring->Advance(y);
      HWY_DYNAMIC_DISPATCH(Sharpen)
      ({ring->Row(y - 1), ring->Row(y), ring->Row(y + 1), to.Row(y), from.width, black, white, strength / 5});
    }
  };
  ParallelPlaneRows(out, kGrainRows, pool, rows);
  out.set_color(in.color());
}

}  // namespace reelmend::pixel
#endif
