#include "cpu/tensor_converter.h"

#include <algorithm>
#include <utility>

#include "pixel/color_matrix.h"
#include "pixel/stages.h"

namespace reelmend::cpu {
namespace {

using inference::InputArea;
using inference::OutputArea;
using pixel::Image;

constexpr int kGrainRows = 16;
constexpr float kChromaZero = 32768;

std::uint16_t ToSample(float value) {
  return static_cast<std::uint16_t>(static_cast<int>(std::clamp(value, 0.0F, 65535.0F) + 0.5F));
}

// Loops that run for every frame, compiled for several instruction sets.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define REELMEND_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define REELMEND_VECTORS
#endif

REELMEND_VECTORS void SamplesToFloats(const std::uint16_t* in, float* out, int count, float offset, float scale) {
  for (int x = 0; x < count; ++x) out[x] = (static_cast<float>(static_cast<int>(in[x])) - offset) * scale;
}

REELMEND_VECTORS void FloatsToSamples(const float* in, std::uint16_t* out, int count, float offset, float scale) {
  for (int x = 0; x < count; ++x) {
    float value = in[x] * scale + offset + 0.5F;
    value = value < 0.0F ? 0.0F : value;  // written so that NaN becomes 0
    value = value > 65535.0F ? 65535.0F : value;
    out[x] = static_cast<std::uint16_t>(static_cast<int>(value > 0.0F ? value : 0.0F));
  }
}

REELMEND_VECTORS void InterleaveTwo(const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* out, int count) {
  for (int x = 0; x < count; ++x) {
    out[2 * x] = a[x];
    out[2 * x + 1] = b[x];
  }
}

REELMEND_VECTORS void InterleaveFour(const std::uint16_t* a, const std::uint16_t* b, const std::uint16_t* c,
                                      const std::uint16_t* d, std::uint16_t* out, int count) {
  for (int x = 0; x < count; ++x) {
    out[4 * x] = a[x];
    out[4 * x + 1] = b[x];
    out[4 * x + 2] = c[x];
    out[4 * x + 3] = d[x];
  }
}

constexpr int kStretch = 240;  ///< samples of each plane that are interleaved at once: they fit the cache
using Parts = std::uint16_t[inference::kMaxShuffle][kStretch];

/// Every plane with the fourth behind it, then these four.
void InterleaveEight(const Parts& parts, std::uint16_t* out, int count) {
  alignas(64) std::uint16_t pairs[4][2 * kStretch];
  for (int i = 0; i < 4; ++i) InterleaveTwo(parts[i], parts[i + 4], pairs[i], count);
  InterleaveFour(pairs[0], pairs[1], pairs[2], pairs[3], out, 2 * count);
}

/// Interleaves `by` planes; returns whether there is a fast way for so many.
bool Interleave(const Parts& parts, int by, std::uint16_t* out, int count) {
  switch (by) {
    case 2: InterleaveTwo(parts[0], parts[1], out, count); return true;
    case 4: InterleaveFour(parts[0], parts[1], parts[2], parts[3], out, count); return true;
    case 8: InterleaveEight(parts, out, count); return true;
    default: return false;
  }
}

/// Converts row `r` of a plane of a shuffled area (OutputArea::shuffle), in stretches that fit the cache.
void TakeShuffledRow(const OutputArea& area, int plane, int r, std::uint16_t* out, float offset, float scale) {
  alignas(64) Parts parts;
  const int by = area.shuffle;
  const int first_plane = plane * by * by + r % by * by;
  const float* in = area.data + first_plane * area.plane + static_cast<std::ptrdiff_t>(r / by) * area.stride;
  for (int first = 0; first < area.width; first += by * kStretch) {
    const int count = std::min(by * kStretch, area.width - first);
    for (int i = 0; i < by; ++i) {
      FloatsToSamples(in + i * area.plane + first / by, parts[i], (count + by - 1 - i) / by, offset, scale);
    }
    const int whole = count / by;  // complete groups; the rest of the last group is copied one by one
    std::uint16_t* to = out + first;
    const bool is_done = Interleave(parts, by, to, whole);
    for (int i = is_done ? by * whole : 0; i < count; ++i) to[i] = parts[i % by][i / by];
  }
}

/// Converts row `r` of the area's plane `plane` into the picture.
void TakeRow(const OutputArea& area, int plane, int r, Image& out, float offset, float scale) {
  std::uint16_t* to = out.plane(plane).Row(area.y + r) + area.x;
  if (area.shuffle > 1) return TakeShuffledRow(area, plane, r, to, offset, scale);
  FloatsToSamples(area.data + plane * area.plane + static_cast<std::ptrdiff_t>(r) * area.stride, to, area.width, offset, scale);
}

/// Calls `convert` for each row of an area. Rows and columns beyond the picture repeat its last one.
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

/// From samples to a plane's values: (sample − offset) × scale.
struct LinearScale {
  float offset = 0;
  float scale = 1;
};

LinearScale LumaScaleOf(pixel::Range range) {
  const pixel::SampleLevels levels = pixel::SampleLevelsOf(range);
  return {static_cast<float>(levels.luma_black), static_cast<float>(1 / levels.luma_span)};
}

LinearScale ChromaScaleOf(pixel::Range range) {
  return {kChromaZero, static_cast<float>(1 / pixel::SampleLevelsOf(range).chroma_span)};
}

/// Converts one row into a plane of the input; values beyond the picture repeat the last one.
void FillRow(const std::uint16_t* from, float* row, int inside, int width, LinearScale scale) {
  SamplesToFloats(from, row, inside, scale.offset, scale.scale);
  RepeatLast(row, inside, width);
}

class LumaConverter : public TensorConverter {
 public:
  LumaConverter(pixel::ColorSpec color, float strength) : strength_(strength), luma_(LumaScaleOf(color.range)) {}

  pixel::Subsampling output_subsampling() const override { return {1, 1}; }
  void Prepare(const Image&, pixel::ThreadPool&) override {}

  void PackInput(const Image& image, const InputArea& area, pixel::ThreadPool& pool) override {
    const pixel::ConstPlane luma = image.plane(0);
    FillRows(area, luma.width, luma.height, pool, [&](int from, int to, int inside) {
      float* row = area.data + static_cast<std::ptrdiff_t>(to) * area.width;
      FillRow(luma.Row(from) + area.x, row, inside, area.width, luma_);
      std::fill_n(row + std::ptrdiff_t{area.width} * area.height, area.width, strength_);
    });
  }

  void UnpackOutput(const OutputArea& area, Image& out, pixel::ThreadPool& pool) override {
    const auto rows = [&](int first, int last) {
      for (int y = first; y < last; ++y) TakeRow(area, 0, y, out, luma_.offset, 1 / luma_.scale);
    };
    pool.ParallelRows(area.height, kGrainRows, std::ref(rows));
  }

 private:
  float strength_;
  LinearScale luma_;
};

/// Chroma planes on luma's grid.
class ChromaUpsampler {
 public:
  ChromaUpsampler(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color) {
    constexpr pixel::Subsampling kNone = {0, 0};
    if (subsampling == kNone) return;
    resizer_ = std::make_unique<pixel::Resizer>(width, height, subsampling, color, width, height, kNone);
    full_ = Image(width, height, kNone, color);  // its luma is not used
  }

  void Run(const Image& image, pixel::ThreadPool& pool) {
    if (resizer_) resizer_->Run(image, full_, pool, pixel::Planes::kChroma);
  }

  /// Calls `convert` for each row of an area with Y, Cb and Cr of the picture that Run was given (it must be unchanged), the
  /// row of the first plane, and the number of its values inside the picture.
  template <typename Convert>
  void FillAreaRows(const Image& image, const InputArea& area, pixel::ThreadPool& pool, const Convert& convert) const {
    const pixel::ConstPlane luma = image.plane(0);
    const pixel::ConstPlane cb = Of(image, 1);
    const pixel::ConstPlane cr = Of(image, 2);
    FillRows(area, luma.width, luma.height, pool, [&](int from, int to, int inside) {
      convert(luma.Row(from) + area.x, cb.Row(from) + area.x, cr.Row(from) + area.x,
              area.data + static_cast<std::ptrdiff_t>(to) * area.width, inside);
    });
  }

 private:
  pixel::ConstPlane Of(const Image& image, int plane) const {
    return resizer_ ? std::as_const(full_).plane(plane) : image.plane(plane);
  }

  std::unique_ptr<pixel::Resizer> resizer_;  ///< null if chroma has luma's resolution already
  Image full_;
};

class YcbcrConverter : public TensorConverter {
 public:
  YcbcrConverter(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color, float strength)
      : strength_(strength),
        luma_(LumaScaleOf(color.range)),
        chroma_(ChromaScaleOf(color.range)),
        full_(width, height, subsampling, color) {}

  pixel::Subsampling output_subsampling() const override { return {0, 0}; }
  void Prepare(const Image& image, pixel::ThreadPool& pool) override { full_.Run(image, pool); }

  void PackInput(const Image& image, const InputArea& area, pixel::ThreadPool& pool) override {
    const std::ptrdiff_t plane = std::ptrdiff_t{area.width} * area.height;
    full_.FillAreaRows(image, area, pool, [&](const auto* y, const auto* cb, const auto* cr, float* row, int inside) {
      FillRow(y, row, inside, area.width, luma_);
      std::fill_n(row + plane, area.width, strength_);
      FillRow(cb, row + 2 * plane, inside, area.width, chroma_);
      FillRow(cr, row + 3 * plane, inside, area.width, chroma_);
    });
  }

  void UnpackOutput(const OutputArea& area, Image& out, pixel::ThreadPool& pool) override {
    const auto rows = [&](int first, int last) {
      for (int y = first; y < last; ++y) {
        TakeRow(area, 0, y, out, luma_.offset, 1 / luma_.scale);
        for (int p = 1; p < 3; ++p) TakeRow(area, p, y, out, chroma_.offset, 1 / chroma_.scale);
      }
    };
    pool.ParallelRows(area.height, kGrainRows, std::ref(rows));
  }

 private:
  float strength_;
  LinearScale luma_;
  LinearScale chroma_;
  ChromaUpsampler full_;
};

class RgbConverter : public TensorConverter {
 public:
  RgbConverter(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color)
      : c_(pixel::MakeYcbcrToRgb(color.matrix, color.range)), full_(width, height, subsampling, color) {
    // Solves R′ = Y + red_cr Cr and so on for the weights of R′ and B′ in Y; the colour differences follow from Y.
    const double kr_kb = c_.red_cr * c_.blue_cb;
    const double denominator = kr_kb - c_.green_cr * c_.blue_cb - c_.green_cb * c_.red_cr;
    red_ = static_cast<float>(-c_.green_cr * c_.blue_cb / denominator);
    blue_ = static_cast<float>(-c_.green_cb * c_.red_cr / denominator);
  }

  pixel::Subsampling output_subsampling() const override { return {0, 0}; }
  void Prepare(const Image& image, pixel::ThreadPool& pool) override { full_.Run(image, pool); }

  void PackInput(const Image& image, const InputArea& area, pixel::ThreadPool& pool) override {
    const std::ptrdiff_t plane = std::ptrdiff_t{area.width} * area.height;
    full_.FillAreaRows(image, area, pool, [&](const auto* y, const auto* cb, const auto* cr, float* red, int inside) {
      ToRgb(y, cb, cr, inside, red, red + plane, red + 2 * plane);
      for (int p = 0; p < 3; ++p) RepeatLast(red + p * plane, inside, area.width);
    });
  }

  void UnpackOutput(const OutputArea& area, Image& out, pixel::ThreadPool& pool) override {
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
  /// Networks of this layout have learned no values outside [0, 1]. NaN becomes 0, as on a GPU.
  static float Unit(double value) { return value > 0 ? static_cast<float>(std::min(value, 1.0)) : 0.0F; }

  void ToRgb(const std::uint16_t* y, const std::uint16_t* cb, const std::uint16_t* cr, int count, float* red, float* green,
             float* blue) const {
    for (int x = 0; x < count; ++x) {
      const double luma = (y[x] - c_.luma_offset) * c_.luma_scale;
      const double b = cb[x] - double{kChromaZero};
      const double r = cr[x] - double{kChromaZero};
      red[x] = Unit(luma + c_.red_cr * r);
      green[x] = Unit(luma + c_.green_cb * b + c_.green_cr * r);
      blue[x] = Unit(luma + c_.blue_cb * b);
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
  ChromaUpsampler full_;
  float red_ = 0;   ///< weight of R′ in Y′
  float blue_ = 0;
};

}  // namespace

bool TakesShuffled(ModelFile::Layout layout) {
  return layout == ModelFile::Layout::kLumaStrength || layout == ModelFile::Layout::kYcbcrStrength;
}

std::unique_ptr<TensorConverter> MakeTensorConverter(ModelFile::Layout layout, int width, int height,
                                         pixel::Subsampling subsampling, pixel::ColorSpec color, float strength) {
  if (layout == ModelFile::Layout::kRgb) return std::make_unique<RgbConverter>(width, height, subsampling, color);
  if (layout == ModelFile::Layout::kYcbcrStrength) {
    return std::make_unique<YcbcrConverter>(width, height, subsampling, color, strength);
  }
  return std::make_unique<LumaConverter>(color, strength);
}

}  // namespace reelmend::cpu
