// Tiles, histograms and curves of the adaptive contrast, shared by CPU and GPU. Note [Method] in
// contrast.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pixel/hd.h"
#include "pixel/image.h"

namespace reelmend::pixel {

inline constexpr int kMaxSegments = 16;
inline constexpr int kBinBits = 10;  // a bin is 4 levels wide
inline constexpr int kMaxBins = 64;
inline constexpr int kMaxTiles = 8;             // along one axis
inline constexpr int kMinTileSide = 32;         // smaller pictures have fewer tiles
inline constexpr int kCentreAlignment = 32;     // spans are whole vectors
inline constexpr int kContrastWindow = 16;      // pictures whose histograms are summed
inline constexpr double kClipLimit = 2.0;       // times the mean bin: the steepest slope before redistribution
inline constexpr int kSamplesPerTile = 4096;    // wanted; larger tiles are counted on a coarser grid

/// The luma range for curves, in working units: outer edges of the levels, and their segments.
struct CurveDomain {
  float base;  ///< lower edge of the lowest level
  float segment_width;
  int segments;
  float black;  ///< lowest level
  float white;  ///< highest level
};

/// Limited range: levels 16 … 235 = 55 bins in 11 segments; full range: 0 … 255 = 64 bins in 16 segments.
struct RangeLayout {
  CurveDomain domain;
  int base;
  int bins;
  int bins_per_segment;
};

inline RangeLayout LayoutOf(Range range) {
  const bool limited = range == Range::kLimited;
  const int first_level = limited ? 16 : 0;
  const int levels = limited ? 220 : 256;
  RangeLayout layout;
  layout.base = first_level * kUnitsPer8BitLevel - kUnitsPer8BitLevel / 2;
  layout.bins = levels * kUnitsPer8BitLevel >> kBinBits;
  layout.bins_per_segment = limited ? 5 : 4;
  layout.domain.base = static_cast<float>(layout.base);
  layout.domain.segments = layout.bins / layout.bins_per_segment;
  layout.domain.segment_width = static_cast<float>(layout.bins_per_segment << kBinBits);
  layout.domain.black = static_cast<float>(first_level * kUnitsPer8BitLevel);
  layout.domain.white = static_cast<float>((first_level + levels - 1) * kUnitsPer8BitLevel);
  return layout;
}

/// Clips the bins at the limit and distributes the excess evenly. Takes several rounds, because distributing may lift
/// bins above the limit again.
REELMEND_HD inline void ClipBins(double* bins, int count, double limit) {
  for (int round = 0; round < 4; ++round) {
    double excess = 0;
    for (int i = 0; i < count; ++i) {
      const double above = bins[i] - limit;
      if (above <= 0) continue;
      excess += above;
      bins[i] = limit;
    }
    for (int i = 0; i < count; ++i) bins[i] += excess / count;
  }
}

/// Computes a tile's curve from its histogram (layout.bins numbers): the distance from the identity at the edges of
/// the segments (kMaxSegments + 1 numbers, in working units).
REELMEND_HD inline void MakeCurve(const std::uint32_t* histogram, const RangeLayout& layout, float* curve) {
  for (int i = 0; i <= kMaxSegments; ++i) curve[i] = 0;
  double total = 0;
  for (int i = 0; i < layout.bins; ++i) total += histogram[i];
  if (total == 0) return;
  double bins[kMaxBins];
  for (int i = 0; i < layout.bins; ++i) bins[i] = histogram[i] / total;
  ClipBins(bins, layout.bins, kClipLimit / layout.bins);
  const double width = static_cast<double>(layout.bins << kBinBits);
  double below = 0;
  for (int i = 0; i < layout.bins; ++i) {
    if (i % layout.bins_per_segment == 0) {
      curve[i / layout.bins_per_segment] =
          static_cast<float>(width * (below - static_cast<double>(i) / layout.bins));
    }
    below += bins[i];
  }
  curve[0] = 0;
  curve[layout.domain.segments] = 0;
}

/// Tiles along one axis: borders for counting, centres for interpolating.
struct TileAxis {
  int size = 0;
  int count = 1;

  TileAxis(int size_in, int count_in) : size(size_in), count(count_in) {}
  int Begin(int tile) const { return static_cast<int>(static_cast<long long>(size) * tile / count); }
  int Centre(int tile, int alignment) const {
    const int centre = (Begin(tile) + Begin(tile + 1)) / 2;
    return (centre + alignment / 2) / alignment * alignment;
  }
};

inline int TileCount(int size) { return std::clamp(size / kMinTileSide, 1, kMaxTiles); }

/// Sampling step along both axes when counting a tile of that size.
inline int CountingStep(int width, int height) {
  const double samples = static_cast<double>(width) * height;
  return std::max(1, static_cast<int>(std::ceil(std::sqrt(samples / kSamplesPerTile) - 1e-9)));
}

}  // namespace reelmend::pixel
