// Block motion between pictures of a video. Note [Motion search].
#pragma once

#include <array>
#include <cstdint>

#include "pixel/image.h"
#include "pixel/motion_vector.h"
#include "pixel/temporal_limits.h"

namespace reelmend::pixel {

/// Note [Motion search]
/// For each block of 16 × 16 luma samples and each lag of the temporal denoising, a vector says where the block's content was that many
/// pictures ago. A block that differs by a quarter of a
/// level or less at the same place stands still. For any other one, the search has three levels:
/// 1. Means of 4 × 4 samples, in a window of 32 × 32 samples around the block: the place with the smallest sum of absolute differences
///    (SAD) among all up to 32 samples away for the lag of one picture. For each longer lag, up to 12 samples around twice the vector
///    of the lag before.
/// 2. Luma of the block: places 2, then 1 sample around the best.
/// 3. Fractions: up to three steps of Gauss and Newton on the squared difference in a window of 24 × 24 samples (Lucas and Kanade
///    1981), which find a sixteenth of a sample. A step that does not lower the error is taken back. If the displaced picture does not
///    fit clearly better than the one at the same place, the vector is 0.
/// Blocks do not use their neighbours' vectors, so a GPU can search all of them at once. Vectors come from integers alone, so all
/// processors find the same.
using MotionVectors = std::array<MotionVector, kTemporalSteps>;

/// Means of 4 × 4 samples, for the first level. Samples of an incomplete cell at the right and the lower edge are left out.
void WriteMotionMeans(ConstPlane luma, Plane means, int first_row, int last_row);

struct MotionPicture {
  ConstPlane luma;
  ConstPlane means;
};

/// Vectors of the block whose first sample is (x, y), a multiple of kMotionBlock each. `older`: the pictures of the lags, of which
/// only the first `count` exist; vectors of the others are 0, as are all of pictures below kMotionMinSide.
MotionVectors SearchMotion(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, int x, int y);

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
