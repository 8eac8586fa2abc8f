#include "pixel/motion_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "pixel/edge_patch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/motion_search.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_MOTION_TYPES
#define REELMEND_PIXEL_MOTION_TYPES
namespace reelmend::pixel {

/// The first samples of two areas to compare. The function sets their size.
struct SadAreas {
  const std::uint16_t* a;
  const std::uint16_t* b;
  std::ptrdiff_t a_stride;
  std::ptrdiff_t b_stride;
};

/// A displacement and its SAD.
struct Match {
  int x = 0;
  int y = 0;
  std::uint32_t sad = 0;
};

/// A search of the first level: all displacements of a rectangle.
struct WindowSearch {
  const std::uint16_t* now;    ///< the window's first mean
  const std::uint16_t* older;  ///< what the window is compared with at the first displacement; whole vectors are read
  std::ptrdiff_t now_stride;
  std::ptrdiff_t older_stride;
  int first_x;  ///< displacements, in means
  int first_y;
  int columns;
  int rows;
  std::uint32_t limit;  ///< the best SAD is known to be smaller
};

inline constexpr int kNeighbours = 8;
inline constexpr int kMostSearched = 2 * kMotionReach + 1;          ///< displacements along an axis
inline constexpr int kSearchedSide = kMostSearched + kMotionWindow - 1;  ///< of the means that these read

/// Columns that InterpolateDown reads and writes: the window and the taps beyond it, in whole vectors.
inline constexpr int kFitColumns = 32;

/// The newer picture in the window of the fit: samples of 11 bits, and half the differences of their neighbours.
struct FitWindow {
  HWY_ALIGN std::int16_t samples[kFitArea];
  HWY_ALIGN std::int16_t across[kFitArea];
  HWY_ALIGN std::int16_t down[kFitArea];
};

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

/// Σ (|a − b| >> kShift) of kWidth × kRows samples.
template <int kWidth, int kRows, int kShift>
HWY_INLINE std::uint32_t Sad(const SadAreas& p) {
  const hn::Rebind<std::uint16_t, hn::CappedTag<float, kWidth>> d;
  const hn::Rebind<std::uint32_t, decltype(d)> wide;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto total = hn::Zero(wide);
  for (int x = 0; x < kWidth; x += lanes) {
    auto sum = hn::Zero(d);
    const std::uint16_t* a = p.a + x;
    const std::uint16_t* b = p.b + x;
    for (int y = 0; y < kRows; ++y, a += p.a_stride, b += p.b_stride) {
      const auto u = hn::LoadU(d, a);
      const auto v = hn::LoadU(d, b);
      sum = hn::Add(sum, hn::ShiftRight<kShift>(hn::Or(hn::SaturatedSub(u, v), hn::SaturatedSub(v, u))));
    }
    total = hn::Add(total, hn::PromoteTo(wide, sum));
  }
  return hn::GetLane(hn::SumOfLanes(wide, total));
}

std::uint32_t BlockSad(const SadAreas& p) { return Sad<kMotionBlock, kMotionBlock, kBlockSadShift>(p); }
std::uint32_t WindowSad(const SadAreas& p) { return Sad<kMotionWindow, kMotionWindow, kWindowSadShift>(p); }

/// Writes the SADs of a block at its eight neighbours in `distance`, from left to right and from top to bottom. p.b: at the centre.
void NeighbourSads(const SadAreas& p, int distance, std::uint32_t* sads) {
  const hn::Rebind<std::uint16_t, hn::CappedTag<float, kMotionBlock>> d;
  const hn::Rebind<std::uint32_t, decltype(d)> wide;
  const int lanes = static_cast<int>(hn::Lanes(d));
  std::fill_n(sads, kNeighbours, 0U);
  for (int x = 0; x < kMotionBlock; x += lanes) {
    const std::uint16_t* a = p.a + x;
    const std::uint16_t* b = p.b + x;
    auto sum0 = hn::Zero(d);
    auto sum1 = sum0;
    auto sum2 = sum0;
    auto sum3 = sum0;
    auto sum4 = sum0;
    auto sum5 = sum0;
    auto sum6 = sum0;
    auto sum7 = sum0;
    const std::ptrdiff_t step = distance * p.b_stride;
    for (int y = 0; y < kMotionBlock; ++y, a += p.a_stride, b += p.b_stride) {
      const auto u = hn::LoadU(d, a);
      const auto difference = [&](std::ptrdiff_t offset) {
        const auto v = hn::LoadU(d, b + offset);
        return hn::ShiftRight<kBlockSadShift>(hn::Or(hn::SaturatedSub(u, v), hn::SaturatedSub(v, u)));
      };
      sum0 = hn::Add(sum0, difference(-step - distance));
      sum1 = hn::Add(sum1, difference(-step));
      sum2 = hn::Add(sum2, difference(-step + distance));
      sum3 = hn::Add(sum3, difference(-distance));
      sum4 = hn::Add(sum4, difference(distance));
      sum5 = hn::Add(sum5, difference(step - distance));
      sum6 = hn::Add(sum6, difference(step));
      sum7 = hn::Add(sum7, difference(step + distance));
    }
    const auto total = [&](hn::Vec<decltype(d)> sum) { return hn::GetLane(hn::SumOfLanes(wide, hn::PromoteTo(wide, sum))); };
    sads[0] += total(sum0);
    sads[1] += total(sum1);
    sads[2] += total(sum2);
    sads[3] += total(sum3);
    sads[4] += total(sum4);
    sads[5] += total(sum5);
    sads[6] += total(sum6);
    sads[7] += total(sum7);
  }
}

#if HWY_TARGET == HWY_SCALAR

/// Replaces `best` where a displacement has a smaller SAD. Tests them from left to right and from top to bottom.
void SearchWindow(const WindowSearch& p, Match& best) {
  for (int row = 0; row < p.rows; ++row) {
    for (int column = 0; column < p.columns; ++column) {
      const std::uint32_t sad = WindowSad({p.now, p.older + row * p.older_stride + column, p.now_stride, p.older_stride});
      if (sad < best.sad) best = {p.first_x + column, p.first_y + row, sad};
    }
  }
}

#else

/// Tests the displacements from left to right and from top to bottom, as many of a row at once as a vector has lanes. Replaces `best`
/// where one has a smaller SAD. Lanes whose part of the window differs too much already are not compared any further.
void SearchWindow(const WindowSearch& p, Match& best) {
  const hn::CappedTag<std::uint16_t, 16> d;
  const hn::Half<decltype(d)> half;
  const hn::Repartition<std::uint32_t, decltype(d)> wide;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Each mean of the window, in all lanes of a vector.
  HWY_ALIGN std::uint16_t window[kMotionWindow * kMotionWindow * hn::MaxLanes(d)];
  for (int i = 0; i < kMotionWindow * kMotionWindow; ++i) {
    hn::Store(hn::Set(d, p.now[i / kMotionWindow * p.now_stride + i % kMotionWindow]), d, window + i * lanes);
  }
  HWY_ALIGN std::uint32_t sads[hn::MaxLanes(d)];
  std::uint32_t limit = std::min(p.limit, best.sad);
  for (int row = 0; row < p.rows; ++row) {
    for (int column = 0; column < p.columns; column += lanes) {
      const int count = std::min(lanes, p.columns - column);
      const std::uint16_t* older = p.older + row * p.older_stride + column;
      if (count == 1) {  // the last of the 17 of a lag of one picture
        sads[0] = Sad<kMotionWindow, kMotionWindow, kWindowSadShift>({p.now, older, p.now_stride, p.older_stride});
      } else {
        auto low = hn::Zero(wide);
        auto high = hn::Zero(wide);
        bool is_below = true;
        for (int x = 0; x < kMotionWindow && is_below; ++x) {
          auto sum = hn::Zero(d);
          for (int y = 0; y < kMotionWindow; ++y) {
            const auto u = hn::Load(d, window + (y * kMotionWindow + x) * lanes);
            const auto v = hn::LoadU(d, older + y * p.older_stride + x);
            sum = hn::Add(sum, hn::ShiftRight<kWindowSadShift>(hn::Or(hn::SaturatedSub(u, v), hn::SaturatedSub(v, u))));
          }
          low = hn::Add(low, hn::PromoteTo(wide, hn::LowerHalf(sum)));
          high = hn::Add(high, hn::PromoteTo(wide, hn::UpperHalf(half, sum)));
          if (x % 2 != 0) is_below = !hn::AllFalse(wide, hn::Lt(hn::Min(low, high), hn::Set(wide, limit)));
        }
        if (!is_below) continue;
        hn::Store(low, wide, sads);
        hn::Store(high, wide, sads + lanes / 2);
      }
      for (int i = 0; i < count; ++i) {
        if (sads[i] < limit) {
          best = {p.first_x + column + i, p.first_y + row, sads[i]};
          limit = best.sad;
        }
      }
    }
  }
}

#endif

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

HWY_EXPORT(BlockSad);
HWY_EXPORT(NeighbourSads);
HWY_EXPORT(WindowSad);
HWY_EXPORT(SearchWindow);
HWY_EXPORT(FillFitWindow);
HWY_EXPORT(SumWholeFit);
HWY_EXPORT(SumFit);

/// Compares a block of `now` with displaced blocks of `older`.
class BlockMatcher {
 public:
  BlockMatcher(ConstPlane now, ConstPlane older, int x, int y) : now_(now), older_(older), x_(x), y_(y) {}

  std::uint32_t SadAt(int dx, int dy) const {
    return HWY_DYNAMIC_DISPATCH(BlockSad)({now_.Row(y_) + x_, older_.Row(y_ + dy) + x_ + dx, now_.stride, older_.stride});
  }
  /// Replaces `best` if this displacement has a smaller SAD.
  void Try(int dx, int dy, Match& best) const {
    if (!IsInside(dx, dy, 0)) return;
    const std::uint32_t sad = SadAt(dx, dy);
    if (sad < best.sad) best = {dx, dy, sad};
  }
  /// Tries the eight neighbours of `best` in this distance.
  void TryAround(int distance, Match& best) const {
    const Match centre = best;
    const bool is_inside = IsInside(centre.x, centre.y, distance);
    std::uint32_t sads[kNeighbours];
    if (is_inside) {
      const std::uint16_t* older = older_.Row(y_ + centre.y) + x_ + centre.x;
      HWY_DYNAMIC_DISPATCH(NeighbourSads)({now_.Row(y_) + x_, older, now_.stride, older_.stride}, distance, sads);
    }
    for (int i = 0; i < kNeighbours; ++i) {
      const int place = i < kNeighbours / 2 ? i : i + 1;  // of nine, without the centre
      const int x = centre.x + (place % 3 - 1) * distance;
      const int y = centre.y + (place / 3 - 1) * distance;
      if (!is_inside) {
        Try(x, y, best);
      } else if (sads[i] < best.sad) {
        best = {x, y, sads[i]};
      }
    }
  }

 private:
  bool IsInside(int dx, int dy, int margin) const {
    const int x = x_ + dx;
    const int y = y_ + dy;
    return x >= margin && y >= margin && x + margin <= older_.width - kMotionBlock && y + margin <= older_.height - kMotionBlock;
  }

  ConstPlane now_;
  ConstPlane older_;
  int x_;
  int y_;
};

/// The displacements of an axis that a search tests: around a centre, as far as the window at `at` stays in the plane.
struct SearchRange {
  int first;
  int count;

  SearchRange(int at, int centre, int reach, int size)
      : first(std::max(centre - reach, -at)), count(std::min(centre + reach, size - kMotionWindow - at) - first + 1) {}
  bool Contains(int displacement) const { return displacement >= first && displacement < first + count; }
};

/// First level: the displacement in means, around `centre` (in means), of the window whose first mean is (x, y).
/// A good `guess` makes the search fast, and changes nothing: it only says which SAD the best one cannot exceed.
Match SearchMeans(ConstPlane now, ConstPlane older, int x, int y, Match centre, int reach, Match guess) {
  const auto sad_at = [&](int dx, int dy) {
    return HWY_DYNAMIC_DISPATCH(WindowSad)({now.Row(y) + x, older.Row(y + dy) + x + dx, now.stride, older.stride});
  };
  Match best{0, 0, sad_at(0, 0)};
  const SearchRange columns(x, centre.x, reach, older.width);
  const SearchRange rows(y, centre.y, reach, older.height);
  if (columns.count <= 0 || rows.count <= 0) return best;
  if (columns.Contains(centre.x) && rows.Contains(centre.y)) {
    centre.sad = sad_at(centre.x, centre.y);
    if (centre.sad < best.sad) best = centre;
  }
  const std::uint32_t limit = columns.Contains(guess.x) && rows.Contains(guess.y) ? sad_at(guess.x, guess.y) + 1 : best.sad;
  WindowSearch search{now.Row(y) + x, nullptr,    now.stride, older.stride, columns.first,
                      rows.first,     columns.count, rows.count, limit};
  if (x + columns.first + kSearchedSide <= older.width) {
    search.older = older.Row(y + rows.first) + x + columns.first;
    HWY_DYNAMIC_DISPATCH(SearchWindow)(search, best);
  } else {
    using Around = EdgePatch<kSearchedSide>;
    const Around patch(older, x + columns.first, y + rows.first, kSearchedSide, rows.count + kMotionWindow - 1);
    search.older = patch.samples;
    search.older_stride = Around::kStride;
    HWY_DYNAMIC_DISPATCH(SearchWindow)(search, best);
  }
  return best;
}

/// Third level of one block.
class SubpixelFit {
 public:
  /// (x, y) is the block's first sample. A window that would cross the picture's edge is moved inside.
  SubpixelFit(ConstPlane now, int x, int y)
      : x_(std::clamp(x - kFitMargin, 1, now.width - kFitSide - 1)), y_(std::clamp(y - kFitMargin, 1, now.height - kFitSide - 1)) {
    HWY_DYNAMIC_DISPATCH(FillFitWindow)(now.Row(y_) + x_, now.stride, window_, sums_);
  }

  MotionVector Run(ConstPlane older, int dx, int dy, MotionErrors& errors) {
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

  /// Also sets the sums for the next step.
  std::uint32_t ErrorAt(ConstPlane older, MotionVector vector) {
    const int x = x_ + (vector.x >> kMotionUnitBits);
    const int y = y_ + (vector.y >> kMotionUnitBits);
    const FitReference reference{nullptr, older.stride, vector.x & (kMotionUnits - 1), vector.y & (kMotionUnits - 1)};
    constexpr int kRows = kFitSide + kMotionTaps - 1;
    if (x >= 1 && y >= 1 && x - 1 + kFitColumns <= older.width && y - 1 + kRows <= older.height) {
      Sum(reference, older.Row(y) + x, older.stride);
    } else {
      using Around = EdgePatch<kFitColumns>;
      const Around patch(older, x - 1, y - 1, kFitColumns, kRows);
      Sum(reference, patch.samples + Around::kStride + 1, Around::kStride);
    }
    return sums_.error;
  }

 private:
  void Sum(FitReference reference, const std::uint16_t* older, std::ptrdiff_t stride) {
    reference.older = older;
    reference.stride = stride;
    if (reference.fraction_x == 0 && reference.fraction_y == 0) return HWY_DYNAMIC_DISPATCH(SumWholeFit)(reference, window_, sums_);
    HWY_DYNAMIC_DISPATCH(SumFit)(reference, window_, sums_);
  }

  FitWindow window_;
  FitSums sums_{};
  int x_;
  int y_;
};

}  // namespace

void WriteMotionMeans(ConstPlane luma, Plane means, int first_row, int last_row) {
  for (int y = first_row; y < last_row; ++y) {
    std::uint16_t* out = means.Row(y);
    const std::uint16_t* rows[kMotionCell];
    for (int i = 0; i < kMotionCell; ++i) rows[i] = luma.Row(y * kMotionCell + i);
    for (int x = 0; x < means.width; ++x) {
      std::uint32_t sum = 0;
      for (const std::uint16_t* row : rows) {
        for (int i = 0; i < kMotionCell; ++i) sum += row[x * kMotionCell + i];
      }
      out[x] = static_cast<std::uint16_t>((sum + kMotionCell * kMotionCell / 2) / (kMotionCell * kMotionCell));
    }
  }
}

BlockMotion SearchMotion(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, int x, int y,
                         const MotionVectors& guess) {
  BlockMotion motion{};
  if (count == 0 || now.luma.width < kMotionMinSide || now.luma.height < kMotionMinSide) return motion;
  // A block at the right or lower edge is moved inside, so that every block is whole.
  x = std::min(x, now.luma.width - kMotionBlock);
  y = std::min(y, now.luma.height - kMotionBlock);
  constexpr int kMargin = (kMotionWindow * kMotionCell - kMotionBlock) / 2;
  const int means_x = std::clamp((x - kMargin) / kMotionCell, 0, now.means.width - kMotionWindow);
  const int means_y = std::clamp((y - kMargin) / kMotionCell, 0, now.means.height - kMotionWindow);
  std::optional<SubpixelFit> fit;
  MotionVector before{};
  for (int step = 0; step < count; ++step) {
    const BlockMatcher block(now.luma, older[step].luma, x, y);
    Match best{0, 0, block.SadAt(0, 0)};
    const MotionVector last = before;
    before = {};
    if (best.sad <= kStillSad) continue;
    const Match centre{TwiceInMeans(last.x), TwiceInMeans(last.y)};
    const int reach = step == 0 ? kMotionReach : kMotionReachLongLag;
    const Match guessed = step == 0 ? Match{InMeans(guess[0].x), InMeans(guess[0].y)} : centre;
    const Match coarse = SearchMeans(now.means, older[step].means, means_x, means_y, centre, reach, guessed);
    block.Try(coarse.x * kMotionCell, coarse.y * kMotionCell, best);
    for (const int distance : {2, 1}) block.TryAround(distance, best);
    if (!fit) fit.emplace(now.luma, x, y);
    before = motion.vectors[step] = fit->Run(older[step].luma, best.x, best.y, motion.errors[step]);
  }
  return motion;
}

void AddGlobalErrors(ConstPlane now, const std::array<MotionPicture, kTemporalSteps>& older, int x, int y, const MotionVectors& global,
                      BlockMotion& motion) {
  std::optional<SubpixelFit> fit;
  for (int step = 0; step < kTemporalSteps; ++step) {
    MotionErrors& errors = motion.errors[step];
    if (global[step] == MotionVector{} || errors.none == 0) continue;
    if (!fit) fit.emplace(now, std::min(x, now.width - kMotionBlock), std::min(y, now.height - kMotionBlock));
    errors.global = fit->ErrorAt(older[step].luma, global[step]);
  }
}

}  // namespace reelmend::pixel
#endif
