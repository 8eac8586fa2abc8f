#include "pixel/temporal_accumulation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "pixel/accumulation_limits.h"
#include "pixel/block_differences.h"
#include "pixel/motion_compensation.h"
#include "pixel/scratch.h"
#include "reelmend/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/temporal_accumulation.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_ACCUMULATION_TYPES
#define REELMEND_PIXEL_ACCUMULATION_TYPES
namespace reelmend::pixel {

struct AccumulationRow {
  const std::uint16_t* now;
  const std::uint16_t* older;
  const float* shares;    ///< one per sample, as the falloffs
  const float* falloffs;
  std::uint16_t* out;
  int count;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void Accumulate(const AccumulationRow& r) {
  const DF d;
  const VF one = hn::Set(d, 1.0F);
  for (int x = 0; x < r.count; x += FloatLanes()) {
    const VF now = LoadSamples(r.now + x);
    const VF difference = hn::Sub(LoadSamples(r.older + x), now);
    const VF root = hn::Max(hn::Zero(d), hn::NegMulAdd(hn::Mul(difference, difference), hn::LoadU(d, r.falloffs + x), one));
    const VF weight = hn::Mul(hn::Mul(root, root), hn::LoadU(d, r.shares + x));
    StoreSamples(hn::MulAdd(weight, difference, now), r.out + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(Accumulate);

constexpr int kBlock = kAccumulationBlock;
constexpr int kBand = kMotionBlock;  ///< rows
constexpr int kSpare = 64;           ///< samples by which vectors exceed a row

/// A plane of luma that owns its samples.
class LumaPlane {
 public:
  LumaPlane() = default;
  LumaPlane(int width, int height) : stride_((width + kSpare - 1) / kSpare * kSpare), width_(width), height_(height), samples_(static_cast<std::size_t>(stride_) * height) {}
  Plane view() const { return {samples_.get(), stride_, width_, height_}; }

 private:
  std::ptrdiff_t stride_ = 0;
  int width_ = 0;
  int height_ = 0;
  AlignedArray<std::uint16_t> samples_;
};

/// Of one band.
struct BandScratch {
  explicit BandScratch(int width)
      : older(width + kMotionBlock, kBand), columns(width + kSpare), shares(width + kSpare), falloffs(width + kSpare), sums(Blocks(width)), measure(Blocks(width)) {
    for (auto& row : textures) row.resize(Blocks(width));
  }
  static std::size_t Blocks(int width) { return static_cast<std::size_t>(width + kBlock - 1) / kBlock; }

  LumaPlane older;  ///< displaced
  AlignedArray<std::uint32_t> columns;
  AlignedArray<float> shares;
  AlignedArray<float> falloffs;
  std::vector<std::uint32_t> sums;    ///< of the blocks of a row
  BlockTextures measure;
  std::vector<double> textures[kBand / kBlock];  ///< of the blocks of each row of the band
};

}  // namespace

struct TemporalAccumulator::Impl {
  Impl(int w, int h) : width(w), height(h), motion(w, h, kRefinedCell) {
    for (LumaPlane& plane : inputs) plane = LumaPlane(w, h);
    for (LumaPlane& plane : once) plane = LumaPlane(w, h);
  }

  int width;
  int height;
  // A ring holds the picture that is written and those back to the lag that looks at it.
  std::array<LumaPlane, kAccumulationLags[0] + 1> inputs;
  std::array<LumaPlane, kAccumulationLags[1] + 1> once;  ///< a[n]
  MotionField motion;
  long long pictures = 0;  ///< since Reset
  ScratchPool<BandScratch> scratch;

  Plane Ring(int step, long long number) const {
    return step == 0 ? inputs[static_cast<std::size_t>(number) % inputs.size()].view() : once[static_cast<std::size_t>(number) % once.size()].view();
  }
  bool IsUsable(int step) const { return pictures >= kAccumulationLags[step]; }

  void Refine(ConstPlane now, const SourceMotion& source, ThreadPool& pool) {
    std::array<MotionPicture, kTemporalSteps> older{};
    int count = 0;
    for (; count < kAccumulationSteps && IsUsable(count); ++count) older[count].luma = Ring(count, pictures - kAccumulationLags[count]);
    if (count > 0) motion.Refine({now, {}}, older, count, source, pool);
  }

  void Displace(ConstPlane older, int step, int first, int rows, BandScratch& s) const {
    const BlockMotion* cells = motion.Row(first / kRefinedCell);
    const Plane to = s.older.view();
    for (int x = 0; x < width; x += kMotionBlock) {
      const int columns = std::min(kMotionBlock, width - x);
      const MotionVector vector = cells[x / kRefinedCell].vectors[step];
      if (vector == MotionVector{}) {
        for (int y = 0; y < rows; ++y) std::copy_n(older.Row(first + y) + x, columns, to.Row(y) + x);
      } else {
        CompensateBlock(older, {x, first, columns, rows}, vector, {0, 0}, to.data + x, to.stride);
      }
    }
  }

  void Weigh(int rows, float strength, const std::vector<double>& textures, BandScratch& s) const {
    for (std::size_t i = 0; i < s.sums.size(); ++i) {
      const int x = static_cast<int>(i) * kBlock;
      const double difference = static_cast<double>(s.sums[i]) / (std::min(kBlock, width - x) * rows);
      const AccumulationWeight weight = WeighAccumulation(difference, textures[i], strength);
      // The arrays have space for a whole block at the row's end.
      std::fill_n(s.shares.get() + x, kBlock, weight.share);
      std::fill_n(s.falloffs.get() + x, kBlock, weight.falloff);
    }
  }

  /// Both may be the same plane.
  void Blend(ConstPlane now, Plane out, float strength, BandScratch& s) const {
    for (int first = 0; first < now.height; first += kBlock) {
      const int rows = std::min(kBlock, now.height - first);
      const Plane older = Slice(s.older.view(), first, rows);
      const ConstPlane block_row = Slice(now, first, rows);
      SumBlockDifferences(block_row, {older.data, older.stride, width, rows}, kBlock, 0, s.columns.get(), s.sums);
      Weigh(rows, strength, s.textures[first / kBlock], s);
      for (int y = 0; y < rows; ++y) {
        HWY_DYNAMIC_DISPATCH(Accumulate)
        ({block_row.Row(y), older.Row(y), s.shares.get(), s.falloffs.get(), out.Row(first + y), width});
      }
    }
  }

  void RunBand(Plane image, int first, float strength, BandScratch& s) const {
    const Plane band = Slice(image, first, kBand);
    for (int row = 0; row < band.height; row += kBlock) s.measure.Measure(Slice(band, row, kBlock), kBlock, s.columns.get(), s.textures[row / kBlock]);
    for (int step = 0; step < kAccumulationSteps; ++step) {
      const Plane kept = Slice(Ring(step, pictures), first, kBand);
      for (int y = 0; y < band.height; ++y) std::copy_n(band.Row(y), width, kept.Row(y));
      if (!IsUsable(step)) continue;
      Displace(Ring(step, pictures - kAccumulationLags[step]), step, first, band.height, s);
      Blend(band, band, strength, s);
    }
  }
};

TemporalAccumulator::TemporalAccumulator(int width, int height) : impl_(std::make_unique<Impl>(width, height)) {}

TemporalAccumulator::~TemporalAccumulator() = default;

void TemporalAccumulator::Reset() { impl_->pictures = 0; }

void TemporalAccumulator::Run(Image& image, const SourceMotion& source, float strength, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (image.width() != impl.width || image.height() != impl.height) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the temporal accumulation was planned for.");
  }
  if (strength <= 0 || std::min(impl.width, impl.height) < kMotionMinSide) return Reset();
  impl.scratch.Prepare(pool.threads(), [&] { return std::make_unique<BandScratch>(impl.width); });
  const Plane luma = image.plane(0);
  impl.Refine(luma, source, pool);
  const auto bands = [&](int first, int last) {
    const auto scratch = impl.scratch.Borrow();
    for (int band = first; band < last; ++band) impl.RunBand(luma, band * kBand, std::min(strength, 1.0F), *scratch);
  };
  pool.ParallelRows((impl.height + kBand - 1) / kBand, 1, std::ref(bands));
  ++impl.pictures;
}

}  // namespace reelmend::pixel
#endif
