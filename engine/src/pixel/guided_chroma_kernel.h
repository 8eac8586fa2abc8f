// Chroma fitted to luma as the CPU and the GPU compute it. Note [Method] in guided_chroma.cc.
#pragma once

#include <algorithm>

#include "pixel/gaussian_weights.h"
#include "pixel/hd.h"

namespace reelmend::pixel {

/// Chroma samples per side of a cell.
inline constexpr int kGuidedCell = 2;
/// Cells on each side that a Gaussian reads.
inline constexpr int kGuidedReach = 6;
/// A larger enlargement counts as this one.
inline constexpr float kMaxGuidedEnlargement = 6;
/// Variance of luma, in 8-bit levels, that counts as noise: a flat area has no slope.
inline constexpr float kGuideNoise = 16;

/// Variance of chroma that luma does not explain, in 8-bit levels, at which half of the chroma is kept: it is an edge of colour alone.
inline constexpr float kUnexplainedChroma = 60;

/// Gaussians over cells, by distance; both sides and the middle add up to 1.
struct GuidedWeights {
  float guide[kGuidedReach + 1] = {};   ///< makes luma as soft as chroma
  float window[kGuidedReach + 1] = {};  ///< of the fit
  float strength = 0;
};

inline GuidedWeights MakeGuidedWeights(float enlargement, float strength) {
  const float scale = std::min(enlargement, kMaxGuidedEnlargement) / kGuidedCell;
  GuidedWeights w;
  w.strength = std::min(strength, 1.0F);
  constexpr float kGuide = 0.55F;  // chroma samples of the small picture
  constexpr float kWindow = 0.65F;
  FillGaussian(w.guide, kGuide * kGuide * scale * scale);
  FillGaussian(w.window, kWindow * kWindow * scale * scale);
  return w;
}

/// Weight of the own chroma, and what replaces the rest: slope × luma + offset.
struct ChromaFit {
  float slope = 0;
  float offset = 0;
  float kept = 0;
};

/// Means in a window of luma and of its square, of chroma, of its square and of luma × chroma.
struct ChromaMeans {
  float luma = 0;
  float luma_squared = 0;
  float chroma = 0;
  float chroma_squared = 0;
  float product = 0;
};

REELMEND_HD inline ChromaFit FitChroma(const ChromaMeans& m) {
  const float variance = m.luma_squared - m.luma * m.luma;
  const float covariance = m.product - m.luma * m.chroma;
  const float slope = covariance / ((variance < 0 ? 0 : variance) + kGuideNoise);
  const float rest = m.chroma_squared - m.chroma * m.chroma - slope * covariance;
  const float trust = kUnexplainedChroma / (kUnexplainedChroma + (rest < 0 ? 0 : rest));
  return {trust * slope, trust * (m.chroma - slope * m.luma), 1 - trust};
}

}  // namespace reelmend::pixel
