// The difference between two outputs of a network, and its tolerances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace reelmend::testing {

/// Differences in 8-bit levels; the samples range from 0 to 1.
struct Differences {
  double rms = 0;
  double percentile = 0;  ///< 999 of 1,000 samples differ by this or less
  double largest = 0;
};

inline Differences Compare(std::span<const float> a, std::span<const float> b) {
  constexpr double kLevels = 255;
  std::vector<double> each(a.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    each[i] = kLevels * std::abs(static_cast<double>(a[i]) - b[i]);
    sum += each[i] * each[i];
  }
  std::ranges::sort(each);
  return {std::sqrt(sum / static_cast<double>(each.size())), each[(each.size() - 1) * 999 / 1000], each.back()};
}

/// Note [Tolerance of networks]
/// Bounds apply to the root mean square and to 999 of 1,000 samples. The largest difference is no useful bound: it grows with the
/// number of samples if two programs round in different layers. Activations in fp16 with sums in fp32 differ from fp32 by 0.05
/// levels (root mean square) and 0.2 (percentile). Kernels that also sum in fp16 may differ by a few times that. Two programs
/// that compute in int8 round in different layers: see OnnxHalf.UnsignedQuantisationIsComputedInFp16.
struct Tolerance {
  double rms;
  double percentile;
};
inline constexpr Tolerance kHalfTolerance = {0.2, 0.8};
inline constexpr Tolerance kInt8Tolerance = {1, 5};

}  // namespace reelmend::testing
