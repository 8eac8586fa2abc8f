// Measurements as in the super-resolution papers: MATLAB's resize, BT.601 luma, PSNR and SSIM without the border.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace reelmend::bench {

/// One plane of 8-bit levels, not rounded unless stated.
struct Plane {
  int width = 0;
  int height = 0;
  std::vector<float> data;

  Plane() = default;
  Plane(int w, int h) : width(w), height(h), data(static_cast<std::size_t>(w) * h) {}
  float& at(int x, int y) { return data[static_cast<std::size_t>(y) * width + x]; }
  float at(int x, int y) const { return data[static_cast<std::size_t>(y) * width + x]; }
};

inline double Cubic(double x) {  // Keys 1981, a = −0.5
  x = std::abs(x);
  if (x <= 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

inline double Lanczos3(double x) {
  constexpr double kPi = 3.14159265358979323846;
  x = std::abs(x);
  if (x >= 3) return 0;
  return x < 1e-9 ? 1 : 3 * std::sin(kPi * x) * std::sin(kPi * x / 3) / (kPi * kPi * x * x);
}

struct Kernel {
  double (*weight)(double);
  double width;  ///< of its support, in samples
};
inline constexpr Kernel kCubicKernel = {Cubic, 4};
inline constexpr Kernel kLanczosKernel = {Lanczos3, 6};

/// Resizes along the rows like MATLAB's imresize: reducing widens the kernel, weights are normalised, edges are mirrored.
inline Plane ResizeRows(const Plane& in, int out_width, const Kernel& kernel) {
  const double scale = static_cast<double>(out_width) / in.width;
  const double shrink = std::min(1.0, scale);
  const double support = kernel.width / shrink;
  const int taps = static_cast<int>(std::ceil(support)) + 2;
  Plane out(out_width, in.height);
  std::vector<double> weights(taps);
  std::vector<int> from(taps);
  for (int x = 0; x < out_width; ++x) {
    const double centre = (x + 0.5) / scale - 0.5;
    const int first = static_cast<int>(std::floor(centre - support / 2));
    double sum = 0;
    for (int k = 0; k < taps; ++k) {
      weights[k] = shrink * kernel.weight(shrink * (centre - (first + k)));
      sum += weights[k];
      int index = (first + k) % (2 * in.width);
      if (index < 0) index += 2 * in.width;
      from[k] = index < in.width ? index : 2 * in.width - 1 - index;
    }
    for (int y = 0; y < in.height; ++y) {
      double value = 0;
      for (int k = 0; k < taps; ++k) value += weights[k] * in.at(from[k], y);
      out.at(x, y) = static_cast<float>(value / sum);
    }
  }
  return out;
}

inline Plane Transposed(const Plane& in) {
  Plane out(in.height, in.width);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) out.at(y, x) = in.at(x, y);
  }
  return out;
}

inline Plane Resize(const Plane& in, int width, int height, const Kernel& kernel) {
  return Transposed(ResizeRows(Transposed(ResizeRows(in, width, kernel)), height, kernel));
}

inline void RoundToLevels(Plane& plane, float low, float high) {
  for (float& value : plane.data) value = std::clamp(std::round(value), low, high);
}

/// PSNR of 8-bit levels in dB, without a border.
inline double Psnr(const Plane& a, const Plane& b, int border) {
  double squares = 0;
  std::int64_t count = 0;
  for (int y = border; y < a.height - border; ++y) {
    for (int x = border; x < a.width - border; ++x) {
      const double d = a.at(x, y) - b.at(x, y);
      squares += d * d;
      ++count;
    }
  }
  return squares == 0 ? 100 : 10 * std::log10(255.0 * 255.0 * static_cast<double>(count) / squares);
}

/// Gaussian filter of 11 × 11 with sigma 1.5, only where the window fits.
inline Plane Blurred(const Plane& in) {
  double weights[11];
  double sum = 0;
  for (int i = 0; i < 11; ++i) sum += weights[i] = std::exp(-(i - 5) * (i - 5) / (2 * 1.5 * 1.5));
  const auto rows = [&](const Plane& from) {
    Plane out(from.width - 10, from.height);
    for (int y = 0; y < from.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        double value = 0;
        for (int k = 0; k < 11; ++k) value += weights[k] / sum * from.at(x + k, y);
        out.at(x, y) = static_cast<float>(value);
      }
    }
    return out;
  };
  return Transposed(rows(Transposed(rows(in))));
}

/// SSIM (Z. Wang et al. 2004) with K1 = 0.01, K2 = 0.03, L = 255.
inline double SsimY(const Plane& a, const Plane& b, int border) {
  const auto inner = [&](const std::function<float(int, int)>& value) {
    Plane plane(a.width - 2 * border, a.height - 2 * border);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) plane.at(x, y) = value(x + border, y + border);
    }
    return plane;
  };
  if (a.width - 2 * border < 11 || a.height - 2 * border < 11) return 1;
  // Moments around 128: floats then keep the small differences of large squares.
  const Plane mean_a = Blurred(inner([&](int x, int y) { return a.at(x, y) - 128; }));
  const Plane mean_b = Blurred(inner([&](int x, int y) { return b.at(x, y) - 128; }));
  const Plane aa = Blurred(inner([&](int x, int y) { return (a.at(x, y) - 128) * (a.at(x, y) - 128); }));
  const Plane bb = Blurred(inner([&](int x, int y) { return (b.at(x, y) - 128) * (b.at(x, y) - 128); }));
  const Plane ab = Blurred(inner([&](int x, int y) { return (a.at(x, y) - 128) * (b.at(x, y) - 128); }));
  constexpr double kC1 = 0.01 * 255 * 0.01 * 255;
  constexpr double kC2 = 0.03 * 255 * 0.03 * 255;
  double sum = 0;
  for (std::size_t i = 0; i < aa.data.size(); ++i) {
    const double ma = mean_a.data[i];
    const double mb = mean_b.data[i];
    const double structure = (2 * (ab.data[i] - ma * mb) + kC2) / (aa.data[i] - ma * ma + bb.data[i] - mb * mb + kC2);
    const double ga = ma + 128;
    const double gb = mb + 128;
    sum += structure * (2 * ga * gb + kC1) / (ga * ga + gb * gb + kC1);
  }
  return sum / static_cast<double>(aa.data.size());
}

/// What a method gains over another one, in dB, over the samples that it supports.
struct Gain {
  double mean = 0;
  double worst = 0;
};

/// From the PSNR of each sample. `other` has all samples of `own`, which is not empty.
inline Gain GainOver(const std::map<std::string, double>& own, const std::map<std::string, double>& other) {
  Gain gain{0, 1e9};
  for (const auto& [name, psnr] : own) {
    const double difference = psnr - other.at(name);
    gain.mean += difference / static_cast<double>(own.size());
    gain.worst = std::min(gain.worst, difference);
  }
  return gain;
}

}  // namespace reelmend::bench
