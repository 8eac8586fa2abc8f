// Denoiser: bilateral filter with a compact range kernel.
//
// Note [Method]
// Bilateral filtering after Tomasi and Manduchi (1998). The range kernel is Tukey's biweight
// (1 − (d/T)²)², zero from T on: it needs no exponential, and an edge higher than T has no influence at
// all. T is a multiple of the noise's standard deviation. Spatial and range weight are folded into one
// square: √spatial − d² × √spatial / T², cut at 0.
#include <algorithm>
#include <cmath>
#include <functional>

#include "reelmend/error.h"
#include "pixel/denoise_kernel.h"
#include "pixel/row_ring.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/denoise.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_DENOISE_TYPES
#define REELMEND_PIXEL_DENOISE_TYPES
namespace reelmend::pixel {

struct DenoiseRow {
  const float* rows[2 * kMaxReach + 1];
  std::uint16_t* out;
  int count;
  float strength;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void LoadFloats(const uint16_t* in, float* out, int count) {
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) hn::StoreU(LoadSamples(in + x), DF(), out + x);
}

template <int kReach>
HWY_INLINE void DenoiseT(const DenoiseRow& r, const RangeKernel& kernel) {
  const DF d;
  const VF zero = hn::Zero(d);
  const VF strength = hn::Set(d, r.strength);
  const VF centre_weight = hn::Set(d, kernel.root[0][0] * kernel.root[0][0]);
  const int lanes = FloatLanes();
  for (int x = 0; x < r.count; x += lanes) {
    const VF centre = hn::LoadU(d, r.rows[kReach] + x);
    VF weights = centre_weight;
    VF change = zero;
    for (int dy = -kReach; dy <= kReach; ++dy) {
      for (int dx = -kReach; dx <= kReach; ++dx) {
        if (dy == 0 && dx == 0) continue;
        const int ay = dy < 0 ? -dy : dy;
        const int ax = dx < 0 ? -dx : dx;
        const VF difference = hn::Sub(hn::LoadU(d, r.rows[kReach + dy] + x + dx), centre);
        const VF root =
            hn::Max(zero, hn::NegMulAdd(hn::Mul(difference, difference), hn::Set(d, kernel.falloff[ay][ax]),
                                        hn::Set(d, kernel.root[ay][ax])));
        const VF weight = hn::Mul(root, root);
        weights = hn::Add(weights, weight);
        change = hn::MulAdd(weight, difference, change);
      }
    }
    StoreSamples(hn::MulAdd(strength, hn::Div(change, weights), centre), r.out + x);
  }
}

void Denoise5x5(const DenoiseRow& row, const RangeKernel& kernel) { DenoiseT<2>(row, kernel); }
void Denoise3x3(const DenoiseRow& row, const RangeKernel& kernel) { DenoiseT<1>(row, kernel); }

RowLoader<float> FloatLoader() { return LoadFloats; }

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(Denoise5x5);
HWY_EXPORT(Denoise3x3);
HWY_EXPORT(FloatLoader);

constexpr int kGrainRows = 32;

// Chosen by PSNR on camera pictures with added noise of 5 and 10 levels.
constexpr double kThresholdSigmas = 4.5;
constexpr double kSpatialSigma = 1.6;

}  // namespace

RangeKernel MakeRangeKernel(double noise_sigma) {
  const double threshold = kThresholdSigmas * noise_sigma * kUnitsPer8BitLevel;
  RangeKernel kernel;
  for (int dy = 0; dy <= kMaxReach; ++dy) {
    for (int dx = 0; dx <= kMaxReach; ++dx) {
      const double spatial = std::exp(-(dx * dx + dy * dy) / (2 * kSpatialSigma * kSpatialSigma));
      kernel.root[dy][dx] = static_cast<float>(std::sqrt(spatial));
      kernel.falloff[dy][dx] = static_cast<float>(std::sqrt(spatial) / (threshold * threshold));
    }
  }
  return kernel;
}

struct Denoiser::Impl {
  int width;
  int height;
  Subsampling subsampling;
  ScratchPool<RowRing<float>> rings;

  bool Fits(const Image& image) const {
    return image.width() == width && image.height() == height && image.subsampling() == subsampling;
  }
};

Denoiser::Denoiser(int width, int height, Subsampling subsampling) : impl_(std::make_unique<Impl>()) {
  impl_->width = width;
  impl_->height = height;
  impl_->subsampling = subsampling;
}

Denoiser::~Denoiser() = default;

void Denoiser::Run(const Image& in, Image& out, float strength, float noise_sigma, ThreadPool& pool,
                   Planes planes) {
  Impl& impl = *impl_;
  if (!impl.Fits(in) || !impl.Fits(out)) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the denoising was planned for.");
  }
  const bool copy = strength <= 0 || noise_sigma <= 0;
  const RangeKernel kernel = copy ? RangeKernel{} : MakeRangeKernel(noise_sigma);
  impl.rings.Prepare(pool.threads(), [&] {
    return std::make_unique<RowRing<float>>(impl.width, kMaxReach, HWY_DYNAMIC_DISPATCH(FloatLoader)());
  });
  const auto rows = [&](int plane, int first, int last) {
    const ConstPlane from = in.plane(plane);
    const Plane to = out.plane(plane);
    if (copy) return CopyRows(from, to, first, last);
    const auto ring = impl.rings.Borrow();
    const int reach = kReachOfPlane[plane];
    ring->Start(from, first);
    for (int y = first; y < last; ++y) {
      ring->Advance(y);
      DenoiseRow row{{}, to.Row(y), from.width, std::min(strength, 1.0F)};
      for (int dy = -reach; dy <= reach; ++dy) row.rows[reach + dy] = ring->Row(y + dy);
      if (reach == 2) {
        HWY_DYNAMIC_DISPATCH(Denoise5x5)(row, kernel);
      } else {
        HWY_DYNAMIC_DISPATCH(Denoise3x3)(row, kernel);
      }
    }
  };
  ParallelPlaneRows(out, kGrainRows, pool, rows, planes);
  out.set_color(in.color());
}

}  // namespace reelmend::pixel
#endif
