// Common parts of MeasureDamageFeatures: grids of integers, the list of features, small sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "pixel/damage_features.h"

namespace reelmend::pixel {

inline constexpr double kSmall = 0.1;  ///< levels; keeps ratios and logarithms of almost nothing finite

/// Integers with a width and a height, rows without gaps.
struct Grid {
  Grid(int w, int h) : width(w), height(h), values(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  std::int16_t* Row(int y) { return values.data() + static_cast<std::ptrdiff_t>(y) * width; }
  const std::int16_t* Row(int y) const { return values.data() + static_cast<std::ptrdiff_t>(y) * width; }
  int width;
  int height;
  std::vector<std::int16_t> values;
};

/// The features in their order.
class Features {
 public:
  void Add(double value) { values_[count_++] = static_cast<float>(value); }
  const DamageFeatures& values() const { return values_; }

 private:
  DamageFeatures values_ = {};
  std::size_t count_ = 0;
};

inline double Log(double x) { return std::log(std::max(x, 1e-12)); }

inline double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace reelmend::pixel
