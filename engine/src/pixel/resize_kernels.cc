// The kernels of a resize for each instruction set: resize_vertical-inl.h and resize_horizontal-inl.h, gathered in one table.
#include "pixel/resize_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/resize_kernels.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/resize_horizontal-inl.h"
#include "pixel/resize_vertical-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

const ResizeKernels* Kernels() {
  static const ResizeKernels kernels = {Load,  Store,   Vertical,      VerticalPair, VerticalFirst,  Phases,
                                        Split, Halve,   HasRational,   Rational,     ColumnLanes(),  Columns,  Interleave4,
                                        Deinterleave4, Columns4};
  return &kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {

HWY_EXPORT(Kernels);

const ResizeKernels& GetResizeKernels() { return *HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace reelmend::pixel
#endif
