// Thresholds of the temporal denoising. Note [Temporal denoising] in temporal_denoise.h.
#pragma once

#include <array>

#include "pixel/motion_vector.h"

namespace reelmend::pixel {

inline constexpr int kTemporalBlock = 8;  ///< side of a block of luma
inline constexpr int kTemporalSteps = 3;
inline constexpr int kTemporalLags[kTemporalSteps] = {1, 2, 4};  ///< pictures
inline constexpr double kQuiet = 1.4;   ///< times the noise's own mean difference: up to here a block is still
inline constexpr double kMoving = 2.0;  ///< from here on it is not denoised

struct StepLimits {
  double mean_difference;  ///< of noise alone, in working units
  float falloff;           ///< 1 / T²
};

/// `noise_sigma` > 0, in 8-bit levels.
std::array<StepLimits, kTemporalSteps> MakeStepLimits(double noise_sigma);

/// The largest SAD of a block whose difference the grain alone explains; `grain_sigma` in 8-bit levels, 0: none. It is 1.1 times the mean
/// SAD of such a block, so 97 % of them are below. A moved texture of less than half of the grain's deviation is below, too.
unsigned StillSad(double grain_sigma);

}  // namespace reelmend::pixel
