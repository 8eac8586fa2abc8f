// Contours as the CPU and the GPU process them. Note [Method] in contours.cc.
#pragma once

#include <algorithm>

#include "pixel/gaussian_weights.h"
#include "pixel/hd.h"

namespace reelmend::pixel {

/// Samples per side of a cell of the structure tensor.
inline constexpr int kContourCell = 4;
/// Samples of a line on each side, and their distance in pixels of the picture before it was enlarged.
inline constexpr int kContourSteps = 4;
inline constexpr float kContourStep = 0.6F;
/// A larger enlargement counts as this one.
inline constexpr float kMaxContourEnlargement = 6;
/// Cells on each side that the Gaussian of the structure tensor reads.
inline constexpr int kContourBlurReach = 4;

/// A contour is smoothed from this coherence on, and fully from the second on.
inline constexpr float kCoherenceFrom = 0.8F;
inline constexpr float kCoherenceTo = 0.97F;
/// The same for the RMS gradient around it, in 8-bit levels per sample.
inline constexpr float kGradientFrom = 1.5F;
inline constexpr float kGradientTo = 6;

/// Sharpening across contours: its strength, and its reach in pixels of the picture before it was enlarged.
inline constexpr float kContourSharpening = 0.4F;
inline constexpr float kContourSharpeningReach = 0.456F;

/// Structure tensor [[xx, xy], [xy, yy]] of gradients in 8-bit levels per sample.
struct ContourTensor {
  float difference = 0;  ///< xx − yy
  float mixed = 0;       ///< 2 xy
  float trace = 0;       ///< xx + yy
};

/// Weights for a given enlargement.
struct ContourWeights {
  float line[kContourSteps + 1] = {};      ///< by distance in steps; both sides and the middle add up to 1
  float step = 0;                          ///< distance of the samples of a line, in samples
  float blur[kContourBlurReach + 1] = {};  ///< of the cells, by distance; both sides and the middle add up to 1
  float strength = 0;
  float sharpening = 0;  ///< strength across the contour
  float distance = 0;    ///< of the farthest sample across the contour
};

inline ContourWeights MakeContourWeights(float enlargement, float strength) {
  const float scale = std::min(enlargement, kMaxContourEnlargement);
  ContourWeights w;
  w.step = kContourStep * scale;
  w.strength = std::min(strength, 1.0F);
  w.sharpening = w.strength * kContourSharpening;
  w.distance = kContourSharpeningReach * scale;
  FillGaussian(w.line, 4);  // a Gaussian of two steps
  // The cells and the gradient's own mean are a part of a Gaussian of 1.2 pixels of the small picture.
  constexpr float kCells = kContourCell * kContourCell;
  const float variance = 1.44F * scale * scale - (kCells - 1) / 12 - 0.5F;
  FillGaussian(w.blur, std::max(variance, 0.3F * kCells) / kCells);
  return w;
}

/// 0 up to `from`, 1 from `to` on, smooth in between.
REELMEND_HD inline float Rise(float v, float from, float to) {
  const float t = (v - from) / (to - from);
  const float way = t < 0 ? 0 : t > 1 ? 1 : t;
  return way * way * (3 - 2 * way);
}

}  // namespace reelmend::pixel
