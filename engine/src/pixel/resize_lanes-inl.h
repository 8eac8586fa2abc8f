// Helpers of both directions of a resize, included once per instruction set.
#if defined(REELMEND_PIXEL_RESIZE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REELMEND_PIXEL_RESIZE_LANES_INL_H_
#undef REELMEND_PIXEL_RESIZE_LANES_INL_H_
#else
#define REELMEND_PIXEL_RESIZE_LANES_INL_H_
#endif

#include "hwy/highway.h"
#include "pixel/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

constexpr int kLanczosTaps = 6;

#undef REELMEND_HAS_PERMUTE2
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define REELMEND_HAS_PERMUTE2 1
/// Lane i is lane indices[i] of two vectors in sequence. One instruction; Highway 1.0 has no function for it.
HWY_INLINE VF Permute2(VF a, VF b, hn::Vec<DI> indices) { return VF{_mm512_permutex2var_ps(a.raw, indices.raw, b.raw)}; }
/// A load that happens once: GCC would repeat it as an operand of every instruction that uses it.
HWY_INLINE VF LoadOnce(const float* from) {
  VF v = hn::LoadU(DF(), from);
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  asm("" : "+v"(v.raw));
#endif
  return v;
}
#else
#define REELMEND_HAS_PERMUTE2 0
HWY_INLINE VF LoadOnce(const float* from) { return hn::LoadU(DF(), from); }
HWY_INLINE VF Permute2(VF a, VF b, hn::Vec<DI> indices) {
  const DF d;
  const auto lanes = hn::Set(DI(), static_cast<int32_t>(hn::Lanes(d)));
  const auto within = hn::IndicesFromVec(d, hn::And(indices, hn::Sub(lanes, hn::Set(DI(), 1))));
  const auto is_first = hn::RebindMask(d, hn::Lt(indices, lanes));
  return hn::IfThenElse(is_first, hn::TableLookupLanes(a, within), hn::TableLookupLanes(b, within));
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
