// All instruction sets of this machine give the same pictures, up to rounding.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "pixel/simd.h"
#include "pixel/stages.h"
#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "pixel/tone_map.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

Image DenoiseOverTime(const Image& source, ThreadPool& pool) {
  TemporalDenoiser denoiser(source.width(), source.height(), source.subsampling());
  Image out(source.width(), source.height(), source.subsampling(), source.color());
  for (unsigned i = 0; i < 9; ++i) {
    Image noisy = testing::Copy(source);
    testing::AddNoise(noisy, 4, i);
    denoiser.Run(noisy, out, {0.9F, 4}, pool);
  }
  return out;
}

/// All stages in the pipeline's order.
Image RunAll(const Image& source) {
  ThreadPool pool(2);
  Image converted = testing::Copy(source);
  ConvertColor(converted, {Matrix::kBt709, Range::kLimited, ChromaSite::kLeft}, pool);
  Image denoised(source.width(), source.height(), source.subsampling(), source.color());
  Denoiser(source.width(), source.height(), source.subsampling()).Run(DenoiseOverTime(converted, pool), denoised, 0.8F, 5, pool);
  Image doubled(2 * source.width(), 2 * source.height(), {1, 1}, {});
  Resizer(source.width(), source.height(), source.subsampling(), source.color(), 2 * source.width(),
          2 * source.height())
      .Run(denoised, doubled, pool);
  Image sharpened(doubled.width(), doubled.height(), {1, 1}, {});
  Sharpener(doubled.width(), doubled.height()).Run(doubled, sharpened, 0.6F, pool);
  AdaptiveContrast(doubled.width(), doubled.height()).Run(sharpened, 0.5F, pool);
  Image fitted(201, 77, {1, 1}, {});
  Resizer(doubled.width(), doubled.height(), {1, 1}, {}, 201, 77).Run(sharpened, fitted, pool);
  return fitted;
}

struct RestoreTargets {
  ~RestoreTargets() { hwy::SetSupportedTargetsForTest(0); }
};

Image ToneMapAll(const Image& source) {
  ThreadPool pool(2);
  Image out(source.width(), source.height(), source.subsampling(), {});
  ToneMapper({HdrTransfer::kHlg, Primaries::kBt2020, 1000}).Run(source, out, pool);
  return out;
}

/// Stripes in all planes, through the stages behind a network for damaged sources.
Image RestoreEdges() {
  ThreadPool pool(2);
  Image image(171, 93, {1, 1}, {});
  testing::Fill(image, [](int, int x, int y) { return 256 * (110 + 50 * std::sin(0.3 * x + 0.15 * y)); });
  ContourSmoother(171, 93).Run(image, 1, 3, pool);
  GuidedChroma(171, 93).Run(image, 1, 3, pool);
  return image;
}

/// A pan of noisy stripes, enlarged twice.
Image Accumulate() {
  ThreadPool pool(2);
  TemporalAccumulator accumulator(171, 93);
  SourceMotion motion{std::vector<MotionVectors>(6 * 3, MotionVectors{{{8, 0}, {16, 0}, {}}}), 6, 86, 47};
  Image image(171, 93, {1, 1}, {});
  for (unsigned i = 0; i < 5; ++i) {
    testing::Fill(image, [&](int, int x, int y) { return 256 * (110 + 50 * std::sin(0.3 * (x + i) + 0.15 * y) * std::sin(0.1 * y)); });
    testing::AddNoise(image, 2, i);
    accumulator.Run(image, motion, 1, pool);
  }
  return image;
}

TEST(Targets, AllInstructionSetsAgree) {
  const ColorSpec color{Matrix::kBt601, Range::kFull, ChromaSite::kCentre};
  for (const Subsampling subsampling : testing::Subsamplings()) {
    Image source = testing::Pattern({171, 93}, subsampling, color);
    testing::AddNoise(source, 4, 3);
    const Image in_int16 = RunAll(source);  // uses int16 resizes if the machine supports them
    const Image toned = ToneMapAll(source);
    const Image edges = RestoreEdges();
    const Image accumulated = Accumulate();
    const RestoreTargets restore;
    const testing::WithoutInt16 without;
    const Image expected = RunAll(source);
    EXPECT_LE(testing::MaxDifference(in_int16, expected), 40);  // the errors of two resizes, amplified by sharpening
    int sets = 0;
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
      hwy::SetSupportedTargetsForTest(left);  // the lowest bit is the best target
      hwy::GetChosenTarget().Update(left);
      EXPECT_LE(testing::MaxDifference(RunAll(source), expected), 16) << SimdTarget();  // 16/256 of a level
      EXPECT_LE(testing::MaxDifference(ToneMapAll(source), toned), 64) << SimdTarget();
      EXPECT_LE(testing::MaxDifference(RestoreEdges(), edges), 2) << SimdTarget();
      EXPECT_LE(testing::MaxDifference(Accumulate(), accumulated), 2) << SimdTarget();
      RecordProperty("set" + std::to_string(sets), SimdTarget());
      ++sets;
    }
    EXPECT_GE(sets, 1);
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

}  // namespace
}  // namespace reelmend::pixel
