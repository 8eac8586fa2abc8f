// Motion vectors, and the numbers and arithmetic of their search, the same on the CPU and on a GPU. Note [Motion search] in
// motion_search.h.
#pragma once

#include <cstdint>

#include "pixel/hd.h"

namespace reelmend::pixel {

inline constexpr int kMotionBlock = 16;   ///< side of a block of luma
inline constexpr int kRefinedCell = 32;   ///< side of a cell of an enlarged picture: Note [Refined motion] in motion_field.h
inline constexpr int kMotionCell = 4;     ///< side of a mean of the first level
inline constexpr int kMotionWindow = 8;   ///< side of the first level's window, in means
inline constexpr int kMotionReach = 8;    ///< of the search for the lag of one picture, in means
inline constexpr int kMotionReachLongLag = 3;  ///< of the search for a longer lag, around twice the vector of the lag before
inline constexpr int kMotionMinSide = kMotionCell * kMotionWindow;  ///< smaller pictures are not searched
inline constexpr int kBlockSadShift = 4;  ///< of each absolute difference, so that the sum of a column fits into 16 bits
inline constexpr int kWindowSadShift = 3;
/// A block whose SAD at zero displacement is at most this stands still: a mean difference of a quarter of an 8-bit level.
inline constexpr unsigned kStillSad = kMotionBlock * kMotionBlock * (64U >> kBlockSadShift);

inline constexpr int kFitSide = 24;                                  ///< side of the window of the fit, samples
inline constexpr int kFitMargin = (kFitSide - kMotionBlock) / 2;     ///< around the block
inline constexpr int kFitArea = kFitSide * kFitSide;
inline constexpr int kFitSteps = 3;
inline constexpr int kFitShift = 5;            ///< the fit works on samples of 11 bits, so that its sums fit into 32 bits
inline constexpr int kFitPeak = 0xFFFF >> kFitShift;

/// There is a global motion only if at least one block in so many has nearly its vector.
inline constexpr int kGlobalQuorum = 8;

inline constexpr int kMotionUnitBits = 4;
inline constexpr int kMotionUnits = 1 << kMotionUnitBits;    ///< of a vector, in a sample of luma
inline constexpr int kMotionTaps = 4;                        ///< of the interpolation
inline constexpr int kMotionPhaseBits = kMotionUnitBits + 1;  ///< vectors of subsampled chroma are half as long
inline constexpr int kMotionPhases = 1 << kMotionPhaseBits;  ///< of the interpolation, in a sample

/// Weights of the samples −1, 0, 1, 2 at a phase: Catmull-Rom (Keys 1981 with a = −½).
REELMEND_HD constexpr float MotionWeight(int phase, int tap) {
  const float t = static_cast<float>(phase) / kMotionPhases;
  if (tap == 0) return ((-0.5F * t + 1.0F) * t - 0.5F) * t;
  if (tap == 1) return (1.5F * t - 2.5F) * t * t + 1.0F;
  if (tap == 2) return ((-1.5F * t + 2.0F) * t + 0.5F) * t;
  return (0.5F * t - 0.5F) * t * t;
}

inline constexpr int kFitWeightBits = 7;

/// The same weights at a fraction of a vector (0 … kMotionUnits − 1), × 2^kFitWeightBits and rounded; their sum is exact.
REELMEND_HD constexpr int FitWeight(int t, int tap) {
  const auto rounded = [](int sixty_fourths) { return (sixty_fourths + (sixty_fourths < 0 ? -32 : 32)) / 64; };
  const int first = rounded((-t * t * t) + (32 * t * t) - (256 * t));
  const int third = rounded((-3 * t * t * t) + (64 * t * t) + (256 * t));
  const int fourth = rounded((t * t * t) - (16 * t * t));
  if (tap == 0) return first;
  if (tap == 1) return (1 << kFitWeightBits) - first - third - fourth;
  return tap == 2 ? third : fourth;
}

/// Sums over the window of the fit. g: gradient of the newer picture; r: newer minus displaced older picture. Without defaults, because
/// shared memory of a GPU takes none.
struct FitSums {
  std::int32_t xx;      ///< Σ g_x²
  std::int32_t xy;      ///< Σ g_x g_y
  std::int32_t yy;      ///< Σ g_y²
  std::int32_t xr;      ///< Σ g_x r
  std::int32_t yr;      ///< Σ g_y r
  std::uint32_t error;  ///< Σ r²
};

/// Displacement from the block to its content in the older picture, in 1 / kMotionUnits of a luma sample: to the right and down.
struct MotionVector {
  std::int16_t x;
  std::int16_t y;
  REELMEND_HD constexpr bool operator==(const MotionVector& other) const { return x == other.x && y == other.y; }
};

/// A displacement in samples of a plane, split for interpolation: whole samples, and the phase between them.
struct InterpolationOffset {
  int x;
  int y;
  int phase_x;
  int phase_y;
};

/// Converts a vector for a plane with this subsampling.
REELMEND_HD constexpr InterpolationOffset InterpolationOffsetOf(MotionVector vector, int log2_x, int log2_y) {
  const int x = vector.x * (kMotionPhases / kMotionUnits) >> log2_x;
  const int y = vector.y * (kMotionPhases / kMotionUnits) >> log2_y;
  return {x >> kMotionPhaseBits, y >> kMotionPhaseBits, x & (kMotionPhases - 1), y & (kMotionPhases - 1)};
}

/// Whether two vectors differ by at most a sample along each axis.
REELMEND_HD constexpr bool IsNear(MotionVector a, MotionVector b) {
  const int x = a.x - b.x;
  const int y = a.y - b.y;
  return x <= kMotionUnits && x >= -kMotionUnits && y <= kMotionUnits && y >= -kMotionUnits;
}

/// Converts a component of a vector to means, rounded to nearest.
REELMEND_HD constexpr int InMeans(int units) {
  constexpr int kMean = kMotionUnits * kMotionCell;
  return (units + (units < 0 ? -kMean : kMean) / 2) / kMean;
}

/// Of twice a component. The search for the next longer lag begins there.
REELMEND_HD constexpr int TwiceInMeans(int units) { return InMeans(2 * units); }

/// Converts a component of a vector of a picture with `source` samples along this axis to whole samples of the picture when it is enlarged
/// to `size` samples, rounded to nearest. A vector cannot be longer than kLongest.
REELMEND_HD constexpr int EnlargedInSamples(int units, int size, int source) {
  constexpr int kLongest = 32'767 / kMotionUnits - kFitSteps;
  const int unit = kMotionUnits * source;
  const int enlarged = units * size;
  const int samples = (enlarged + (enlarged < 0 ? -unit : unit) / 2) / unit;
  return samples < -kLongest ? -kLongest : samples > kLongest ? kLongest : samples;
}

/// The block of the smaller picture, along an axis, that has the content of a sample of the enlarged one.
REELMEND_HD constexpr int SourceBlockOf(int sample, int size, int source) {
  return static_cast<int>(static_cast<std::int64_t>(sample) * source / size) / kMotionBlock;
}

/// One Gauss-Newton step, at most a sample along each axis. `kAdded` damps the step (as Levenberg and Marquardt do), so that noise does
/// not move a block without structure.
REELMEND_HD constexpr MotionVector FitStep(const FitSums& s) {
  constexpr std::int64_t kAdded = kFitArea / 2;
  const std::int64_t xx = s.xx + kAdded;
  const std::int64_t yy = s.yy + kAdded;
  const std::int64_t xy = s.xy;
  const std::int64_t unit = (xx * yy - xy * xy) / kMotionUnits;  // never 0: both squares contain kAdded
  const auto quotient = [unit](std::int64_t a) {
    const std::int64_t rounded = (a + (a < 0 ? -unit : unit) / 2) / unit;
    return static_cast<std::int16_t>(rounded < -kMotionUnits ? -kMotionUnits : rounded > kMotionUnits ? kMotionUnits : rounded);
  };
  return {quotient(yy * s.xr - xy * s.yr), quotient(xx * s.yr - xy * s.xr)};
}

/// Whether a displacement explains the window clearly better than another one, or than none. Interpolation alone smooths noise, and the
/// smallest of many differences is small by chance; a picture that stands still must not be interpolated for that.
REELMEND_HD constexpr bool IsClearlyBetter(std::uint32_t error, std::uint32_t other) { return error < other - other / 4; }

/// An error that is measured only if there is a global motion.
inline constexpr std::uint32_t kUnknownError = ~0U;

/// Sums of squared differences over the window of a block's fit: along its own vector, along the global motion, and without displacement.
/// All are 0 for a block that stands still. For a block that was not searched, the first and the last are the same.
struct MotionErrors {
  std::uint32_t found;
  std::uint32_t global;
  std::uint32_t none;
};

/// The vote of a block on the global motion: 1 if it clearly moves along it, −1 if it clearly does not move, 0 if either may be.
REELMEND_HD constexpr int VoteOf(const MotionErrors& errors) {
  return IsClearlyBetter(errors.global, errors.none) ? 1 : IsClearlyBetter(errors.none, errors.global) ? -1 : 0;
}

/// The vector of a block if there is a global motion: its own only if that is clearly better.
REELMEND_HD constexpr MotionVector ChosenVector(MotionVector found, MotionVector global, const MotionErrors& errors) {
  return errors.none == 0 || IsClearlyBetter(errors.found, errors.global) ? found : global;
}

}  // namespace reelmend::pixel
