// What the tests of sources share.
#pragma once

#include "helpers/clip_test.h"
#include "reelmend/probe.h"

namespace reelmend::testing {

inline constexpr const char* kH264 = " -c:v libx264 -preset ultrafast -pix_fmt yuv420p ";

/// As the service sets them.
inline SourceLimits ServiceLimits() {
  SourceLimits limits;
  limits.max_duration_s = 600;
  limits.max_frame_rate = 250;
  return limits;
}

}  // namespace reelmend::testing
