// IEEE 754 half precision on the CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace reelmend::inference {

inline constexpr float kLargestHalf = 65504.0F;

/// Rounded to nearest, halves to even; infinity beyond the range.
inline std::uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);   // not a number
  if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);  // 65520 and more
  if (magnitude < 0x38800000) {                                                   // subnormal
    // Adding ½ aligns the last bit of the float with that of a subnormal half, so the sum rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3F000000));
  }
  const std::uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

inline float HalfToFloat(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  // 2¹¹² moves the exponent, subnormals included.
  const float value = std::bit_cast<float>(magnitude << 13) * std::bit_cast<float>(0x77800000);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

}  // namespace reelmend::inference
