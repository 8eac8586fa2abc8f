// Vector instructions: which set the running machine gets.
#pragma once

namespace reelmend::pixel {

/// Name of the instruction set that the pixel stages use on this machine, as Highway names it:
/// "SSE2", "AVX2", "AVX3_DL", "NEON" … Chosen at run time. Never null.
const char* SimdTarget();

}  // namespace reelmend::pixel
