#include "pixel/temporal_denoise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "reelmend/error.h"
#include "pixel/block_differences.h"
#include "pixel/motion_compensation.h"
#include "pixel/motion_field.h"
#include "pixel/row_ring.h"
#include "pixel/scratch.h"
#include "pixel/temporal_limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/temporal_denoise.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_TEMPORAL_TYPES
#define REELMEND_PIXEL_TEMPORAL_TYPES
namespace reelmend::pixel {

struct MixRow {
  const std::uint16_t* now;
  const std::uint16_t* older;
  std::uint16_t* kept;  ///< a copy of `now`
  const float* weights;  ///< one per sample: ½ × strength × block
  std::uint16_t* out;
  int count;
  float falloff;  ///< 1 / T²
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
    hn::StoreU(samples, D16(), r.kept + x);
    StoreSamples(hn::MulAdd(weight, difference, now), r.out + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(Mix);

constexpr int kBlock = kTemporalBlock;
constexpr int kBand = kMotionBlock;  ///< rows of luma
constexpr int kSteps = kTemporalSteps;

constexpr double kThresholdSigmas = 5;
constexpr double kMeanOfNormal = 0.7978845608;  // mean |d| of a normal variable, in standard deviations

}  // namespace

std::array<StepLimits, kTemporalSteps> MakeStepLimits(double noise_sigma, double grain_sigma) {
  std::array<StepLimits, kSteps> limits;
  double of_difference = noise_sigma * kUnitsPer8BitLevel * std::sqrt(2.0);
  for (StepLimits& step : limits) {
    const double threshold = kThresholdSigmas * of_difference;
    const double mean_difference = kMeanOfNormal * of_difference;
    step = {mean_difference, std::max(1.0, mean_difference * grain_sigma / noise_sigma), static_cast<float>(1 / (threshold * threshold))};
    of_difference /= std::sqrt(2.0);
  }
  return limits;
}

unsigned StillSad(double grain_sigma) {
  constexpr double kMargin = 1.1;
  const double mean_difference = kMeanOfNormal * std::sqrt(2.0) * grain_sigma * kUnitsPer8BitLevel;
  return std::max(kStillSad, static_cast<unsigned>(kMargin * mean_difference * kMotionBlock * kMotionBlock / (1 << kBlockSadShift)));
}

namespace {

std::size_t RowSize(int width) { return static_cast<std::size_t>(width) + 64; }

/// One band: results of two steps, the displaced older picture, and weights.
struct TemporalScratch {
  TemporalScratch(int width, int height, Subsampling subsampling)
      : blended{Image(width, std::min(height, kBand), subsampling, {}), Image(width, std::min(height, kBand), subsampling, {})},
        compensated(width + kMotionBlock, std::min(height, kBand), subsampling, {}),
        sums(static_cast<std::size_t>(width + kBlock - 1) / kBlock),
        still_sums(sums.size()),
        measure(sums.size()),
        textures{std::vector<double>(sums.size()), std::vector<double>(sums.size())},
        column_sums(RowSize(width)),
        luma_weights(RowSize(width)),
        chroma_weights(RowSize(width)) {}

  Image blended[2];  ///< a[n] and b[n]
  Image compensated;
  std::vector<std::uint32_t> sums;  ///< of the blocks of a row
  std::vector<std::uint32_t> still_sums;
  BlockTextures measure;
  std::vector<double> textures[kBand / kBlock];  ///< of the blocks of each row of the band
  AlignedArray<std::uint32_t> column_sums;
  AlignedArray<float> luma_weights;
  AlignedArray<float> chroma_weights;
};

/// The rows of each plane that belong to a band.
struct Rows {
  int first[3];
  int count[3];

  Rows(int first_luma, int luma_rows, int height, Subsampling subsampling) {
    for (int p = 0; p < 3; ++p) {
      const int shift = p == 0 ? 0 : subsampling.log2_y;
      const int plane_height = p == 0 ? height : (height + (1 << shift) - 1) >> shift;
      first[p] = first_luma >> shift;
      count[p] = std::min(luma_rows >> shift, plane_height - first[p]);
    }
  }
};

/// Pictures of one step, by their number since Reset.
template <std::size_t kSize>
struct PictureRing {
  std::array<Image, kSize> pictures;

  Image& At(long long number) { return pictures[static_cast<std::size_t>(number) % kSize]; }
};

/// One step of a band, by plane; the first rows are the band's.
struct Step {
  std::array<ConstPlane, 3> now;
  std::array<ConstPlane, 3> still;  ///< the older picture at the same place …
  std::array<ConstPlane, 3> older;  ///< … and along the motion
  std::array<Plane, 3> kept;        ///< a copy of `now`
  std::array<Plane, 3> to;
  bool has_motion = false;
};

}  // namespace

struct TemporalDenoiser::Impl {
  Impl(int w, int h, Subsampling s) : width(w), height(h), subsampling(s), motion(w, h) {}

  int width;
  int height;
  Subsampling subsampling;
  // A ring holds the picture that is written and those back to the longest lag that looks at it.
  PictureRing<kTemporalLags[2] + 1> inputs;  ///< the motion search compares inputs
  PictureRing<kTemporalLags[1] + 1> once;
  PictureRing<kTemporalLags[2] + 1> twice;
  std::array<Image, kTemporalLags[2] + 1> means;  ///< of luma, for the motion search
  MotionField motion;
  long long pictures = 0;  ///< since Reset
  ScratchPool<TemporalScratch> scratch;

  bool Fits(const Image& image) const {
    return image.width() == width && image.height() == height && image.subsampling() == subsampling;
  }

  Image& Ring(int step, long long number) { return step == 0 ? inputs.At(number) : step == 1 ? once.At(number) : twice.At(number); }
  Image& MeansOf(long long number) { return means[static_cast<std::size_t>(number) % means.size()]; }

  /// How many of the older pictures exist for a picture that follows `before` others.
  static int StepsAfter(long long before) {
    int steps = 0;
    while (steps < kSteps && before >= kTemporalLags[steps]) ++steps;
    return steps;
  }
  int UsableSteps() const { return StepsAfter(pictures); }

  MotionPicture Motion(const Image& luma, long long number) {
    return {luma.plane(0), std::as_const(MeansOf(number)).plane(0)};
  }

  void FindMotion(const Image& in, float grain_sigma, ThreadPool& pool) {
    std::array<MotionPicture, kSteps> older;
    const int steps = UsableSteps();
    for (int step = 0; step < steps; ++step) {
      const long long number = pictures - kTemporalLags[step];
      older[step] = Motion(inputs.At(number), number);
    }
    motion.Find(Motion(in, pictures), older, steps, StillSad(grain_sigma), pool);
  }

  /// The band of the older picture, displaced where blocks have moved.
  void Compensate(const Image& older, int step, int band, const Rows& rows, TemporalScratch& s) const {
    for (int p = 0; p < 3; ++p) {
      const Subsampling plane_subsampling = p == 0 ? Subsampling{0, 0} : subsampling;
      const ConstPlane from = older.plane(p);
      const Plane to = s.compensated.plane(p);
      const int block = kMotionBlock >> plane_subsampling.log2_x;
      for (int i = 0; i < motion.columns(); ++i) {
        const int x = i * block;
        const int columns = std::min(block, from.width - x);
        if (columns <= 0) break;
        const MotionVector vector = motion.Row(band)[i].vectors[step];
        if (vector == MotionVector{}) {
          for (int y = 0; y < rows.count[p]; ++y) std::copy_n(from.Row(rows.first[p] + y) + x, columns, to.Row(y) + x);
        } else {
          CompensateBlock(from, {x, rows.first[p], columns, rows.count[p]}, vector, plane_subsampling, to.data + x, to.stride);
        }
      }
    }
  }

  void SumBlocks(ConstPlane now, ConstPlane older, std::vector<std::uint32_t>& blocks, TemporalScratch& s) const {
    SumBlockDifferences(now, older, kBlock, 0, s.column_sums.get(), blocks);
  }

  /// Takes the samples at the same place for the blocks that they fit better than the displaced ones: the background beside an object
  /// that moves.
  void KeepStillBlocks(const Step& step, int first, TemporalScratch& s) const {
    SumBlocks(Slice(step.now[0], first, kBlock), Slice(step.still[0], first, kBlock), s.still_sums, s);
    for (std::size_t i = 0; i < s.sums.size(); ++i) {
      if (s.still_sums[i] >= s.sums[i]) continue;
      s.sums[i] = s.still_sums[i];
      for (int p = 0; p < 3; ++p) {
        const int log2_x = p == 0 ? 0 : subsampling.log2_x;
        const int log2_y = p == 0 ? 0 : subsampling.log2_y;
        const int x = static_cast<int>(i) * kBlock >> log2_x;
        const int columns = std::min(kBlock >> log2_x, step.now[p].width - x);
        const int last = std::min((first + kBlock) >> log2_y, step.now[p].height);
        const Plane older = s.compensated.plane(p);
        for (int y = first >> log2_y; y < last; ++y) std::copy_n(step.still[p].Row(y) + x, columns, older.Row(y) + x);
      }
    }
  }

  /// ½ × strength × block for every sample of a block row.
  void Weigh(int rows, float strength, const StepLimits& limits, const std::vector<double>& textures, TemporalScratch& s) const {
    for (std::size_t i = 0; i < s.sums.size(); ++i) {
      const int x = static_cast<int>(i) * kBlock;
      const double difference = static_cast<double>(s.sums[i]) / (std::min(kBlock, width - x) * rows);
      const double share = BlockShare(difference, textures[i], limits.mean_difference, limits.grain_difference);
      const auto weight = static_cast<float>(0.5 * strength * share);
      // The arrays have space for a whole block at the row's end.
      std::fill_n(s.luma_weights.get() + x, kBlock, weight);
      std::fill_n(s.chroma_weights.get() + (x >> subsampling.log2_x), kBlock >> subsampling.log2_x, weight);
    }
  }

  void Blend(const Step& step, float strength, const StepLimits& limits, TemporalScratch& s) const {
    for (int first = 0; first < step.now[0].height; first += kBlock) {
      const ConstPlane now = Slice(step.now[0], first, kBlock);
      SumBlocks(now, Slice(step.older[0], first, kBlock), s.sums, s);
      if (step.has_motion) KeepStillBlocks(step, first, s);
      Weigh(now.height, strength, limits, s.textures[first / kBlock], s);
      for (int p = 0; p < 3; ++p) {
        const int shift = p == 0 ? 0 : subsampling.log2_y;
        const int last = std::min((first + kBlock) >> shift, step.now[p].height);
        const float* weights = p == 0 ? s.luma_weights.get() : s.chroma_weights.get();
        for (int y = first >> shift; y < last; ++y) {
          HWY_DYNAMIC_DISPATCH(Mix)
          ({step.now[p].Row(y), step.older[p].Row(y), step.kept[p].Row(y), weights, step.to[p].Row(y), step.now[p].width, limits.falloff});
        }
      }
    }
  }

  void RunBand(const Image& in, Image& out, int band, float strength, const std::array<StepLimits, kSteps>& limits, TemporalScratch& s) {
    const Rows rows(band * kBand, kBand, height, subsampling);
    for (int first = 0; first < rows.count[0]; first += kBlock) {
      const ConstPlane block_row = Slice(in.plane(0), rows.first[0] + first, std::min(kBlock, rows.count[0] - first));
      s.measure.Measure(block_row, kBlock, s.column_sums.get(), s.textures[first / kBlock]);
    }
    for (int i = 0; i < kSteps; ++i) {
      const bool is_usable = i < UsableSteps();
      const Image& older = is_usable ? Ring(i, pictures - kTemporalLags[i]) : in;
      Step step;
      step.has_motion = std::any_of(motion.Row(band), motion.Row(band) + motion.columns(),
                                    [i](const BlockMotion& b) { return b.vectors[i] != MotionVector{}; });
      if (step.has_motion) Compensate(older, i, band, rows, s);
      for (int p = 0; p < 3; ++p) {
        const int first = rows.first[p];
        const int count = rows.count[p];
        step.now[p] = i == 0 ? Slice(in.plane(p), first, count) : Slice(std::as_const(s.blended[i - 1]).plane(p), 0, count);
        step.still[p] = Slice(older.plane(p), first, count);
        step.older[p] = step.has_motion ? Slice(std::as_const(s.compensated).plane(p), 0, count) : step.still[p];
        step.kept[p] = Slice(Ring(i, pictures).plane(p), first, count);
        step.to[p] = i == kSteps - 1 ? Slice(out.plane(p), first, count) : Slice(s.blended[i].plane(p), 0, count);
      }
      Blend(step, is_usable ? strength : 0.0F, limits[i], s);
    }
  }
};

TemporalDenoiser::TemporalDenoiser(int width, int height, Subsampling subsampling) : impl_(std::make_unique<Impl>(width, height, subsampling)) {
  Impl& impl = *impl_;
  const auto make = [&](auto& images) {
    for (Image& image : images) image = Image(width, height, subsampling, {});
  };
  make(impl.inputs.pictures);
  make(impl.once.pictures);
  make(impl.twice.pictures);
  for (Image& image : impl.means) image = Image(std::max(1, width / kMotionCell), std::max(1, height / kMotionCell), {1, 1}, {});
}

TemporalDenoiser::~TemporalDenoiser() = default;

void TemporalDenoiser::Reset() { impl_->pictures = 0; }

void TemporalDenoiser::CopyMotion(SourceMotion& motion) const {
  impl_->motion.CopyTo(motion, Impl::StepsAfter(impl_->pictures - 1));
}

void TemporalDenoiser::Run(const Image& in, Image& out, const TemporalOptions& options, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (!impl.Fits(in) || !impl.Fits(out)) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the temporal denoising was planned for.");
  }
  out.set_color(in.color());
  if (options.strength <= 0 || options.noise_sigma <= 0) {
    Reset();
    const auto copy = [&](int plane, int first, int last) { CopyRows(in.plane(plane), out.plane(plane), first, last); };
    return ParallelPlaneRows(out, 32, pool, copy);
  }
  impl.scratch.Prepare(pool.threads(), [&] { return std::make_unique<TemporalScratch>(impl.width, impl.height, impl.subsampling); });
  const Plane means = impl.MeansOf(impl.pictures).plane(0);
  if (impl.height >= kMotionCell && impl.width >= kMotionCell) {
    const auto shrink = [&](int first, int last) { WriteMotionMeans(in.plane(0), means, first, last); };
    pool.ParallelRows(means.height, 8, std::ref(shrink));
  }
  impl.FindMotion(in, options.grain_sigma, pool);
  const auto limits = MakeStepLimits(options.noise_sigma, options.grain_sigma);
  const auto bands = [&](int first, int last) {
    const auto scratch = impl.scratch.Borrow();
    for (int band = first; band < last; ++band) impl.RunBand(in, out, band, std::min(options.strength, 1.0F), limits, *scratch);
  };
  pool.ParallelRows((impl.height + kBand - 1) / kBand, 1, std::ref(bands));
  ++impl.pictures;
}

}  // namespace reelmend::pixel
#endif
