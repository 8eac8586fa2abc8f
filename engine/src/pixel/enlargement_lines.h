// Finds that a video was enlarged before, and from which size, by the period that an enlargement leaves.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "pixel/damage_features.h"

namespace reelmend::pixel {

/// Note [Lines of an enlargement]
/// A filter that enlarges a picture to 1 / s of its size makes some pixels near the old ones and others in the middle between
/// two, which come out softer. So the mean second difference of the columns is periodic: its spectrum has a line at s cycles
/// per pixel, or at 1 − s above a half; that of the rows as well (Gallagher, “Detection of linear and cubic interpolation in
/// JPEG compressed images”, 2005). Averaged over all rows and over a few pictures, the line is seen after encodes that leave no other
/// trace. What is no enlargement has lines, too:
/// - blocks of 4, 8 and 16 pixels, at multiples of 1/16: those frequencies are left out, and with them an enlargement to twice
///   the size;
/// - textures and letters: rarely at the same frequency in columns and rows;
/// - blocks of an encode before the enlargement, and grids: their lines begin at low frequencies, so a line has to exceed those.
///
/// `npm run bench:real -- --named` counts how often users read of an enlargement that was none (engine/training/README.md has the
/// table).
class EnlargementLines {
 public:
  /// Adds a picture; ignores one whose sides are shorter than kSmallestSide.
  void Add(const LumaWindow& picture);

  /// Size of the recording as a share of the nominal size, per axis, 0.2…0.81; nothing if no line is found. A line stands for s and for
  /// 1 − s: the one that is nearer to `about` counts, a rough estimate of the remaining resolution, 0…1. `least`: how far the logarithm
  /// of the line's power has to be above that of its neighbours.
  std::optional<float> Scale(float about, double least = kProminent) const;

  static constexpr double kProminent = 4;
  static constexpr double kVeryProminent = 6;

  static constexpr int kSmallestSide = 240;  ///< pixels

 private:
  static constexpr int kBins = 513;  ///< frequencies 0…0.5
  using Spectrum = std::array<double, kBins>;

  static void AddSpectrum(const std::vector<double>& profile, Spectrum& sum);
  static Spectrum Prominence(const Spectrum& logs);

  Spectrum columns_ = {};  ///< sums of logarithms of power
  Spectrum rows_ = {};
  int pictures_ = 0;
};

}  // namespace reelmend::pixel
