// How faces are cut out of a picture and blended back, as the CPU and the GPU do it. Note [Blending a face] in restorer.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "faces/face_geometry.h"
#include "pixel/hd.h"
#include "pixel/image.h"

namespace reelmend::faces {

/// Per side, of the samples that are averaged to one: enough for faces much larger than the network's input.
inline constexpr int kMostSamples = 8;

/// The mask of a crop, by distance from its middle in halves of its side: full up to the first one, gone from the second one on.
inline constexpr float kMaskFull = 0.72F;
inline constexpr float kMaskGone = 0.97F;

template <typename T>
REELMEND_HD inline T Bounded(T value, T low, T high) {
  return value < low ? low : high < value ? high : value;
}

/// Between Y′CbCr working samples and R′G′B′ in 0…255.
struct RgbConversion {
  float black = 0;
  float luma = 0;    ///< 8-bit levels of R′G′B′ per working unit of luma
  float chroma = 0;  ///< the same for chroma
  float kr = 0;
  float kb = 0;

  RgbConversion() = default;
  explicit RgbConversion(pixel::ColorSpec color);

  /// In place: Y′, Cb, Cr in working units → R′, G′, B′, clipped to 0…255.
  REELMEND_HD void ToRgb(float (&c)[3]) const {
    const float y = (c[0] - black) * luma;
    const float blue = (c[1] - 32768) * chroma;
    const float red = (c[2] - 32768) * chroma;
    const float r = y + 2 * (1 - kr) * red;
    const float b = y + 2 * (1 - kb) * blue;
    const float g = (y - kr * r - kb * b) / (1 - kr - kb);
    c[0] = Bounded(r, 0.0F, 255.0F);
    c[1] = Bounded(g, 0.0F, 255.0F);
    c[2] = Bounded(b, 0.0F, 255.0F);
  }
  /// In place: a difference of R′G′B′ → the difference of Y′CbCr in working units.
  REELMEND_HD void DifferenceToYcc(float (&c)[3]) const {
    const float y = kr * c[0] + (1 - kr - kb) * c[1] + kb * c[2];
    const float blue = (c[2] - y) / (2 * (1 - kb));
    const float red = (c[0] - y) / (2 * (1 - kr));
    c[0] = y / luma;
    c[1] = blue / chroma;
    c[2] = red / chroma;
  }
};

/// Number of samples to average to one, per side, where the result's samples are `scale` samples apart.
REELMEND_HD inline int SamplesPerSide(float scale) {
  return Bounded(static_cast<int>(std::ceil(scale - 0.01F)), 1, kMostSamples);
}

/// A sample of a plane of 16-bit samples, bilinear. `x` and `y` in samples, 0 = middle of the first one. Edges are repeated.
template <typename Plane>
REELMEND_HD inline float Bilinear(const Plane& plane, float x, float y) {
  x = Bounded(x, 0.0F, static_cast<float>(plane.width - 1));
  y = Bounded(y, 0.0F, static_cast<float>(plane.height - 1));
  const int left = Bounded(static_cast<int>(x), 0, plane.width < 2 ? 0 : plane.width - 2);
  const int top = Bounded(static_cast<int>(y), 0, plane.height < 2 ? 0 : plane.height - 2);
  const float dx = x - static_cast<float>(left);
  const float dy = y - static_cast<float>(top);
  const int right = left + 1 < plane.width ? left + 1 : plane.width - 1;
  const auto* upper = plane.Row(top);
  const auto* lower = plane.Row(top + 1 < plane.height ? top + 1 : plane.height - 1);
  const float above = static_cast<float>(upper[left]) * (1 - dx) + static_cast<float>(upper[right]) * dx;
  const float below = static_cast<float>(lower[left]) * (1 - dx) + static_cast<float>(lower[right]) * dx;
  return above * (1 - dy) + below * dy;
}

/// Where chroma samples lie.
struct ChromaPlacement {
  float step_x = 0.5F;  ///< chroma samples per luma sample
  float step_y = 0.5F;
  float first_x = 0.5F;  ///< position of the first chroma sample in luma samples, 0 = edge of the picture
  float first_y = 1;
};

/// Resamples a picture. `Plane` has width, height and Row(y).
template <typename Plane>
struct FaceSampler {
  Plane planes[3];
  ChromaPlacement chroma;
  RgbConversion conversion;
  bool black_outside = false;  ///< else edges are repeated
  float scale_x = 1;           ///< samples per unit that the transform maps to; not 1 for a picture of another size than that of the faces
  float scale_y = 1;

  /// Of a transform to the picture's faces.
  REELMEND_HD int SamplesPerSide(const Similarity& transform) const {
    return faces::SamplesPerSide(transform.scale() * (scale_x < scale_y ? scale_y : scale_x));
  }

  /// R′G′B′ of the crop's pixel (x, y): the picture around transform(x + 0.5, y + 0.5), bilinear. `samples`: SamplesPerSide.
  REELMEND_HD void At(const Similarity& transform, int samples, int x, int y, float (&sum)[3]) const {
    const float part = 1.0F / static_cast<float>(samples);
    sum[0] = sum[1] = sum[2] = 0;
    for (int s = 0; s < samples * samples; ++s) {
      Point p = transform({static_cast<float>(x) + (static_cast<float>(s % samples) + 0.5F) * part,
                           static_cast<float>(y) + (static_cast<float>(s / samples) + 0.5F) * part});
      p = {p.x * scale_x, p.y * scale_y};
      const bool is_outside = p.x < 0 || p.y < 0 || p.x >= static_cast<float>(planes[0].width) || p.y >= static_cast<float>(planes[0].height);
      if (black_outside && is_outside) continue;
      const Point c_at{(p.x - chroma.first_x) * chroma.step_x, (p.y - chroma.first_y) * chroma.step_y};
      float c[3] = {Bilinear(planes[0], p.x - 0.5F, p.y - 0.5F), Bilinear(planes[1], c_at.x, c_at.y), Bilinear(planes[2], c_at.x, c_at.y)};
      conversion.ToRgb(c);
      for (int i = 0; i < 3; ++i) sum[i] += c[i] * part * part;
    }
  }
};

/// Weight of a position in the crop, 0…1; `x` and `y` are fractions of the crop's side.
REELMEND_HD inline float MaskAt(float x, float y) {
  const float distance = std::hypot(2 * x - 1, 2 * y - 1);
  const float t = Bounded((kMaskGone - distance) / (kMaskGone - kMaskFull), 0.0F, 1.0F);
  return t * t * (3 - 2 * t);
}

/// What a network changes in a crop: its result minus the crop, both 0…255, limited. Not a number counts as no change.
REELMEND_HD inline float LimitedChange(float made, float crop, float most) {
  const float change = Bounded(Bounded(made, 0.0F, 255.0F) - crop, -most, most);
  return std::isfinite(change) ? change : 0;
}

/// The change of a crop, resampled at the picture's samples.
struct FaceChange {
  const float* planes[3] = {};  ///< R′G′B′ of side × side, in 8-bit levels
  int side = 0;
  Similarity to_crop;
  int samples = 1;  ///< SamplesPerSide of its scale: averaged if the face is smaller than the crop
  float strength = 1;
  RgbConversion conversion;

  /// The change of Y′CbCr at a position of the picture, in working units. `pitch`: of the picture's samples there. False outside of the mask.
  REELMEND_HD bool At(float x, float y, float pitch, float (&c)[3]) const {
    c[0] = c[1] = c[2] = 0;
    const auto whole = static_cast<float>(side);
    const Point middle = to_crop({x, y});
    const float mask = strength * MaskAt(middle.x / whole, middle.y / whole);
    if (mask <= 0) return false;
    const float share = mask / static_cast<float>(samples * samples);
    for (int s = 0; s < samples * samples; ++s) {
      const float dx = ((static_cast<float>(s % samples) + 0.5F) / static_cast<float>(samples) - 0.5F) * pitch;
      const float dy = ((static_cast<float>(s / samples) + 0.5F) / static_cast<float>(samples) - 0.5F) * pitch;
      const Point p = to_crop({x + dx, y + dy});
      for (int i = 0; i < 3; ++i) c[i] += share * ValueAt(planes[i], p.x - 0.5F, p.y - 0.5F);
    }
    conversion.DifferenceToYcc(c);
    return true;
  }

 private:
  /// Bilinear, 0 outside.
  REELMEND_HD float ValueAt(const float* plane, float x, float y) const {
    const int left = static_cast<int>(std::floor(x));
    const int top = static_cast<int>(std::floor(y));
    if (left < 0 || top < 0 || left + 1 >= side || top + 1 >= side) return 0;
    const float dx = x - static_cast<float>(left);
    const float dy = y - static_cast<float>(top);
    const float* upper = plane + static_cast<std::ptrdiff_t>(top) * side + left;
    const float* lower = upper + side;
    return (upper[0] * (1 - dx) + upper[1] * dx) * (1 - dy) + (lower[0] * (1 - dx) + lower[1] * dx) * dy;
  }
};

REELMEND_HD inline std::uint16_t Added(std::uint16_t sample, float change) {
  return static_cast<std::uint16_t>(Bounded(static_cast<float>(sample) + std::round(change), 0.0F, 65535.0F));
}

/// Position in the picture of the sample (x, y) of a left-sited plane that is subsampled by that much.
REELMEND_HD inline Point PlaceOf(int x, int y, int step_x, int step_y) {
  return {static_cast<float>(x * step_x) + 0.5F, (static_cast<float>(y) + 0.5F) * static_cast<float>(step_y)};
}

/// Samples of a plane that a crop covers; the end is exclusive.
struct Area {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

/// Of a crop of side × side in a picture of that size. Begins at even samples, so that each chroma sample belongs to one area of luma.
Area AreaOf(const Similarity& to_picture, int side, int width, int height);

/// The part of the area in a plane that is subsampled by that much, of that size.
inline Area OfPlane(const Area& area, int step_x, int step_y, int width, int height) {
  return {area.left / step_x, area.top / step_y, std::min(width, (area.right + step_x - 1) / step_x),
          std::min(height, (area.bottom + step_y - 1) / step_y)};
}

}  // namespace reelmend::faces
