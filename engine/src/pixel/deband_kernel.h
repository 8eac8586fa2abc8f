// Debanding as the CPU and the GPU compute it. Note [Method] in deband.cc.
#pragma once

#include "pixel/hd.h"

namespace reelmend::pixel {

/// Samples per side of a cell.
inline constexpr int kDebandCell = 4;

/// Cells on each side that a pass reads: windows of 20, then of 36 samples.
inline constexpr int kDebandReach[] = {2, 4};

/// A window whose samples differ by up to so many thresholds is flat; at twice as many its flatness is 0.
inline constexpr float kFlatRange = 3;

/// Factors of a threshold in working units.
struct DebandLimits {
  float inverse_threshold = 0;
  float inverse_range = 0;
};

inline DebandLimits MakeDebandLimits(float threshold) { return {1 / threshold, 1 / (kFlatRange * threshold)}; }

/// How flat a window is, 0…1.
REELMEND_HD inline float Flatness(float range, const DebandLimits& limits) {
  const float flatness = 2 - range * limits.inverse_range;
  return flatness < 0 ? 0 : flatness > 1 ? 1 : flatness;
}

/// Weight of the neighbouring cell for a sample at position 0…3 of its own cell; the neighbour is the nearer one.
REELMEND_HD inline float NeighbourShare(int place) {
  const float from_centre = (static_cast<float>(place) - 1.5F) / kDebandCell;
  return from_centre < 0 ? -from_centre : from_centre;
}

}  // namespace reelmend::pixel
