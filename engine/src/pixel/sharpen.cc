// Sharpener: contrast-adaptive sharpening of luma.
//
// Note [Method]
// After T. Lottes and AMD, FidelityFX Contrast Adaptive Sharpening (2019), on the plus-shaped neighbourhood:
// a negative lobe w on the four neighbours, strong where the neighbourhood's range is far from black and
// white and weak where it already spans them: w = −strength/5 × √(min(min, 1 − max) / max). The result is
// kept inside the neighbourhood's range, so an edge gets steeper and never gets a halo.
#include <functional>

#include "framelift/error.h"
#include "pixel/row_ring.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/sharpen.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef FRAMELIFT_PIXEL_SHARPEN_TYPES
#define FRAMELIFT_PIXEL_SHARPEN_TYPES
namespace framelift::pixel {

struct SharpenRow {
  const std::uint16_t* above;
  const std::uint16_t* row;
  const std::uint16_t* below;
  std::uint16_t* out;
  int count;
  float black;  ///< working units
  float span;   ///< white − black
  float lobe;   ///< strength / 5
};

}  // namespace framelift::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace framelift::pixel {
namespace HWY_NAMESPACE {

/// 1/√x with one Newton step: the estimate alone differs between processors.
HWY_INLINE VF InverseSqrt(VF x) {
  const DF d;
  const VF y = hn::ApproximateReciprocalSqrt(x);
  const VF half_xyy = hn::Mul(hn::Mul(hn::Set(d, 0.5F), x), hn::Mul(y, y));
  return hn::Mul(y, hn::Sub(hn::Set(d, 1.5F), half_xyy));
}

void Sharpen(const SharpenRow& r) {
  const DF d;
  const D16 d16;
  const VF zero = hn::Zero(d);
  const VF black = hn::Set(d, r.black);
  const VF span = hn::Set(d, r.span);
  const VF one = hn::Set(d, 1.0F);
  const VF lobe = hn::Set(d, -r.lobe);
  const int lanes = FloatLanes();
  for (int x = 0; x < r.count; x += lanes) {
    const auto up = hn::LoadU(d16, r.above + x);
    const auto left = hn::LoadU(d16, r.row + x - 1);
    const auto middle = hn::LoadU(d16, r.row + x);
    const auto right = hn::LoadU(d16, r.row + x + 1);
    const auto down = hn::LoadU(d16, r.below + x);
    const auto low16 = hn::Min(hn::Min(hn::Min(up, down), hn::Min(left, right)), middle);
    const auto high16 = hn::Max(hn::Max(hn::Max(up, down), hn::Max(left, right)), middle);
    const VF low = ToFloat(low16);
    const VF high = ToFloat(high16);
    const VF ring = hn::Add(hn::Add(ToFloat(up), ToFloat(down)), hn::Add(ToFloat(left), ToFloat(right)));
    // Distances to black and white in working units; the ratio has no unit.
    const VF to_white = hn::Sub(hn::Add(black, span), high);
    const VF room = hn::Max(zero, hn::Min(hn::Sub(low, black), to_white));
    const VF above_black = hn::Max(one, hn::Sub(high, black));
    const VF amplitude = hn::Mul(room, InverseSqrt(hn::Max(one, hn::Mul(room, above_black))));
    const VF w = hn::Mul(lobe, amplitude);
    const VF sum = hn::MulAdd(w, ring, ToFloat(middle));
    const VF sharp = hn::Div(sum, hn::MulAdd(hn::Set(d, 4.0F), w, one));
    const VF kept = hn::Min(hn::Max(sharp, low), high);
    StoreSamples(kept, r.out + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace framelift::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framelift::pixel {
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
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the sharpening was planned for.");
  }
  const bool limited = in.color().range == Range::kLimited;
  const float black = limited ? 16.0F * 256 : 0.0F;
  const float span = limited ? 219.0F * 256 : 255.0F * 256;
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
      ({ring->Row(y - 1), ring->Row(y), ring->Row(y + 1), to.Row(y), from.width, black, span, strength / 5});
    }
  };
  ParallelPlaneRows(out, kGrainRows, pool, rows);
  out.set_color(in.color());
}

}  // namespace framelift::pixel
#endif
