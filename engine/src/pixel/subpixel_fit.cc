#include "pixel/subpixel_fit.h"

#include <algorithm>

#include "pixel/edge_patch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/subpixel_fit.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_SUBPIXEL_FIT_TYPES
#define REELMEND_PIXEL_SUBPIXEL_FIT_TYPES
namespace reelmend::pixel {

/// Columns that InterpolateDown reads and writes: the window and the taps beyond it, in whole vectors.
inline constexpr int kFitColumns = 32;

/// The displaced older picture that the window is compared with.
struct FitReference {
  const std::uint16_t* older;  ///< of the window's first sample, without the fraction
  std::ptrdiff_t stride;
  int fraction_x;
  int fraction_y;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

/// Fills the window whose first sample is at `now`, and sets the sums of its gradients (xx, xy, yy).
void FillFitWindow(const std::uint16_t* now, std::ptrdiff_t stride, FitWindow& window, FitSums& sums) {
  sums = {};
  for (int i = 0; i < kFitArea; ++i) {
    const std::uint16_t* sample = now + i / kFitSide * stride + i % kFitSide;
    const int across = (sample[1] - sample[-1]) >> (kFitShift + 1);
    const int down = (sample[stride] - sample[-stride]) >> (kFitShift + 1);
    window.samples[i] = static_cast<std::int16_t>(*sample >> kFitShift);
    window.across[i] = static_cast<std::int16_t>(across);
    window.down[i] = static_cast<std::int16_t>(down);
    sums.xx += across * across;
    sums.xy += across * down;
    sums.yy += down * down;
  }
}

/// Sets the sums that depend on the displacement (xr, yr, error). `displaced` returns the displaced sample at a place in the window.
template <typename Displaced>
void SumResidues(const FitWindow& window, FitSums& sums, const Displaced& displaced) {
  sums.xr = 0;
  sums.yr = 0;
  sums.error = 0;
  for (int i = 0; i < kFitArea; ++i) {
    const int residue = window.samples[i] - displaced(i % kFitSide, i / kFitSide);
    sums.xr += residue * window.across[i];
    sums.yr += residue * window.down[i];
    sums.error += static_cast<std::uint32_t>(residue * residue);
  }
}

/// Of a displacement by whole samples.
void SumWholeFit(const FitReference& p, const FitWindow& window, FitSums& sums) {
  SumResidues(window, sums, [&](int x, int y) { return p.older[y * p.stride + x] >> kFitShift; });
}

/// Of any displacement.
void SumFit(const FitReference& p, const FitWindow& window, FitSums& sums) {
  SumResidues(window, sums, [&](int x, int y) {
    int sum = 1 << (2 * kFitWeightBits - 1);
    for (int j = 0; j < kMotionTaps; ++j) {
      const std::uint16_t* row = p.older + (y + j - 1) * p.stride + x - 1;
      for (int i = 0; i < kMotionTaps; ++i) sum += FitWeight(p.fraction_y, j) * FitWeight(p.fraction_x, i) * (row[i] >> kFitShift);
    }
    return std::clamp(sum >> (2 * kFitWeightBits), 0, kFitPeak);
  });
}

#else

using Fit16 = hn::CappedTag<std::int16_t, 16>;
using Fit32 = hn::Repartition<std::int32_t, Fit16>;
using FitSamples = hn::Rebind<std::uint16_t, Fit32>;

/// Adds the products of two vectors. Only the total over all lanes is defined.
class ProductSum {
 public:
  ProductSum() : first_(hn::Zero(Fit32())), second_(hn::Zero(Fit32())) {}
  void Add(hn::Vec<Fit16> a, hn::Vec<Fit16> b) { first_ = hn::ReorderWidenMulAccumulate(Fit32(), a, b, first_, second_); }
  hn::Vec<Fit32> Total() const { return hn::SumOfLanes(Fit32(), hn::Add(first_, second_)); }

 private:
  hn::Vec<Fit32> first_;
  hn::Vec<Fit32> second_;  // stays zero on x86
};

/// Calls `visit` for each vector of the window, with its index and the places of its two halves: row and column of the first sample.
/// Three vectors of 16 samples are two rows. The samples of a vector are in the order that hn::ReorderDemote2To leaves.
template <typename Visit>
HWY_INLINE void ForEachFitVector(const Visit& visit) {
  const int lanes = static_cast<int>(hn::Lanes(Fit16()));
  for (int y = 0; y < kFitSide; y += 2) {
    for (int i = 0; i < 2 * kFitSide; i += lanes) {
      const int next = i + lanes / 2;
      visit(y * kFitSide + i, y + i / kFitSide, i % kFitSide, y + next / kFitSide, next % kFitSide);
    }
  }
}

/// Fills the window whose first sample is at `now`, and sets the sums of its gradients (xx, xy, yy).
void FillFitWindow(const std::uint16_t* now, std::ptrdiff_t stride, FitWindow& window, FitSums& sums) {
  const Fit16 d;
  ProductSum xx;
  ProductSum xy;
  ProductSum yy;
  ForEachFitVector([&](int index, int row, int column, int next_row, int next_column) {
    const std::uint16_t* place = now + row * stride + column;
    const std::uint16_t* next = now + next_row * stride + next_column;
    const auto load = [](const std::uint16_t* from) { return hn::PromoteTo(Fit32(), hn::LoadU(FitSamples(), from)); };
    const auto gradient = [&](const std::uint16_t* from, std::ptrdiff_t step) {
      return hn::ShiftRight<kFitShift + 1>(hn::Sub(load(from + step), load(from - step)));
    };
    const auto across = hn::ReorderDemote2To(d, gradient(place, 1), gradient(next, 1));
    const auto down = hn::ReorderDemote2To(d, gradient(place, stride), gradient(next, stride));
    hn::StoreU(hn::ReorderDemote2To(d, hn::ShiftRight<kFitShift>(load(place)), hn::ShiftRight<kFitShift>(load(next))), d, window.samples + index);
    hn::StoreU(across, d, window.across + index);
    hn::StoreU(down, d, window.down + index);
    xx.Add(across, across);
    xy.Add(across, down);
    yy.Add(down, down);
  });
  sums.xx = hn::GetLane(xx.Total());
  sums.xy = hn::GetLane(xy.Total());
  sums.yy = hn::GetLane(yy.Total());
}

/// Sets the sums that depend on the displacement (xr, yr, error). `displaced` returns the displaced samples from a row and column, as
/// numbers of 32 bits.
template <typename Displaced>
HWY_INLINE void SumResidues(const FitWindow& window, FitSums& sums, const Displaced& displaced) {
  const Fit16 d;
  ProductSum xr;
  ProductSum yr;
  ProductSum error;
  ForEachFitVector([&](int index, int row, int column, int next_row, int next_column) {
    const auto samples = hn::ReorderDemote2To(d, displaced(row, column), displaced(next_row, next_column));
    const auto limited = hn::Min(hn::Max(samples, hn::Zero(d)), hn::Set(d, kFitPeak));
    const auto residue = hn::Sub(hn::LoadU(d, window.samples + index), limited);
    xr.Add(residue, hn::LoadU(d, window.across + index));
    yr.Add(residue, hn::LoadU(d, window.down + index));
    error.Add(residue, residue);
  });
  sums.xr = hn::GetLane(xr.Total());
  sums.yr = hn::GetLane(yr.Total());
  sums.error = static_cast<std::uint32_t>(hn::GetLane(error.Total()));
}

/// Of a displacement by whole samples.
void SumWholeFit(const FitReference& p, const FitWindow& window, FitSums& sums) {
  SumResidues(window, sums, [&](int row, int column) {
    return hn::PromoteTo(Fit32(), hn::ShiftRight<kFitShift>(hn::LoadU(FitSamples(), p.older + row * p.stride + column)));
  });
}

/// Writes rows of the displaced picture that are interpolated vertically, but not yet across.
void InterpolateDown(const FitReference& p, std::int32_t* out) {
  const Fit16 d;
  const Fit32 wide;
  const hn::RebindToUnsigned<Fit16> samples;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto weights = [&](int tap) {
    return hn::InterleaveLower(d, hn::Set(d, static_cast<std::int16_t>(FitWeight(p.fraction_y, tap))),
                               hn::Set(d, static_cast<std::int16_t>(FitWeight(p.fraction_y, tap + 1))));
  };
  const auto first = weights(0);
  const auto last = weights(2);
  const auto sum_of = [&](hn::Vec<Fit16> rows, hn::Vec<Fit16> next_rows) {
    auto odd = hn::Zero(wide);
    auto even = hn::ReorderWidenMulAccumulate(wide, rows, first, hn::Zero(wide), odd);
    even = hn::ReorderWidenMulAccumulate(wide, next_rows, last, even, odd);
    return hn::RearrangeToOddPlusEven(even, odd);
  };
  for (int x = 0; x < kFitColumns; x += lanes) {
    const std::uint16_t* in = p.older - p.stride - 1 + x;
    const auto load = [&](int y) { return hn::BitCast(d, hn::ShiftRight<kFitShift>(hn::LoadU(samples, in + y * p.stride))); };
    auto row = load(2);
    // Pairs of rows that follow each other, in the order that the multiplication adds: the one of this row, and those of the next two.
    hn::Vec<Fit16> low[3];
    hn::Vec<Fit16> high[3];
    const auto row0 = load(0);
    const auto row1 = load(1);
    low[0] = hn::InterleaveLower(d, row0, row1);
    high[0] = hn::InterleaveUpper(d, row0, row1);
    low[1] = hn::InterleaveLower(d, row1, row);
    high[1] = hn::InterleaveUpper(d, row1, row);
    for (int y = 0; y < kFitSide; ++y) {
      const auto next = load(y + 3);
      low[2] = hn::InterleaveLower(d, row, next);
      high[2] = hn::InterleaveUpper(d, row, next);
      const auto sum_low = sum_of(low[0], low[2]);
      const auto sum_high = sum_of(high[0], high[2]);
      std::int32_t* to = out + y * kFitColumns + x;
      if constexpr (hn::MaxLanes(Fit16()) > 8) {  // interleaving goes by blocks of 128 bits
        hn::StoreU(hn::ConcatLowerLower(wide, sum_high, sum_low), wide, to);
        hn::StoreU(hn::ConcatUpperUpper(wide, sum_high, sum_low), wide, to + lanes / 2);
      } else {
        hn::StoreU(sum_low, wide, to);
        hn::StoreU(sum_high, wide, to + lanes / 2);
      }
      low[0] = low[1];
      high[0] = high[1];
      low[1] = low[2];
      high[1] = high[2];
      row = next;
    }
  }
}

/// Of any displacement. Reads kFitColumns samples of a row, from one left of the window.
void SumFit(const FitReference& p, const FitWindow& window, FitSums& sums) {
  const Fit32 wide;
  HWY_ALIGN std::int32_t rows[kFitSide * kFitColumns];
  InterpolateDown(p, rows);
  hn::Vec<Fit32> weights[kMotionTaps];
  for (int k = 0; k < kMotionTaps; ++k) weights[k] = hn::Set(wide, FitWeight(p.fraction_x, k));
  const auto half = hn::Set(wide, 1 << (2 * kFitWeightBits - 1));
  SumResidues(window, sums, [&](int row, int column) {
    const std::int32_t* from = rows + row * kFitColumns + column;
    auto sum = half;
    for (int k = 0; k < kMotionTaps; ++k) sum = hn::Add(sum, hn::Mul(hn::LoadU(wide, from + k), weights[k]));
    return hn::ShiftRight<2 * kFitWeightBits>(sum);
  });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(FillFitWindow);
HWY_EXPORT(SumWholeFit);
HWY_EXPORT(SumFit);

void Sum(const FitReference& reference, const FitWindow& window, FitSums& sums) {
  if (reference.fraction_x == 0 && reference.fraction_y == 0) return HWY_DYNAMIC_DISPATCH(SumWholeFit)(reference, window, sums);
  HWY_DYNAMIC_DISPATCH(SumFit)(reference, window, sums);
}

}  // namespace

SubpixelFit::SubpixelFit(ConstPlane now, int x, int y)
    : x_(std::clamp(x - kFitMargin, 1, now.width - kFitSide - 1)), y_(std::clamp(y - kFitMargin, 1, now.height - kFitSide - 1)) {
  HWY_DYNAMIC_DISPATCH(FillFitWindow)(now.Row(y_) + x_, now.stride, window_, sums_);
}

MotionVector SubpixelFit::Run(ConstPlane older, int dx, int dy, MotionErrors& errors) {
  const std::uint32_t none = ErrorAt(older, {});
  MotionVector best{static_cast<std::int16_t>(dx * kMotionUnits), static_cast<std::int16_t>(dy * kMotionUnits)};
  std::uint32_t error = best == MotionVector{} ? none : ErrorAt(older, best);
  for (int i = 0; i < kFitSteps; ++i) {
    const MotionVector step = FitStep(sums_);
    const MotionVector next{static_cast<std::int16_t>(best.x + step.x), static_cast<std::int16_t>(best.y + step.y)};
    if (next == best) break;
    const std::uint32_t next_error = ErrorAt(older, next);
    if (next_error >= error) break;
    best = next;
    error = next_error;
  }
  const bool is_motion = IsClearlyBetter(error, none);
  errors = {is_motion ? error : none, 0, none};
  return is_motion ? best : MotionVector{};
}

std::uint32_t SubpixelFit::ErrorAt(ConstPlane older, MotionVector vector) {
  const int x = x_ + (vector.x >> kMotionUnitBits);
  const int y = y_ + (vector.y >> kMotionUnitBits);
  const auto sum_at = [&](const std::uint16_t* samples, std::ptrdiff_t stride) {
    Sum({samples, stride, vector.x & (kMotionUnits - 1), vector.y & (kMotionUnits - 1)}, window_, sums_);
  };
  constexpr int kRows = kFitSide + kMotionTaps - 1;
  if (x >= 1 && y >= 1 && x - 1 + kFitColumns <= older.width && y - 1 + kRows <= older.height) {
    sum_at(older.Row(y) + x, older.stride);
  } else {
    using Around = EdgePatch<kFitColumns>;
    const Around patch(older, x - 1, y - 1, kFitColumns, kRows);
    sum_at(patch.samples + Around::kStride + 1, Around::kStride);
  }
  return sums_.error;
}

}  // namespace reelmend::pixel
#endif
