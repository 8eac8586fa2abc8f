#include "pixel/temporal_denoise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "reelmend/error.h"
#include "pixel/row_ring.h"
#include "pixel/scratch.h"
#include "pixel/temporal_limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/temporal_denoise.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_TEMPORAL_TYPES
#define REELMEND_PIXEL_TEMPORAL_TYPES
namespace reelmend::pixel {

struct MixRow {
  const std::uint16_t* now;
  std::uint16_t* older;  ///< holds `now` afterwards
  const float* weights;  ///< one per sample: ½ × strength × block
  std::uint16_t* out;
  int count;
  float falloff;  ///< 1 / T²
};

struct DifferenceRows {
  const std::uint16_t* a;
  const std::uint16_t* b;
  std::ptrdiff_t a_stride;  ///< samples
  std::ptrdiff_t b_stride;
  std::ptrdiff_t a_ahead;  ///< distance to the next samples, for prefetching; 0 for none
  std::ptrdiff_t b_ahead;
  int rows;
  int count;
  std::uint32_t* sums;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void Mix(const MixRow& r) {
  const DF d;
  const VF one = hn::Set(d, 1.0F);
  const VF falloff = hn::Set(d, r.falloff);
  const int lanes = FloatLanes();
  for (int x = 0; x < r.count; x += lanes) {
    const auto samples = hn::LoadU(D16(), r.now + x);
    const VF now = ToFloat(samples);
    const VF difference = hn::Sub(LoadSamples(r.older + x), now);
    const VF root = hn::Max(hn::Zero(d), hn::NegMulAdd(hn::Mul(difference, difference), falloff, one));
    const VF weight = hn::Mul(hn::Mul(root, root), hn::LoadU(d, r.weights + x));
    hn::StoreU(samples, D16(), r.older + x);
    StoreSamples(hn::MulAdd(weight, difference, now), r.out + x);
  }
}

/// |a − b| over the rows of a block row, column by column. Reads whole vectors. Prefetches the next block row's samples: its
/// rows are pages apart, which the hardware does not anticipate.
void SumDifferences(const DifferenceRows& r) {
  const D16 d16;
  const hn::Rebind<uint32_t, D16> d32;
  const int lanes = FloatLanes();
  for (int x = 0; x < r.count; x += lanes) {
    auto sum = hn::Zero(d32);
    const uint16_t* a = r.a + x;
    const uint16_t* b = r.b + x;
    for (int y = 0; y < r.rows; ++y, a += r.a_stride, b += r.b_stride) {
      const auto u = hn::LoadU(d16, a);
      const auto v = hn::LoadU(d16, b);
      const auto difference = hn::Or(hn::SaturatedSub(u, v), hn::SaturatedSub(v, u));
      sum = hn::Add(sum, hn::PromoteTo(d32, difference));
      hwy::Prefetch(a + r.a_ahead);
      hwy::Prefetch(b + r.b_ahead);
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

HWY_EXPORT(Mix);
HWY_EXPORT(SumDifferences);

constexpr int kBlock = kTemporalBlock;
constexpr int kBlocksPerBand = 2;
constexpr int kSteps = kTemporalSteps;

constexpr double kThresholdSigmas = 5;
constexpr double kMeanOfNormal = 0.7978845608;  // mean |d| of a normal variable, in standard deviations

}  // namespace

std::array<StepLimits, kTemporalSteps> MakeStepLimits(double noise_sigma) {
  std::array<StepLimits, kSteps> limits;
  double sigma = noise_sigma * kUnitsPer8BitLevel;
  for (StepLimits& step : limits) {
    const double of_difference = sigma * std::sqrt(2.0);
    const double threshold = kThresholdSigmas * of_difference;
    step = {kMeanOfNormal * of_difference, static_cast<float>(1 / (threshold * threshold))};
    sigma /= std::sqrt(2.0);
  }
  return limits;
}

namespace {

std::size_t RowSize(int width) { return static_cast<std::size_t>(width) + 64; }

/// One block row of the three planes, and the weights for it.
struct TemporalScratch {
  TemporalScratch(int width, int height, Subsampling subsampling, ColorSpec color)
      : pictures{Image(width, std::min(height, kBlock), subsampling, color),
                 Image(width, std::min(height, kBlock), subsampling, color)},
        sums(RowSize(width)),
        luma_weights(RowSize(width)),
        chroma_weights(RowSize(width)) {}

  Image pictures[2];  ///< a[n] and b[n]
  AlignedArray<std::uint32_t> sums;
  AlignedArray<float> luma_weights;
  AlignedArray<float> chroma_weights;
};

/// The rows of one plane that belong to a block row.
Plane Slice(Plane plane, int first, int count) {
  return {plane.Row(first), plane.stride, plane.width, std::min(count, plane.height - first)};
}

ConstPlane Slice(ConstPlane plane, int first, int count) {
  return {plane.Row(first), plane.stride, plane.width, std::min(count, plane.height - first)};
}

void MixPlane(ConstPlane now, Plane older, const float* weights, float falloff, Plane out) {
  for (int y = 0; y < now.height; ++y) {
    HWY_DYNAMIC_DISPATCH(Mix)({now.Row(y), older.Row(y), weights, out.Row(y), now.width, falloff});
  }
}

}  // namespace

struct TemporalDenoiser::Impl {
  int width = 0;
  int height = 0;
  Subsampling subsampling;
  std::array<Image, 1> inputs;
  std::array<Image, 2> once;
  std::array<Image, 4> twice;
  long long pictures = 0;  ///< since Reset
  ScratchPool<TemporalScratch> scratch;

  bool Fits(const Image& image) const {
    return image.width() == width && image.height() == height && image.subsampling() == subsampling;
  }

  Image& Older(int step) {
    if (step == 0) return inputs[0];
    return step == 1 ? once[pictures % 2] : twice[pictures % 4];
  }

  /// ½ × strength × block for every sample of the block row.
  void Weigh(ConstPlane now, ConstPlane older, std::ptrdiff_t now_ahead, std::ptrdiff_t older_ahead, float strength,
             double quiet, TemporalScratch& s) const {
    std::uint32_t* sums = s.sums.get();
    HWY_DYNAMIC_DISPATCH(SumDifferences)
    ({now.data, older.data, now.stride, older.stride, now_ahead, older_ahead, now.height, width, sums});
    const auto block = [&](double sum, int columns) {
      const double times = sum / (columns * now.height * quiet);
      return static_cast<float>(0.5 * strength * std::clamp((kMoving - times) / (kMoving - kQuiet), 0.0, 1.0));
    };
    for (int x = 0; x < width; x += kBlock) {
      const int columns = std::min(kBlock, width - x);
      std::uint32_t sum = 0;  // of at most 64 samples
      for (int i = 0; i < columns; ++i) sum += sums[x + i];
      SetWeight(x, block(sum, columns), s);
    }
  }

  /// For the block that begins at column x; the arrays have space for a whole one at the row's end.
  void SetWeight(int x, float weight, TemporalScratch& s) const {
    std::fill_n(s.luma_weights.get() + x, kBlock, weight);
    float* chroma = s.chroma_weights.get() + (x >> subsampling.log2_x);
    if (subsampling.log2_x == 0) {
      std::fill_n(chroma, kBlock, weight);
    } else {
      std::fill_n(chroma, kBlock / 2, weight);
    }
  }

  void RunBlockRow(const Image& in, Image& out, int row, float strength,
                   const std::array<StepLimits, kSteps>& limits, TemporalScratch& s) {
    const int luma_first = row * kBlock;
    const int chroma_first = luma_first >> subsampling.log2_y;
    const int chroma_rows = kBlock >> subsampling.log2_y;
    for (int step = 0; step < kSteps; ++step) {
      Image& older = Older(step);
      const auto now = [&](int p) {
        const ConstPlane source = step == 0 ? in.plane(p) : std::as_const(s.pictures[step - 1]).plane(p);
        const int first = p == 0 ? luma_first : chroma_first;
        ConstPlane slice = Slice(source, step == 0 ? first : 0, p == 0 ? kBlock : chroma_rows);
        slice.height = std::min(slice.height, older.plane(p).height - first);
        return slice;
      };
      const auto older_rows = [&](int p) {
        return Slice(older.plane(p), p == 0 ? luma_first : chroma_first, p == 0 ? kBlock : chroma_rows);
      };
      const float usable = pictures >= kTemporalLags[step] ? strength : 0.0F;
      const bool is_last = luma_first + 2 * kBlock > height;
      const auto ahead = [&](const auto& plane) { return is_last ? 0 : kBlock * plane.stride; };
      Weigh(now(0), older_rows(0), step == 0 ? ahead(in.plane(0)) : 0, ahead(older.plane(0)), usable,
            limits[step].mean_difference, s);
      for (int p = 0; p < 3; ++p) {
        const Plane to = step == kSteps - 1 ? Slice(out.plane(p), p == 0 ? luma_first : chroma_first, kBlock)
                                            : s.pictures[step].plane(p);
        const float* weights = p == 0 ? s.luma_weights.get() : s.chroma_weights.get();
        MixPlane(now(p), older_rows(p), weights, limits[step].falloff, to);
      }
    }
  }
};

TemporalDenoiser::TemporalDenoiser(int width, int height, Subsampling subsampling) : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.width = width;
  impl.height = height;
  impl.subsampling = subsampling;
  const auto make = [&](auto& images) {
    for (Image& image : images) image = Image(width, height, subsampling, {});
  };
  make(impl.inputs);
  make(impl.once);
  make(impl.twice);
}

TemporalDenoiser::~TemporalDenoiser() = default;

void TemporalDenoiser::Reset() { impl_->pictures = 0; }

void TemporalDenoiser::Run(const Image& in, Image& out, float strength, float noise_sigma, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (!impl.Fits(in) || !impl.Fits(out)) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the temporal denoising was planned for.");
  }
  out.set_color(in.color());
  if (strength <= 0 || noise_sigma <= 0) {
    Reset();
    const auto copy = [&](int plane, int first, int last) { CopyRows(in.plane(plane), out.plane(plane), first, last); };
    return ParallelPlaneRows(out, 32, pool, copy);
  }
  impl.scratch.Prepare(pool.threads(), [&] {
    return std::make_unique<TemporalScratch>(impl.width, impl.height, impl.subsampling, ColorSpec{});
  });
  const auto limits = MakeStepLimits(noise_sigma);
  const auto rows = [&](int first, int last) {
    const auto scratch = impl.scratch.Borrow();
    for (int row = first; row < last; ++row) {
      impl.RunBlockRow(in, out, row, std::min(strength, 1.0F), limits, *scratch);
    }
  };
  pool.ParallelRows((impl.height + kBlock - 1) / kBlock, kBlocksPerBand, std::ref(rows));
  ++impl.pictures;
}

}  // namespace reelmend::pixel
#endif
