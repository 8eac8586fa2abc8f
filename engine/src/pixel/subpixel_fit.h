// The third level of the motion search of a block. Note [Motion search] in motion_search.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixel/image.h"
#include "pixel/motion_vector.h"

namespace reelmend::pixel {

/// The newer picture in the window of the fit: samples of 11 bits, and half the differences of their neighbours.
struct FitWindow {
  alignas(64) std::int16_t samples[kFitArea];
  alignas(64) std::int16_t across[kFitArea];
  alignas(64) std::int16_t down[kFitArea];
};

/// Fits displacements with fractions of a sample to one block.
class SubpixelFit {
 public:
  /// (x, y) is the block's first sample. A window that would cross the picture's edge is moved inside.
  SubpixelFit(ConstPlane now, int x, int y);

  /// Returns the best vector near (dx, dy), a displacement in samples, or 0 if no displacement fits clearly better.
  MotionVector Run(ConstPlane older, int dx, int dy, MotionErrors& errors);

  /// Returns the squared error along a vector. Also sets the sums for the next step.
  std::uint32_t ErrorAt(ConstPlane older, MotionVector vector);

 private:
  FitWindow window_;
  FitSums sums_{};
  int x_;
  int y_;
};

}  // namespace reelmend::pixel
