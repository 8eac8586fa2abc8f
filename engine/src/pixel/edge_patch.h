// Samples around an area that may cross the edge of its plane.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pixel/image.h"

namespace reelmend::pixel {

/// A copy of at most kMost rows and columns of a plane, with repeated edges.
template <int kMost>
struct EdgePatch {
  static constexpr int kStride = kMost + 32;
  std::uint16_t samples[kMost * kStride];

  EdgePatch(ConstPlane plane, int x, int y, int width, int height) {
    for (int j = 0; j < height; ++j) {
      const std::uint16_t* row = plane.Row(std::clamp(y + j, 0, plane.height - 1));
      for (int i = 0; i < width; ++i) samples[j * kStride + i] = row[std::clamp(x + i, 0, plane.width - 1)];
    }
  }
};

}  // namespace reelmend::pixel
