// Numbers that describe the damage in a window of luma; plan/damage.h estimates from them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pixel/image.h"

namespace reelmend::pixel {

/// A part of a picture's luma in whole 8-bit levels of limited range, without gaps between rows.
struct LumaWindow {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> levels;
};

inline constexpr int kSmallestWindow = 96;   ///< pixels per side; smaller windows show too little
inline constexpr int kLargestWindow = 256;   ///< pixels per side
inline constexpr int kDamageFeatures = 181;
using DamageFeatures = std::array<float, kDamageFeatures>;

/// Cuts a window out; `x0`, `y0` and the size must lie in the picture. Full-range levels are converted to limited range.
LumaWindow CutWindow(const Image& image, int x0, int y0, int width, int height);

/// Logarithms and shares: spectra of busy and of flat tiles, grids of 8 pixels, periods, gradients over some distances,
/// residues of noise, ringing beside edges, lines, levels. engine/training/ground/damage_features.py computes the same and
/// describes each of them. Sides: kSmallestWindow … kLargestWindow.
DamageFeatures MeasureDamageFeatures(const LumaWindow& window);

}  // namespace reelmend::pixel
