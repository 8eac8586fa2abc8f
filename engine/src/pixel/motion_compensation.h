// An older picture, displaced along the motion.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixel/image.h"
#include "pixel/motion_vector.h"

namespace reelmend::pixel {

/// Where a block of a plane lies: its first sample, and its size.
struct BlockArea {
  int x = 0;
  int y = 0;
  int width = 0;   ///< at most kMotionBlock
  int height = 0;  ///< at most kMotionBlock
};

/// Writes the area of `older`, displaced by `vector`, to `out` (its first sample at out[0]; rows of whole vectors are written). Uses
/// Catmull-Rom interpolation; `subsampling` is that of the plane. Beyond its edges a plane repeats them.
void CompensateBlock(ConstPlane older, const BlockArea& area, MotionVector vector, Subsampling subsampling, std::uint16_t* out,
                     std::ptrdiff_t out_stride);

}  // namespace reelmend::pixel
