// The motion search of the temporal denoising: Note [Motion search] in pixel/motion_search.h. Vectors equal those of the CPU.
#pragma once

#include "cuda/launch.h"
#include "cuda/time_kernels.h"
#include "cuda/views.h"
#include "pixel/motion_vector.h"

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

/// The third level of the search. A tile is a cell of the picture with a block in its middle.
struct MotionFit {
  static constexpr int kThreads = 256;

  struct Point {
    int x;
    int y;
  };
  struct Displacement {
    int x;
    int y;
  };
  struct Shared {
    std::int16_t samples[pixel::kFitArea];
    std::int16_t across[pixel::kFitArea];
    std::int16_t down[pixel::kFitArea];
    Displacement best;  ///< in samples
    pixel::FitSums sums;
    pixel::FitSums gradients;  ///< xx, xy and yy
    std::uint32_t error;
    std::uint32_t error_of_none;
    pixel::MotionVector vector;
    pixel::MotionVector next;
    int is_done;
  };

  Plane now;
  int cell = pixel::kMotionBlock;

  /// The first sample of a cell's block; one at the right or lower edge is moved inside.
  REELMEND_HD Point BlockAt(int tile_x, int tile_y) const {
    const int margin = (cell - pixel::kMotionBlock) / 2;
    return {Min(tile_x * cell + margin, now.width - pixel::kMotionBlock), Min(tile_y * cell + margin, now.height - pixel::kMotionBlock)};
  }

  REELMEND_HD Point FitWindowAt(Point at) const {
    return {Clamp(at.x - pixel::kFitMargin, 1, now.width - pixel::kFitSide - 1),
            Clamp(at.y - pixel::kFitMargin, 1, now.height - pixel::kFitSide - 1)};
  }

  /// The window around the block, and its gradients.
  REELMEND_HD void LoadWindow(auto& block, Shared& s, Point at) const {
    const Point window = FitWindowAt(at);
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

  /// The older picture at a fraction of a sample, 11 bits.
  REELMEND_HD static int Displaced(const Plane& older, int x, int y, pixel::MotionVector vector) {
    const int whole_x = x + (vector.x >> pixel::kMotionUnitBits);
    const int whole_y = y + (vector.y >> pixel::kMotionUnitBits);
    const int fraction_x = vector.x & (pixel::kMotionUnits - 1);
    const int fraction_y = vector.y & (pixel::kMotionUnits - 1);
    int sum = 1 << (2 * pixel::kFitWeightBits - 1);
    for (int j = 0; j < pixel::kMotionTaps; ++j) {
      int row = 0;
      for (int i = 0; i < pixel::kMotionTaps; ++i) {
        row += (older.Near(whole_x + i - 1, whole_y + j - 1) >> pixel::kFitShift) * pixel::FitWeight(fraction_x, i);
      }
      sum += row * pixel::FitWeight(fraction_y, j);
    }
    return Clamp(sum >> (2 * pixel::kFitWeightBits), 0, pixel::kFitPeak);
  }

  /// Sets s.sums for a vector, unless s.is_done.
  REELMEND_HD void SumFit(auto& block, Shared& s, Point at, const Plane& older, const pixel::MotionVector& vector) const {
    const Point window = FitWindowAt(at);
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

  /// Third level, from s.best. Leaves the result in s.vector, and its errors.
  REELMEND_HD void SubpixelFit(auto& block, Shared& s, Point at, const Plane& older) const {
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
        // Volatile: otherwise the compiler lets all threads read what only this one needs, and racecheck reports a race with
        // its write.
        if (thread == 0 && static_cast<const volatile int&>(s.is_done) == 0) Accept(s);
      });
    }
    block.Each([&](int thread) {
      if (thread != 0 || pixel::IsClearlyBetter(s.error, s.error_of_none)) return;
      s.vector = {};
      s.error = s.error_of_none;
    });
  }


 private:
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

/// Finds the vectors of one block, and their errors. A tile is a block.
struct MotionKernel : MotionFit {
  static constexpr int kSide = 2 * pixel::kMotionReach + 1;
  static constexpr int kCandidates = 2 + kSide * kSide;  ///< of the first level: no displacement, the centre, all around it
  static constexpr int kScanners = 32;
  static constexpr unsigned kOutside = ~0U;

  struct Shared : MotionFit::Shared {
    unsigned sads[kCandidates];
    int smallest[kScanners];
    unsigned best_sad;
    int is_still;
  };

  const TemporalState* state = nullptr;
  MotionHistory history;
  MotionField field;
  int lags[pixel::kTemporalSteps];  ///< pixel::kTemporalLags, which device code cannot read
  unsigned still_sad = pixel::kStillSad;  ///< pixel::StillSad of the grain

  /// Luma of the older picture of a step, if there is one.
  REELMEND_HD const Plane& Older(int step) const { return history.luma[(state->pictures_before - lags[step]) % MotionHistory::kPictures]; }

  REELMEND_HD void operator()(auto& block, Shared& s, int tile_x, int tile_y, int) const {
    const int pictures = state->pictures_before;
    const Point at = BlockAt(tile_x, tile_y);
    LoadWindow(block, s, at);
    block.Each([&](int thread) {
      if (thread == 0) s.vector = {};
    });
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      pixel::MotionVector* found = field.At(tile_x, tile_y) + step;
      pixel::MotionErrors* errors = field.errors + field.Index(tile_x, tile_y) + step;
      block.Each([&](int thread) {
        if (thread == 0) *errors = {};
      });
      if (pictures < lags[step]) {
        block.Each([&](int thread) {
          if (thread == 0) *found = {};
        });
        continue;
      }
      const int older = (pictures - lags[step]) % MotionHistory::kPictures;
      FindStill(block, s, at, history.luma[older]);
      if (s.is_still != 0) {  // all threads read the same: it is written again only behind the next Each
        block.Each([&](int thread) {
          if (thread != 0) return;
          *found = s.vector = {};
          if (s.sads[0] > pixel::kStillSad) *errors = {pixel::kUnknownError, 0, pixel::kUnknownError};
        });
        continue;
      }
      SearchMeans(block, s, at, history.means[pictures % MotionHistory::kPictures], history.means[older], step);
      SearchSamples(block, s, at, history.luma[older]);
      SubpixelFit(block, s, at, history.luma[older]);
      block.Each([&](int thread) {
        if (thread != 0) return;
        *found = s.vector;
        *errors = {s.error, 0, s.error_of_none};
      });
    }
  }

 private:
  /// The i-th candidate of the first level, in means.
  REELMEND_HD static Displacement Candidate(int i, Displacement centre, int reach) {
    if (i == 0) return {0, 0};
    if (i == 1) return centre;
    const int side = 2 * reach + 1;
    return {centre.x + (i - 2) % side - reach, centre.y + (i - 2) / side - reach};
  }

  REELMEND_HD static Displacement SearchCentre(const pixel::MotionVector& before) {
    return {pixel::TwiceInMeans(before.x), pixel::TwiceInMeans(before.y)};
  }

  /// First level. Leaves the best displacement in s.best, in samples.
  REELMEND_HD void SearchMeans(auto& block, Shared& s, Point at, const Plane& means, const Plane& older, int step) const {
    constexpr int kWindow = pixel::kMotionWindow;
    constexpr int kMargin = (kWindow * pixel::kMotionCell - pixel::kMotionBlock) / 2;
    const Point window{Clamp((at.x - kMargin) / pixel::kMotionCell, 0, means.width - kWindow),
                       Clamp((at.y - kMargin) / pixel::kMotionCell, 0, means.height - kWindow)};
    const int reach = step == 0 ? pixel::kMotionReach : pixel::kMotionReachLongLag;
    const int candidates = 2 + (2 * reach + 1) * (2 * reach + 1);
    block.Each([&](int thread) {
      const Displacement centre = SearchCentre(s.vector);
      for (int i = thread; i < candidates; i += kThreads) {
        const Displacement candidate = Candidate(i, centre, reach);
        const int x0 = window.x + candidate.x;
        const int y0 = window.y + candidate.y;
        unsigned sad = kOutside;
        if (IsInside({x0, y0}, kWindow, older)) {
          sad = 0;
          for (int j = 0; j < kWindow; ++j) {
            for (int k = 0; k < kWindow; ++k) {
              sad += AbsoluteDifference(means.At(window.x + k, window.y + j), older.At(x0 + k, y0 + j)) >> pixel::kWindowSadShift;
            }
          }
        }
        s.sads[i] = sad;
      }
    });
    block.Each([&](int thread) {
      if (thread >= kScanners) return;
      int smallest = thread;  // there are always more candidates than scanners
      for (int i = thread; i < candidates; i += kScanners) smallest = s.sads[i] < s.sads[smallest] ? i : smallest;
      s.smallest[thread] = smallest;
    });
    block.Each([&](int thread) {
      if (thread != 0) return;
      int smallest = s.smallest[0];
      for (const int i : s.smallest) {
        if (s.sads[i] < s.sads[smallest] || (s.sads[i] == s.sads[smallest] && i < smallest)) smallest = i;
      }
      const Displacement best = Candidate(smallest, SearchCentre(s.vector), reach);
      s.best = {best.x * pixel::kMotionCell, best.y * pixel::kMotionCell};
    });
  }

  REELMEND_HD static bool IsInside(Point first, int side, const Plane& plane) {
    return first.x >= 0 && first.y >= 0 && first.x + side <= plane.width && first.y + side <= plane.height;
  }

  /// Sets s.sads to the SADs of `count` displacements of a block.
  template <typename CandidateAt>
  REELMEND_HD void SumSads(auto& block, Shared& s, Point at, const Plane& older, int count, const CandidateAt& candidate_at) const {
    constexpr int kSize = pixel::kMotionBlock;
    block.Each([&](int thread) {
      if (thread >= count) return;
      const Displacement candidate = candidate_at(thread);
      s.sads[thread] = IsInside({at.x + candidate.x, at.y + candidate.y}, kSize, older) ? 0 : kOutside;
    });
    block.Each([&](int thread) {
      const int x = at.x + thread % kSize;
      const int y = at.y + thread / kSize;
      for (int i = 0; i < count; ++i) {
        const Displacement candidate = candidate_at(i);
        if (!IsInside({at.x + candidate.x, at.y + candidate.y}, kSize, older)) continue;
        block.Add(s.sads[i], AbsoluteDifference(now.At(x, y), older.At(x + candidate.x, y + candidate.y)) >> pixel::kBlockSadShift);
      }
    });
  }

  REELMEND_HD void FindStill(auto& block, Shared& s, Point at, const Plane& older) const {
    SumSads(block, s, at, older, 1, [](int) { return Displacement{0, 0}; });
    block.Each([&](int thread) {
      if (thread == 0) s.is_still = s.sads[0] <= still_sad ? 1 : 0;
    });
  }

  /// Second level.
  REELMEND_HD void SearchSamples(auto& block, Shared& s, Point at, const Plane& older) const {
    SumSads(block, s, at, older, 2, [&](int i) { return i == 0 ? Displacement{0, 0} : s.best; });
    block.Each([&](int thread) {
      if (thread != 0) return;
      s.best_sad = Min(s.sads[0], s.sads[1]);
      if (s.sads[1] >= s.sads[0]) s.best = {0, 0};
    });
    for (int distance = 2; distance >= 1; --distance) {
      const auto around = [&](int i) { return Displacement{s.best.x + (i % 3 - 1) * distance, s.best.y + (i / 3 - 1) * distance}; };
      SumSads(block, s, at, older, 9, around);
      block.Each([&](int thread) {
        if (thread != 0) return;
        const Displacement centre = s.best;
        for (int i = 0; i < 9; ++i) {
          if (s.sads[i] >= s.best_sad) continue;
          s.best_sad = s.sads[i];
          s.best = {centre.x + (i % 3 - 1) * distance, centre.y + (i / 3 - 1) * distance};
        }
      });
    }
  }

};

}  // namespace reelmend::cuda
