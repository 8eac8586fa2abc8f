// Parts of a picture as R′G′B′ of any size: what the networks look at.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "faces/geometry.h"
#include "pixel/color_matrix.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

/// R′G′B′ in planes, 0 = black … 255 = white, row-major; values beyond are cut.
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
  /// In place: working units of Y′, Cb, Cr to R′, G′, B′, cut to 0…255.
  void ToRgb(float& y, float& cb, float& cr) const;
  /// A difference of R′G′B′ as a difference of Y′CbCr in working units.
  void DifferenceToYcc(float& r, float& g, float& b) const;

 private:
  float black_ = 0;
  float luma_ = 0;    ///< 8-bit codes of R′G′B′ a working unit of luma
  float chroma_ = 0;  ///< the same of chroma
  float kr_ = 0;
  float kb_ = 0;
};

/// The picture reduced to width × height by averaging areas. Not for enlarging.
void ReduceToRgb(const pixel::Image& image, RgbPicture& out, pixel::ThreadPool& pool);
void Reduce(const RgbPicture& in, RgbPicture& out, pixel::ThreadPool& pool);

/// What `out` (of any size) shows: its pixel (x, y) is the picture at place(x + 0.5, y + 0.5); `scale`: picture pixels a
/// pixel of `out`. Bilinear, with so many samples a pixel that reducing does not alias. Beyond the picture's edge there
/// is black where `black_outside`, else the edge's sample.
void Sample(const pixel::Image& image, const Similarity& place, bool black_outside, RgbPicture& out);

}  // namespace reelmend::faces
