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

/// Note [Texture limit]
/// The error of an encode counts as noise (plan/strengths.h: Note [Temporal denoising of compressed sources]). But a texture of little contrast that
/// moved otherwise than the vector says, as grass, water and hair do, leaves no larger difference than such an error, and its mean with
/// older pictures is a blur. What tells them apart is the block's own texture, the mean difference of its horizontal plus that of its
/// vertical neighbours: a displacement by d samples leaves about d times it. So a block is blended in full only while its difference is at
/// most kTextureShare of its texture. Grain, which is known to be noise, is blended whatever the texture is.
inline constexpr double kTextureShare = 0.25;

/// Mean differences of noise alone, in working units; and 1 / T².
struct StepLimits {
  double mean_difference;
  double grain_difference;  ///< at least 1
  float falloff;
};

/// In 8-bit levels; `noise_sigma` > 0, `grain_sigma` is the part of it that differs from sample to sample.
std::array<StepLimits, kTemporalSteps> MakeStepLimits(double noise_sigma, double grain_sigma);

/// Sums of the absolute differences of horizontal and of vertical neighbours within a block of columns × rows.
REELMEND_HD constexpr double TextureOf(unsigned across, unsigned down, int columns, int rows) {
  const int pairs_across = (columns - 1) * rows;
  const int pairs_down = columns * (rows - 1);
  return (pairs_across > 0 ? static_cast<double>(across) / pairs_across : 0) + (pairs_down > 0 ? static_cast<double>(down) / pairs_down : 0);
}

/// Share of the older picture in a block, 0…1: 1 while its mean difference is at most kQuiet times what noise alone leaves, 0 from
/// kMoving times on.
REELMEND_HD constexpr double BlockShare(double difference, double texture, double noise_difference, double grain_difference) {
  const double by_texture = kTextureShare / kQuiet * texture;
  const double proven = by_texture < noise_difference ? by_texture : noise_difference;
  const double noise = grain_difference > proven ? grain_difference : proven;
  const double share = (kMoving - difference / noise) / (kMoving - kQuiet);
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

/// The largest SAD of a block whose difference the grain alone explains; `grain_sigma` in 8-bit levels, 0: none. It is 1.1 times the mean
/// SAD of such a block, so 97 % of them are below. A moved texture of less than half of the grain's deviation is below, too.
unsigned StillSad(double grain_sigma);

}  // namespace reelmend::pixel
