// The last stages in one pass over the picture: colour → contrast → sharpen → 8 bits into the encoder's surface.
// Colour: pixel/color.cc. Contrast: Note [Method] in pixel/contrast.cc. Sharpening: Note [Method] in pixel/sharpen.cc.
#pragma once

#include "cuda/launch.h"
#include "cuda/time_kernels.h"
#include "cuda/views.h"
#include "pixel/contrast_curve.h"
#include "pixel/contrast_levels.h"

namespace reelmend::cuda {

/// Luma of a picture in the output's colour space (pixel::ColorCoefficients).
struct LumaReader {
  Picture in;
  bool converts = false;
  bool mixes_chroma = false;  ///< false: only the range changes
  float scale = 1;
  float offset = 0;
  float cb = 0;
  float cr = 0;

  REELMEND_HD std::uint16_t At(int x, int y) const {
    const std::uint16_t luma = in.planes[0].At(x, y);
    if (!converts) return luma;
    float part = 0;
    if (mixes_chroma) {
      const ChromaTaps taps = TapsAt(x, y, in);
      part = Fma(taps.Of(in.planes[1]) - 32768.0F, cb, (taps.Of(in.planes[2]) - 32768.0F) * cr);
    }
    return ToSample(Fma(luma, scale, offset + part));
  }
};

/// Change of luma v in a segment: value + slope × v.
struct CurvePiece {
  float value;
  float slope;
};

/// Updates the histogram window of one tile (x, y) and computes the tile's curve.
struct CurveKernel {
  static constexpr int kThreads = 256;
  struct Shared {
    std::uint32_t bins[pixel::kMaxBins];
  };

  LumaReader luma;
  pixel::RangeLayout layout;
  int across = 1;  ///< tiles
  int down = 1;
  const TemporalState* state = nullptr;
  std::uint32_t* history = nullptr;  ///< [kContrastWindow][down × across][kMaxBins]
  std::uint32_t* sums = nullptr;     ///< [down × across][kMaxBins]
  CurvePiece* pieces = nullptr;      ///< [down × across][kMaxSegments]

  REELMEND_HD static int Begin(int size, int tile, int count) {
    return static_cast<int>(static_cast<long long>(size) * tile / count);
  }

  template <typename Block>
  REELMEND_HD void Count(Block& block, Shared& s, int tile_x, int tile_y) const {
    const int x0 = Begin(luma.in.planes[0].width, tile_x, across);
    const int y0 = Begin(luma.in.planes[0].height, tile_y, down);
    const int width = Begin(luma.in.planes[0].width, tile_x + 1, across) - x0;
    const int height = Begin(luma.in.planes[0].height, tile_y + 1, down) - y0;
    const double samples = static_cast<double>(width) * height;
    const int step = Max(1, static_cast<int>(ceil(sqrt(samples / pixel::kSamplesPerTile) - 1e-9)));
    const int columns = (width + step - 1) / step;
    const int count = columns * ((height + step - 1) / step);
    block.Each([&](int thread) {
      if (thread < pixel::kMaxBins) s.bins[thread] = 0;
    });
    block.Each([&](int thread) {
      for (int i = thread; i < count; i += kThreads) {
        const int v = luma.At(x0 + i % columns * step, y0 + i / columns * step);
        block.Add(s.bins[Clamp((v - layout.base) >> pixel::kBinBits, 0, layout.bins - 1)], std::uint32_t{1});
      }
    });
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int tile_x, int tile_y, int) const {
    const int tile = tile_y * across + tile_x;
    const int before = state->contrast_before;
    std::uint32_t* slot =
        history + (static_cast<std::ptrdiff_t>(state->contrast_slot) * across * down + tile) * pixel::kMaxBins;
    std::uint32_t* sum = sums + static_cast<std::ptrdiff_t>(tile) * pixel::kMaxBins;
    Count(block, s, tile_x, tile_y);
    block.Each([&](int thread) {
      if (thread >= layout.bins) return;
      const std::uint32_t kept = before == 0 ? 0 : sum[thread] - (before == pixel::kContrastWindow ? slot[thread] : 0);
      slot[thread] = s.bins[thread];
      sum[thread] = kept + s.bins[thread];
    });
    block.Each([&](int thread) {
      if (thread != 0) return;
      float curve[pixel::kMaxSegments + 1];
      pixel::MakeCurve(sum, layout, curve);
      const pixel::CurveDomain& domain = layout.domain;
      for (int i = 0; i < domain.segments; ++i) {
        const float slope = (curve[i + 1] - curve[i]) / domain.segment_width;
        const float edge = domain.base + domain.segment_width * static_cast<float>(i);
        pieces[static_cast<std::ptrdiff_t>(tile) * pixel::kMaxSegments + i] = {curve[i] - slope * edge, slope};
      }
    });
  }
};

/// Combines the curve of the levels (Note [Levels] in pixel/contrast_levels.h) with the tiles' pieces, which are multiplied
/// by their strength here. One block.
struct LevelKernel {
  static constexpr int kThreads = 256;
  struct Shared {
    std::uint32_t bins[pixel::kMaxBins];
    CurvePiece pieces[pixel::kMaxSegments];
    float local;
  };

  pixel::RangeLayout layout;
  pixel::LevelLift lift;
  int tiles = 1;
  float strength = 0;  ///< of the local contrast
  const TemporalState* state = nullptr;
  const std::uint32_t* history = nullptr;  ///< CurveKernel's
  pixel::Levels* recent = nullptr;         ///< [kContrastWindow]
  CurvePiece* pieces = nullptr;            ///< CurveKernel's
  float* chroma_gain = nullptr;

  REELMEND_HD void Decide(Shared& s) const {
    const int newest = state->contrast_slot;
    const int pictures = Min(state->contrast_before + 1, pixel::kContrastWindow);
    recent[newest] = pixel::MeasureLevels(s.bins, layout, lift.bars);
    const auto levels = pixel::LevelCurve::Of(lift, pixel::MeanLevels(recent, newest, pictures));
    const pixel::CurveDomain& domain = layout.domain;
    for (int i = 0; i < domain.segments; ++i) {
      const float left = levels.ChangeAt(i, domain);
      const float slope = (levels.ChangeAt(i + 1, domain) - left) / domain.segment_width;
      s.pieces[i] = {left - slope * (domain.base + domain.segment_width * static_cast<float>(i)), slope};
    }
    s.local = strength * levels.local;
    *chroma_gain = levels.chroma();
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int, int, int) const {
    block.Each([&](int thread) {
      if (thread >= layout.bins) return;
      const std::uint32_t* slot = history + static_cast<std::ptrdiff_t>(state->contrast_slot) * tiles * pixel::kMaxBins;
      s.bins[thread] = 0;
      for (int tile = 0; tile < tiles; ++tile) s.bins[thread] += slot[tile * pixel::kMaxBins + thread];
    });
    block.Each([&](int thread) {
      if (thread == 0) Decide(s);
    });
    block.Each([&](int thread) {
      for (int i = thread; i < tiles * pixel::kMaxSegments; i += kThreads) {
        const int segment = i % pixel::kMaxSegments;
        if (segment >= layout.domain.segments) continue;
        pieces[i] = {s.pieces[segment].value + s.local * pieces[i].value,
                     s.pieces[segment].slope + s.local * pieces[i].slope};
      }
    });
  }
};

/// The curves of all tiles, interpolated between the tiles' centres.
struct ContrastMap {
  const CurvePiece* pieces = nullptr;  ///< null: no contrast
  pixel::CurveDomain domain;
  int across = 1;
  int down = 1;
  int centre_x[pixel::kMaxTiles] = {};
  int centre_y[pixel::kMaxTiles] = {};
  float strength = 0;

  struct Between {
    int first;
    int second;
    float way;
  };

  REELMEND_HD static Between Find(const int* centres, int count, int at) {
    int right = 0;
    while (right < count && centres[right] <= at) ++right;
    const int first = Max(right - 1, 0);
    const int second = Min(right, count - 1);
    const int distance = centres[second] - centres[first];
    return {first, second,
            distance > 0 ? static_cast<float>(at - centres[first]) / static_cast<float>(distance) : 0.0F};
  }

  REELMEND_HD float Apply(float luma, int x, int y) const {
    const float top = domain.base + domain.segment_width * static_cast<float>(domain.segments);
    if (luma < domain.base || luma > top) return luma;
    const int segment =
        Clamp(static_cast<int>((luma - domain.base) * (1.0F / domain.segment_width)), 0, domain.segments - 1);
    const Between column = Find(centre_x, across, x);
    const Between row = Find(centre_y, down, y);
    const auto piece = [&](int tile_x) {
      const CurvePiece a = pieces[(row.first * across + tile_x) * pixel::kMaxSegments + segment];
      const CurvePiece b = pieces[(row.second * across + tile_x) * pixel::kMaxSegments + segment];
      return CurvePiece{strength * Fma(row.way, b.value - a.value, a.value),
                        strength * Fma(row.way, b.slope - a.slope, a.slope)};
    };
    const CurvePiece left = piece(column.first);
    const CurvePiece right = piece(column.second);
    const float value = Fma(column.way, right.value - left.value, left.value);
    const float slope = Fma(column.way, right.slope - left.slope, left.slope);
    const float curved = luma + Fma(slope, luma, value);
    // Levels within the range stay within it; levels outside (headroom, sync) stay as they are.
    return Min(Max(curved, Min(luma, domain.black)), Max(luma, domain.white));
  }
};

/// Luma of the output: a tile of 128 × 8 samples, four of a row to a thread.
struct FinishLumaKernel {
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 4;
  static constexpr int kWidth = 128;
  static constexpr int kRows = 8;
  static constexpr int kSharedWidth = kWidth + 2;
  static constexpr int kSharedSamples = kSharedWidth * (kRows + 2);
  struct Shared {
    std::uint16_t samples[kSharedSamples];
  };

  LumaReader luma;
  ContrastMap contrast;
  EncoderPicture out;
  float lobe = 0;  ///< −4 × strength / 5; 0: no sharpening
  std::uint16_t black = 0;
  std::uint16_t white = 0;

  REELMEND_HD std::uint16_t Curved(int x, int y) const {
    const std::uint16_t v = luma.At(x, y);
    return contrast.pieces == nullptr ? v : ToSample(contrast.Apply(v, x, y));
  }

  REELMEND_HD static int Mean(int a, int b) { return (a + b + 1) >> 1; }

  REELMEND_HD std::uint16_t Sharpened(const std::uint16_t* s) const {
    const int up = s[-kSharedWidth];
    const int left = s[-1];
    const int middle = s[0];
    const int right = s[1];
    const int below = s[kSharedWidth];
    const int low = Min(Min(Min(up, below), Min(left, right)), middle);
    const int high = Max(Max(Max(up, below), Max(left, right)), middle);
    const float mean = static_cast<float>(Mean(Mean(up, below), Mean(left, right)));
    const float room = static_cast<float>(Min(Max(low - int{black}, 0), Max(int{white} - high, 0)));
    const float above_black = static_cast<float>(Max(high - int{black}, 0));
    const float amplitude = room / SquareRoot(Max(1.0F, room * above_black));
    const float w4 = lobe * amplitude;  // weight of the four neighbours together
    const int sharp = ToSample(Fma(w4, mean, static_cast<float>(middle)) / (w4 + 1.0F));
    return static_cast<std::uint16_t>(Min(Max(sharp, low), high));
  }

  REELMEND_HD void Store(const std::uint8_t (&levels)[kLanes], int x, int y) const {
    std::uint8_t* to = out.luma + y * out.luma_stride + x;
#if defined(__CUDA_ARCH__)
    if (x + kLanes <= out.width) {  // rows and tiles begin at multiples of four
      *reinterpret_cast<uchar4*>(to) = make_uchar4(levels[0], levels[1], levels[2], levels[3]);
      return;
    }
#endif
    for (int i = 0; i < kLanes && x + i < out.width; ++i) to[i] = levels[i];
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int tile_x, int tile_y, int) const {
    const int x0 = tile_x * kWidth;
    const int y0 = tile_y * kRows;
    block.Each([&](int thread) {
      for (int i = thread; i < kSharedSamples; i += kThreads) {
        const int x = x0 + i % kSharedWidth - 1;
        const int y = y0 + i / kSharedWidth - 1;
        if (x > out.width || y > out.height) continue;
        s.samples[i] = Curved(Clamp(x, 0, out.width - 1), Clamp(y, 0, out.height - 1));
      }
    });
    block.Each([&](int thread) {
      const int x = thread * kLanes % kWidth;
      const int y = thread * kLanes / kWidth;
      if (x0 + x >= out.width || y0 + y >= out.height) return;
      const std::uint16_t* first = s.samples + (y + 1) * kSharedWidth + x + 1;
      std::uint8_t levels[kLanes] = {};
      for (int i = 0; i < kLanes && x0 + x + i < out.width; ++i)
        levels[i] = ToLevel8(lobe == 0 ? first[i] : Sharpened(first + i));
      Store(levels, x0 + x, y0 + y);
    });
  }
};

/// Chroma of the output; both planes.
struct FinishChromaKernel {
  Picture in;
  bool converts = false;
  float matrix[2][2] = {{1, 0}, {0, 1}};
  const float* gain = nullptr;  ///< of LevelKernel; null: 1
  float limit = 0;              ///< pixel::ChromaLimit
  EncoderPicture out;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= in.planes[1].width || y >= in.planes[1].height) return;
    std::uint16_t cb = in.planes[1].At(x, y);
    std::uint16_t cr = in.planes[2].At(x, y);
    if (converts) {
      const float b = static_cast<float>(cb) - 32768.0F;
      const float r = static_cast<float>(cr) - 32768.0F;
      cb = ToSample(Fma(r, matrix[0][1], Fma(b, matrix[0][0], 32768.0F)));
      cr = ToSample(Fma(r, matrix[1][1], Fma(b, matrix[1][0], 32768.0F)));
    }
    if (gain != nullptr && *gain > 1) {
      const float b = static_cast<float>(cb) - 32768.0F;
      const float r = static_cast<float>(cr) - 32768.0F;
      const float factor = pixel::ChromaFactor(b, r, *gain, limit);
      cb = ToSample(Fma(b, factor, 32768.0F));
      cr = ToSample(Fma(r, factor, 32768.0F));
    }
    const std::ptrdiff_t at = y * out.chroma_stride + static_cast<std::ptrdiff_t>(x) * out.chroma_step;
    out.chroma[0][at] = ToLevel8(cb);
    out.chroma[1][at] = ToLevel8(cr);
  }
};

}  // namespace reelmend::cuda
