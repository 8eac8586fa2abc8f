#include "faces/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "pixel/resize_plan.h"

namespace reelmend::faces {
namespace {

constexpr int kRowsAtOnce = 8;

/// Reduces one plane. `at(y)`: row of the input.
template <typename At>
void ReducePlane(const At& at, int in_width, int in_height, int out_width, int out_height, float* out,
                 pixel::ThreadPool& pool) {
  const AreaWeights across(in_width, out_width);
  const AreaWeights down(in_height, out_height);
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

FaceSampler<pixel::ConstPlane> SamplerOf(const pixel::Image& image) {
  FaceSampler<pixel::ConstPlane> sampler;
  for (int p = 0; p < 3; ++p) sampler.planes[p] = image.plane(p);
  sampler.chroma = PlacementOf(image.subsampling(), image.color());
  sampler.conversion = RgbConversion(image.color());
  return sampler;
}

void Run(const FaceSampler<pixel::ConstPlane>& sampler, const Similarity& transform, RgbPicture& out) {
  const int samples = sampler.SamplesPerSide(transform);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      float c[3];
      sampler.At(transform, samples, x, y, c);
      const std::size_t at = static_cast<std::size_t>(y) * out.width + x;
      for (int p = 0; p < 3; ++p) out.planes[p][at] = c[p];
    }
  }
}

}  // namespace

AreaWeights::AreaWeights(int in, int out) {
  const double ratio = static_cast<double>(in) / out;
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
      float c[3] = {out.planes[0][i], out.planes[1][i], out.planes[2][i]};
      conversion.ToRgb(c);
      for (int p = 0; p < 3; ++p) out.planes[p][i] = c[p];
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

ChromaPlacement PlacementOf(pixel::Subsampling subsampling, const pixel::ColorSpec& color) {
  const pixel::SampleGrid x = pixel::HorizontalGrid(1, subsampling, color);
  const pixel::SampleGrid y = pixel::VerticalGrid(1, subsampling, color);
  return {1.0F / static_cast<float>(x.step), 1.0F / static_cast<float>(y.step), static_cast<float>(x.offset), static_cast<float>(y.offset)};
}

void Sample(const pixel::Image& image, const Similarity& transform, bool black_outside, RgbPicture& out) {
  FaceSampler<pixel::ConstPlane> sampler = SamplerOf(image);
  sampler.black_outside = black_outside;
  Run(sampler, transform, out);
}

void SampleScaled(const pixel::Image& image, Size whole, const Similarity& transform, RgbPicture& out) {
  FaceSampler<pixel::ConstPlane> sampler = SamplerOf(image);
  sampler.scale_x = static_cast<float>(image.width()) / static_cast<float>(whole.width);
  sampler.scale_y = static_cast<float>(image.height()) / static_cast<float>(whole.height);
  Run(sampler, transform, out);
}

}  // namespace reelmend::faces
