// The motion search of the temporal denoising: Note [Motion search] in pixel/motion_search.h. Vectors equal those of the CPU.
#pragma once

#include "cuda/launch.h"
#include "cuda/stage_time.h"
#include "cuda/views.h"
#include "pixel/motion_limits.h"

namespace reelmend::cuda {

/// What the search compares: luma and its means, of the pictures that temporal denoising keeps.
struct MotionHistory {
  static constexpr int kPictures = TemporalHistory::kInputs;
  Plane luma[kPictures];
  Plane means[kPictures];
};

/// Writes the means of the newest picture.
struct MeanKernel {
  Plane luma;
  MotionHistory history;
  const TemporalState* state = nullptr;

  REELMEND_HD void operator()(int x, int y, int) const {
    constexpr int kCell = pixel::kMotionCell;
    const Plane& means = history.means[state->pictures_before % MotionHistory::kPictures];
    if (x >= means.width || y >= means.height) return;
    unsigned sum = 0;
    for (int j = 0; j < kCell; ++j) {
      for (int i = 0; i < kCell; ++i) sum += luma.At(x * kCell + i, y * kCell + j);
    }
    means.At(x, y) = static_cast<std::uint16_t>((sum + kCell * kCell / 2) / (kCell * kCell));
  }
};

/// Finds the vectors of one block. A tile is a block.
struct MotionKernel {
  static constexpr int kThreads = 256;
  static constexpr int kSide = 2 * pixel::kMotionReach + 1;
  static constexpr int kPlaces = 2 + kSide * kSide;  ///< of the first level: none, the centre, all around it
  static constexpr int kScanners = 32;
  static constexpr unsigned kOutside = ~0U;

  struct Place {
    int x;
    int y;
  };
  struct Shared {
    std::int16_t samples[pixel::kFitArea];
    std::int16_t across[pixel::kFitArea];
    std::int16_t down[pixel::kFitArea];
    unsigned sads[kPlaces];
    int smallest[kScanners];
    Place best;
    unsigned best_sad;
    pixel::FitSums sums;
    pixel::FitSums gradients;  ///< xx, xy and yy
    std::uint32_t error;
    std::uint32_t error_of_none;
    pixel::MotionVector vector;
    pixel::MotionVector next;
    int is_done;
  };

  const TemporalState* state = nullptr;
  Plane now;
  MotionHistory history;
  MotionField field;
  int lags[pixel::kTemporalSteps];  ///< pixel::kTemporalLags, which device code cannot read

  REELMEND_HD void operator()(auto& block, Shared& s, int tile_x, int tile_y, int) const {
    const int pictures = state->pictures_before;
    const Place at{Min(tile_x * pixel::kMotionBlock, now.width - pixel::kMotionBlock),
                   Min(tile_y * pixel::kMotionBlock, now.height - pixel::kMotionBlock)};
    LoadWindow(block, s, at);
    block.Each([&](int thread) {
      if (thread == 0) s.vector = {};
    });
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      pixel::MotionVector* found = field.At(tile_x, tile_y) + step;
      if (pictures < lags[step]) {
        block.Each([&](int thread) {
          if (thread == 0) *found = {};
        });
        continue;
      }
      const int older = (pictures - lags[step]) % MotionHistory::kPictures;
      SearchMeans(block, s, at, history.means[pictures % MotionHistory::kPictures], history.means[older], step);
      SearchSamples(block, s, at, history.luma[older]);
      Fit(block, s, at, history.luma[older]);
      block.Each([&](int thread) {
        if (thread == 0) *found = s.vector;
      });
    }
  }

 private:
  REELMEND_HD Place WindowOf(Place at) const {
    return {Clamp(at.x - pixel::kFitMargin, 1, now.width - pixel::kFitSide - 1),
            Clamp(at.y - pixel::kFitMargin, 1, now.height - pixel::kFitSide - 1)};
  }

  REELMEND_HD void LoadWindow(auto& block, Shared& s, Place at) const {
    const Place window = WindowOf(at);
    block.Each([&](int thread) {
      if (thread == 0) s.gradients = {};
    });
    block.Each([&](int thread) {
      pixel::FitSums sums{};
      for (int i = thread; i < pixel::kFitArea; i += kThreads) {
        const int x = window.x + i % pixel::kFitSide;
        const int y = window.y + i / pixel::kFitSide;
        const int across = (int{now.At(x + 1, y)} - int{now.At(x - 1, y)}) >> (pixel::kFitShift + 1);
        const int down = (int{now.At(x, y + 1)} - int{now.At(x, y - 1)}) >> (pixel::kFitShift + 1);
        s.samples[i] = static_cast<std::int16_t>(now.At(x, y) >> pixel::kFitShift);
        s.across[i] = static_cast<std::int16_t>(across);
        s.down[i] = static_cast<std::int16_t>(down);
        sums.xx += across * across;
        sums.xy += across * down;
        sums.yy += down * down;
      }
      block.Add(s.gradients.xx, sums.xx);
      block.Add(s.gradients.xy, sums.xy);
      block.Add(s.gradients.yy, sums.yy);
    });
  }

  REELMEND_HD static int RoundedQuotient(int a, int b) { return (a + (a < 0 ? -b : b) / 2) / b; }

  /// The i-th place of the first level, in means.
  REELMEND_HD static Place PlaceOf(int i, Place centre, int reach) {
    if (i == 0) return {0, 0};
    if (i == 1) return centre;
    const int side = 2 * reach + 1;
    return {centre.x + (i - 2) % side - reach, centre.y + (i - 2) / side - reach};
  }

  /// First level. Leaves the best place in s.best, in samples.
  REELMEND_HD void SearchMeans(auto& block, Shared& s, Place at, const Plane& means, const Plane& older, int step) const {
    constexpr int kWindow = pixel::kMotionWindow;
    constexpr int kMargin = (kWindow * pixel::kMotionCell - pixel::kMotionBlock) / 2;
    const Place window{Clamp((at.x - kMargin) / pixel::kMotionCell, 0, means.width - kWindow),
                       Clamp((at.y - kMargin) / pixel::kMotionCell, 0, means.height - kWindow)};
    const int reach = step == 0 ? pixel::kMotionReach : pixel::kMotionReachOn;
    const int places = 2 + (2 * reach + 1) * (2 * reach + 1);
    const auto twice = [](int units) { return RoundedQuotient(2 * units, pixel::kMotionUnits * pixel::kMotionCell); };
    block.Each([&](int thread) {
      const Place centre{twice(s.vector.x), twice(s.vector.y)};
      for (int i = thread; i < places; i += kThreads) {
        const Place place = PlaceOf(i, centre, reach);
        const int x0 = window.x + place.x;
        const int y0 = window.y + place.y;
        unsigned sad = kOutside;
        if (x0 >= 0 && y0 >= 0 && x0 + kWindow <= older.width && y0 + kWindow <= older.height) {
          sad = 0;
          for (int j = 0; j < kWindow; ++j) {
            for (int k = 0; k < kWindow; ++k) sad += Difference(means.At(window.x + k, window.y + j), older.At(x0 + k, y0 + j)) >> 3;
          }
        }
        s.sads[i] = sad;
      }
    });
    block.Each([&](int thread) {
      if (thread >= kScanners) return;
      int smallest = thread;  // there are always more places than scanners
      for (int i = thread; i < places; i += kScanners) smallest = s.sads[i] < s.sads[smallest] ? i : smallest;
      s.smallest[thread] = smallest;
    });
    block.Each([&](int thread) {
      if (thread != 0) return;
      int smallest = s.smallest[0];
      for (const int i : s.smallest) {
        if (s.sads[i] < s.sads[smallest] || (s.sads[i] == s.sads[smallest] && i < smallest)) smallest = i;
      }
      const Place place = PlaceOf(smallest, {twice(s.vector.x), twice(s.vector.y)}, reach);
      s.best = {place.x * pixel::kMotionCell, place.y * pixel::kMotionCell};
    });
  }

  REELMEND_HD static unsigned Difference(std::uint16_t a, std::uint16_t b) { return a < b ? b - a : a - b; }

  /// Sets s.sads to the SADs of `count` places of a block.
  template <typename PlaceAt>
  REELMEND_HD void SumSads(auto& block, Shared& s, Place at, const Plane& older, int count, const PlaceAt& place_at) const {
    constexpr int kSize = pixel::kMotionBlock;
    block.Each([&](int thread) {
      if (thread >= count) return;
      const Place place = place_at(thread);
      const bool is_inside = at.x + place.x >= 0 && at.y + place.y >= 0 && at.x + place.x + kSize <= older.width &&
                             at.y + place.y + kSize <= older.height;
      s.sads[thread] = is_inside ? 0 : kOutside;
    });
    block.Each([&](int thread) {
      const int x = at.x + thread % kSize;
      const int y = at.y + thread / kSize;
      for (int i = 0; i < count; ++i) {
        const Place place = place_at(i);
        const bool is_inside = at.x + place.x >= 0 && at.y + place.y >= 0 && at.x + place.x + kSize <= older.width &&
                               at.y + place.y + kSize <= older.height;
        if (is_inside) block.Add(s.sads[i], Difference(now.At(x, y), older.At(x + place.x, y + place.y)) >> 4);
      }
    });
  }

  /// Second level.
  REELMEND_HD void SearchSamples(auto& block, Shared& s, Place at, const Plane& older) const {
    SumSads(block, s, at, older, 2, [&](int i) { return i == 0 ? Place{0, 0} : s.best; });
    block.Each([&](int thread) {
      if (thread != 0) return;
      s.best_sad = Min(s.sads[0], s.sads[1]);
      if (s.sads[1] >= s.sads[0]) s.best = {0, 0};
    });
    for (int distance = 2; distance >= 1; --distance) {
      const auto around = [&](int i) { return Place{s.best.x + (i % 3 - 1) * distance, s.best.y + (i / 3 - 1) * distance}; };
      SumSads(block, s, at, older, 9, around);
      block.Each([&](int thread) {
        if (thread != 0) return;
        const Place centre = s.best;
        for (int i = 0; i < 9; ++i) {
          if (s.sads[i] >= s.best_sad) continue;
          s.best_sad = s.sads[i];
          s.best = {centre.x + (i % 3 - 1) * distance, centre.y + (i / 3 - 1) * distance};
        }
      });
    }
  }

  /// The older picture at a fraction of a sample, 11 bits.
  REELMEND_HD static int Displaced(const Plane& older, int x, int y, pixel::MotionVector vector) {
    constexpr int kUnits = pixel::kMotionUnits;
    const int whole_x = x + FloorQuotient(vector.x, kUnits);
    const int whole_y = y + FloorQuotient(vector.y, kUnits);
    const int fraction_x = vector.x & (kUnits - 1);
    const int fraction_y = vector.y & (kUnits - 1);
    int sum = 1 << (2 * pixel::kFitWeightBits - 1);
    for (int j = 0; j < pixel::kMotionTaps; ++j) {
      int row = 0;
      for (int i = 0; i < pixel::kMotionTaps; ++i) {
        row += (older.Near(whole_x + i - 1, whole_y + j - 1) >> pixel::kFitShift) * pixel::FitWeight(fraction_x, i);
      }
      sum += row * pixel::FitWeight(fraction_y, j);
    }
    return sum >> (2 * pixel::kFitWeightBits);
  }

  /// Sets s.sums for a vector of s.
  REELMEND_HD void SumFit(auto& block, Shared& s, Place at, const Plane& older, const pixel::MotionVector& vector) const {
    const Place window = WindowOf(at);
    block.Each([&](int thread) {
      if (thread == 0 && s.is_done == 0) s.sums = s.gradients;
    });
    block.Each([&](int thread) {
      if (s.is_done != 0) return;
      pixel::FitSums sums{};
      for (int i = thread; i < pixel::kFitArea; i += kThreads) {
        const int residue =
            s.samples[i] - Displaced(older, window.x + i % pixel::kFitSide, window.y + i / pixel::kFitSide, vector);
        sums.xr += residue * s.across[i];
        sums.yr += residue * s.down[i];
        sums.error += static_cast<std::uint32_t>(residue * residue);
      }
      block.Add(s.sums.xr, sums.xr);
      block.Add(s.sums.yr, sums.yr);
      block.Add(s.sums.error, sums.error);
    });
  }

  /// Third level. Leaves the result in s.vector.
  REELMEND_HD void Fit(auto& block, Shared& s, Place at, const Plane& older) const {
    block.Each([&](int thread) {
      if (thread != 0) return;
      s.is_done = 0;
      s.next = {};
      s.vector = {static_cast<std::int16_t>(s.best.x * pixel::kMotionUnits), static_cast<std::int16_t>(s.best.y * pixel::kMotionUnits)};
    });
    SumFit(block, s, at, older, s.next);
    block.Each([&](int thread) {
      if (thread == 0) s.error_of_none = s.sums.error;
    });
    SumFit(block, s, at, older, s.vector);
    block.Each([&](int thread) {
      if (thread == 0) {
        s.error = s.sums.error;
        Prepare(s);
      }
    });
    for (int i = 0; i < pixel::kFitSteps; ++i) {
      SumFit(block, s, at, older, s.next);
      block.Each([&](int thread) {
        if (thread == 0 && s.is_done == 0) Accept(s);
      });
    }
    block.Each([&](int thread) {
      if (thread == 0 && !pixel::IsMotion(s.error, s.error_of_none)) s.vector = {};
    });
  }

  /// The next vector to try.
  REELMEND_HD static void Prepare(Shared& s) {
    const pixel::MotionVector step = pixel::FitStep(s.sums);
    s.next = {static_cast<std::int16_t>(s.vector.x + step.x), static_cast<std::int16_t>(s.vector.y + step.y)};
    if (s.next == s.vector) s.is_done = 1;
  }

  REELMEND_HD static void Accept(Shared& s) {
    if (s.sums.error >= s.error) {
      s.is_done = 1;
      return;
    }
    s.vector = s.next;
    s.error = s.sums.error;
    Prepare(s);
  }
};

}  // namespace reelmend::cuda
