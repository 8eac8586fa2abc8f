// Weights of a sampled Gaussian.
#pragma once

#include <cmath>

namespace reelmend::pixel {

/// Fills the weights, by distance; both sides and the middle add up to 1. `variance` in squared steps.
template <int kCount>
void FillGaussian(float (&weights)[kCount], float variance) {
  float sum = 0;
  for (int i = 0; i < kCount; ++i) {
    weights[i] = std::exp(-static_cast<float>(i * i) / (2 * variance));
    sum += (i == 0 ? 1.0F : 2.0F) * weights[i];
  }
  for (float& weight : weights) weight /= sum;
}

}  // namespace reelmend::pixel
