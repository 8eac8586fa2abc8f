// Weights that double a row of chroma horizontally.
#pragma once

namespace reelmend::pixel {

/// Weights of the samples before, at and behind index i, for outputs 2i and 2i + 1.
struct UpsampleWeights {
  float even[3];
  float odd[3];
};

/// Chroma between two luma samples.
inline constexpr UpsampleWeights kCentredWeights = {{0.25F, 0.75F, 0}, {0, 0.75F, 0.25F}};
/// Chroma at the even luma samples.
inline constexpr UpsampleWeights kCositedWeights = {{0, 1, 0}, {0, 0.5F, 0.5F}};

}  // namespace reelmend::pixel
