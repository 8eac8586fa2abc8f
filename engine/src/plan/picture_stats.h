// Statistics of a picture for the automatic choices.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pixel/contrast_levels.h"
#include "pixel/image.h"

namespace reelmend::plan {

/// Black bars: shares of the picture's height and width.
struct Bars {
  float top = 0;
  float bottom = 0;
  float left = 0;
  float right = 0;

  /// Share of the picture's area.
  float area() const { return 1 - (1 - top - bottom) * (1 - left - right); }
};

/// Luma of one picture, counted in the bins of pixel::LayoutOf (every fourth sample of every fourth row).
struct LumaFacts {
  std::array<std::uint32_t, pixel::kMaxBins> histogram = {};
  pixel::Range range = pixel::Range::kLimited;
  Bars bars;  ///< black rows and columns at the edges, whatever the reason
};
LumaFacts MeasureLuma(const pixel::Image& image);

/// Levels of a video.
struct VideoLevels {
  pixel::Levels levels;
  float bars = 0;  ///< share of the picture that is bars
};

/// From pictures all over the video, without blank ones. Bars are what is black at the edges of all pictures. The levels are
/// medians, so that a title among them changes nothing; of two middle values, the wider one is used.
VideoLevels LevelsOfVideo(const std::vector<LumaFacts>& pictures);

}  // namespace reelmend::plan
