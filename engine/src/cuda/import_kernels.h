// The kernel that imports decoded surfaces, and the colour matrices that tensor kernels share.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"

namespace reelmend::cuda {

/// Decoded surface → working picture: crops, rotates, converts to 16 bits. Exact. One call per plane (z); a thread converts
/// kSamplesPerThread samples of a row.
struct ImportKernel {
  static constexpr int kSamplesPerThread = 4;
  Surface in;
  Picture out;

  REELMEND_HD void operator()(int x, int y, int z) const {
    const Plane& plane = out.planes[z];
    const int first = x * kSamplesPerThread;
    if (y >= plane.height || first >= plane.width) return;
    std::uint16_t* row = plane.Row(y);
    const int last = Min(first + kSamplesPerThread, plane.width);
    for (int i = first; i < last; ++i) row[i] = in.Sample(z, i, y);
  }
};

/// Coefficients of a Y′CbCr space both ways; R′G′B′ span 0…1. Chroma is taken from its centre.
struct RgbMatrix {
  float luma_offset;
  float luma_scale;
  float red_cr;
  float green_cb;
  float green_cr;
  float blue_cb;
};

/// Coefficients R′G′B′ → Y′CbCr: Y = offset + span × Σ weight × colour, Cb = centre + blue × (B′ − Y′), Cr alike.
struct YcbcrMatrix {
  float weights[3];
  float luma_span;
  float luma_offset;
  float blue;
  float red;
};

}  // namespace reelmend::cuda
