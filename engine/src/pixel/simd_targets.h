// Instruction sets that the kernels are compiled for. Include before hwy/foreach_target.h.
// Left out: SSSE3 (nothing between SSE2 and SSE4 is worth the code) and the vector-length agnostic sets
// (their vectors cannot be put into arrays; such machines run the NEON code).
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
