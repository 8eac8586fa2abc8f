// Stages that look back in time: scene cuts (Note [Scene cuts] in pixel/scene_detector.h) and temporal denoising
// (Note [Temporal denoising] in pixel/temporal_denoise.h).
//
// Note [State on the device]
// One kernel decides whether a picture starts a scene and others read the decision. The state lies in device memory,
// so that no frame waits for a transfer to the host.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/contrast_curve.h"
#include "pixel/temporal_limits.h"

namespace reelmend::cuda {

/// Statistics of a thumbnail.
struct ThumbnailFacts {
  float histogram[64];
  float mean;
  float deviation;
};

/// Zeroed at the start of a stream, and again when its pictures change their size.
struct TemporalState {
  ThumbnailFacts facts[3];
  int next_thumbnail;
  int seen;
  int is_cut;
  int pictures_before;  ///< of this scene, before this picture
  int contrast_before;  ///< pictures in the contrast's window, before this one
  int contrast_slot;    ///< of the window's ring, for this picture
};

/// Averages cells of luma to the samples of a thumbnail, in 8-bit levels.
struct ShrinkKernel {
  Plane luma;
  float* thumbnails = nullptr;  ///< three of columns × rows
  const TemporalState* state = nullptr;
  int cell = 8;
  int columns = 0;
  int rows = 0;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= columns || y >= rows) return;
    const int step = cell >= 2 ? 2 : 1;
    const int count = cell * ((cell + step - 1) / step);
    int sum = 0;
    for (int j = 0; j < cell; j += step) {
      const std::uint16_t* samples = luma.Row(y * cell + j) + x * cell;
      for (int i = 0; i < cell; ++i) sum += samples[i];
    }
    float* levels = thumbnails + static_cast<std::ptrdiff_t>(state->next_thumbnail) * columns * rows;
    levels[static_cast<std::ptrdiff_t>(y) * columns + x] =
        static_cast<float>(sum) / static_cast<float>(count * pixel::kUnitsPer8BitLevel);
  }
};

/// Thresholds of pixel::SceneDetector, by value.
struct SceneLimits {
  float min_difference;
  float min_histogram;
  float min_structure;
  float min_deviation;
};

/// Compares the newest thumbnail with the two before it and advances the state to this picture. One tile.
struct SceneKernel {
  static constexpr int kThreads = 256;
  struct Shared {
    double sums[2][kThreads];
    double totals[2];
    unsigned histogram[64];
    int is_different[2];
  };

  const float* thumbnails = nullptr;
  TemporalState* state = nullptr;
  int cells = 0;
  SceneLimits limits;

  template <typename Block>
  REELMEND_HD void Total(Block& block, Shared& s) const {
    block.Each([&](int thread) {
      if (thread >= 2) return;
      double total = 0;
      for (int i = 0; i < kThreads; ++i) total += s.sums[thread][i];
      s.totals[thread] = total;
    });
  }

  template <typename Block>
  REELMEND_HD void Describe(Block& block, Shared& s, const float* levels, ThumbnailFacts& facts) const {
    block.Each([&](int thread) {
      if (thread < 64) s.histogram[thread] = 0;
    });
    block.Each([&](int thread) {
      double sum = 0;
      for (int i = thread; i < cells; i += kThreads) {
        sum += levels[i];
        block.Add(s.histogram[Min(static_cast<int>(levels[i] / 4), 63)], 1U);
      }
      s.sums[0][thread] = sum;
      s.sums[1][thread] = 0;
    });
    Total(block, s);
    const float share = 1.0F / static_cast<float>(cells);
    const float mean = static_cast<float>(s.totals[0] * share);
    block.Each([&](int thread) {
      if (thread < 64) facts.histogram[thread] = static_cast<float>(s.histogram[thread]) * share;
      double sum = 0;
      for (int i = thread; i < cells; i += kThreads) {
        const float d = levels[i] - mean;
        sum += d < 0 ? -d : d;
      }
      s.sums[0][thread] = sum;
    });
    Total(block, s);
    const float deviation = static_cast<float>(s.totals[0] * share);
    block.Each([&](int thread) {
      if (thread != 0) return;
      facts.mean = mean;
      facts.deviation = deviation;
    });
  }

  template <typename Block>
  REELMEND_HD void Differ(Block& block, Shared& s, int a, int b, int answer) const {
    const float* codes_a = thumbnails + static_cast<std::ptrdiff_t>(a) * cells;
    const float* codes_b = thumbnails + static_cast<std::ptrdiff_t>(b) * cells;
    const ThumbnailFacts& fa = state->facts[a];
    const ThumbnailFacts& fb = state->facts[b];
    const float shift = fa.mean - fb.mean;
    block.Each([&](int thread) {
      double difference = 0;
      double structure = 0;
      for (int i = thread; i < cells; i += kThreads) {
        const float d = codes_a[i] - codes_b[i];
        const float rest = d - shift;
        difference += d < 0 ? -d : d;
        structure += rest < 0 ? -rest : rest;
      }
      s.sums[0][thread] = difference;
      s.sums[1][thread] = structure;
    });
    Total(block, s);
    block.Each([&](int thread) {
      if (thread != 0) return;
      float moved = 0;
      for (int i = 0; i < 64; ++i) {
        const float d = fa.histogram[i] - fb.histogram[i];
        moved += d < 0 ? -d : d;
      }
      const auto count = static_cast<double>(cells);
      s.is_different[answer] =
          moved / 2 >= limits.min_histogram && s.totals[0] >= limits.min_difference * count &&
                  s.totals[1] >= limits.min_structure * count * (fa.deviation + fb.deviation)
              ? 1
              : 0;
    });
  }

  REELMEND_HD bool IsCut(const Shared& s, int now, int before) const {
    if (state->seen == 0) return true;
    if (state->facts[now].deviation < limits.min_deviation || s.is_different[0] == 0) return false;
    const bool is_after_blank = state->facts[before].deviation < limits.min_deviation;
    return !(is_after_blank && state->seen >= 2 && s.is_different[1] == 0);
  }

  REELMEND_HD void Advance(bool is_cut) const {
    TemporalState& t = *state;
    t.is_cut = is_cut ? 1 : 0;
    t.pictures_before = is_cut ? 0 : Min(t.pictures_before + 1, 1 << 24);  // keeps the rings' parity
    if (t.pictures_before == 1 << 24) t.pictures_before -= 4;
    t.contrast_before = is_cut ? 0 : Min(t.contrast_before + 1, pixel::kContrastWindow);
    t.contrast_slot = is_cut ? 0 : (t.contrast_slot + 1) % pixel::kContrastWindow;
    t.next_thumbnail = (t.next_thumbnail + 1) % 3;
    t.seen = Min(t.seen + 1, 2);
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int, int, int) const {
    const int now = state->next_thumbnail;
    const int before = (now + 2) % 3;
    const int earlier = (now + 1) % 3;
    Describe(block, s, thumbnails + static_cast<std::ptrdiff_t>(now) * cells, state->facts[now]);
    Differ(block, s, now, before, 0);
    Differ(block, s, now, earlier, 1);
    block.Each([&](int thread) {
      if (thread == 0) Advance(IsCut(s, now, before));
    });
  }
};

/// Pictures that temporal denoising keeps: in[n − 1]; a[n − 1], a[n − 2]; b[n − 1] … b[n − 4].
struct TemporalHistory {
  Plane inputs[1];
  Plane once[2];
  Plane twice[4];

  REELMEND_HD Plane Older(int step, int pictures) const {
    return step == 0 ? inputs[0] : step == 1 ? once[pictures & 1] : twice[pictures & 3];
  }
};

/// Blends with older pictures in three steps, all in one pass. A tile is four blocks of luma side by side and the
/// chroma that belongs to them.
struct TemporalKernel {
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 4;
  static constexpr int kTileWidth = kBlocks * pixel::kTemporalBlock;

  struct Step {
    int lag;  ///< pictures
    float falloff;
    double mean_difference;
  };
  struct Shared {
    std::uint16_t now[3][kThreads];  ///< of luma and, where it is as large, of both chroma planes
    unsigned sums[kBlocks];
    float weights[kBlocks];
  };

  const TemporalState* state = nullptr;
  Picture in;
  Picture out;
  TemporalHistory history[3];  ///< by plane
  Step steps[pixel::kTemporalSteps];
  float strength = 0;

  template <typename Block>
  REELMEND_HD void Weigh(Block& block, Shared& s, int step, int pictures, int x0, int y0) const {
    const Plane older = history[0].Older(step, pictures);
    block.Each([&](int thread) {
      if (thread < kBlocks) s.sums[thread] = 0;
    });
    block.Each([&](int thread) {
      const int x = x0 + thread % kTileWidth;
      const int y = y0 + thread / kTileWidth;
      if (x >= older.width || y >= older.height) return;
      const int d = int{s.now[0][thread]} - int{older.At(x, y)};
      block.Add(s.sums[thread % kTileWidth / pixel::kTemporalBlock], static_cast<unsigned>(d < 0 ? -d : d));
    });
    const float usable = pictures >= steps[step].lag ? strength : 0.0F;
    block.Each([&](int thread) {
      if (thread >= kBlocks) return;
      const int columns = Min(pixel::kTemporalBlock, older.width - (x0 + thread * pixel::kTemporalBlock));
      const int rows = Min(pixel::kTemporalBlock, older.height - y0);
      if (columns <= 0) return;
      const double times = static_cast<double>(s.sums[thread]) / (columns * rows) / steps[step].mean_difference;
      const double still = Clamp((pixel::kMoving - times) / (pixel::kMoving - pixel::kQuiet), 0.0, 1.0);
      s.weights[thread] = static_cast<float>(0.5 * usable * still);
    });
  }

  REELMEND_HD std::uint16_t Mix(std::uint16_t now, std::uint16_t older, float weight, float falloff) const {
    const float v = now;
    const float difference = static_cast<float>(older) - v;
    const float root = Max(0.0F, Fma(-(difference * difference), falloff, 1.0F));
    return ToSample(Fma(root * root * weight, difference, v));
  }

  /// The sample of plane `p` that belongs to a thread; false outside of the picture.
  REELMEND_HD bool SampleOf(int p, int thread, int tile_x, int tile_y, int& x, int& y) const {
    const int log2_x = p == 0 ? 0 : in.log2_x;
    const int log2_y = p == 0 ? 0 : in.log2_y;
    const int width = kTileWidth >> log2_x;
    const int rows = pixel::kTemporalBlock >> log2_y;
    if (thread >= width * rows) return false;
    x = tile_x * width + thread % width;
    y = tile_y * rows + thread / width;
    return x < in.planes[p].width && y < in.planes[p].height;
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int tile_x, int tile_y, int) const {
    const int pictures = state->pictures_before;
    block.Each([&](int thread) {
      for (int p = 0; p < 3; ++p) {
        int x = 0;
        int y = 0;
        if (SampleOf(p, thread, tile_x, tile_y, x, y)) s.now[p][thread] = in.planes[p].At(x, y);
      }
    });
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      Weigh(block, s, step, pictures, tile_x * kTileWidth, tile_y * pixel::kTemporalBlock);
      block.Each([&](int thread) {
        for (int p = 0; p < 3; ++p) {
          int x = 0;
          int y = 0;
          if (!SampleOf(p, thread, tile_x, tile_y, x, y)) continue;
          std::uint16_t& older = history[p].Older(step, pictures).At(x, y);
          const int width = kTileWidth >> (p == 0 ? 0 : in.log2_x);
          const float weight = s.weights[thread % width * kBlocks / width];
          const std::uint16_t now = s.now[p][thread];
          const std::uint16_t mixed = Mix(now, older, weight, steps[step].falloff);
          older = now;
          s.now[p][thread] = mixed;
          if (step == pixel::kTemporalSteps - 1) out.planes[p].At(x, y) = mixed;
        }
      });
    }
  }
};

}  // namespace reelmend::cuda
