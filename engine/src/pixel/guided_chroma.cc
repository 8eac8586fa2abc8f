// GuidedChroma: gives enlarged chroma the edges of luma.
//
// Note [Method]
// Chroma has half the resolution of luma, and encoders quantise it more. Enlarged, it bleeds over edges and leaves blotches, which
// a network of luma does not touch. Around an edge, colour is nearly a linear function of brightness. So chroma becomes slope ×
// luma + offset, fitted by least squares in a window around each sample: the guided filter (K. He, J. Sun and X. Tang, “Guided image
// filtering”, 2010), with the fit on a coarser grid (K. He and J. Sun, “Fast guided filter”, 2015):
// - Luma at the positions of chroma is the guide. Cells of 2×2 chroma samples have the means of guide and chroma.
// - The fit compares chroma with a guide that is as soft as enlarged chroma is (a Gaussian of 0.55 chroma samples of the small
//   picture); then it is applied to the sharp guide. So chroma becomes as sharp as luma.
// - The windows are Gaussians of 0.65 chroma samples of the small picture. Slopes and offsets are averaged over the same window, as in
//   the guided filter, and interpolated between the centres of the cells.
// - Chroma that luma does not explain is kept, as far as it varies by much more than noise: an edge between colours of equal
//   brightness.
// Values are in 8-bit levels.
#include <algorithm>
#include <array>
#include <functional>

#include "pixel/guided_chroma_kernel.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"
#include "reelmend/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/guided_chroma.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_GUIDED_CHROMA_TYPES
#define REELMEND_PIXEL_GUIDED_CHROMA_TYPES
namespace reelmend::pixel {

/// A weighted sum of rows: those at equal distance on both sides have one weight.
struct SumOfRows {
  const float* before[kGuidedReach + 1];  ///< [0]: the row itself
  const float* behind[kGuidedReach + 1];
  const float* weights;
  float* out;
  int count;
};

/// Luma rows around the chroma samples 1 … count − 1 of a row.
struct GuideRow {
  const std::uint16_t* first;
  const std::uint16_t* second;
  float* out;
  int count;
};

/// The rows of cells around a row of samples, and the samples' values by linear interpolation.
struct CellsToSamples {
  const float* near;
  const float* far;
  float* out;
  int cells;
};

struct ApplyRow {
  std::uint16_t* row;
  const float* guide;
  const float* slope;
  const float* offset;
  const float* kept;
  float strength;
  int count;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void AddRows(const SumOfRows& r) {
  const DF d;
  for (int x = 0; x < r.count; x += FloatLanes()) {
    VF sum = hn::Mul(hn::LoadU(d, r.before[0] + x), hn::Set(d, r.weights[0]));
    for (int k = 1; k <= kGuidedReach; ++k) {
      const VF both = hn::Add(hn::LoadU(d, r.before[k] + x), hn::LoadU(d, r.behind[k] + x));
      sum = hn::MulAdd(both, hn::Set(d, r.weights[k]), sum);
    }
    hn::StoreU(sum, d, r.out + x);
  }
}

/// Left, middle and right luma of a row's chroma samples: left + 2 middle + right.
HWY_INLINE VF Weighted(const std::uint16_t* row, int x) {
  hn::Vec<D16> left;
  hn::Vec<D16> middle;
  hn::Vec<D16> right;
  hn::LoadInterleaved2(D16(), row + 2 * x - 1, left, middle);
  hn::LoadInterleaved2(D16(), row + 2 * x, middle, right);
  return hn::MulAdd(hn::Set(DF(), 2.0F), ToFloat(middle), hn::Add(ToFloat(left), ToFloat(right)));
}

/// The last vector overlaps the one before: behind the last row of luma lies chroma, which another thread writes.
void FillGuide(const GuideRow& r) {
  const VF scale = hn::Set(DF(), 1.0F / (8 * kUnitsPer8BitLevel));
  const int last = std::max(1, r.count - FloatLanes());
  for (int next = 1; next < r.count; next += FloatLanes()) {
    const int x = std::min(next, last);
    hn::StoreU(hn::Mul(scale, hn::Add(Weighted(r.first, x), Weighted(r.second, x))), DF(), r.out + x);
  }
}

void FillSamples(const CellsToSamples& r) {
  static_assert(kGuidedCell == 2);
  const DF d;
  const VF more = hn::Set(d, 0.75F);
  const VF less = hn::Set(d, 0.25F);
  const auto down = [&](int x) { return hn::MulAdd(more, hn::LoadU(d, r.near + x), hn::Mul(less, hn::LoadU(d, r.far + x))); };
  for (int x = 0; x < r.cells; x += FloatLanes()) {
    const VF own = hn::Mul(more, down(x));
    hn::StoreInterleaved2(hn::MulAdd(less, down(x - 1), own), hn::MulAdd(less, down(x + 1), own), d, r.out + 2 * x);
  }
}

void ApplyFits(const ApplyRow& r) {
  const DF d;
  const VF units = hn::Set(d, static_cast<float>(kUnitsPer8BitLevel));
  for (int x = 0; x < r.count; x += FloatLanes()) {
    const VF v = LoadSamples(r.row + x);
    const VF fitted = hn::MulAdd(hn::LoadU(d, r.slope + x), hn::LoadU(d, r.guide + x), hn::LoadU(d, r.offset + x));
    const VF changed = hn::MulAdd(fitted, units, hn::Mul(hn::LoadU(d, r.kept + x), v));
    StoreSamples(hn::MulAdd(hn::Sub(changed, v), hn::Set(d, r.strength), v), r.row + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(AddRows);
HWY_EXPORT(FillGuide);
HWY_EXPORT(FillSamples);
HWY_EXPORT(ApplyFits);

constexpr int kGrainRows = 16;
constexpr float kLevel = 1.0F / kUnitsPer8BitLevel;
constexpr int kLanes = 32;  ///< values by which vectors exceed a row

int Cells(int samples) { return (samples + kGuidedCell - 1) / kGuidedCell; }

/// Planes of cells, each row with kGuidedReach cells around it.
template <int kCount>
class CellPlanes {
 public:
  CellPlanes(int width, int height) : width_(width), height_(height), stride_(width + 2 * kGuidedReach + kLanes) {
    for (auto& plane : planes_) plane = AlignedArray<float>(static_cast<std::size_t>(stride_) * height);
  }
  int width() const { return width_; }
  int height() const { return height_; }
  float* Row(int plane, int y) const { return planes_[plane].get() + static_cast<std::ptrdiff_t>(y) * stride_ + kGuidedReach; }
  void ReplicateEnds(int plane, int y) const {
    float* row = Row(plane, y);
    std::fill_n(row - kGuidedReach, kGuidedReach, row[0]);
    std::fill_n(row + width_, kGuidedReach, row[width_ - 1]);
  }

 private:
  int width_;
  int height_;
  std::ptrdiff_t stride_;
  std::array<AlignedArray<float>, kCount> planes_;
};

using Weights = const float (&)[kGuidedReach + 1];

template <int kCount>
void BlurAcross(const CellPlanes<kCount>& planes, int plane, int y, Weights weights, float* scratch) {
  float* row = planes.Row(plane, y);
  planes.ReplicateEnds(plane, y);
  SumOfRows sum{{}, {}, weights, scratch, planes.width()};
  for (int k = 0; k <= kGuidedReach; ++k) {
    sum.before[k] = row - k;
    sum.behind[k] = row + k;
  }
  HWY_DYNAMIC_DISPATCH(AddRows)(sum);
  std::copy_n(scratch, planes.width(), row);
}

/// A row of planes that were blurred along rows.
template <int kCount>
void BlurDown(const CellPlanes<kCount>& planes, int plane, int y, Weights weights, float* out) {
  SumOfRows sum{{}, {}, weights, out, planes.width()};
  for (int k = 0; k <= kGuidedReach; ++k) {
    sum.before[k] = planes.Row(plane, std::max(y - k, 0));
    sum.behind[k] = planes.Row(plane, std::min(y + k, planes.height() - 1));
  }
  HWY_DYNAMIC_DISPATCH(AddRows)(sum);
}

/// Luma at the chroma samples of row y: ¼, ½, ¼ across, because chroma is left-sited; the mean of two rows.
void Guide(ConstPlane luma, int y, int count, float* out) {
  const std::uint16_t* first = luma.Row(2 * y);
  const std::uint16_t* second = luma.Row(std::min(2 * y + 1, luma.height - 1));
  HWY_DYNAMIC_DISPATCH(FillGuide)({first, second, out, count});
  const auto at = [&](int x) {
    const int left = std::max(2 * x - 1, 0);
    const int right = std::min(2 * x + 1, luma.width - 1);
    return kLevel / 8 * static_cast<float>(first[left] + 2 * first[2 * x] + first[right] + second[left] + 2 * second[2 * x] + second[right]);
  };
  out[0] = at(0);
  out[count - 1] = at(count - 1);
}

/// Means of pairs in two rows.
void MakeCells(const float* first, const float* second, int count, float* out) {
  for (int x = 0; x < count / kGuidedCell; ++x) out[x] = 0.25F * ((first[2 * x] + first[2 * x + 1]) + (second[2 * x] + second[2 * x + 1]));
  if (count % kGuidedCell != 0) out[Cells(count) - 1] = 0.5F * (first[count - 1] + second[count - 1]);
}

/// Rows of one thread.
struct Scratch {
  explicit Scratch(int width) {
    for (auto& row : rows) row = AlignedArray<float>(width + 2 * kLanes);
  }
  float* Row(int i) const { return rows[i].get(); }
  std::array<AlignedArray<float>, 8> rows;
};

}  // namespace

struct GuidedChroma::Impl {
  int across;  ///< chroma samples
  int down;
  CellPlanes<3> cells;     ///< guide, Cb, Cr
  CellPlanes<8> products;  ///< guide, its square; then for each chroma plane: itself, its square, guide × chroma
  CellPlanes<6> sums;      ///< ChromaFit of each chroma plane, blurred along rows
  CellPlanes<6> fits;
  ScratchPool<Scratch> scratch;

  Impl(int width, int height)
      : across((width + 1) / 2),
        down((height + 1) / 2),
        cells(Cells(across), Cells(down)),
        products(Cells(across), Cells(down)),
        sums(Cells(across), Cells(down)),
        fits(Cells(across), Cells(down)) {}

  void MeasureCells(const Image& image, int row, const Scratch& s, const GuidedWeights& weights) const {
    const int rows[] = {row * kGuidedCell, std::min(row * kGuidedCell + 1, down - 1)};
    for (int p = 0; p < 3; ++p) {
      for (int i = 0; i < 2; ++i) {
        if (p == 0) {
          Guide(image.plane(0), rows[i], across, s.Row(i));
          continue;
        }
        const std::uint16_t* in = image.plane(p).Row(rows[i]);
        for (int x = 0; x < across; ++x) s.Row(i)[x] = kLevel * static_cast<float>(in[x]);
      }
      MakeCells(s.Row(0), s.Row(1), across, cells.Row(p, row));
    }
    BlurAcross(cells, 0, row, weights.guide, s.Row(0));
  }

  void MakeProducts(int row, const Scratch& s, const GuidedWeights& weights) const {
    const int count = cells.width();
    float* guide = products.Row(0, row);
    BlurDown(cells, 0, row, weights.guide, guide);
    float* squared = products.Row(1, row);
    for (int x = 0; x < count; ++x) squared[x] = guide[x] * guide[x];
    for (int p = 0; p < 2; ++p) {
      const float* chroma = cells.Row(p + 1, row);
      float* own = products.Row(3 * p + 2, row);
      float* own_squared = products.Row(3 * p + 3, row);
      float* product = products.Row(3 * p + 4, row);
      for (int x = 0; x < count; ++x) {
        own[x] = chroma[x];
        own_squared[x] = chroma[x] * chroma[x];
        product[x] = guide[x] * chroma[x];
      }
    }
    for (int i = 0; i < 8; ++i) BlurAcross(products, i, row, weights.window, s.Row(0));
  }

  void Fit(int row, const Scratch& s, const GuidedWeights& weights) const {
    for (int i = 0; i < 8; ++i) BlurDown(products, i, row, weights.window, s.Row(i));
    for (int p = 0; p < 2; ++p) {
      const int at = 3 * p + 2;
      for (int x = 0; x < cells.width(); ++x) {
        const ChromaFit fit = FitChroma({s.Row(0)[x], s.Row(1)[x], s.Row(at)[x], s.Row(at + 1)[x], s.Row(at + 2)[x]});
        sums.Row(3 * p, row)[x] = fit.slope;
        sums.Row(3 * p + 1, row)[x] = fit.offset;
        sums.Row(3 * p + 2, row)[x] = fit.kept;
      }
    }
    for (int i = 0; i < 6; ++i) BlurAcross(sums, i, row, weights.window, s.Row(0));
  }

  void BlurFits(int row, const GuidedWeights& weights) const {
    for (int i = 0; i < 6; ++i) {
      BlurDown(sums, i, row, weights.window, fits.Row(i, row));
      fits.ReplicateEnds(i, row);
    }
  }

  void Apply(Image& image, int y, const Scratch& s, const GuidedWeights& weights) const {
    const int own = y / kGuidedCell;
    const int other = std::clamp(y % kGuidedCell == 0 ? own - 1 : own + 1, 0, fits.height() - 1);
    Guide(image.plane(0), y, across, s.Row(0));
    for (int p = 0; p < 2; ++p) {
      for (int i = 0; i < 3; ++i) {
        const int plane = 3 * p + i;
        HWY_DYNAMIC_DISPATCH(FillSamples)({fits.Row(plane, own), fits.Row(plane, other), s.Row(i + 1), fits.width()});
      }
      HWY_DYNAMIC_DISPATCH(ApplyFits)
      ({image.plane(p + 1).Row(y), s.Row(0), s.Row(1), s.Row(2), s.Row(3), weights.strength, across});
    }
  }
};

GuidedChroma::GuidedChroma(int width, int height) : impl_(std::make_unique<Impl>(width, height)) {}

GuidedChroma::~GuidedChroma() = default;

void GuidedChroma::Run(Image& image, float strength, float enlargement, ThreadPool& pool) {
  Impl& impl = *impl_;
  const Subsampling subsampling = image.subsampling();
  const bool fits = (image.width() + 1) / 2 == impl.across && (image.height() + 1) / 2 == impl.down;
  if (!fits || subsampling.log2_x != 1 || subsampling.log2_y != 1) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size or the subsampling that the fit of chroma was planned for.");
  }
  if (strength <= 0) return;
  const GuidedWeights weights = MakeGuidedWeights(enlargement, strength);
  impl.scratch.Prepare(pool.threads(), [&] { return std::make_unique<Scratch>(impl.across); });
  const auto for_rows = [&](int rows, const auto& work) {
    const auto band = [&](int first, int last) {
      const auto scratch = impl.scratch.Borrow();
      for (int y = first; y < last; ++y) work(y, *scratch);
    };
    pool.ParallelRows(rows, kGrainRows, std::ref(band));  // a copy would be allocated
  };
  const int rows = impl.cells.height();
  for_rows(rows, [&](int y, const Scratch& s) { impl.MeasureCells(image, y, s, weights); });
  for_rows(rows, [&](int y, const Scratch& s) { impl.MakeProducts(y, s, weights); });
  for_rows(rows, [&](int y, const Scratch& s) { impl.Fit(y, s, weights); });
  for_rows(rows, [&](int y, const Scratch&) { impl.BlurFits(y, weights); });
  for_rows(impl.down, [&](int y, const Scratch& s) { impl.Apply(image, y, s, weights); });
}

}  // namespace reelmend::pixel
#endif
