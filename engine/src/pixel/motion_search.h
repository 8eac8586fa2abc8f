// Block motion between pictures of a video. Note [Motion search], Note [Global motion].
#pragma once

#include <array>
#include <cstdint>

#include "pixel/image.h"
#include "pixel/motion_vector.h"
#include "pixel/temporal_limits.h"

namespace reelmend::pixel {

/// Note [Motion search]
/// For each block of 16 × 16 luma samples and each lag of the temporal denoising, a vector says where the block's content was that many
/// pictures ago. A block whose mean difference at zero displacement is at most a quarter of an 8-bit level stands still: its vector is 0.
/// So is that of a block whose difference the grain alone explains (StillSad in temporal_limits.h): a displacement could fit better only
/// by chance. For any other block, the search has three levels. Each minimises a difference between the block and the older picture:
/// 1. Coarse: means of 4 × 4 samples, in a window of 32 × 32 samples around the block. For a lag of one picture, it tests displacements
///    of up to 32 samples, in steps of 4. For a longer lag, it tests those up to 12 samples from twice the vector of the lag before. The
///    best has the smallest sum of absolute differences (SAD).
/// 2. Whole samples: SAD of the block, at displacements 2 and then 1 sample around the best.
/// 3. Subpixel: up to three Gauss-Newton steps on the squared difference in a window of 24 × 24 samples (Lucas and Kanade 1981). The
///    result has a precision of 1/16 sample. A step that does not lower the error is undone. If the displaced picture does not fit
///    clearly better than the undisplaced one, the vector is 0.
/// Blocks do not use their neighbours' vectors, so a GPU can search all of them at once. Only integer arithmetic is used, so all
/// processors find the same vectors.
///
/// Note [Global motion]
/// A block without structure has no vector of its own, and the errors of an encode hide those of others. If the camera moves, most other
/// blocks show how. So each lag may have a global motion: the median, by component, of the vectors that are not 0. It is used if
/// - one block in kGlobalQuorum has nearly this vector (chance vectors in noise differ from each other), and
/// - more blocks vote for it than against it (VoteOf: they fit clearly better along it than without displacement, or the reverse).
/// Then a block keeps its own vector, even one of 0, only if that fits clearly better than the global motion. Blocks that stand still
/// keep theirs; those that the grain explains may have a weak texture, and do not.
using MotionVectors = std::array<MotionVector, kTemporalSteps>;

/// Means of 4 × 4 samples, for the first level. Samples of an incomplete cell at the right and the lower edge are left out.
void WriteMotionMeans(ConstPlane luma, Plane means, int first_row, int last_row);

struct MotionPicture {
  ConstPlane luma;
  ConstPlane means;
};

/// For each lag.
struct BlockMotion {
  MotionVectors vectors;
  std::array<MotionErrors, kTemporalSteps> errors;
};

/// Returns the motion of the block whose first sample is (x, y), both multiples of kMotionBlock. `older` holds one picture for each lag;
/// only the first `count` exist, and the vectors of the others are 0. So are all vectors of pictures smaller than kMotionMinSide.
/// `guess` does not change the result, but makes the search faster the better it is, as a neighbour's vectors are. A block whose SAD at
/// zero displacement is at most `still_sad` is not searched.
BlockMotion SearchMotion(const MotionPicture& now, const std::array<MotionPicture, kTemporalSteps>& older, int count, int x, int y,
                         const MotionVectors& guess = {}, unsigned still_sad = kStillSad);

/// Sets the errors of the block along the global motion, and those still unknown, for the lags that have a global motion. `motion` is what
/// SearchMotion returned.
void AddGlobalErrors(ConstPlane now, const std::array<MotionPicture, kTemporalSteps>& older, int x, int y, const MotionVectors& global,
                      BlockMotion& motion);

}  // namespace reelmend::pixel
