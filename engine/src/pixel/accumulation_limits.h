// Thresholds of the temporal accumulation. Note [Temporal accumulation] in temporal_accumulation.h.
#pragma once

#include "pixel/hd.h"

namespace reelmend::pixel {

inline constexpr int kAccumulationBlock = 8;  ///< side of a block
inline constexpr int kAccumulationSteps = 2;
inline constexpr int kAccumulationLags[kAccumulationSteps] = {1, 2};  ///< pictures: the first of pixel::kTemporalLags

/// A block is blended in full while its mean difference is at most this share of its texture (TextureOf in temporal_limits.h), or one
/// level; not at all from kAccumulationEnd times that on. Two textures that have nothing to do with each other differ by 0.5 to 0.6 of theirs
/// if neighbouring samples are independent, and by more than all of it if they are as soft as those of an enlarged picture.
inline constexpr double kAccumulationShare = 0.45;
inline constexpr double kAccumulationEnd = 1.6;
/// A sample is not blended from this difference on, in multiples of the one up to which its block is blended in full.
inline constexpr double kAccumulationReach = 4;

/// How a block is blended.
struct AccumulationWeight {
  float share;    ///< of the older picture, at most ½
  float falloff;  ///< 1 ÷ the squared difference from which on a sample is not blended
};

/// `difference` and `texture` are means of a block, in working units.
REELMEND_HD constexpr AccumulationWeight WeighAccumulation(double difference, double texture, double strength) {
  constexpr double kLevel = 256;
  const double by_texture = kAccumulationShare * texture;
  const double limit = by_texture > kLevel ? by_texture : kLevel;
  const double share = (kAccumulationEnd - difference / limit) / (kAccumulationEnd - 1);
  const double reach = kAccumulationReach * limit;
  return {static_cast<float>(0.5 * strength * (share < 0 ? 0 : share > 1 ? 1 : share)), static_cast<float>(1 / (reach * reach))};
}

}  // namespace reelmend::pixel
