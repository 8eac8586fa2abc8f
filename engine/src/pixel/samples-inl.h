// Working samples ↔ vectors of floats, for each instruction set. Included inside the files that are compiled
// once per set (hwy/foreach_target.h); the guard below is Highway's way to allow that.
#if defined(REELMEND_PIXEL_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REELMEND_PIXEL_SAMPLES_INL_H_
#undef REELMEND_PIXEL_SAMPLES_INL_H_
#else
#define REELMEND_PIXEL_SAMPLES_INL_H_
#endif

#include "hwy/highway.h"
#include "pixel/upsample_weights.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of at most 16 floats, so that a vector of samples never passes a row's 64-byte padding.
using DF = hn::CappedTag<float, 16>;
using D16 = hn::Rebind<uint16_t, DF>;
using DI = hn::Rebind<int32_t, DF>;
using VF = hn::Vec<DF>;

HWY_INLINE VF ToFloat(hn::Vec<D16> v) { return hn::ConvertTo(DF(), hn::PromoteTo(DI(), v)); }

/// Rounded to nearest and saturated; |v| must stay below 2²², far above what any stage makes. Adding
/// 1.5 × 2²³ leaves the rounded number in the low bits: NearestInt would spend three more instructions on overflow.
HWY_INLINE hn::Vec<D16> ToSamples(VF v) {
  const auto bits = hn::BitCast(DI(), hn::Add(v, hn::Set(DF(), 12582912.0F)));
  return hn::DemoteTo(D16(), hn::Sub(bits, hn::Set(DI(), 0x4B400000)));
}

HWY_INLINE VF LoadSamples(const uint16_t* in) { return ToFloat(hn::LoadU(D16(), in)); }

HWY_INLINE void StoreSamples(VF v, uint16_t* out) { hn::StoreU(ToSamples(v), D16(), out); }

/// Two vectors of samples, `first` being the left one. With 512 bits, one pack narrows and saturates both; separately, each
/// would take two instructions to narrow and more to round.
HWY_INLINE void StoreSamplePair(VF first, VF second, uint16_t* out) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const __m512i packed = _mm512_packus_epi32(_mm512_cvtps_epi32(first.raw), _mm512_cvtps_epi32(second.raw));
  const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);  // the pack goes by blocks of 128 bits
  _mm512_storeu_si512(out, _mm512_permutexvar_epi64(order, packed));
#else
  StoreSamples(first, out);
  StoreSamples(second, out + hn::Lanes(DF()));
#endif
}

HWY_INLINE int FloatLanes() { return static_cast<int>(hn::Lanes(DF())); }

/// Doubles a row horizontally. in[−1] and in[count] are its neighbours.
inline void DoubleRow(const float* in, int count, const UpsampleWeights& weights, float* out) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF a = hn::Zero(d);
    VF b = hn::Zero(d);
    for (int k = 0; k < 3; ++k) {
      const VF v = hn::LoadU(d, in + x + k - 1);
      a = hn::MulAdd(v, hn::Set(d, weights.even[k]), a);
      b = hn::MulAdd(v, hn::Set(d, weights.odd[k]), b);
    }
    hn::StoreInterleaved2(a, b, d, out + 2 * x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#endif
