// Which GPUs each kind of TensorRT supports: known without opening its library.
#pragma once

#include <algorithm>
#include <iterator>

#include "inference/gpu_backend.h"

namespace reelmend::inference {

/// RTX GPUs and their relatives. Compute capabilities 9.0 and 10.0 (H100, H200, B200) are not supported.
inline bool TensorRtRtxSupports(const GpuTarget& target) {
  constexpr int kKnown[] = {75, 80, 86, 89, 120, 121};
  return std::ranges::find(kKnown, target.major * 10 + target.minor) != std::end(kKnown);
}

inline bool TensorRtSupports(const GpuTarget& target) { return target.major * 10 + target.minor >= 75; }

}  // namespace reelmend::inference
