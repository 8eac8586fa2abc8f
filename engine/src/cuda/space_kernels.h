// Stages that read neighbouring samples: denoising (Note [Method] in pixel/denoise.cc) and resizing (pixel/resize.cc).
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/denoise_kernel.h"

namespace reelmend::cuda {

/// Bilateral denoising of one plane (z): a tile of 32 × 8 samples with its neighbourhood in shared memory.
struct DenoiseKernel {
  static constexpr int kThreads = 256;
  static constexpr int kWidth = 32;
  static constexpr int kRows = 8;
  static constexpr int kHalo = pixel::kMaxReach;
  static constexpr int kSharedWidth = kWidth + 2 * kHalo;
  static constexpr int kSharedSamples = kSharedWidth * (kRows + 2 * kHalo);
  struct Shared {
    float samples[kSharedSamples];
  };

  Picture in;
  Picture out;
  pixel::RangeKernel kernel;
  float strength = 0;
  int first_plane = 0;  ///< 1: chroma alone, as two planes

  template <int kReach>
  REELMEND_HD float Filter(const float* centre) const {
    float weights = kernel.root[0][0] * kernel.root[0][0];
    float change = 0;
    for (int dy = -kReach; dy <= kReach; ++dy) {
      for (int dx = -kReach; dx <= kReach; ++dx) {
        if (dy == 0 && dx == 0) continue;
        const int ay = dy < 0 ? -dy : dy;
        const int ax = dx < 0 ? -dx : dx;
        const float difference = centre[dy * kSharedWidth + dx] - *centre;
        const float root = Max(0.0F, Fma(-(difference * difference), kernel.falloff[ay][ax], kernel.root[ay][ax]));
        const float weight = root * root;
        weights += weight;
        change = Fma(weight, difference, change);
      }
    }
    return Fma(strength, change / weights, *centre);
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int tile_x, int tile_y, int index) const {
    const int z = first_plane + index;
    const Plane& plane = in.planes[z];
    const int x0 = tile_x * kWidth;
    const int y0 = tile_y * kRows;
    if (x0 >= plane.width || y0 >= plane.height) return;  // chroma has fewer tiles; the same for all threads
    block.Each([&](int thread) {
      for (int i = thread; i < kSharedSamples; i += kThreads) {
        s.samples[i] = plane.Near(x0 + i % kSharedWidth - kHalo, y0 + i / kSharedWidth - kHalo);
      }
    });
    block.Each([&](int thread) {
      const int x = thread % kWidth;
      const int y = thread / kWidth;
      if (x0 + x >= plane.width || y0 + y >= plane.height) return;
      const float* centre = s.samples + (y + kHalo) * kSharedWidth + x + kHalo;
      const float v = z == 0 ? Filter<pixel::kReachOfPlane[0]>(centre) : Filter<pixel::kReachOfPlane[1]>(centre);
      out.planes[z].At(x0 + x, y0 + y) = ToSample(v);
    });
  }
};

/// pixel::AxisPlan in device memory.
struct DeviceAxis {
  const int* starts = nullptr;     ///< one an output
  const float* weights = nullptr;  ///< [set][taps]
  int sets = 1;                    ///< output i uses set i mod sets
  int taps = 0;
};

REELMEND_HD inline void StoreResized(float v, float& out) { out = v; }
REELMEND_HD inline void StoreResized(float v, std::uint16_t& out) { out = ToSample(v); }

/// One pass of the separable resize along rows (kAcross) or columns, for rows first_row … first_row + rows − 1 of
/// the output of this pass; z: which of the planes. Sums in float, in the order of the taps.
template <typename In, typename Out, bool kAcross>
struct ResizeKernel {
  View<const In> in[2];
  View<Out> out[2];
  DeviceAxis axis;
  int first_row = 0;
  int rows = 0;

  REELMEND_HD void operator()(int x, int row, int z) const {
    const View<Out>& to = out[z];
    if (x >= to.width || row >= rows) return;
    const int y = first_row + row;
    const View<const In>& from = in[z];
    const int i = kAcross ? x : y;
    const int start = axis.starts[i];
    const float* weights = axis.weights + static_cast<std::ptrdiff_t>(i % axis.sets) * axis.taps;
    float sum = 0;
    for (int k = 0; k < axis.taps; ++k) {
      const In v =
          kAcross ? from.At(Clamp(start + k, 0, from.width - 1), y) : from.At(x, Clamp(start + k, 0, from.height - 1));
      sum = Fma(weights[k], static_cast<float>(v), sum);
    }
    StoreResized(sum, to.At(x, y));
  }
};
using HorizontalFirstPass = ResizeKernel<std::uint16_t, float, true>;    ///< enlarging: rows first …
using VerticalSecondPass = ResizeKernel<float, std::uint16_t, false>;   ///< … then columns
using VerticalFirstPass = ResizeKernel<std::uint16_t, float, false>;  ///< reducing in height: columns first …
using HorizontalSecondPass = ResizeKernel<float, std::uint16_t, true>;   ///< … then rows

}  // namespace reelmend::cuda
