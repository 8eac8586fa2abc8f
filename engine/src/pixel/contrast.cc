// AdaptiveContrast: contrast-limited adaptive equalisation of luma.
//
// Note [Method]
// After K. Zuiderveld, "Contrast limited adaptive histogram equalization" (Graphics Gems IV, 1994): up to
// 8 × 8 tiles, each with the cumulated, clipped histogram as its curve, interpolated bilinearly between the
// tiles' centres. Differences:
// - A curve is kept as its distance from the identity at the edges of at most 16 segments of equal width,
//   0 at black and white, linear between: black stays black, a uniform histogram changes nothing, and a
// - A tile's histogram is the sum over the last kWindow pictures, in whole numbers. So a still scene keeps its brightness,
//   and after kWindow pictures the result does not depend on where processing began: segments of one video can be enhanced
//   separately and joined.
// - The levels of flat footage are spread first: Note [Levels] in contrast_levels.h. One curve does both.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "reelmend/error.h"
#include "pixel/contrast_curve.h"
#include "pixel/contrast_levels.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/contrast.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_CONTRAST_TYPES
#define REELMEND_PIXEL_CONTRAST_TYPES
namespace reelmend::pixel {

/// Change of luma v in segment s at the left end of a span: value[s] + slope[s] × v, and its growth per unit
/// of the way to the right end.
struct SpanTables {
  alignas(64) float value[kMaxSegments];
  alignas(64) float slope[kMaxSegments];
  alignas(64) float value_growth[kMaxSegments];
  alignas(64) float slope_growth[kMaxSegments];
};

struct ContrastSpan {
  std::uint16_t* row;
  int first;  ///< a multiple of 32
  int last;
  float way_offset;  ///< way = x × way_step + way_offset, 0 at the left and 1 at the right tile's centre
  float way_step;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

/// table[index] for up to 16 entries: a register permutation if they fit into one register.
class Table {
 public:
  explicit Table(const float* entries) : entries_(entries) {}
  template <class V, class Index>
  HWY_INLINE V At(Index index) const {
    const DF d;
    if constexpr (hn::MaxLanes(DF()) == kMaxSegments) {
      return hn::TableLookupLanes(hn::Load(d, entries_), hn::IndicesFromVec(d, index));
    } else {
      return hn::GatherIndex(d, entries_, index);
    }
  }

 private:
  const float* entries_;
};

void ApplySpan(const ContrastSpan& span, const SpanTables& tables, const CurveDomain& domain) {
  const DF d;
  const DI di;
  const VF base = hn::Set(d, domain.base);
  const VF per_segment = hn::Set(d, 1.0F / domain.segment_width);
  const VF top = hn::Set(d, domain.base + domain.segment_width * static_cast<float>(domain.segments));
  const VF black = hn::Set(d, domain.black);
  const VF white = hn::Set(d, domain.white);
  const auto zero = hn::Zero(di);
  const auto last_segment = hn::Set(di, domain.segments - 1);
  const VF way_step = hn::Set(d, span.way_step);
  const VF way_offset = hn::Set(d, span.way_offset);
  const Table value(tables.value);
  const Table slope(tables.slope);
  const Table value_growth(tables.value_growth);
  const Table slope_growth(tables.slope_growth);
  const int lanes = FloatLanes();
  for (int x = span.first; x < span.last; x += lanes) {
    const VF luma = LoadSamples(span.row + x);
    const auto segment = hn::ConvertTo(di, hn::Mul(hn::Sub(luma, base), per_segment));
    const auto index = hn::Min(hn::Max(segment, zero), last_segment);
    const VF way = hn::MulAdd(hn::Iota(d, static_cast<float>(x)), way_step, way_offset);
    const VF v = hn::MulAdd(way, value_growth.At<VF>(index), value.At<VF>(index));
    const VF s = hn::MulAdd(way, slope_growth.At<VF>(index), slope.At<VF>(index));
    const VF curved = hn::Add(luma, hn::MulAdd(s, luma, v));
    // Levels within the range stay within it; levels outside (headroom, sync) stay as they are.
    const VF kept = hn::Min(hn::Max(curved, hn::Min(luma, black)), hn::Max(luma, white));
    const auto inside = hn::And(hn::Ge(luma, base), hn::Le(luma, top));
    StoreSamples(hn::IfThenElse(inside, kept, luma), span.row + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(ApplySpan);

constexpr int kWindow = kContrastWindow;
constexpr int kGrainRows = 32;

using TileHistogram = std::array<std::uint32_t, kMaxBins>;
/// Distance from the identity at the segments' edges, in working units.
using Curve = std::array<float, kMaxSegments + 1>;

}  // namespace

struct AdaptiveContrast::Impl {
  using Histograms = std::array<TileHistogram, kMaxTiles * kMaxTiles>;

  Impl(int width, int height, const LevelLift& lift_in)
      : lift(lift_in), across(width, TileCount(width)), down(height, TileCount(height)), history(kWindow) {}

  LevelLift lift;

  TileAxis across;
  TileAxis down;
  RangeLayout layout = LayoutOf(Range::kLimited);
  Range range = Range::kLimited;
  std::vector<Histograms> history;  // ring of the last pictures
  Histograms sums{};
  std::array<Curve, kMaxTiles * kMaxTiles> curves{};
  std::array<Levels, kWindow> recent{};  // ring as `history`
  int pictures = 0;  // in the window
  int next = 0;
  int newest = 0;

  int tiles() const { return across.count * down.count; }

  void Reset() {
    pictures = 0;
    next = 0;
    sums = {};
  }

  void CountTile(ConstPlane luma, int tile, TileHistogram& histogram) const {
    const int tx = tile % across.count;
    const int ty = tile / across.count;
    const int x0 = across.Begin(tx);
    const int x1 = across.Begin(tx + 1);
    const int y0 = down.Begin(ty);
    const int y1 = down.Begin(ty + 1);
    const int step = CountingStep(x1 - x0, y1 - y0);
    histogram.fill(0);
    for (int y = y0; y < y1; y += step) {
      const std::uint16_t* row = luma.Row(y);
      for (int x = x0; x < x1; x += step) {
        ++histogram[std::clamp((row[x] - layout.base) >> kBinBits, 0, layout.bins - 1)];
      }
    }
  }

  /// Moves the window to include `luma`.
  void Observe(ConstPlane luma, ThreadPool& pool) {
    Histograms& slot = history[next];
    const auto count = [&](int first, int last) {
      for (int tile = first; tile < last; ++tile) {
        if (pictures == kWindow) {
          for (int i = 0; i < layout.bins; ++i) sums[tile][i] -= slot[tile][i];
        }
        CountTile(luma, tile, slot[tile]);
        for (int i = 0; i < layout.bins; ++i) sums[tile][i] += slot[tile][i];
        MakeCurve(sums[tile].data(), layout, curves[tile].data());
      }
    };
    pool.ParallelRows(tiles(), 1, std::ref(count));
    pictures = std::min(pictures + 1, kWindow);
    newest = next;
    next = (next + 1) % kWindow;
  }

  void ObserveLevels() {
    TileHistogram picture{};
    for (int tile = 0; tile < tiles(); ++tile) {
      for (int i = 0; i < layout.bins; ++i) picture[i] += history[newest][tile][i];
    }
    recent[newest] = MeasureLevels(picture.data(), layout, lift.bars);
  }

  /// Combines the levels' curve with those of the tiles, which are multiplied by their strength here. Returns the factor of
  /// chroma.
  float SpreadLevels(float strength) {
    const LevelCurve levels = LevelCurve::Of(lift, MeanLevels(recent.data(), newest, pictures));
    for (int i = 0; i <= layout.domain.segments; ++i) {
      const float change = levels.ChangeAt(i, layout.domain);
      for (int tile = 0; tile < tiles(); ++tile) {
        curves[tile][i] = change + strength * levels.local * curves[tile][i];
      }
    }
    return levels.chroma();
  }

  void SpreadChroma(Image& image, float gain, ThreadPool& pool) const {
    if (gain <= 1) return;
    const float limit = ChromaLimit(range == Range::kLimited);
    const Plane cb = image.plane(1);
    const Plane cr = image.plane(2);
    const auto rows = [&](int first, int last) {
      for (int y = first; y < last; ++y) {
        std::uint16_t* b = cb.Row(y);
        std::uint16_t* r = cr.Row(y);
        for (int x = 0; x < cb.width; ++x) {
          const float from_b = static_cast<float>(b[x]) - 32768.0F;
          const float from_r = static_cast<float>(r[x]) - 32768.0F;
          const float factor = ChromaFactor(from_b, from_r, gain, limit);
          b[x] = static_cast<std::uint16_t>(from_b * factor + 32768.5F);
          r[x] = static_cast<std::uint16_t>(from_r * factor + 32768.5F);
        }
      }
    };
    pool.ParallelRows(cb.height, kGrainRows, std::ref(rows));
  }

  /// Curves of the tile columns for row `y`, times the strength.
  void RowCurves(int y, float strength, Curve* row_curves) const {
    int upper = 0;
    while (upper + 1 < down.count && down.Centre(upper + 1, 1) <= y) ++upper;
    const int lower = y < down.Centre(0, 1) ? upper : std::min(upper + 1, down.count - 1);
    const int from = down.Centre(upper, 1);
    const int to = down.Centre(lower, 1);
    const float way = to > from ? static_cast<float>(y - from) / static_cast<float>(to - from) : 0.0F;
    for (int tx = 0; tx < across.count; ++tx) {
      const Curve& a = curves[upper * across.count + tx];
      const Curve& b = curves[lower * across.count + tx];
      for (int i = 0; i <= kMaxSegments; ++i) row_curves[tx][i] = strength * (a[i] + way * (b[i] - a[i]));
    }
  }

  SpanTables MakeTables(const Curve& left, const Curve& right) const {
    SpanTables tables{};
    const CurveDomain& domain = layout.domain;
    for (int i = 0; i < domain.segments; ++i) {
      const float edge = domain.base + domain.segment_width * static_cast<float>(i);
      const float left_slope = (left[i + 1] - left[i]) / domain.segment_width;
      const float right_slope = (right[i + 1] - right[i]) / domain.segment_width;
      tables.slope[i] = left_slope;
      tables.value[i] = left[i] - left_slope * edge;
      tables.slope_growth[i] = right_slope - left_slope;
      tables.value_growth[i] = right[i] - right_slope * edge - tables.value[i];
    }
    return tables;
  }

  void ApplyRow(std::uint16_t* row, int y, float strength) const {
    Curve row_curves[kMaxTiles];
    RowCurves(y, strength, row_curves);
    int first = 0;
    for (int right = 0; right <= across.count; ++right) {
      const int left = std::max(right - 1, 0);
      const int right_tile = std::min(right, across.count - 1);
      const int from = across.Centre(left, kCentreAlignment);
      const int to = across.Centre(right_tile, kCentreAlignment);
      const int last = right == across.count ? across.size : std::min(to, across.size);
      if (first < last) {
        const float step = to > from ? 1.0F / static_cast<float>(to - from) : 0.0F;
        HWY_DYNAMIC_DISPATCH(ApplySpan)
        ({row, first, last, -static_cast<float>(from) * step, step},
         MakeTables(row_curves[left], row_curves[right_tile]), layout.domain);
      }
      first = std::max(first, last);
    }
  }
};

AdaptiveContrast::AdaptiveContrast(int width, int height, const LevelLift& lift)
    : impl_(std::make_unique<Impl>(width, height, lift)) {}

AdaptiveContrast::~AdaptiveContrast() = default;

void AdaptiveContrast::Reset() { impl_->Reset(); }

void AdaptiveContrast::Run(Image& image, float strength, ThreadPool& pool) {
  if (strength <= 0) return;
  Observe(image, pool);
  Apply(image, strength, pool);
}

void AdaptiveContrast::Observe(const Image& image, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (image.width() != impl.across.size || image.height() != impl.down.size) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the contrast was planned for.");
  }
  if (image.color().range != impl.range) {
    impl.range = image.color().range;
    impl.layout = LayoutOf(impl.range);
    impl.Reset();
  }
  impl.Observe(image.plane(0), pool);
  if (impl.lift.amount > 0) impl.ObserveLevels();
}

void AdaptiveContrast::Apply(Image& image, float strength, ThreadPool& pool) {
  Impl& impl = *impl_;
  const Plane luma = image.plane(0);
  float applied = std::min(strength, 1.0F);
  if (impl.lift.amount > 0) {
    impl.SpreadChroma(image, impl.SpreadLevels(applied), pool);
    applied = 1;  // the curves contain it
  }
  const auto rows = [&](int first, int last) {
    for (int y = first; y < last; ++y) impl.ApplyRow(luma.Row(y), y, applied);
  };
  pool.ParallelRows(luma.height, kGrainRows, std::ref(rows));
}

}  // namespace reelmend::pixel
#endif
