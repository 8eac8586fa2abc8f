// Temporal accumulation behind a network: Note [Temporal accumulation] in pixel/temporal_accumulation.h, Note [Refined motion] in
// pixel/motion_field.h.
#pragma once

#include "cuda/launch.h"
#include "cuda/motion_kernels.h"
#include "cuda/time_kernels.h"
#include "cuda/views.h"
#include "pixel/accumulation_limits.h"
#include "pixel/motion_vector.h"

namespace reelmend::cuda {

/// Luma of the enlarged pictures. A ring holds the picture that is written now, and those before it back to the lag that looks at it.
struct AccumulationHistory {
  static constexpr int kInputs = pixel::kAccumulationLags[0] + 1;
  static constexpr int kOnce = pixel::kAccumulationLags[1] + 1;
  Plane inputs[kInputs];
  Plane once[kOnce];

  /// What a step blends, of the picture with a number.
  REELMEND_HD const Plane& Of(int step, int number) const { return step == 0 ? inputs[number % kInputs] : once[number % kOnce]; }
};

/// pixel::SourceMotion.
struct SourceVectors {
  const pixel::MotionVector* vectors = nullptr;  ///< kTemporalSteps for each block
  int columns = 0;
  int width = 0;  ///< of the source
  int height = 0;
};

/// Finds the vectors of a cell of the enlarged picture, and their errors.
struct RefineKernel : MotionFit {
  const TemporalState* state = nullptr;
  AccumulationHistory history;
  MotionField field;
  SourceVectors source;
  int lags[pixel::kAccumulationSteps];  ///< pixel::kAccumulationLags, which device code cannot read

  /// Luma of the older picture of a step, if there is one.
  REELMEND_HD const Plane& Older(int step) const { return history.Of(step, state->pictures_before - lags[step]); }

  REELMEND_HD void operator()(auto& block, Shared& s, int tile_x, int tile_y, int) const {
    const Point at = BlockAt(tile_x, tile_y);
    const int column = pixel::SourceBlockOf(at.x + pixel::kMotionBlock / 2, now.width, source.width);
    const int row = pixel::SourceBlockOf(at.y + pixel::kMotionBlock / 2, now.height, source.height);
    const pixel::MotionVector* begin = source.vectors + (static_cast<std::ptrdiff_t>(row) * source.columns + column) * pixel::kTemporalSteps;
    LoadWindow(block, s, at);
    for (int step = 0; step < pixel::kTemporalSteps; ++step) {
      pixel::MotionVector* found = field.At(tile_x, tile_y) + step;
      pixel::MotionErrors* errors = field.errors + field.Index(tile_x, tile_y) + step;
      const bool is_usable = step < pixel::kAccumulationSteps && state->pictures_before >= lags[step];
      block.Each([&](int thread) {
        if (thread != 0) return;
        *found = {};
        *errors = {};
        if (is_usable) {
          s.best = {pixel::EnlargedInSamples(begin[step].x, now.width, source.width),
                    pixel::EnlargedInSamples(begin[step].y, now.height, source.height)};
        }
      });
      if (!is_usable) continue;
      SubpixelFit(block, s, at, Older(step));
      block.Each([&](int thread) {
        if (thread != 0) return;
        *found = s.vector;
        *errors = {s.error, 0, s.error_of_none};
      });
    }
  }
};

/// Blends luma with older pictures in two steps, in one pass. Writes `out`, which is another plane than `in`.
struct AccumulateKernel : BlockTile {
  struct Shared {
    std::uint16_t now[kThreads];
    std::uint16_t older[kThreads];  ///< along the motion
    unsigned sums[kBlocks];
    unsigned across[kBlocks];  ///< differences of neighbours
    unsigned down[kBlocks];
    pixel::AccumulationWeight weights[kBlocks];
  };

  const TemporalState* state = nullptr;
  Plane in;
  Plane out;
  AccumulationHistory history;
  MotionField field;
  int lags[pixel::kAccumulationSteps];
  float strength = 0;

  REELMEND_HD bool SampleOf(int thread, int tile_x, int tile_y, int& x, int& y) const {
    x = tile_x * kTileWidth + thread % kTileWidth;
    y = tile_y * pixel::kTemporalBlock + thread / kTileWidth;
    return x < in.width && y < in.height;
  }

  template <typename Block>
  REELMEND_HD void Weigh(Block& block, Shared& s, int tile_x, int tile_y) const {
    block.Each([&](int thread) {
      if (thread < kBlocks) s.sums[thread] = 0;
    });
    block.Each([&](int thread) {
      int x = 0;
      int y = 0;
      if (!SampleOf(thread, tile_x, tile_y, x, y)) return;
      block.Add(s.sums[thread % kTileWidth / pixel::kTemporalBlock], AbsoluteDifference(s.now[thread], s.older[thread]));
    });
    block.Each([&](int thread) {
      if (thread >= kBlocks) return;
      const int columns = Min(pixel::kTemporalBlock, in.width - (tile_x * kTileWidth + thread * pixel::kTemporalBlock));
      const int rows = Min(pixel::kTemporalBlock, in.height - tile_y * pixel::kTemporalBlock);
      if (columns <= 0) return;
      const double difference = static_cast<double>(s.sums[thread]) / (columns * rows);
      s.weights[thread] = pixel::WeighAccumulation(difference, pixel::TextureOf(s.across[thread], s.down[thread], columns, rows), strength);
    });
  }

  REELMEND_HD static std::uint16_t Mix(std::uint16_t now, std::uint16_t older, const pixel::AccumulationWeight& weight) {
    const float v = now;
    const float difference = static_cast<float>(older) - v;
    const float root = Max(0.0F, Fma(-(difference * difference), weight.falloff, 1.0F));
    return ToSample(Fma(root * root * weight.share, difference, v));
  }

  template <typename Block>
  REELMEND_HD void operator()(Block& block, Shared& s, int tile_x, int tile_y, int) const {
    const int pictures = state->pictures_before;
    block.Each([&](int thread) {
      int x = 0;
      int y = 0;
      if (SampleOf(thread, tile_x, tile_y, x, y)) s.now[thread] = in.At(x, y);
    });
    MeasureTexture(block, in, s.now, s.across, s.down, tile_x, tile_y);
    for (int step = 0; step < pixel::kAccumulationSteps; ++step) {
      const bool is_usable = pictures >= lags[step];
      block.Each([&](int thread) {
        int x = 0;
        int y = 0;
        if (!is_usable || !SampleOf(thread, tile_x, tile_y, x, y)) return;
        const pixel::MotionVector vector = field.At(x / pixel::kRefinedCell, y / pixel::kRefinedCell)[step];
        s.older[thread] = DisplacedSample(history.Of(step, pictures - lags[step]), vector, 0, 0, x, y);
      });
      if (is_usable) Weigh(block, s, tile_x, tile_y);
      block.Each([&](int thread) {
        int x = 0;
        int y = 0;
        if (!SampleOf(thread, tile_x, tile_y, x, y)) return;
        history.Of(step, pictures).At(x, y) = s.now[thread];
        if (is_usable) s.now[thread] = Mix(s.now[thread], s.older[thread], s.weights[thread % kTileWidth / pixel::kTemporalBlock]);
        if (step == pixel::kAccumulationSteps - 1) out.At(x, y) = s.now[thread];
      });
    }
  }
};

}  // namespace reelmend::cuda
