// ContourSmoother: straightens the contours of enlarged pictures, and steepens them.
//
// Note [Method]
// Enlarged contours keep the stair-steps of the small picture's samples, and what an encoder left beside them. Both vary
// along the contour; the contour itself does not. So luma is smoothed along contours, and not across them, as coherence
// enhancement does (J. Weickert, “Coherence-enhancing diffusion filtering”, 1999; J. E. Kyprianidis and H. Kang, “Image and
// video abstraction by coherence-enhancing filtering”, 2011):
// - The structure tensor is the mean of the products of the gradient (Sobel) in cells of 4×4 samples, then a Gaussian over
//   cells. Between the centres of cells it is interpolated.
// - Its eigenvectors are the directions across and along the contour. Coherence is the difference of its eigenvalues ÷ their
//   sum: 1 beside a straight contour, 0 in a flat area, at a corner, in texture.
// - A sample becomes the Gaussian mean of the line along the contour through it, as far as coherence and gradient are large.
//   The lines are straight, because they are short: 2.4 pixels of the small picture on each side.
// - Then a line of five samples across the contour, half a pixel of the small picture on each side, sharpens it: v + 0.4 × (v − mean).
//   The result stays within the range of these samples, so that there is no halo.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "pixel/contour_kernel.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"
#include "reelmend/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/contours.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_CONTOURS_TYPES
#define REELMEND_PIXEL_CONTOURS_TYPES
namespace reelmend::pixel {

/// The three numbers of ContourTensor, each for a row of places.
struct TensorRow {
  float* difference;
  float* mixed;
  float* trace;
};

struct GradientRow {
  const std::uint16_t* above;
  const std::uint16_t* row;
  const std::uint16_t* below;
  float* sums;         ///< room for the row's sums and differences of the three rows
  float* differences;
  TensorRow out;       ///< products are added
  int count;
};

/// A row of the smoothing, or of the sharpening.
struct ContourRow {
  const std::uint16_t* in;  ///< with kContourMargin samples around it
  std::ptrdiff_t stride;    ///< in samples
  std::uint16_t* out;
  TensorRow tensor;
  const std::uint8_t* is_active;  ///< of each span; in others nothing is changed, and the tensor is not known
  int count;
  const ContourWeights* weights;
};

/// Samples of a span. The longest vector has as many.
inline constexpr int kContourSpan = 16;

/// Samples around a picture that lines and gradients read.
inline constexpr int kContourMargin = 16;
static_assert(kContourMargin > kContourSteps * kContourStep * kMaxContourEnlargement + 1);

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

/// Adds the products of the gradients of a row. Reads one sample before it and a vector behind it.
void AddGradients(const GradientRow& r) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = -1; x < r.count + 1; x += lanes) {
    const VF above = LoadSamples(r.above + x);
    const VF below = LoadSamples(r.below + x);
    hn::StoreU(hn::MulAdd(LoadSamples(r.row + x), hn::Set(d, 2.0F), hn::Add(above, below)), d, r.sums + x);
    hn::StoreU(hn::Sub(below, above), d, r.differences + x);
  }
  const VF scale = hn::Set(d, 1.0F / (8 * kUnitsPer8BitLevel));  // of Sobel's kernel
  for (int x = 0; x < r.count; x += lanes) {
    const VF across = hn::Mul(scale, hn::Sub(hn::LoadU(d, r.sums + x + 1), hn::LoadU(d, r.sums + x - 1)));
    const VF beside = hn::Add(hn::LoadU(d, r.differences + x - 1), hn::LoadU(d, r.differences + x + 1));
    const VF down = hn::Mul(scale, hn::MulAdd(hn::LoadU(d, r.differences + x), hn::Set(d, 2.0F), beside));
    const auto add = [&](float* to, VF v) { hn::StoreU(hn::Add(hn::LoadU(d, to + x), v), d, to + x); };
    const VF squared = hn::Mul(down, down);
    add(r.out.difference, hn::NegMulAdd(down, down, hn::Mul(across, across)));
    add(r.out.mixed, hn::Mul(hn::Add(across, across), down));
    add(r.out.trace, hn::MulAdd(across, across, squared));
  }
}

HWY_INLINE VF RiseOf(VF v, float from, float to) {
  const DF d;
  const VF t = hn::Mul(hn::Sub(v, hn::Set(d, from)), hn::Set(d, 1 / (to - from)));
  const VF way = hn::Min(hn::Max(t, hn::Zero(d)), hn::Set(d, 1.0F));
  return hn::Mul(hn::Mul(way, way), hn::NegMulAdd(hn::Set(d, 2.0F), way, hn::Set(d, 3.0F)));
}

/// Luma at places of kContourMargin + (across, down) samples from `corner` + the lane's number.
HWY_INLINE VF Interpolated(const std::uint16_t* corner, std::ptrdiff_t stride, VF across, VF down) {
  const DF d;
  const DI di;
  const auto column = hn::ConvertTo(di, across);
  const auto row = hn::ConvertTo(di, down);
  const VF right = hn::Sub(across, hn::ConvertTo(d, column));
  const VF lower = hn::Sub(down, hn::ConvertTo(d, row));
  const auto place = hn::Add(hn::Add(hn::Mul(row, hn::Set(di, static_cast<int>(stride))), column), hn::Iota(di, 0));
  const auto offset = hn::ShiftLeft<1>(place);
  const auto line = [&](const std::uint16_t* from) {
    // A sample and its right neighbour in one load.
    const auto pair = hn::GatherOffset(di, reinterpret_cast<const std::int32_t*>(from), offset);
    const VF left = hn::ConvertTo(d, hn::And(pair, hn::Set(di, 0xFFFF)));
    const VF next = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<16>(hn::BitCast(hn::RebindToUnsigned<DI>(), pair))));
    return hn::MulAdd(hn::Sub(next, left), right, left);
  };
  const VF upper = line(corner);
  return hn::MulAdd(hn::Sub(line(corner + stride), upper), lower, upper);
}

/// The direction across the contour at a vector of samples, and how much they are changed.
struct Contour {
  VF normal_x;
  VF normal_y;
  VF share;
};

/// False if no sample of the vector is changed.
HWY_INLINE bool FindContour(const ContourRow& r, int x, Contour& found) {
  const DF d;
  const VF zero = hn::Zero(d);
  const VF one = hn::Set(d, 1.0F);
  const VF half = hn::Set(d, 0.5F);
  if (r.is_active[x / kContourSpan] == 0) return false;
  const VF trace = hn::LoadU(d, r.tensor.trace + x);
  const VF difference = hn::LoadU(d, r.tensor.difference + x);
  const VF mixed = hn::LoadU(d, r.tensor.mixed + x);
  const VF spread = hn::Sqrt(hn::MulAdd(difference, difference, hn::Mul(mixed, mixed)));
  const VF coherence = hn::Div(spread, hn::Add(trace, hn::Set(d, 1e-3F)));
  found.share = hn::Mul(RiseOf(coherence, kCoherenceFrom, kCoherenceTo), RiseOf(hn::Sqrt(trace), kGradientFrom, kGradientTo));
  if (hn::AllTrue(d, hn::Le(found.share, zero))) return false;
  // Half of the double angle.
  const VF cosine = hn::Div(difference, hn::Max(spread, hn::Set(d, 1e-6F)));
  found.normal_x = hn::Sqrt(hn::Max(zero, hn::Mul(half, hn::Add(one, cosine))));
  found.normal_y = hn::CopySign(hn::Sqrt(hn::Max(zero, hn::Mul(half, hn::Sub(one, cosine)))), mixed);
  return true;
}

/// Luma at a distance from the samples at x along a direction.
HWY_INLINE VF Along(const ContourRow& r, int x, float distance, VF across, VF down) {
  const DF d;
  const VF far = hn::Set(d, distance);
  const VF middle = hn::Set(d, static_cast<float>(kContourMargin));
  return Interpolated(r.in + x - kContourMargin - kContourMargin * r.stride, r.stride, hn::MulAdd(far, across, middle),
                      hn::MulAdd(far, down, middle));
}

void SmoothContours(const ContourRow& r) {
  const DF d;
  const ContourWeights& w = *r.weights;
  Contour contour;
  for (int x = 0; x < r.count; x += FloatLanes()) {
    if (!FindContour(r, x, contour)) continue;
    const VF back = hn::Neg(contour.normal_y);
    const VF v = LoadSamples(r.in + x);
    VF mean = hn::Mul(v, hn::Set(d, w.line[0]));
    for (int i = 1; i <= kContourSteps; ++i) {
      const float far = static_cast<float>(i) * w.step;
      const VF both = hn::Add(Along(r, x, far, back, contour.normal_x), Along(r, x, -far, back, contour.normal_x));
      mean = hn::MulAdd(both, hn::Set(d, w.line[i]), mean);
    }
    const VF share = hn::Mul(contour.share, hn::Set(d, w.strength));
    StoreSamples(hn::MulAdd(hn::Sub(mean, v), share, v), r.out + x);
  }
}

void SharpenContours(const ContourRow& r) {
  const DF d;
  const ContourWeights& w = *r.weights;
  Contour contour;
  for (int x = 0; x < r.count; x += FloatLanes()) {
    if (!FindContour(r, x, contour)) continue;
    const VF v = LoadSamples(r.in + x);
    VF low = v;
    VF high = v;
    VF sum = hn::Add(v, v);
    for (const float far : {w.distance, w.distance / 2}) {
      const VF before = Along(r, x, -far, contour.normal_x, contour.normal_y);
      const VF behind = Along(r, x, far, contour.normal_x, contour.normal_y);
      low = hn::Min(low, hn::Min(before, behind));
      high = hn::Max(high, hn::Max(before, behind));
      sum = hn::MulAdd(hn::Set(d, far < w.distance ? 2.0F : 1.0F), hn::Add(before, behind), sum);
    }
    const VF share = hn::Mul(contour.share, hn::Set(d, w.sharpening));
    const VF sharp = hn::MulAdd(hn::NegMulAdd(sum, hn::Set(d, 0.125F), v), share, v);
    StoreSamples(hn::Min(hn::Max(sharp, low), high), r.out + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(AddGradients);
HWY_EXPORT(SmoothContours);
HWY_EXPORT(SharpenContours);

constexpr int kGrainRows = 32;
constexpr int kGrainCells = 8;
constexpr int kLanes = 64;  ///< samples by which vectors exceed a row

int Cells(int samples) { return (samples + kContourCell - 1) / kContourCell; }

/// Three rows or planes of floats, as TensorRow.
struct TensorPlanes {
  void SetSize(int width, int height, int margin) {
    stride = width + 2 * margin + kLanes;
    first = margin;
    for (auto& plane : planes) plane = AlignedArray<float>(stride * height);
  }
  TensorRow Row(int y) const {
    const std::ptrdiff_t at = y * stride + first;
    return {planes[0].get() + at, planes[1].get() + at, planes[2].get() + at};
  }

  std::ptrdiff_t stride = 0;
  int first = 0;
  std::array<AlignedArray<float>, 3> planes;
};

std::array<float*, 3> Each(const TensorRow& row) { return {row.difference, row.mixed, row.trace}; }

/// Rows of floats of one thread.
struct RowScratch {
  explicit RowScratch(int width) : sums(width + 2 * kLanes), differences(width + 2 * kLanes), is_active(width / kContourSpan + 1) {
    samples.SetSize(width, 1, 0);
    cells.SetSize(Cells(width), 1, kContourBlurReach);
  }
  AlignedArray<float> sums;
  AlignedArray<float> differences;
  std::vector<std::uint8_t> is_active;  ///< spans with gradients
  TensorPlanes samples;  ///< of a row of samples
  TensorPlanes cells;    ///< of a row of cells
};

void ReplicateEnds(float* row, int width, int count) {
  std::fill_n(row - count, count, row[0]);
  std::fill_n(row + width, count, row[width - 1]);
}

/// Sums of four samples' columns.
void SumCells(const float* columns, int cells, float* out) {
  constexpr float kShare = 1.0F / (kContourCell * kContourCell);
  for (int i = 0; i < cells; ++i, columns += kContourCell) out[i] = kShare * ((columns[0] + columns[1]) + (columns[2] + columns[3]));
}

/// Whether a cell of a span, or one beside it, has a gradient.
bool HasGradient(const float* trace, int first, int end) {
  float largest = 0;
  for (int i = first - 1; i <= end; ++i) largest = std::max(largest, trace[i]);
  return largest > kGradientFrom * kGradientFrom;
}

/// Values of the samples of cells, by linear interpolation between the cells' centres.
void InterpolateAcross(const float* cell, int first, int end, float* __restrict out) {
  static_assert(kContourCell == 4);
  out += first * kContourCell;
  for (int i = first; i < end; ++i, out += kContourCell) {
    const float before = cell[i - 1] - cell[i];
    const float behind = cell[i + 1] - cell[i];
    out[0] = cell[i] + before * 0.375F;
    out[1] = cell[i] + before * 0.125F;
    out[2] = cell[i] + behind * 0.125F;
    out[3] = cell[i] + behind * 0.375F;
  }
}

/// Luma with kContourMargin copies of its edge samples on each side.
struct WideSamples {
  WideSamples(int w, int h)
      : width(w),
        height(h),
        stride((w + 2 * kContourMargin + 2 * kLanes) / 32 * 32),
        samples(stride * (h + 2 * kContourMargin + kContourCell)) {}

  std::uint16_t* Row(int y) const { return samples.get() + (y + kContourMargin) * stride + kContourMargin; }

  void ReplicateSides(int y) const {
    std::uint16_t* row = Row(y);
    std::fill_n(row - kContourMargin, kContourMargin, row[0]);
    std::fill_n(row + width, kContourMargin + kContourCell, row[width - 1]);
  }
  /// After all rows are there.
  void ReplicateTopAndBottom() const {
    const auto copy = [&](int from, int to) {
      std::memcpy(Row(to) - kContourMargin, Row(from) - kContourMargin, sizeof(std::uint16_t) * static_cast<std::size_t>(width + 2 * kContourMargin + kContourCell));
    };
    for (int y = 1; y <= kContourMargin; ++y) copy(0, -y);
    for (int y = height; y < height + kContourMargin + kContourCell; ++y) copy(height - 1, y);
  }

  int width;
  int height;
  std::ptrdiff_t stride;
  AlignedArray<std::uint16_t> samples;
};

}  // namespace

struct ContourSmoother::Impl {
  int width;
  int height;
  WideSamples luma;
  WideSamples smooth;
  TensorPlanes means;  ///< of cells, along rows already blurred
  TensorPlanes cells;
  ScratchPool<RowScratch> rows;

  Impl(int w, int h) : width(w), height(h), luma(w, h), smooth(w, h) {
    means.SetSize(Cells(w), Cells(h), 0);
    cells.SetSize(Cells(w), Cells(h), 0);
  }

  void MeasureCells(int row, const ContourWeights& weights, RowScratch& scratch) const {
    const int count = Cells(width);
    const TensorRow columns = scratch.samples.Row(0);
    for (float* plane : Each(columns)) std::fill_n(plane, Cells(width) * kContourCell, 0.0F);
    for (int y = row * kContourCell; y < (row + 1) * kContourCell; ++y) {
      HWY_DYNAMIC_DISPATCH(AddGradients)
      ({luma.Row(y - 1), luma.Row(y), luma.Row(y + 1), scratch.sums.get() + kLanes, scratch.differences.get() + kLanes, columns,
        Cells(width) * kContourCell});
    }
    const auto from = Each(columns);
    const auto own = Each(scratch.cells.Row(0));
    const auto to = Each(means.Row(row));
    for (int p = 0; p < 3; ++p) {
      SumCells(from[p], count, own[p]);
      ReplicateEnds(own[p], count, kContourBlurReach);
      for (int x = 0; x < count; ++x) {
        float sum = weights.blur[0] * own[p][x];
        for (int k = 1; k <= kContourBlurReach; ++k) sum += weights.blur[k] * (own[p][x - k] + own[p][x + k]);
        to[p][x] = sum;
      }
    }
  }

  void BlurDown(int row, const ContourWeights& weights) const {
    const int count = Cells(width);
    const int last = Cells(height) - 1;
    const auto to = Each(cells.Row(row));
    for (int p = 0; p < 3; ++p) {
      const float* own = Each(means.Row(row))[p];
      for (int x = 0; x < count; ++x) to[p][x] = weights.blur[0] * own[x];
      for (int k = 1; k <= kContourBlurReach; ++k) {
        const float* above = Each(means.Row(std::max(row - k, 0)))[p];
        const float* below = Each(means.Row(std::min(row + k, last)))[p];
        for (int x = 0; x < count; ++x) to[p][x] += weights.blur[k] * (above[x] + below[x]);
      }
    }
  }

  /// The tensor of each sample of row y, in spans with gradients.
  void Interpolate(int y, RowScratch& scratch) const {
    const int count = Cells(width);
    const int own = y / kContourCell;
    const int place = y % kContourCell;
    const int other = std::clamp(place < kContourCell / 2 ? own - 1 : own + 1, 0, Cells(height) - 1);
    const float share = std::abs(static_cast<float>(place) - 1.5F) / kContourCell;
    const auto near = Each(cells.Row(own));
    const auto far = Each(cells.Row(other));
    const auto between = Each(scratch.cells.Row(0));
    const auto to = Each(scratch.samples.Row(0));
    for (int p = 0; p < 3; ++p) {
      for (int x = 0; x < count; ++x) between[p][x] = near[p][x] + (far[p][x] - near[p][x]) * share;
      ReplicateEnds(between[p], count, 1);
    }
    constexpr int kSpanCells = kContourSpan / kContourCell;
    for (int first = 0; first < count; first += kSpanCells) {
      const int end = std::min(first + kSpanCells, count);
      const bool is_active = HasGradient(between[2], first, end);
      scratch.is_active[first / kSpanCells] = is_active ? 1 : 0;
      for (int p = 0; is_active && p < 3; ++p) InterpolateAcross(between[p], first, end, to[p]);
    }
  }
};

ContourSmoother::ContourSmoother(int width, int height) : impl_(std::make_unique<Impl>(width, height)) {}

ContourSmoother::~ContourSmoother() = default;

void ContourSmoother::Run(Image& image, float strength, float enlargement, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (image.width() != impl.width || image.height() != impl.height) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the smoothing of contours was planned for.");
  }
  const ContourWeights weights = MakeContourWeights(enlargement, strength);
  if (strength <= 0) return;
  impl.rows.Prepare(pool.threads(), [&] { return std::make_unique<RowScratch>(impl.width); });
  const Plane plane = image.plane(0);
  const auto copy = [&](const std::uint16_t* from, std::uint16_t* to) {
    std::memcpy(to, from, sizeof(*to) * static_cast<std::size_t>(impl.width));
  };
  const auto for_rows = [&](int rows, int grain, const auto& work) {
    const auto band = [&](int first, int last) {
      const auto scratch = impl.rows.Borrow();
      for (int y = first; y < last; ++y) work(y, *scratch);
    };
    pool.ParallelRows(rows, grain, std::ref(band));  // a copy would be allocated
  };
  for_rows(impl.height, kGrainRows, [&](int y, RowScratch&) {
    copy(plane.Row(y), impl.luma.Row(y));
    impl.luma.ReplicateSides(y);
  });
  impl.luma.ReplicateTopAndBottom();
  for_rows(Cells(impl.height), kGrainCells, [&](int row, RowScratch& scratch) { impl.MeasureCells(row, weights, scratch); });
  for_rows(Cells(impl.height), kGrainCells, [&](int row, RowScratch&) { impl.BlurDown(row, weights); });
  for_rows(impl.height, kGrainRows, [&](int y, RowScratch& scratch) {
    copy(impl.luma.Row(y), impl.smooth.Row(y));
    impl.Interpolate(y, scratch);
    HWY_DYNAMIC_DISPATCH(SmoothContours)
    ({impl.luma.Row(y), impl.luma.stride, impl.smooth.Row(y), scratch.samples.Row(0), scratch.is_active.data(), impl.width, &weights});
    impl.smooth.ReplicateSides(y);
  });
  impl.smooth.ReplicateTopAndBottom();
  for_rows(impl.height, kGrainRows, [&](int y, RowScratch& scratch) {
    copy(impl.smooth.Row(y), plane.Row(y));
    impl.Interpolate(y, scratch);
    HWY_DYNAMIC_DISPATCH(SharpenContours)
    ({impl.smooth.Row(y), impl.smooth.stride, plane.Row(y), scratch.samples.Row(0), scratch.is_active.data(), impl.width, &weights});
  });
}

}  // namespace reelmend::pixel
#endif
