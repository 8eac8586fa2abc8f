#include "pipeline/network_tensors.h"

#include <algorithm>
#include <array>
#include <vector>

#include "pixel/color_matrix.h"
#include "pixel/resize_plan.h"

namespace framelift::pipeline {
namespace {

using inference::InputArea;
using inference::OutputArea;
using pixel::Image;

constexpr int kGrainRows = 16;
constexpr float kChromaZero = 32768;

std::uint16_t ToSample(float value) {
  return static_cast<std::uint16_t>(static_cast<int>(std::clamp(value, 0.0F, 65535.0F) + 0.5F));
}

// The loops that every frame of `fast` goes through, for the processors' vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define FRAMELIFT_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define FRAMELIFT_VECTORS
#endif

FRAMELIFT_VECTORS void SamplesToFloats(const std::uint16_t* in, float* out, int count, float offset, float scale) {
  for (int x = 0; x < count; ++x) out[x] = (static_cast<float>(static_cast<int>(in[x])) - offset) * scale;
}

FRAMELIFT_VECTORS void FloatsToSamples(const float* in, std::uint16_t* out, int count, float offset, float scale) {
  for (int x = 0; x < count; ++x) {
    float value = in[x] * scale + offset + 0.5F;
    value = value < 0.0F ? 0.0F : value;  // written so that NaN becomes 0
    value = value > 65535.0F ? 65535.0F : value;
    out[x] = static_cast<std::uint16_t>(static_cast<int>(value > 0.0F ? value : 0.0F));
  }
}

FRAMELIFT_VECTORS void InterleaveTwo(const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* out, int count) {
  for (int x = 0; x < count; ++x) {
    out[2 * x] = a[x];
    out[2 * x + 1] = b[x];
  }
}

FRAMELIFT_VECTORS void InterleaveFour(const std::uint16_t* a, const std::uint16_t* b, const std::uint16_t* c,
                                      const std::uint16_t* d, std::uint16_t* out, int count) {
  for (int x = 0; x < count; ++x) {
    out[4 * x] = a[x];
    out[4 * x + 1] = b[x];
    out[4 * x + 2] = c[x];
    out[4 * x + 3] = d[x];
  }
}

/// Row `r` of a shuffled area (OutputArea::shuffle), a stretch at a time.
void TakeShuffledRow(const OutputArea& area, int r, std::uint16_t* out, float offset, float scale) {
  constexpr int kStretch = 240;  // of each plane
  alignas(64) std::uint16_t parts[inference::kMaxShuffle][kStretch];
  const int by = area.shuffle;
  const float* in = area.data + r % by * by * area.plane + static_cast<std::ptrdiff_t>(r / by) * area.stride;
  for (int first = 0; first < area.width; first += by * kStretch) {
    const int count = std::min(by * kStretch, area.width - first);
    for (int i = 0; i < by; ++i) {
      FloatsToSamples(in + i * area.plane + first / by, parts[i], (count + by - 1 - i) / by, offset, scale);
    }
    const int whole = count / by;  // of the last step, those that are wanted alone follow
    std::uint16_t* to = out + first;
    if (by == 2) InterleaveTwo(parts[0], parts[1], to, whole);
    if (by == 4) InterleaveFour(parts[0], parts[1], parts[2], parts[3], to, whole);
    for (int i = by == 2 || by == 4 ? by * whole : 0; i < count; ++i) to[i] = parts[i % by][i / by];
  }
}

/// Row `y` of an area; rows and columns beyond the picture repeat its last.
template <typename Convert>
void FillRows(const InputArea& area, int width, int height, pixel::ThreadPool& pool, const Convert& convert) {
  const auto rows = [&](int first, int last) {
    for (int y = first; y < last; ++y) {
      const int inside = std::min(area.width, width - area.x);
      convert(std::min(area.y + y, height - 1), y, inside);
    }
  };
  pool.ParallelRows(area.height, kGrainRows, std::ref(rows));
}

void RepeatLast(float* row, int inside, int width) { std::fill(row + inside, row + width, row[inside - 1]); }

class LumaBridge : public TensorBridge {
 public:
  LumaBridge(pixel::ColorSpec color, float strength) : strength_(strength) {
    const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
    offset_ = static_cast<float>(c.luma_offset);
    scale_ = static_cast<float>(c.luma_scale);
  }

  pixel::Subsampling output_subsampling() const override { return {1, 1}; }
  void Prepare(const Image&, pixel::ThreadPool&) override {}

  void Fill(const Image& image, const InputArea& area, pixel::ThreadPool& pool) override {
    const pixel::ConstPlane luma = image.plane(0);
    FillRows(area, luma.width, luma.height, pool, [&](int from, int to, int inside) {
      float* row = area.data + static_cast<std::ptrdiff_t>(to) * area.width;
      SamplesToFloats(luma.Row(from) + area.x, row, inside, offset_, scale_);
      RepeatLast(row, inside, area.width);
      std::fill_n(row + std::ptrdiff_t{area.width} * area.height, area.width, strength_);
    });
  }

  void Take(const OutputArea& area, Image& out, pixel::ThreadPool& pool) override {
    const pixel::Plane luma = out.plane(0);
    const auto rows = [&](int first, int last) {
      for (int y = first; y < last; ++y) {
        std::uint16_t* to = luma.Row(area.y + y) + area.x;
        if (area.shuffle > 1) {
          TakeShuffledRow(area, y, to, offset_, 1 / scale_);
        } else {
          FloatsToSamples(area.data + static_cast<std::ptrdiff_t>(y) * area.stride, to, area.width, offset_, 1 / scale_);
        }
      }
    };
    pool.ParallelRows(area.height, kGrainRows, std::ref(rows));
  }

 private:
  float strength_;
  float offset_ = 0;
  float scale_ = 1;
};

/// Chroma planes on luma's grid, as floats around zero.
class ChromaUpsampler {
 public:
  ChromaUpsampler(int width, int height, pixel::Subsampling subsampling, pixel::ChromaSite site)
      : width_(width), height_(height) {
    const auto size = [](int luma, int log2) { return (luma + (1 << log2) - 1) >> log2; };
    chroma_width_ = size(width, subsampling.log2_x);
    chroma_height_ = size(height, subsampling.log2_y);
    x_ = pixel::MakeAxisPlan(width, chroma_width_, pixel::HorizontalGrid(1, subsampling, site), width, width,
                             pixel::HorizontalGrid(0, subsampling, site));
    y_ = pixel::MakeAxisPlan(height, chroma_height_, pixel::VerticalGrid(1, subsampling, site), height, height,
                             pixel::VerticalGrid(0, subsampling, site));
    for (int p = 0; p < 2; ++p) {
      wide_[p].resize(static_cast<std::size_t>(width) * chroma_height_);
      full_[p].resize(static_cast<std::size_t>(width) * height);
    }
  }

  void Run(const Image& image, pixel::ThreadPool& pool) {
    for (int p = 0; p < 2; ++p) {
      const pixel::ConstPlane plane = image.plane(p + 1);
      const auto widen = [&](int first, int last) { Widen(plane, wide_[p], first, last); };
      pool.ParallelRows(chroma_height_, kGrainRows, std::ref(widen));
      const auto lengthen = [&](int first, int last) { Lengthen(wide_[p], full_[p], first, last); };
      pool.ParallelRows(height_, kGrainRows, std::ref(lengthen));
    }
  }

  const float* Row(int plane, int y) const { return full_[plane].data() + static_cast<std::ptrdiff_t>(y) * width_; }

 private:
  void Widen(pixel::ConstPlane plane, std::vector<float>& out, int first, int last) const {
    for (int y = first; y < last; ++y) {
      const std::uint16_t* row = plane.Row(y);
      float* to = out.data() + static_cast<std::ptrdiff_t>(y) * width_;
      for (int x = 0; x < width_; ++x) {
        if (x_.identity) {
          to[x] = static_cast<float>(row[x]) - kChromaZero;
          continue;
        }
        float sum = 0;
        for (int k = 0; k < x_.taps; ++k) {
          sum += x_.Weights(x)[k] * static_cast<float>(row[std::clamp(x_.Start(x) + k, 0, chroma_width_ - 1)]);
        }
        to[x] = sum - kChromaZero;
      }
    }
  }

  void Lengthen(const std::vector<float>& in, std::vector<float>& out, int first, int last) const {
    for (int y = first; y < last; ++y) {
      float* to = out.data() + static_cast<std::ptrdiff_t>(y) * width_;
      if (y_.identity) {
        std::copy_n(in.data() + static_cast<std::ptrdiff_t>(y) * width_, width_, to);
        continue;
      }
      std::fill_n(to, width_, 0.0F);
      for (int k = 0; k < y_.taps; ++k) {
        const float weight = y_.Weights(y)[k];
        const int from = std::clamp(y_.Start(y) + k, 0, chroma_height_ - 1);
        const float* row = in.data() + static_cast<std::ptrdiff_t>(from) * width_;
        for (int x = 0; x < width_; ++x) to[x] += weight * row[x];
      }
    }
  }

  int width_;
  int height_;
  int chroma_width_ = 0;
  int chroma_height_ = 0;
  pixel::AxisPlan x_;
  pixel::AxisPlan y_;
  std::array<std::vector<float>, 2> wide_;
  std::array<std::vector<float>, 2> full_;
};

class RgbBridge : public TensorBridge {
 public:
  RgbBridge(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color)
      : c_(pixel::MakeYcbcrToRgb(color.matrix, color.range)), chroma_(width, height, subsampling, color.site) {
    // Of R′ = Y + red_cr Cr and so on, solved: Y by its weights, the colour differences from it.
    const double kr_kb = c_.red_cr * c_.blue_cb;
    const double denominator = kr_kb - c_.green_cr * c_.blue_cb - c_.green_cb * c_.red_cr;
    red_ = static_cast<float>(-c_.green_cr * c_.blue_cb / denominator);
    blue_ = static_cast<float>(-c_.green_cb * c_.red_cr / denominator);
  }

  pixel::Subsampling output_subsampling() const override { return {0, 0}; }
  void Prepare(const Image& image, pixel::ThreadPool& pool) override { chroma_.Run(image, pool); }

  void Fill(const Image& image, const InputArea& area, pixel::ThreadPool& pool) override {
    const pixel::ConstPlane luma = image.plane(0);
    const std::ptrdiff_t plane = std::ptrdiff_t{area.width} * area.height;
    FillRows(area, luma.width, luma.height, pool, [&](int from, int to, int inside) {
      const std::uint16_t* y = luma.Row(from) + area.x;
      const float* cb = chroma_.Row(0, from) + area.x;
      const float* cr = chroma_.Row(1, from) + area.x;
      float* red = area.data + static_cast<std::ptrdiff_t>(to) * area.width;
      ToRgb(y, cb, cr, inside, red, red + plane, red + 2 * plane);
      for (int p = 0; p < 3; ++p) RepeatLast(red + p * plane, inside, area.width);
    });
  }

  void Take(const OutputArea& area, Image& out, pixel::ThreadPool& pool) override {
    const auto rows = [&](int first, int last) {
      for (int y = first; y < last; ++y) {
        const float* red = area.data + static_cast<std::ptrdiff_t>(y) * area.stride;
        FromRgb(red, red + area.plane, red + 2 * area.plane, area.width, out.plane(0).Row(area.y + y) + area.x,
                out.plane(1).Row(area.y + y) + area.x, out.plane(2).Row(area.y + y) + area.x);
      }
    };
    pool.ParallelRows(area.height, kGrainRows, std::ref(rows));
  }

 private:
  /// Networks of this layout know nothing beyond [0, 1].
  static float Unit(double value) { return static_cast<float>(std::clamp(value, 0.0, 1.0)); }

  void ToRgb(const std::uint16_t* y, const float* cb, const float* cr, int count, float* red, float* green,
             float* blue) const {
    for (int x = 0; x < count; ++x) {
      const double luma = (y[x] - c_.luma_offset) * c_.luma_scale;
      red[x] = Unit(luma + c_.red_cr * cr[x]);
      green[x] = Unit(luma + c_.green_cb * cb[x] + c_.green_cr * cr[x]);
      blue[x] = Unit(luma + c_.blue_cb * cb[x]);
    }
  }

  void FromRgb(const float* red, const float* green, const float* blue, int count, std::uint16_t* y, std::uint16_t* cb,
               std::uint16_t* cr) const {
    const float span = static_cast<float>(1 / c_.luma_scale);
    const float offset = static_cast<float>(c_.luma_offset);
    const float cb_span = static_cast<float>(1 / c_.blue_cb);
    const float cr_span = static_cast<float>(1 / c_.red_cr);
    for (int x = 0; x < count; ++x) {
      const float r = Unit(red[x]);
      const float g = Unit(green[x]);
      const float b = Unit(blue[x]);
      const float luma = red_ * r + (1 - red_ - blue_) * g + blue_ * b;
      y[x] = ToSample(luma * span + offset);
      cb[x] = ToSample((b - luma) * cb_span + kChromaZero);
      cr[x] = ToSample((r - luma) * cr_span + kChromaZero);
    }
  }

  pixel::YcbcrToRgb c_;
  ChromaUpsampler chroma_;
  float red_ = 0;   ///< weight of R′ in Y′
  float blue_ = 0;
};

}  // namespace

bool TakesShuffled(ModelFile::Layout layout) { return layout == ModelFile::Layout::kLumaStrength; }

std::unique_ptr<TensorBridge> MakeBridge(ModelFile::Layout layout, int width, int height,
                                         pixel::Subsampling subsampling, pixel::ColorSpec color, float strength) {
  if (layout == ModelFile::Layout::kRgb) return std::make_unique<RgbBridge>(width, height, subsampling, color);
  return std::make_unique<LumaBridge>(color, strength);
}

}  // namespace framelift::pipeline
