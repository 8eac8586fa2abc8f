#include "pixel/resize_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/resize_kernels.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace framelift::pixel {
namespace HWY_NAMESPACE {

constexpr int kLanczosTaps = 6;

void Load(const uint16_t* in, float* out, int count) {
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) hn::StoreU(LoadSamples(in + x), DF(), out + x);
}

void Store(const float* in, uint16_t* out, int count) {
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) StoreSamples(hn::LoadU(DF(), in + x), out + x);
}

/// kTaps > 0: known while compiling; 0: `taps`.
template <int kTaps>
HWY_INLINE void VerticalT(const float* const* rows, const float* weights, int taps, uint16_t* out,
                          int count) {
  const DF d;
  const int n = kTaps > 0 ? kTaps : taps;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF sum = hn::Zero(d);
    for (int k = 0; k < n; ++k) sum = hn::MulAdd(hn::Set(d, weights[k]), hn::LoadU(d, rows[k] + x), sum);
    StoreSamples(sum, out + x);
  }
}

void Vertical(const float* const* rows, const float* weights, int taps, uint16_t* out, int count) {
  if (taps == kLanczosTaps) return VerticalT<kLanczosTaps>(rows, weights, taps, out, count);
  VerticalT<0>(rows, weights, taps, out, count);
}

template <int kTaps>
HWY_INLINE void VerticalPairT(const float* const* rows, const float* weights0, const float* weights1,
                              int taps, uint16_t* out0, uint16_t* out1, int count) {
  const DF d;
  const int n = kTaps > 0 ? kTaps : taps;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF sum0 = hn::Zero(d);
    VF sum1 = hn::Zero(d);
    for (int k = 0; k < n; ++k) {
      const VF v = hn::LoadU(d, rows[k] + x);
      sum0 = hn::MulAdd(hn::Set(d, weights0[k]), v, sum0);
      sum1 = hn::MulAdd(hn::Set(d, weights1[k]), v, sum1);
    }
    StoreSamples(sum0, out0 + x);
    StoreSamples(sum1, out1 + x);
  }
}

void VerticalPair(const float* const* rows, const float* weights0, const float* weights1, int taps,
                  uint16_t* out0, uint16_t* out1, int count) {
  if (taps == kLanczosTaps) {
    return VerticalPairT<kLanczosTaps>(rows, weights0, weights1, taps, out0, out1, count);
  }
  VerticalPairT<0>(rows, weights0, weights1, taps, out0, out1, count);
}

void VerticalFirst(const uint16_t* const* rows, const float* weights, int taps, float* out, int count) {
  const DF d;
  const int lanes = FloatLanes();
  int x = 0;
  for (; x + 2 * lanes <= count; x += 2 * lanes) {
    VF sum0 = hn::Zero(d);
    VF sum1 = hn::Zero(d);
    for (int k = 0; k < taps; ++k) {
      const VF w = hn::Set(d, weights[k]);
      sum0 = hn::MulAdd(w, LoadSamples(rows[k] + x), sum0);
      sum1 = hn::MulAdd(w, LoadSamples(rows[k] + x + lanes), sum1);
    }
    hn::StoreU(sum0, d, out + x);
    hn::StoreU(sum1, d, out + x + lanes);
  }
  for (; x < count; x += lanes) {
    VF sum = hn::Zero(d);
    for (int k = 0; k < taps; ++k) sum = hn::MulAdd(hn::Set(d, weights[k]), LoadSamples(rows[k] + x), sum);
    hn::StoreU(sum, d, out + x);
  }
}

template <int kPhases>
HWY_INLINE void StorePhases(const VF* v, float* out) {
  const DF d;
  if constexpr (kPhases == 1) hn::StoreU(v[0], d, out);
  if constexpr (kPhases == 2) hn::StoreInterleaved2(v[0], v[1], d, out);
  if constexpr (kPhases == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, out);
  if constexpr (kPhases == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, out);
}

template <int kPhases, int kTaps>
HWY_INLINE void PhasesT(const float* in, const int* start, const float* weights, int taps, float* out,
                        int count) {
  const DF d;
  const int n = kTaps > 0 ? kTaps : taps;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF sums[kPhases];
    for (int p = 0; p < kPhases; ++p) {
      sums[p] = hn::Zero(d);
      const float* from = in + x + start[p];
      for (int k = 0; k < n; ++k)
        sums[p] = hn::MulAdd(hn::Set(d, weights[p * n + k]), hn::LoadU(d, from + k), sums[p]);
    }
    StorePhases<kPhases>(sums, out + kPhases * x);
  }
}

template <int kPhases>
HWY_INLINE void PhasesN(const float* in, const int* start, const float* weights, int taps, float* out,
                        int count) {
  if (taps == kLanczosTaps) return PhasesT<kPhases, kLanczosTaps>(in, start, weights, taps, out, count);
  PhasesT<kPhases, 0>(in, start, weights, taps, out, count);
}

void Phases(const float* in, const int* start, const float* weights, int taps, int phases, float* out,
            int count) {
  switch (phases) {
    case 1:
      return PhasesN<1>(in, start, weights, taps, out, count);
    case 2:
      return PhasesN<2>(in, start, weights, taps, out, count);
    case 3:
      return PhasesN<3>(in, start, weights, taps, out, count);
    default:
      return PhasesN<4>(in, start, weights, taps, out, count);
  }
}

void Halve(const float* in, int start, const float* weights, int taps, float* out, int count) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF even_sum = hn::Zero(d);
    VF odd_sum = hn::Zero(d);
    const float* from = in + 2 * x + start;
    int k = 0;
    for (; k + 1 < taps; k += 2) {
      VF even;
      VF odd;
      hn::LoadInterleaved2(d, from + k, even, odd);
      even_sum = hn::MulAdd(hn::Set(d, weights[k]), even, even_sum);
      odd_sum = hn::MulAdd(hn::Set(d, weights[k + 1]), odd, odd_sum);
    }
    if (k < taps) {
      VF even;
      VF odd;
      hn::LoadInterleaved2(d, from + k, even, odd);
      even_sum = hn::MulAdd(hn::Set(d, weights[k]), even, even_sum);
    }
    hn::StoreU(hn::Add(even_sum, odd_sum), d, out + x);
  }
}

void Interleave4(const float* const* rows, float* out, int count) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    hn::StoreInterleaved4(hn::LoadU(d, rows[0] + x), hn::LoadU(d, rows[1] + x), hn::LoadU(d, rows[2] + x),
                          hn::LoadU(d, rows[3] + x), d, out + 4 * x);
  }
}

void Deinterleave4(const float* in, float* const* rows, int count) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF v[4];
    hn::LoadInterleaved4(d, in + 4 * x, v[0], v[1], v[2], v[3]);
    for (int r = 0; r < 4; ++r) hn::StoreU(v[r], d, rows[r] + x);
  }
}

template <int kTaps>
HWY_INLINE void Columns4T(const float* in, const int* start, const float* weights, int taps, float* out,
                          int count) {
  const hn::CappedTag<float, 4> d;
  const int n = kTaps > 0 ? kTaps : taps;
  for (int r = 0; r < 4; r += static_cast<int>(hn::Lanes(d))) {
    for (int i = 0; i < count; ++i) {
      const float* from = in + 4 * static_cast<ptrdiff_t>(start[i]) + r;
      const float* w = weights + static_cast<ptrdiff_t>(i) * n;
      auto sum = hn::Zero(d);
      for (int k = 0; k < n; ++k) sum = hn::MulAdd(hn::Set(d, w[k]), hn::LoadU(d, from + 4 * k), sum);
      hn::StoreU(sum, d, out + 4 * static_cast<ptrdiff_t>(i) + r);
    }
  }
}

void Columns4(const float* in, const int* start, const float* weights, int taps, float* out, int count) {
  if (taps == kLanczosTaps) return Columns4T<kLanczosTaps>(in, start, weights, taps, out, count);
  Columns4T<0>(in, start, weights, taps, out, count);
}

const ResizeKernels kKernels = {Load,   Store, Vertical,    VerticalPair,  VerticalFirst,
                                Phases, Halve, Interleave4, Deinterleave4, Columns4};

const ResizeKernels* Kernels() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace framelift::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framelift::pixel {

HWY_EXPORT(Kernels);

const ResizeKernels& GetResizeKernels() { return *HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace framelift::pixel
#endif
