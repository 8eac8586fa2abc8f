// Areas of a picture as R′G′B′ of any size, for the networks.
#pragma once

#include <cstdint>
#include <vector>

#include "faces/face_geometry.h"
#include "faces/face_kernel.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"
#include "reelmend/enhance.h"

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

/// Output pixel i is the weighted sum of input samples from first[i] on: the area that it covers.
struct AreaWeights {
  std::vector<int> first;
  std::vector<float> weights;  ///< `taps` per pixel; 0 for samples that it does not cover
  int taps = 0;

  /// Numbers of samples; not for enlarging.
  AreaWeights(int in, int out);
};

/// The picture reduced to width × height by averaging areas. Not for enlarging.
void ReduceToRgb(const pixel::Image& image, RgbPicture& out, pixel::ThreadPool& pool);
void Reduce(const RgbPicture& in, RgbPicture& out, pixel::ThreadPool& pool);

ChromaPlacement PlacementOf(pixel::Subsampling subsampling, const pixel::ColorSpec& color);

/// Resamples the picture into `out` of any size: pixel (x, y) of `out` is the picture at transform(x + 0.5, y + 0.5).
/// Bilinear, with enough samples per pixel to avoid aliasing. Outside the picture: black if `black_outside`, else the edge sample.
void Sample(const pixel::Image& image, const Similarity& transform, bool black_outside, RgbPicture& out);

/// The same where the transform leads to a picture of size `whole`, of which `image` is a smaller or larger version. Repeats edges.
void SampleScaled(const pixel::Image& image, Size whole, const Similarity& transform, RgbPicture& out);

}  // namespace reelmend::faces
