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
#include "pixel/motion_vector.h"
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
    t.pictures_before = is_cut ? 0 : t.pictures_before + 1;
    if (t.pictures_before == 1 << 24) t.pictures_before -= 60;  // a multiple of the rings' lengths
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

/// A plane of the pictures that temporal denoising keeps. A ring holds the picture that is written now, and those before it back to the
/// longest lag that looks at it.
struct TemporalHistory {
  static constexpr int kInputs = pixel::kTemporalLags[2] + 1;  ///< the motion search compares inputs
  static constexpr int kOnce = pixel::kTemporalLags[1] + 1;
  static constexpr int kTwice = pixel::kTemporalLags[2] + 1;
  static constexpr int kPictures = kInputs + kOnce + kTwice;
  Plane inputs[kInputs];
  Plane once[kOnce];
  Plane twice[kTwice];

  /// What a step blends, of the picture with a number.
  REELMEND_HD const Plane& Of(int step, int number) const {
    return step == 0 ? inputs[number % kInputs] : step == 1 ? once[number % kOnce] : twice[number % kTwice];
  }
};

/// The motion of all blocks of luma, row by row, kTemporalSteps for each.
struct MotionField {
  pixel::MotionVector* vectors = nullptr;
  pixel::MotionErrors* errors = nullptr;
  pixel::MotionVector* global = nullptr;  ///< one for each step: Note [Global motion] in pixel/motion_search.h
  int columns = 0;
  int rows = 0;

  REELMEND_HD std::ptrdiff_t Index(int column, int row) const {
    return (static_cast<std::ptrdiff_t>(row) * columns + column) * pixel::kTemporalSteps;
  }
  REELMEND_HD pixel::MotionVector* At(int column, int row) const { return vectors + Index(column, row); }
};

/// A sample of an older plane along a vector; the plane's subsampling.
REELMEND_HD inline std::uint16_t DisplacedSample(const Plane& older, pixel::MotionVector vector, int log2_x, int log2_y, int x, int y) {
  if (vector == pixel::MotionVector{}) return older.At(x, y);
  const pixel::InterpolationOffset offset = pixel::InterpolationOffsetOf(vector, log2_x, log2_y);
  const int x0 = x + offset.x - 1;
  const int y0 = y + offset.y - 1;
  float sum = 0;
  for (int j = 0; j < pixel::kMotionTaps; ++j) {
    float row = 0;
    for (int i = 0; i < pixel::kMotionTaps; ++i) {
      row = Fma(static_cast<float>(older.Near(x0 + i, y0 + j)), pixel::MotionWeight(offset.phase_x, i), row);
    }
    sum = Fma(row, pixel::MotionWeight(offset.phase_y, j), sum);
  }
  return ToSample(sum);
}

/// A tile of four blocks of luma side by side; each thread has a sample.
struct BlockTile {
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 4;
  static constexpr int kTileWidth = kBlocks * pixel::kTemporalBlock;

  /// pixel's Note [Texture limit]: sums of each block, from the samples of the threads.
  template <typename Block>
  REELMEND_HD static void MeasureTexture(Block& block, const Plane& luma, const std::uint16_t* samples, unsigned* across, unsigned* down,
                                         int tile_x, int tile_y) {
    const int x0 = tile_x * kTileWidth;
    const int y0 = tile_y * pixel::kTemporalBlock;
    block.Each([&](int thread) {
      if (thread < kBlocks) across[thread] = down[thread] = 0;
    });
    block.Each([&](int thread) {
      const int column = thread % kTileWidth;
      const int row = thread / kTileWidth;
      const int index = column / pixel::kTemporalBlock;
      if (x0 + column >= luma.width || y0 + row >= luma.height) return;
      const std::uint16_t* now = samples + thread;
      const bool has_right = (column + 1) % pixel::kTemporalBlock != 0 && x0 + column + 1 < luma.width;
      const bool has_lower = row + 1 < pixel::kTemporalBlock && y0 + row + 1 < luma.height;
      if (has_right) block.Add(across[index], AbsoluteDifference(now[0], now[1]));
      if (has_lower) block.Add(down[index], AbsoluteDifference(now[0], now[kTileWidth]));
    });
  }
};

/// Blends with older pictures in three steps, all in one pass. A tile is four blocks of luma side by side and the
/// chroma that belongs to them.
struct TemporalKernel : BlockTile {
  struct Step {
    int lag;  ///< pictures
    float falloff;
    double mean_difference;
    double grain_difference;
  };
  struct Shared {
    std::uint16_t now[3][kThreads];    ///< of luma and, where it is as large, of both chroma planes
    std::uint16_t still[3][kThreads];  ///< the older samples at the same position …
    std::uint16_t older[3][kThreads];  ///< … and along the motion
    unsigned still_sums[kBlocks];
    unsigned sums[kBlocks];
    unsigned across[kBlocks];  ///< differences of neighbours
    unsigned down[kBlocks];
    float weights[kBlocks];
  };

  const TemporalState* state = nullptr;
  Picture in;
  Picture out;
  TemporalHistory history[3];  ///< by plane
  MotionField field;
  Step steps[pixel::kTemporalSteps];
  float strength = 0;

  template <typename Block>
  REELMEND_HD void Weigh(Block& block, Shared& s, int step, bool is_usable, int x0, int y0) const {
    const Plane& luma = in.planes[0];
    block.Each([&](int thread) {
      if (thread < kBlocks) s.sums[thread] = s.still_sums[thread] = 0;
    });
    block.Each([&](int thread) {
      const int x = x0 + thread % kTileWidth;
      const int y = y0 + thread / kTileWidth;
      if (x >= luma.width || y >= luma.height) return;
      const int index = thread % kTileWidth / pixel::kTemporalBlock;
      block.Add(s.sums[index], AbsoluteDifference(s.now[0][thread], s.older[0][thread]));
      block.Add(s.still_sums[index], AbsoluteDifference(s.now[0][thread], s.still[0][thread]));
    });
    const float usable = is_usable ? strength : 0.0F;
    block.Each([&](int thread) {
      if (thread >= kBlocks) return;
      const int columns = Min(pixel::kTemporalBlock, luma.width - (x0 + thread * pixel::kTemporalBlock));
      const int rows = Min(pixel::kTemporalBlock, luma.height - y0);
      if (columns <= 0) return;
      const double difference = static_cast<double>(Min(s.sums[thread], s.still_sums[thread])) / (columns * rows);
      const double texture = pixel::TextureOf(s.across[thread], s.down[thread], columns, rows);
      const double share = pixel::BlockShare(difference, texture, steps[step].mean_difference, steps[step].grain_difference);
      s.weights[thread] = static_cast<float>(0.5 * usable * share);
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
    MeasureTexture(block, in.planes[0], s.now[0], s.across, s.down, tile_x, tile_y);
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      const bool is_usable = pictures >= steps[step].lag;
      block.Each([&](int thread) {
        for (int p = 0; p < 3; ++p) {
          int x = 0;
          int y = 0;
          if (!SampleOf(p, thread, tile_x, tile_y, x, y)) continue;
          if (is_usable) {
            const Plane& older = history[p].Of(step, pictures - steps[step].lag);
            s.still[p][thread] = older.At(x, y);
            s.older[p][thread] = Along(older, p, step, x, y);
          } else {
            s.still[p][thread] = s.older[p][thread] = s.now[p][thread];
          }
        }
      });
      Weigh(block, s, step, is_usable, tile_x * kTileWidth, tile_y * pixel::kTemporalBlock);
      block.Each([&](int thread) {
        for (int p = 0; p < 3; ++p) {
          int x = 0;
          int y = 0;
          if (!SampleOf(p, thread, tile_x, tile_y, x, y)) continue;
          const int width = kTileWidth >> (p == 0 ? 0 : in.log2_x);
          const int index = thread % width * kBlocks / width;
          const std::uint16_t now = s.now[p][thread];
          const std::uint16_t older = s.still_sums[index] < s.sums[index] ? s.still[p][thread] : s.older[p][thread];
          const std::uint16_t mixed = Mix(now, older, s.weights[index], steps[step].falloff);
          history[p].Of(step, pictures).At(x, y) = now;
          s.now[p][thread] = mixed;
          if (step == pixel::kTemporalSteps - 1) out.planes[p].At(x, y) = mixed;
        }
      });
    }
  }

  REELMEND_HD std::uint16_t Along(const Plane& older, int p, int step, int x, int y) const {
    const int log2_x = p == 0 ? 0 : in.log2_x;
    const int log2_y = p == 0 ? 0 : in.log2_y;
    const pixel::MotionVector vector = field.At((x << log2_x) / pixel::kMotionBlock, (y << log2_y) / pixel::kMotionBlock)[step];
    return DisplacedSample(older, vector, log2_x, log2_y, x, y);
  }
};

}  // namespace reelmend::cuda
