#include "faces/face_kernel.h"

#include "pixel/color_matrix.h"

namespace reelmend::faces {

RgbConversion::RgbConversion(pixel::ColorSpec color) {
  constexpr float kUnits = pixel::kUnitsPer8BitLevel;
  const bool is_full = color.range == pixel::Range::kFull;
  black = is_full ? 0 : 16 * kUnits;
  luma = (is_full ? 1.0F : 255.0F / 219) / kUnits;
  chroma = (is_full ? 1.0F : 255.0F / 224) / kUnits;
  const pixel::YcbcrToRgb matrix = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  const double chroma_span = (is_full ? 255 : 224) * static_cast<double>(kUnits);
  kr = static_cast<float>(1 - matrix.red_cr * chroma_span / 2);
  kb = static_cast<float>(1 - matrix.blue_cb * chroma_span / 2);
}

Area AreaOf(const Similarity& to_picture, int side, int width, int height) {
  const auto s = static_cast<float>(side);
  float left = 1e9F;
  float top = 1e9F;
  float right = -1e9F;
  float bottom = -1e9F;
  for (const Point corner : {Point{0, 0}, Point{s, 0}, Point{0, s}, Point{s, s}}) {
    const Point p = to_picture(corner);
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  const auto inside = [](float value, int size) { return static_cast<int>(std::clamp(value, 0.0F, static_cast<float>(size))); };
  return {inside(std::floor(left), width) & ~1, inside(std::floor(top), height) & ~1,
          inside(std::ceil(right) + 1, width), inside(std::ceil(bottom) + 1, height)};
}

}  // namespace reelmend::faces
