// Weights of the spatial denoising, shared by CPU and GPU. Note [Method] in denoise.cc.
#pragma once

namespace reelmend::pixel {

inline constexpr int kMaxReach = 2;
inline constexpr int kReachOfPlane[3] = {2, 1, 1};

/// By distance |dy|, |dx|: √spatial weight, and the same over T².
struct RangeKernel {
  float root[kMaxReach + 1][kMaxReach + 1];
  float falloff[kMaxReach + 1][kMaxReach + 1];
};

/// `noise_sigma` > 0, in 8-bit levels.
RangeKernel MakeRangeKernel(double noise_sigma);

}  // namespace reelmend::pixel
