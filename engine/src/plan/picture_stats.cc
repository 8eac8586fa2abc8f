#include "plan/picture_stats.h"

#include <algorithm>

namespace reelmend::plan {

LumaHistogram MeasureLuma(const pixel::Image& image) {
  constexpr int kStep = 4;
  constexpr int kBinShift = 10;  // 65536 / 64
  std::array<int, 64> counts = {};
  int total = 0;
  const pixel::ConstPlane luma = image.plane(0);
  for (int y = 0; y < luma.height; y += kStep) {
    const std::uint16_t* row = luma.Row(y);
    for (int x = 0; x < luma.width; x += kStep) ++counts[row[x] >> kBinShift];
    total += (luma.width + kStep - 1) / kStep;
  }
  LumaHistogram histogram = {};
  for (std::size_t i = 0; i < counts.size(); ++i) histogram[i] = static_cast<float>(counts[i]) / static_cast<float>(total);
  return histogram;
}

float LumaSpread(const LumaHistogram& histogram, pixel::Range range) {
  constexpr float kTail = 0.02F;
  int low = 0;
  for (float sum = 0; low < 63 && (sum += histogram[low]) <= kTail;) ++low;
  int high = 63;
  for (float sum = 0; high > 0 && (sum += histogram[high]) <= kTail;) --high;
  const float legal = range == pixel::Range::kFull ? 64.0F : 64.0F * 219.0F / 255.0F;
  return std::clamp(static_cast<float>(high - low) / legal, 0.0F, 1.0F);
}

}  // namespace reelmend::plan
