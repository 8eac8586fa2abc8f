#include "faces/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace reelmend::faces {
namespace {

constexpr int kRowsAtOnce = 8;
constexpr int kMostSamples = 8;  ///< per side; enough for faces much larger than the network's input

/// Output pixel i is the weighted sum of input samples from first[i] on: the area that it covers.
struct AreaWeights {
  std::vector<int> first;
  std::vector<float> weights;  ///< taps per pixel, padded with 0
  int taps = 0;

  /// `ratio`: input samples per output pixel, ≥ 1 apart from rounding; `in`: number of samples.
  AreaWeights(int in, int out, double ratio) {
    taps = static_cast<int>(std::ceil(ratio)) + 1;
    for (int i = 0; i < out; ++i) {
      const double begin = i * ratio;
      const double end = std::min<double>(in, begin + ratio);
      const int start = std::min(static_cast<int>(begin), in - 1);
      first.push_back(start);
      for (int tap = 0; tap < taps; ++tap) {
        const double covered = std::min<double>(end, start + tap + 1) - std::max<double>(begin, start + tap);
        weights.push_back(static_cast<float>(std::max(0.0, covered) / (end - begin)));
      }
    }
  }
};

/// Reduces one plane. `at(y)`: row of the input.
template <typename At>
void ReducePlane(const At& at, int in_width, int in_height, int out_width, int out_height, float* out,
                 pixel::ThreadPool& pool) {
  const AreaWeights across(in_width, out_width, static_cast<double>(in_width) / out_width);
  const AreaWeights down(in_height, out_height, static_cast<double>(in_height) / out_height);
  pool.ParallelRows(out_height, kRowsAtOnce, [&](int begin, int end) {
    std::vector<float> row(static_cast<std::size_t>(in_width + across.taps), 0.0F);
    for (int y = begin; y < end; ++y) {
      std::fill(row.begin(), row.end(), 0.0F);
      for (int tap = 0; tap < down.taps; ++tap) {
        const float weight = down.weights[static_cast<std::size_t>(y) * down.taps + tap];
        if (weight == 0) continue;
        const auto* line = at(down.first[y] + tap);
        for (int x = 0; x < in_width; ++x) row[x] += weight * static_cast<float>(line[x]);
      }
      for (int x = 0; x < out_width; ++x) {
        const float* weights = &across.weights[static_cast<std::size_t>(x) * across.taps];
        float sum = 0;
        for (int tap = 0; tap < across.taps; ++tap) sum += weights[tap] * row[across.first[x] + tap];
        out[static_cast<std::size_t>(y) * out_width + x] = sum;
      }
    }
  });
}

/// Bilinear; `x` and `y` in samples, 0 = middle of the first one. Edges are repeated.
float Bilinear(pixel::ConstPlane plane, float x, float y) {
  x = std::clamp(x, 0.0F, static_cast<float>(plane.width - 1));
  y = std::clamp(y, 0.0F, static_cast<float>(plane.height - 1));
  const int left = std::min(static_cast<int>(x), std::max(0, plane.width - 2));
  const int top = std::min(static_cast<int>(y), std::max(0, plane.height - 2));
  const float dx = x - static_cast<float>(left);
  const float dy = y - static_cast<float>(top);
  const int right = std::min(left + 1, plane.width - 1);
  const std::uint16_t* upper = plane.Row(top);
  const std::uint16_t* lower = plane.Row(std::min(top + 1, plane.height - 1));
  const float above = static_cast<float>(upper[left]) * (1 - dx) + static_cast<float>(upper[right]) * dx;
  const float below = static_cast<float>(lower[left]) * (1 - dx) + static_cast<float>(lower[right]) * dx;
  return above * (1 - dy) + below * dy;
}

}  // namespace

RgbConversion::RgbConversion(pixel::ColorSpec color) {
  constexpr float kUnits = 256;  // fixed-point steps of a level
  const bool is_full = color.range == pixel::Range::kFull;
  black_ = is_full ? 0 : 16 * kUnits;
  luma_ = (is_full ? 1.0F : 255.0F / 219) / kUnits;
  chroma_ = (is_full ? 1.0F : 255.0F / 224) / kUnits;
  const pixel::YcbcrToRgb matrix = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  const double chroma_span = (is_full ? 255 : 224) * static_cast<double>(kUnits);
  kr_ = static_cast<float>(1 - matrix.red_cr * chroma_span / 2);
  kb_ = static_cast<float>(1 - matrix.blue_cb * chroma_span / 2);
}

void RgbConversion::ToRgb(float& y, float& cb, float& cr) const {
  const float luma = (y - black_) * luma_;
  const float blue = (cb - 32768) * chroma_;
  const float red = (cr - 32768) * chroma_;
  const float r = luma + 2 * (1 - kr_) * red;
  const float b = luma + 2 * (1 - kb_) * blue;
  const float g = (luma - kr_ * r - kb_ * b) / (1 - kr_ - kb_);
  y = std::clamp(r, 0.0F, 255.0F);
  cb = std::clamp(g, 0.0F, 255.0F);
  cr = std::clamp(b, 0.0F, 255.0F);
}

void RgbConversion::DifferenceToYcc(float& r, float& g, float& b) const {
  const float luma = kr_ * r + (1 - kr_ - kb_) * g + kb_ * b;
  const float blue = (b - luma) / (2 * (1 - kb_));
  const float red = (r - luma) / (2 * (1 - kr_));
  r = luma / luma_;
  g = blue / chroma_;
  b = red / chroma_;
}

void ReduceToRgb(const pixel::Image& image, RgbPicture& out, pixel::ThreadPool& pool) {
  for (int p = 0; p < 3; ++p) {
    const pixel::ConstPlane plane = image.plane(p);
    ReducePlane([&](int y) { return plane.Row(std::min(y, plane.height - 1)); }, plane.width, plane.height, out.width,
                out.height, out.planes[p].data(), pool);
  }
  const RgbConversion conversion(image.color());
  pool.ParallelRows(out.height, kRowsAtOnce, [&](int begin, int end) {
    const std::size_t last = static_cast<std::size_t>(end) * out.width;
    for (std::size_t i = static_cast<std::size_t>(begin) * out.width; i < last; ++i) {
      conversion.ToRgb(out.planes[0][i], out.planes[1][i], out.planes[2][i]);
    }
  });
}

void Reduce(const RgbPicture& in, RgbPicture& out, pixel::ThreadPool& pool) {
  for (int p = 0; p < 3; ++p) {
    const float* plane = in.planes[p].data();
    ReducePlane([&](int y) { return plane + static_cast<std::size_t>(std::min(y, in.height - 1)) * in.width; }, in.width,
                in.height, out.width, out.height, out.planes[p].data(), pool);
  }
}

void Sample(const pixel::Image& image, const Similarity& transform, bool black_outside, RgbPicture& out) {
  const RgbConversion conversion(image.color());
  const pixel::ConstPlane planes[3] = {image.plane(0), image.plane(1), image.plane(2)};
  const float step_x = 1.0F / static_cast<float>(1 << image.subsampling().log2_x);
  const float step_y = 1.0F / static_cast<float>(1 << image.subsampling().log2_y);
  const int samples = std::clamp(static_cast<int>(std::ceil(transform.scale() - 0.01F)), 1, kMostSamples);
  const float part = 1.0F / static_cast<float>(samples);
  const auto width = static_cast<float>(image.width());
  const auto height = static_cast<float>(image.height());
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      float sum[3] = {};
      for (int s = 0; s < samples * samples; ++s) {
        const Point p = transform({static_cast<float>(x) + (static_cast<float>(s % samples) + 0.5F) * part,
                               static_cast<float>(y) + (static_cast<float>(s / samples) + 0.5F) * part});
        if (black_outside && (p.x < 0 || p.y < 0 || p.x >= width || p.y >= height)) continue;
        float c[3] = {Bilinear(planes[0], p.x - 0.5F, p.y - 0.5F),
                      // Left-sited: a chroma sample lies on its left luma sample, between the rows.
                      Bilinear(planes[1], (p.x - 0.5F) * step_x, p.y * step_y - 0.5F),
                      Bilinear(planes[2], (p.x - 0.5F) * step_x, p.y * step_y - 0.5F)};
        conversion.ToRgb(c[0], c[1], c[2]);
        for (int i = 0; i < 3; ++i) sum[i] += c[i] * part * part;
      }
      const std::size_t at = static_cast<std::size_t>(y) * out.width + x;
      for (int i = 0; i < 3; ++i) out.planes[i][at] = sum[i];
    }
  }
}

}  // namespace reelmend::faces
