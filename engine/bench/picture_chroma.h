// Chroma of pictures in the benchmarks: 4:2:0 as in streams. The engine's resizer moves it between grids.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "picture_quality.h"
#include "pixel/image.h"
#include "pixel/stages.h"

namespace reelmend::bench {

/// Cb and Cr in 8-bit levels of the limited range. In 4:2:0, sides are rounded up and samples are left-sited as in MPEG-2.
using Chroma = std::array<Plane, 2>;

inline constexpr pixel::Subsampling kFullChroma = {0, 0};

inline void CopyLevels(const Plane& from, pixel::Plane to) {
  for (int y = 0; y < to.height; ++y) {
    for (int x = 0; x < to.width; ++x) {
      to.Row(y)[x] = static_cast<std::uint16_t>(std::lround(std::clamp(from.at(x, y), 0.0F, 255.99F) * pixel::kUnitsPer8BitLevel));
    }
  }
}

/// Converts 8-bit levels to a working picture, BT.601 in limited range. `luma` may be null: then the luma plane is not set.
inline pixel::Image ToImage(const Plane* luma, const Chroma& chroma, int width, int height, pixel::Subsampling subsampling) {
  pixel::Image image(width, height, subsampling, {pixel::Matrix::kBt601, pixel::Range::kLimited, pixel::ChromaSite::kLeft});
  if (luma != nullptr) CopyLevels(*luma, image.plane(0));
  for (int p = 0; p < 2; ++p) CopyLevels(chroma[p], image.plane(p + 1));
  return image;
}

inline Plane LevelsOf(pixel::ConstPlane from) {
  Plane plane(from.width, from.height);
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) plane.at(x, y) = static_cast<float>(from.Row(y)[x]) / pixel::kUnitsPer8BitLevel;
  }
  return plane;
}

inline Chroma ChromaOf(const pixel::Image& image) { return {LevelsOf(image.plane(1)), LevelsOf(image.plane(2))}; }

/// The picture's chroma as that of a 4:2:0 picture of width × height, resized by Lanczos-3.
inline Chroma To420(const pixel::Image& image, int width, int height) {
  static pixel::ThreadPool pool(1);
  pixel::Image out(width, height, {1, 1}, image.color());
  pixel::Resizer(image.width(), image.height(), image.subsampling(), image.color(), width, height)
      .Run(image, out, pool, pixel::Planes::kChroma);
  return ChromaOf(out);
}

/// BT.601 chroma of R′G′B′ in 8-bit levels, on luma's grid.
inline Chroma ChromaOfRgb(const std::vector<Plane>& rgb) {
  Chroma chroma = {Plane(rgb[0].width, rgb[0].height), Plane(rgb[0].width, rgb[0].height)};
  for (std::size_t i = 0; i < rgb[0].data.size(); ++i) {
    const float r = rgb[0].data[i] / 255;
    const float g = rgb[1].data[i] / 255;
    const float b = rgb[2].data[i] / 255;
    chroma[0].data[i] = 128 - 37.797F * r - 74.203F * g + 112 * b;
    chroma[1].data[i] = 128 + 112 * r - 93.786F * g - 18.214F * b;
  }
  return chroma;
}

/// Rounds to the levels of an 8-bit stream.
inline Chroma Rounded(Chroma chroma) {
  for (Plane& plane : chroma) RoundToLevels(plane, 16, 240);
  return chroma;
}

}  // namespace reelmend::bench
