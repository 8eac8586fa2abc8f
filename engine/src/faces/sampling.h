// Areas of a picture as R′G′B′ of any size, for the networks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "faces/face_geometry.h"
#include "pixel/color_matrix.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

/// Planar R′G′B′, 0 = black … 255 = white, row-major; clipped.
struct RgbPicture {
  int width = 0;
  int height = 0;
  std::vector<float> planes[3];
  RgbPicture() = default;
  RgbPicture(int w, int h) : width(w), height(h) {
    for (auto& plane : planes) plane.resize(static_cast<std::size_t>(w) * h);
  }
};

/// Between Y′CbCr working samples and R′G′B′ in 0…255.
class RgbConversion {
 public:
  explicit RgbConversion(pixel::ColorSpec color);
  /// In place: Y′, Cb, Cr in working units → R′, G′, B′, clipped to 0…255.
  void ToRgb(float& y, float& cb, float& cr) const;
  /// A difference of R′G′B′ as a difference of Y′CbCr in working units.
  void DifferenceToYcc(float& r, float& g, float& b) const;

 private:
  float black_ = 0;
  float luma_ = 0;    ///< 8-bit levels of R′G′B′ per working unit of luma
  float chroma_ = 0;  ///< the same for chroma
  float kr_ = 0;
  float kb_ = 0;
};

/// The picture reduced to width × height by averaging areas. Not for enlarging.
void ReduceToRgb(const pixel::Image& image, RgbPicture& out, pixel::ThreadPool& pool);
void Reduce(const RgbPicture& in, RgbPicture& out, pixel::ThreadPool& pool);

/// Resamples the picture into `out` of any size: pixel (x, y) of `out` is the picture at transform(x + 0.5, y + 0.5).
/// `scale`: picture pixels per pixel of `out`. Bilinear, with enough samples per pixel to avoid aliasing. Outside the
/// picture: black if `black_outside`, else the edge sample.
void Sample(const pixel::Image& image, const Similarity& transform, bool black_outside, RgbPicture& out);

}  // namespace reelmend::faces
