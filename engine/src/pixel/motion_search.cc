#include "pixel/motion_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "pixel/edge_patch.h"
#include "pixel/subpixel_fit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/motion_search.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_MOTION_SEARCH_TYPES
#define REELMEND_PIXEL_MOTION_SEARCH_TYPES
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
inline constexpr int kMostSearched = 2 * kMotionReach + 1;               ///< displacements along an axis
inline constexpr int kSearchedSide = kMostSearched + kMotionWindow - 1;  ///< of the means that these read

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
                         const MotionVectors& guess, unsigned still_sad) {
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
    if (best.sad <= still_sad) {
      motion.errors[step] = {kUnknownError, 0, kUnknownError};
      continue;
    }
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
    if (errors.none == kUnknownError) errors.found = errors.none = fit->ErrorAt(older[step].luma, {});
  }
}

}  // namespace reelmend::pixel
#endif
