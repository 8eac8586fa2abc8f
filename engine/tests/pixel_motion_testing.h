// Films with known motion, and the motion search by its definition.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <optional>
#include <utility>

#include "pixel/motion_search.h"
#include "pixel/temporal_limits.h"
#include "pixel_testing.h"

namespace reelmend::pixel::testing {

inline constexpr PictureSize kSize = {256, 160};

struct Shift {
  double x;
  double y;
};

/// Texture without a period, level 0 in the mean.
inline double Texture(double x, double y) {
  double sum = 0;
  for (int k = 0; k < 12; ++k) {
    const double frequency = 0.06 + 0.07 * k;
    sum += std::sin(frequency * (x * std::cos(2.4 * k) + y * std::sin(2.4 * k)) + 1.7 * k * k) / (1 + 0.12 * k);
  }
  return 14 * sum;
}

/// Texture whose content has moved by `shift` luma samples to the right and down.
inline Image Film(Shift shift, PictureSize size = kSize, Subsampling subsampling = {1, 1}) {
  Image image(size.width, size.height, subsampling, {});
  testing::Fill(image, [&](int p, int column, int row) {
    const double x = (p == 0 ? column : column << subsampling.log2_x) - shift.x;
    const double y = (p == 0 ? row : row << subsampling.log2_y) - shift.y;
    return 256 * (128 + (p == 0 ? Texture(x, y) : 20 * std::sin(0.021 * x + 0.4) * std::cos(0.017 * y)));
  });
  return image;
}

/// A picture with the means that the search needs.
struct Searched {
  explicit Searched(Image made) : luma(std::move(made)), means(std::max(1, luma.width() / kMotionCell), std::max(1, luma.height() / kMotionCell), {1, 1}, {}) {
    if (luma.width() >= kMotionCell && luma.height() >= kMotionCell) WriteMotionMeans(luma.plane(0), means.plane(0), 0, means.height());
  }
  MotionPicture picture() const { return {luma.plane(0), means.plane(0)}; }

  Image luma;
  Image means;
};

/// Calls `check` with the position and the vectors of each block.
inline void ForEachBlock(const Searched& now, const std::array<const Searched*, kTemporalSteps>& older, int count,
                  const std::function<void(int, int, const MotionVectors&)>& check, double grain_sigma = 0) {
  std::array<MotionPicture, kTemporalSteps> pictures;
  for (int i = 0; i < count; ++i) pictures[i] = older[i]->picture();
  for (int y = 0; y < now.luma.height(); y += kMotionBlock) {
    MotionVectors guess{};
    for (int x = 0; x < now.luma.width(); x += kMotionBlock) {
      const MotionVectors found = SearchMotion(now.picture(), pictures, count, x, y, guess, StillSad(grain_sigma)).vectors;
      check(x, y, found);
      guess = found;
    }
  }
}

/// The search as its note defines it, sample by sample: a second implementation.
class Definition {
 public:
  Definition(const MotionPicture& now, const MotionPicture& older, int x, int y)
      : now_(now), older_(older), x_(std::min(x, now.luma.width - kMotionBlock)), y_(std::min(y, now.luma.height - kMotionBlock)) {}

  /// For the lag of one picture, without `before`; for a longer one, with the vector of the lag before.
  MotionVector Find(const MotionVector* before, double grain_sigma) {
    const Tried still{0, 0, Sad(now_.luma, older_.luma, {x_, y_}, {0, 0}, kMotionBlock, kBlockSadShift)};
    const double by_grain = 1.1 * 256 * grain_sigma * 2 / std::sqrt(std::numbers::pi) * 16;  // in sixteenths of a level
    if (still.sad <= std::max(256 * 4.0, std::floor(by_grain))) return {};
    const Tried coarse = before == nullptr ? Coarse({0, 0}, kMotionReach)
                                           : Coarse({TwiceInMeans(before->x), TwiceInMeans(before->y)}, kMotionReachLongLag);
    Tried best = still;
    Try(coarse.x * kMotionCell, coarse.y * kMotionCell, best);
    for (const int distance : {2, 1}) {
      const Tried centre = best;
      for (int i = 0; i < 9; ++i) Try(centre.x + (i % 3 - 1) * distance, centre.y + (i / 3 - 1) * distance, best);
    }
    return Fit({static_cast<std::int16_t>(best.x * kMotionUnits), static_cast<std::int16_t>(best.y * kMotionUnits)});
  }
  bool IsStill() const { return Sad(now_.luma, older_.luma, {x_, y_}, {0, 0}, kMotionBlock, kBlockSadShift) <= kStillSad; }
  std::uint32_t ErrorAt(MotionVector vector) const { return SumsAt(vector).error; }

 private:
  struct Tried {
    int x;
    int y;
    unsigned sad;
  };
  struct Place {
    int x;
    int y;
  };

  static bool IsInside(ConstPlane plane, Place first, int side) {
    return first.x >= 0 && first.y >= 0 && first.x + side <= plane.width && first.y + side <= plane.height;
  }
  static unsigned Sad(ConstPlane a, ConstPlane b, Place at, Place displacement, int side, int shift) {
    unsigned sum = 0;
    for (int i = 0; i < side * side; ++i) {
      const int x = at.x + i % side;
      const int y = at.y + i / side;
      sum += static_cast<unsigned>(std::abs(a.Row(y)[x] - b.Row(y + displacement.y)[x + displacement.x])) >> shift;
    }
    return sum;
  }

  Tried Coarse(Place centre, int reach) const {
    constexpr int kMargin = (kMotionWindow * kMotionCell - kMotionBlock) / 2;
    const Place at{std::clamp((x_ - kMargin) / kMotionCell, 0, now_.means.width - kMotionWindow),
                   std::clamp((y_ - kMargin) / kMotionCell, 0, now_.means.height - kMotionWindow)};
    Tried best{0, 0, Sad(now_.means, older_.means, at, {0, 0}, kMotionWindow, kWindowSadShift)};
    const auto try_at = [&](int dx, int dy) {
      if (!IsInside(older_.means, {at.x + dx, at.y + dy}, kMotionWindow)) return;
      const unsigned sad = Sad(now_.means, older_.means, at, {dx, dy}, kMotionWindow, kWindowSadShift);
      if (sad < best.sad) best = {dx, dy, sad};
    };
    try_at(centre.x, centre.y);
    for (int dy = -reach; dy <= reach; ++dy) {
      for (int dx = -reach; dx <= reach; ++dx) try_at(centre.x + dx, centre.y + dy);
    }
    return best;
  }

  void Try(int dx, int dy, Tried& best) const {
    if (!IsInside(older_.luma, {x_ + dx, y_ + dy}, kMotionBlock)) return;
    const unsigned sad = Sad(now_.luma, older_.luma, {x_, y_}, {dx, dy}, kMotionBlock, kBlockSadShift);
    if (sad < best.sad) best = {dx, dy, sad};
  }

  int Displaced(int x, int y, MotionVector vector) const {
    const auto sample = [&](int i, int j) {
      return older_.luma.Row(std::clamp(j, 0, older_.luma.height - 1))[std::clamp(i, 0, older_.luma.width - 1)] >> kFitShift;
    };
    int sum = 1 << (2 * kFitWeightBits - 1);
    for (int j = 0; j < kMotionTaps; ++j) {
      for (int i = 0; i < kMotionTaps; ++i) {
        const int weight = FitWeight(vector.x & (kMotionUnits - 1), i) * FitWeight(vector.y & (kMotionUnits - 1), j);
        sum += weight * sample(x + (vector.x >> kMotionUnitBits) + i - 1, y + (vector.y >> kMotionUnitBits) + j - 1);
      }
    }
    return std::clamp(sum >> (2 * kFitWeightBits), 0, kFitPeak);
  }

  FitSums SumsAt(MotionVector vector) const {
    const int left = std::clamp(x_ - kFitMargin, 1, now_.luma.width - kFitSide - 1);
    const int top = std::clamp(y_ - kFitMargin, 1, now_.luma.height - kFitSide - 1);
    FitSums sums{};
    for (int i = 0; i < kFitArea; ++i) {
      const int x = left + i % kFitSide;
      const int y = top + i / kFitSide;
      const std::uint16_t* sample = now_.luma.Row(y) + x;
      const int across = (sample[1] - sample[-1]) >> (kFitShift + 1);
      const int down = (sample[now_.luma.stride] - sample[-now_.luma.stride]) >> (kFitShift + 1);
      const int residue = (*sample >> kFitShift) - Displaced(x, y, vector);
      sums.xx += across * across;
      sums.xy += across * down;
      sums.yy += down * down;
      sums.xr += residue * across;
      sums.yr += residue * down;
      sums.error += static_cast<std::uint32_t>(residue * residue);
    }
    return sums;
  }

  MotionVector Fit(MotionVector best) const {
    FitSums sums = SumsAt(best);
    for (int i = 0; i < kFitSteps; ++i) {
      const MotionVector step = FitStep(sums);
      const MotionVector next{static_cast<std::int16_t>(best.x + step.x), static_cast<std::int16_t>(best.y + step.y)};
      const FitSums then = SumsAt(next);
      if (then.error >= sums.error) break;
      best = next;
      sums = then;
    }
    return IsClearlyBetter(sums.error, SumsAt({}).error) ? best : MotionVector{};
  }

  MotionPicture now_;
  MotionPicture older_;
  int x_;
  int y_;
};

/// Noisy pictures of a film: now, and as long ago as each lag.
struct NoisyFilm {
  /// `make`: the picture at a time (in pictures; now is 0), with the noise of a seed.
  explicit NoisyFilm(const std::function<Image(double pictures, unsigned seed)>& make) : now(make(0, 1)) {
    for (unsigned i = 0; i < older.size(); ++i) older[i].emplace(make(-kTemporalLags[i], 2 + i));
  }
  NoisyFilm(Shift speed, PictureSize size)
      : NoisyFilm([&](double pictures, unsigned seed) {
          Image image = Film({speed.x * pictures, speed.y * pictures}, size);
          testing::AddNoise(image, 5, seed);
          return image;
        }) {}
  void ForEach(const std::function<void(int, int, const MotionVectors&)>& check, double grain_sigma = 0) const {
    ForEachBlock(now, {&*older[0], &*older[1], &*older[2]}, kTemporalSteps, check, grain_sigma);
  }

  Searched now;
  std::array<std::optional<Searched>, kTemporalSteps> older;
};

}  // namespace reelmend::pixel::testing
