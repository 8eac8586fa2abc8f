// Helpers of the pixel tests: test pictures, comparisons, sizes and subsamplings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "pixel/image.h"
#include "pixel/resize_int16.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel::testing {

/// Disables the int16 resize kernels for its lifetime, so resizes use floats (Note [Int16 fixed point] in pixel/resize_int16.h).
struct WithoutInt16 {
  WithoutInt16() { AllowInt16Kernels(false); }
  ~WithoutInt16() { AllowInt16Kernels(true); }
};

struct PictureSize {
  int width;
  int height;
};

inline const std::vector<PictureSize>& Sizes() {
  static const std::vector<PictureSize> sizes = {{1, 1},   {2, 2},   {3, 1},   {1, 5},    {7, 3},
                                                 {16, 16}, {17, 31}, {64, 33}, {129, 67}, {480, 270}};
  return sizes;
}

inline const std::vector<Subsampling>& Subsamplings() {
  static const std::vector<Subsampling> all = {{1, 1}, {1, 0}, {0, 0}};
  return all;
}

inline std::string Name(PictureSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

inline std::uint16_t ToSample(double v) {
  return static_cast<std::uint16_t>(std::clamp(std::floor(v + 0.5), 0.0, 65535.0));
}

/// Sets every sample to f(plane, x, y), rounded and saturated.
inline void Fill(Image& image, const std::function<double(int plane, int x, int y)>& f) {
  for (int p = 0; p < 3; ++p) {
    const Plane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) plane.Row(y)[x] = ToSample(f(p, x, y));
    }
  }
}

inline Image Constant(PictureSize size, Subsampling subsampling, double y, double cb, double cr,
                      ColorSpec color = {}) {
  Image image(size.width, size.height, subsampling, color);
  Fill(image, [&](int p, int, int) { return p == 0 ? y : p == 1 ? cb : cr; });
  return image;
}

/// Smooth shapes, edges and texture in limited range, different in each plane.
inline Image Pattern(PictureSize size, Subsampling subsampling, ColorSpec color = {}) {
  Image image(size.width, size.height, subsampling, color);
  Fill(image, [&](int p, int x, int y) {
    const double wave = std::sin(0.11 * x + 0.05 * y * (p + 1)) + 0.6 * std::sin(0.9 * x - 0.7 * y);
    const double edge = ((x / 9 + y / 7) % 2 == 0 ? 0.5 : -0.5) * (p == 0 ? 1.0 : 0.6);
    return 256.0 * (126 + 35 * wave + 50 * edge);
  });
  return image;
}

/// Random samples over the full scale, so that every rounding and saturation occurs.
inline Image RandomPicture(PictureSize size, Subsampling subsampling, unsigned seed, ColorSpec color = {}) {
  Image image(size.width, size.height, subsampling, color);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> uniform(0, 65535);
  std::bernoulli_distribution extreme(0.2);
  Fill(image,
       [&](int, int, int) { return extreme(random) ? (uniform(random) & 1 ? 65535 : 0) : uniform(random); });
  return image;
}

/// Adds normal noise of `sigma` 8-bit levels to every plane.
inline void AddNoise(Image& image, double sigma, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, sigma * 256);
  for (int p = 0; p < 3; ++p) {
    const Plane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) plane.Row(y)[x] = ToSample(plane.Row(y)[x] + normal(random));
    }
  }
}

inline Image Copy(const Image& image) {
  Image copy(image.width(), image.height(), image.subsampling(), image.color());
  for (int p = 0; p < 3; ++p) {
    const ConstPlane from = image.plane(p);
    const Plane to = copy.plane(p);
    for (int y = 0; y < from.height; ++y) std::copy_n(from.Row(y), from.width, to.Row(y));
  }
  return copy;
}

/// Largest difference of two planes of equal size, in working units.
inline int MaxDifference(ConstPlane a, ConstPlane b) {
  int worst = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) worst = std::max(worst, std::abs(int{a.Row(y)[x]} - int{b.Row(y)[x]}));
  }
  return worst;
}

inline int MaxDifference(const Image& a, const Image& b) {
  int worst = 0;
  for (int p = 0; p < 3; ++p) worst = std::max(worst, MaxDifference(a.plane(p), b.plane(p)));
  return worst;
}

/// Mean of a plane in 8-bit levels.
inline double MeanLevel(ConstPlane plane) {
  double sum = 0;
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) sum += plane.Row(y)[x];
  }
  return sum / 256 / plane.width / plane.height;
}

/// Peak signal-to-noise ratio of a plane in decibels against 255 levels.
inline double Psnr(ConstPlane a, ConstPlane b) {
  double sum = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) {
      const double d = (int{a.Row(y)[x]} - int{b.Row(y)[x]}) / 256.0;
      sum += d * d;
    }
  }
  const double mse = sum / a.width / a.height;
  return mse == 0 ? 100 : 10 * std::log10(255 * 255 / mse);
}

/// Standard deviation of a plane, in 8-bit levels.
inline double Spread(ConstPlane plane) {
  const double mean = MeanLevel(plane);
  double sum = 0;
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) sum += std::pow(plane.Row(y)[x] / 256.0 - mean, 2);
  }
  return std::sqrt(sum / plane.width / plane.height);
}

}  // namespace reelmend::pixel::testing
