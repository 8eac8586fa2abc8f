// Arithmetic that gives the same results from nvcc on the GPU as from the host's compiler.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "pixel/hd.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace reelmend::cuda {

template <typename T>
REELMEND_HD inline T Min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
REELMEND_HD inline T Max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
REELMEND_HD inline T Clamp(T v, T low, T high) {
  return Min(Max(v, low), high);
}

REELMEND_HD inline unsigned AbsoluteDifference(std::uint16_t a, std::uint16_t b) { return a < b ? b - a : a - b; }

/// a × b + c. The GPU rounds once, the host here twice; no 16-bit sample shows the difference.
REELMEND_HD inline float Fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return a * b + c;
#endif
}

REELMEND_HD inline float SquareRoot(float v) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(v);
#else
  return std::sqrt(v);
#endif
}

/// Rounded to nearest (halves to even) and saturated to a working sample, as pixel::ToSamples does; |v| < 2²².
REELMEND_HD inline std::uint16_t ToSample(float v) {
#if defined(__CUDA_ARCH__)
  const int rounded = __float2int_rn(v);
#else
  const float shifted = v + 12582912.0F;
  std::int32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  const int rounded = bits - 0x4B400000;
#endif
  return static_cast<std::uint16_t>(Clamp(rounded, 0, 65535));
}

/// Rounds a working sample to 8 bits for the encoder, halves up, saturated.
REELMEND_HD inline std::uint8_t ToLevel8(std::uint16_t v) {
  return static_cast<std::uint8_t>(v >= 0xFF80 ? 255 : (v + 128) >> 8);
}

/// IEEE 754 binary16, as networks take it; only stored, never computed with.
struct Half {
  std::uint16_t bits;
};

/// Rounded to nearest, halves to even; overflow gives infinity.
REELMEND_HD inline Half ToHalf(float v) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(v))};
#else
  std::uint32_t f;
  std::memcpy(&f, &v, sizeof f);
  const auto sign = static_cast<std::uint16_t>((f >> 16) & 0x8000U);
  const std::uint32_t magnitude = f & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U)
    return {static_cast<std::uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U))};
  if (magnitude >= 0x477FF000U) return {static_cast<std::uint16_t>(sign | 0x7C00U)};
  if (magnitude < 0x33000001U) return {sign};  // below half of the smallest subnormal
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1);
  const std::uint32_t middle = 1U << (shift - 1);
  const std::uint32_t rounded = kept + (rest > middle || (rest == middle && (kept & 1U) != 0) ? 1U : 0U);
  // The hidden bit carries into the exponent by addition: a normal number's exponent field starts one lower.
  const std::uint32_t base = exponent < -14 ? 0U : static_cast<std::uint32_t>(exponent + 14) << 10;
  return {static_cast<std::uint16_t>(sign | (base + rounded))};
#endif
}

REELMEND_HD inline float FromHalf(Half h) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(h.bits));
#else
  const std::uint32_t sign = (h.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = h.bits & 0x3FFU;
  if (exponent == 0) {
    const float v = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -v : v;
  }
  const std::uint32_t f = exponent == 31 ? sign | 0x7F800000U | (mantissa << 13)
                                         : sign | ((exponent + 112) << 23) | (mantissa << 13);
  float v;
  std::memcpy(&v, &f, sizeof v);
  return v;
#endif
}

}  // namespace reelmend::cuda
