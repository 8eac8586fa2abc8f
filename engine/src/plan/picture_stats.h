// Statistics of a picture for the automatic choices.
#pragma once

#include <array>

#include "pixel/image.h"

namespace reelmend::plan {

/// Share of luma samples in each of 64 equal bins (every fourth sample of every fourth row).
using LumaHistogram = std::array<float, 64>;
LumaHistogram MeasureLuma(const pixel::Image& image);

/// Distance between the 2nd and the 98th percentile as a share of the legal range, 0…1.
float LumaSpread(const LumaHistogram& histogram, pixel::Range range);

}  // namespace reelmend::plan
