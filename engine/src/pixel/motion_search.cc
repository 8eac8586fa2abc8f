#include "pixel/motion_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>

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

struct InterpolationRows {
  const std::uint16_t* in;  ///< the area's first sample without the fraction of the vector
  std::ptrdiff_t in_stride;
  std::uint16_t* out;
  std::ptrdiff_t out_stride;
  int width;
  int height;
  int phase_x;
  int phase_y;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

/// Σ (|a − b| >> kShift) of kWidth × kRows samples.
template <int kWidth, int kRows, int kShift>
std::uint32_t Sad(const SadAreas& p) {
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

/// Fills the window whose first sample is at `now`, and sets the sums of its gradients (xx, xy, yy).
void FillFitWindow(const std::uint16_t* now, std::ptrdiff_t stride, FitWindow& window, FitSums& sums) {
  const hn::CappedTag<std::int32_t, 8> d;
  const hn::Rebind<std::uint16_t, decltype(d)> narrow;
  const hn::Rebind<std::int16_t, decltype(d)> signed_narrow;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto xx = hn::Zero(d);
  auto xy = hn::Zero(d);
  auto yy = hn::Zero(d);
  for (int y = 0; y < kFitSide; ++y, now += stride) {
    for (int x = 0; x < kFitSide; x += lanes) {
      const auto load = [&](std::ptrdiff_t offset) { return hn::PromoteTo(d, hn::LoadU(narrow, now + x + offset)); };
      const auto across = hn::ShiftRight<kFitShift + 1>(hn::Sub(load(1), load(-1)));
      const auto down = hn::ShiftRight<kFitShift + 1>(hn::Sub(load(stride), load(-stride)));
      const int at = y * kFitSide + x;
      hn::StoreU(hn::DemoteTo(signed_narrow, hn::ShiftRight<kFitShift>(load(0))), signed_narrow, window.samples + at);
      hn::StoreU(hn::DemoteTo(signed_narrow, across), signed_narrow, window.across + at);
      hn::StoreU(hn::DemoteTo(signed_narrow, down), signed_narrow, window.down + at);
      xx = hn::Add(xx, hn::Mul(across, across));
      xy = hn::Add(xy, hn::Mul(across, down));
      yy = hn::Add(yy, hn::Mul(down, down));
    }
  }
  sums.xx = hn::GetLane(hn::SumOfLanes(d, xx));
  sums.xy = hn::GetLane(hn::SumOfLanes(d, xy));
  sums.yy = hn::GetLane(hn::SumOfLanes(d, yy));
}

/// Sets the sums that depend on the displacement (xr, yr, error).
void SumFit(const FitReference& p, const FitWindow& window, FitSums& sums) {
  const hn::CappedTag<std::int32_t, 8> d;
  const hn::Rebind<std::uint16_t, decltype(d)> narrow;
  const hn::Rebind<std::int16_t, decltype(d)> signed_narrow;
  const int lanes = static_cast<int>(hn::Lanes(d));
  HWY_ALIGN std::int32_t rows[(kFitSide + kMotionTaps - 1) * kFitSide];
  hn::Vec<decltype(d)> across[kMotionTaps];
  hn::Vec<decltype(d)> down[kMotionTaps];
  for (int k = 0; k < kMotionTaps; ++k) {
    across[k] = hn::Set(d, FitWeight(p.fraction_x, k));
    down[k] = hn::Set(d, FitWeight(p.fraction_y, k));
  }
  const std::uint16_t* in = p.older - p.stride - 1;
  for (int y = 0; y < kFitSide + kMotionTaps - 1; ++y, in += p.stride) {
    for (int x = 0; x < kFitSide; x += lanes) {
      auto sum = hn::Zero(d);
      for (int k = 0; k < kMotionTaps; ++k) {
        const auto sample = hn::PromoteTo(d, hn::ShiftRight<kFitShift>(hn::LoadU(narrow, in + x + k)));
        sum = hn::Add(sum, hn::Mul(sample, across[k]));
      }
      hn::StoreU(sum, d, rows + y * kFitSide + x);
    }
  }
  auto xr = hn::Zero(d);
  auto yr = hn::Zero(d);
  auto error = hn::Zero(d);
  const auto half = hn::Set(d, 1 << (2 * kFitWeightBits - 1));
  for (int i = 0; i < kFitArea; i += lanes) {
    auto sum = half;
    for (int k = 0; k < kMotionTaps; ++k) sum = hn::Add(sum, hn::Mul(hn::LoadU(d, rows + i + k * kFitSide), down[k]));
    const auto load = [&](const std::int16_t* from) { return hn::PromoteTo(d, hn::LoadU(signed_narrow, from + i)); };
    const auto displaced = hn::Min(hn::Max(hn::ShiftRight<2 * kFitWeightBits>(sum), hn::Zero(d)), hn::Set(d, kFitPeak));
    const auto residue = hn::Sub(load(window.samples), displaced);
    xr = hn::Add(xr, hn::Mul(residue, load(window.across)));
    yr = hn::Add(yr, hn::Mul(residue, load(window.down)));
    error = hn::Add(error, hn::Mul(residue, residue));
  }
  sums.xr = hn::GetLane(hn::SumOfLanes(d, xr));
  sums.yr = hn::GetLane(hn::SumOfLanes(d, yr));
  const hn::RebindToUnsigned<decltype(d)> unsigned_lanes;
  sums.error = hn::GetLane(hn::SumOfLanes(unsigned_lanes, hn::BitCast(unsigned_lanes, error)));
}

void Interpolate(const InterpolationRows& r) {
  const DF d;
  const int lanes = FloatLanes();
  HWY_ALIGN float rows[(kMotionBlock + kMotionTaps - 1) * kMotionBlock];
  for (int x = 0; x < r.width; x += lanes) {
    const std::uint16_t* in = r.in - r.in_stride + x;
    for (int y = 0; y < r.height + kMotionTaps - 1; ++y, in += r.in_stride) {
      VF sum = hn::Mul(LoadSamples(in - 1), hn::Set(d, MotionWeight(r.phase_x, 0)));
      for (int k = 1; k < kMotionTaps; ++k) sum = hn::MulAdd(LoadSamples(in + k - 1), hn::Set(d, MotionWeight(r.phase_x, k)), sum);
      hn::StoreU(sum, d, rows + y * kMotionBlock);
    }
    for (int y = 0; y < r.height; ++y) {
      const float* row = rows + y * kMotionBlock;
      VF sum = hn::Mul(hn::LoadU(d, row), hn::Set(d, MotionWeight(r.phase_y, 0)));
      for (int k = 1; k < kMotionTaps; ++k) {
        sum = hn::MulAdd(hn::LoadU(d, row + k * kMotionBlock), hn::Set(d, MotionWeight(r.phase_y, k)), sum);
      }
      StoreSamples(sum, r.out + y * r.out_stride + x);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(BlockSad);
HWY_EXPORT(WindowSad);
HWY_EXPORT(FillFitWindow);
HWY_EXPORT(SumFit);
HWY_EXPORT(Interpolate);

using SadFunction = std::uint32_t (*)(const SadAreas&);

/// A displacement and its SAD.
struct Match {
  int x = 0;
  int y = 0;
  std::uint32_t sad = 0;
};

/// Compares a window of `now` with displaced windows of `older`.
class Matcher {
 public:
  Matcher(SadFunction sad, ConstPlane now, ConstPlane older, int x, int y, int side)
      : sad_(sad), now_(now), older_(older), x_(x), y_(y), max_x_(older.width - side), max_y_(older.height - side) {}

  bool Contains(int dx, int dy) const {
    const int x = x_ + dx;
    const int y = y_ + dy;
    return x >= 0 && y >= 0 && x <= max_x_ && y <= max_y_;
  }
  std::uint32_t SadAt(int dx, int dy) const {
    return sad_({now_.Row(y_) + x_, older_.Row(y_ + dy) + x_ + dx, now_.stride, older_.stride});
  }
  /// Replaces `best` if this displacement has a smaller SAD.
  void Try(int dx, int dy, Match& best) const {
    if (!Contains(dx, dy)) return;
    const std::uint32_t sad = SadAt(dx, dy);
    if (sad < best.sad) best = {dx, dy, sad};
  }

 private:
  SadFunction sad_;
  ConstPlane now_;
  ConstPlane older_;
  int x_;
  int y_;
  int max_x_;
  int max_y_;
};

/// First level: the displacement in means, around `centre` (in means).
Match SearchMeans(const Matcher& means, int centre_x, int centre_y, int reach) {
  Match best{0, 0, means.SadAt(0, 0)};
  means.Try(centre_x, centre_y, best);
  for (int dy = -reach; dy <= reach; ++dy) {
    for (int dx = -reach; dx <= reach; ++dx) means.Try(centre_x + dx, centre_y + dy, best);
  }
  return best;
}

/// Second level: samples.
Match SearchSamples(const Matcher& block, Match best) {
  for (const int distance : {2, 1}) {
    const Match centre = best;
    for (int dy = -distance; dy <= distance; dy += distance) {
      for (int dx = -distance; dx <= distance; dx += distance) block.Try(centre.x + dx, centre.y + dy, best);
    }
  }
  return best;
}

/// Samples of a plane around an area of at most kMost rows and columns, with repeated edges.
template <int kMost>
struct Patch {
  static constexpr int kStride = kMost + 32;
  std::uint16_t samples[kMost * kStride];

  Patch(ConstPlane plane, int x, int y, int width, int height) {
    for (int j = 0; j < height; ++j) {
      const std::uint16_t* row = plane.Row(std::clamp(y + j, 0, plane.height - 1));
      for (int i = 0; i < width; ++i) samples[j * kStride + i] = row[std::clamp(x + i, 0, plane.width - 1)];
    }
  }
};

/// Third level of one block.
class SubpixelFit {
 public:
  /// (x, y) is the block's first sample. A window that would cross the picture's edge is moved inside.
  SubpixelFit(ConstPlane now, int x, int y)
      : x_(std::clamp(x - kFitMargin, 1, now.width - kFitSide - 1)), y_(std::clamp(y - kFitMargin, 1, now.height - kFitSide - 1)) {
    HWY_DYNAMIC_DISPATCH(FillFitWindow)(now.Row(y_) + x_, now.stride, window_, sums_);
  }

  MotionVector Run(ConstPlane older, int dx, int dy) {
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
    return IsMotion(error, none) ? best : MotionVector{};
  }

 private:
  /// Also sets the sums for the next step.
  std::uint32_t ErrorAt(ConstPlane older, MotionVector vector) {
    const int x = x_ + (vector.x >> kMotionUnitBits);
    const int y = y_ + (vector.y >> kMotionUnitBits);
    FitReference reference{nullptr, older.stride, vector.x & (kMotionUnits - 1), vector.y & (kMotionUnits - 1)};
    constexpr int kRead = kFitSide + kMotionTaps - 1;
    if (x >= 1 && y >= 1 && x + kRead - 1 <= older.width && y + kRead - 1 <= older.height) {
      reference.older = older.Row(y) + x;
      HWY_DYNAMIC_DISPATCH(SumFit)(reference, window_, sums_);
    } else {
      using Around = Patch<kRead>;
      const Around patch(older, x - 1, y - 1, kRead, kRead);
      reference.older = patch.samples + Around::kStride + 1;
      reference.stride = Around::kStride;
      HWY_DYNAMIC_DISPATCH(SumFit)(reference, window_, sums_);
    }
    return sums_.error;
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

MotionVectors SearchMotion(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, int x, int y) {
  MotionVectors vectors{};
  if (count == 0 || now.luma.width < kMotionMinSide || now.luma.height < kMotionMinSide) return vectors;
  // A block at the right or lower edge is moved inside, so that every block is whole.
  x = std::min(x, now.luma.width - kMotionBlock);
  y = std::min(y, now.luma.height - kMotionBlock);
  constexpr int kMargin = (kMotionWindow * kMotionCell - kMotionBlock) / 2;
  const int means_x = std::clamp((x - kMargin) / kMotionCell, 0, now.means.width - kMotionWindow);
  const int means_y = std::clamp((y - kMargin) / kMotionCell, 0, now.means.height - kMotionWindow);
  std::optional<SubpixelFit> fit;
  MotionVector before{};
  for (int step = 0; step < count; ++step) {
    const Matcher block(HWY_DYNAMIC_DISPATCH(BlockSad), now.luma, older[step].luma, x, y, kMotionBlock);
    Match best{0, 0, block.SadAt(0, 0)};
    const MotionVector last = before;
    before = {};
    if (best.sad <= kStillSad) continue;
    const Matcher means(HWY_DYNAMIC_DISPATCH(WindowSad), now.means, older[step].means, means_x, means_y, kMotionWindow);
    const Match coarse = SearchMeans(means, TwiceInMeans(last.x), TwiceInMeans(last.y), step == 0 ? kMotionReach : kMotionReachLongLag);
    block.Try(coarse.x * kMotionCell, coarse.y * kMotionCell, best);
    best = SearchSamples(block, best);
    if (!fit) fit.emplace(now.luma, x, y);
    before = vectors[step] = fit->Run(older[step].luma, best.x, best.y);
  }
  return vectors;
}

void CompensateBlock(ConstPlane older, const BlockArea& area, MotionVector vector, Subsampling subsampling, std::uint16_t* out,
                     std::ptrdiff_t out_stride) {
  const InterpolationOffset offset = InterpolationOffsetOf(vector, subsampling.log2_x, subsampling.log2_y);
  const int x = area.x + offset.x;
  const int y = area.y + offset.y;
  InterpolationRows rows{nullptr, older.stride, out, out_stride, area.width, area.height, offset.phase_x, offset.phase_y};
  constexpr int kMost = kMotionBlock + kMotionTaps - 1;
  // Whole SIMD vectors are read: up to a block's width, and the taps beyond it.
  const bool is_inside = x >= 1 && y >= 1 && x + kMotionBlock + 2 <= older.width && y + area.height + 2 <= older.height;
  if (is_inside) {
    rows.in = older.Row(y) + x;
    return HWY_DYNAMIC_DISPATCH(Interpolate)(rows);
  }
  using Around = Patch<kMost>;
  const Around patch(older, x - 1, y - 1, area.width + kMotionTaps - 1, area.height + kMotionTaps - 1);
  rows.in = patch.samples + Around::kStride + 1;
  rows.in_stride = Around::kStride;
  HWY_DYNAMIC_DISPATCH(Interpolate)(rows);
}

}  // namespace reelmend::pixel
#endif
