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
    // The columns of the plane, between those that repeat its first and its last sample.
    const int first = std::clamp(-x, 0, width);
    const int end = std::clamp(plane.width - x, first, width);
    for (int j = 0; j < height; ++j) {
      const std::uint16_t* row = plane.Row(std::clamp(y + j, 0, plane.height - 1));
      std::uint16_t* to = samples + j * kStride;
      std::fill_n(to, first, row[0]);
      std::copy_n(row + std::clamp(x, 0, plane.width - 1), end - first, to + first);
      std::fill_n(to + end, width - end, row[plane.width - 1]);
    }
  }
};

}  // namespace reelmend::pixel
