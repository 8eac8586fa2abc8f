// The stages that depend on earlier frames, within the whole chain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "cpu/pixel_chain.h"
#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "media/av_handles.h"
#include "reelmend/enhance.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace reelmend::run {
namespace {

constexpr int kWidth = 192;
constexpr int kHeight = 108;

media::UniqueFrame NewFrame(int width, int height) {
  media::UniqueFrame frame = media::MakeFrame();
  frame->width = width;
  frame->height = height;
  frame->format = AV_PIX_FMT_YUV420P;
  if (av_frame_get_buffer(frame.get(), 64) < 0) throw std::bad_alloc();
  return frame;
}

/// Picture `n` of a noisy film: a disc moves over shading, and the scene changes every 19 pictures. Each scene has one flash.
media::UniqueFrame Film(int n) {
  media::UniqueFrame frame = NewFrame(kWidth, kHeight);
  frame->colorspace = AVCOL_SPC_BT709;
  std::mt19937 random(static_cast<unsigned>(n));
  std::normal_distribution<double> noise(0, 6);
  const int scene = n / 19;
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < (p == 0 ? kHeight : kHeight / 2); ++y) {
      for (int x = 0; x < (p == 0 ? kWidth : kWidth / 2); ++x) {
        const double shade = 80 + 30 * std::sin(0.05 * x * (scene + 1) + scene) + 25 * std::cos(0.06 * y + 2 * scene);
        const double disc = std::hypot(x - 20 - 5 * (n % 19), y - 50) < 15 ? 40 : 0;
        const double picture = p == 0 ? shade + disc + (n % 19 == 7 ? 60 : 0) : 128 + 10 * std::sin(0.1 * x);
        frame->data[p][y * frame->linesize[p] + x] =
            static_cast<std::uint8_t>(std::clamp(picture + noise(random), 0.0, 255.0));
      }
    }
  }
  return frame;
}

/// The negative of the picture, upside down: a different scene.
media::UniqueFrame Negative(const AVFrame& frame) {
  media::UniqueFrame out = NewFrame(kWidth, kHeight);
  out->colorspace = AVCOL_SPC_BT709;
  for (int p = 0; p < 3; ++p) {
    const int height = p == 0 ? kHeight : kHeight / 2;
    for (int y = 0; y < height; ++y) {
      const std::uint8_t* row = frame.data[p] + (height - 1 - y) * frame.linesize[p];
      std::transform(row, row + (p == 0 ? kWidth : kWidth / 2), out->data[p] + y * out->linesize[p],
                     [](std::uint8_t level) { return static_cast<std::uint8_t>(255 - level); });
    }
  }
  return out;
}

plan::Plan NoisyPlan() {
  plan::Plan plan;
  plan.output = {2 * kWidth, 2 * kHeight};
  plan.traits.noise_sigma = 6;
  plan.strengths.denoise = 0.4F;
  plan.temporal = {0.8F, 6};
  plan.strengths.sharpen = 0.1F;
  plan.strengths.adaptive_contrast = 0.6F;
  plan.level_lift = {0.8F, {0.3F, 0.7F}, 0, true};
  return plan;
}

/// The same behind a network for damaged sources, which itself is left out: it looks at one picture only.
plan::Plan AccumulatingPlan() {
  plan::Plan plan = NoisyPlan();
  plan.is_blind = true;
  plan.edges = {1, 2};
  return plan;
}

bool AreEqual(const AVFrame& a, const AVFrame& b) {
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < (p == 0 ? a.height : a.height / 2); ++y) {
      const std::uint8_t* row = a.data[p] + y * a.linesize[p];
      if (!std::equal(row, row + (p == 0 ? a.width : a.width / 2), b.data[p] + y * b.linesize[p])) return false;
    }
  }
  return true;
}

TEST(TemporalStages, TheErrorOfAnEncodeIsDenoisedOverTime) {
  const auto chosen = [](float noise, float by_stream, float by_pictures, Strength denoise = {}) {
    plan::SourceTraits traits;
    traits.noise_sigma = noise;
    traits.compression_error = by_stream;
    traits.damage.compression_error = by_pictures;
    traits.damage.known = by_pictures > 0;
    EnhanceOptions options;
    options.denoise = denoise;
    return plan::ChooseTemporalDenoising(options, traits);
  };
  EXPECT_EQ(chosen(0, 0, 0).strength, 0);
  EXPECT_EQ(chosen(1.5F, 1.4F, 0).strength, 0);
  EXPECT_EQ(chosen(4, 0, 0).strength, 1);
  EXPECT_EQ(chosen(0, 5, 0).strength, 1);
  EXPECT_EQ(chosen(0, 1, 5).strength, 1) << "an earlier, worse encode";
  EXPECT_NEAR(chosen(3, 6, 0).noise_sigma, std::hypot(3, 4.2), 1e-3);
  EXPECT_EQ(chosen(8, 8, 8, {Strength::Mode::kOff, 0}).strength, 0);
  EXPECT_FLOAT_EQ(chosen(8, 8, 8, {Strength::Mode::kFixed, 0.3F}).strength, 0.6F);
}

/// What is left of the noise of a pan, RMS of luma in 8-bit levels.
double NoiseLeftOfAPan(plan::TemporalDenoising temporal) {
  plan::Plan plan;
  plan.output = {kWidth, kHeight};
  plan.temporal = temporal;
  plan.traits.noise_sigma = temporal.noise_sigma;
  device::StageClocks clocks;
  cpu::PixelChain chain(plan, AV_CODEC_ID_H264, 2, clocks);
  const media::UniqueFrame out = NewFrame(kWidth, kHeight);
  double sum = 0;
  constexpr int kMargin = 40;
  for (int n = 0; n < 10; ++n) {
    const media::UniqueFrame in = NewFrame(kWidth, kHeight);
    in->colorspace = AVCOL_SPC_BT709;
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<double> noise(0, 6);
    const auto clean = [n](int x, int y) {
      const double at = x + 2.3 * n;
      return 120 + 30 * std::sin(0.31 * at + 0.13 * y) + 25 * std::sin(0.23 * y - 0.047 * at);
    };
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        in->data[0][y * in->linesize[0] + x] = static_cast<std::uint8_t>(std::clamp(clean(x, y) + noise(random), 0.0, 255.0));
        if (y % 2 == 0 && x % 2 == 0) in->data[1][y / 2 * in->linesize[1] + x / 2] = in->data[2][y / 2 * in->linesize[2] + x / 2] = 128;
      }
    }
    chain.Run(*in, *out);
    sum = 0;
    for (int y = kMargin; y < kHeight - kMargin; ++y) {
      for (int x = kMargin; x < kWidth - kMargin; ++x) sum += std::pow(out->data[0][y * out->linesize[0] + x] - clean(x, y), 2);
    }
  }
  return std::sqrt(sum / ((kWidth - 2 * kMargin) * (kHeight - 2 * kMargin)));
}

TEST(TemporalStages, APanLosesItsNoiseWithoutTheSpatialFilter) {
  const double before = NoiseLeftOfAPan({});
  EXPECT_NEAR(before, 6, 0.5);
  EXPECT_LT(NoiseLeftOfAPan({1, 6}), before / 2);
}

/// Makes the film as a whole and in segments of eight pictures, with as many pictures before them. Returns how many pictures differ.
int DifferentPictures(const plan::Plan& plan, int warm_up) {
  constexpr int kFrames = 60;
  std::vector<media::UniqueFrame> whole;
  device::StageClocks clocks;
  cpu::PixelChain chain(plan, AV_CODEC_ID_H264, 2, clocks);
  for (int n = 0; n < kFrames; ++n) {
    whole.push_back(NewFrame(plan.output.width, plan.output.height));
    chain.Run(*Film(n), *whole.back());
  }
  int different = 0;
  for (const int start : {28, 30, 33, 38, 40, 46}) {
    cpu::PixelChain segment(plan, AV_CODEC_ID_H264, 1, clocks);
    for (int n = start - warm_up; n < start; ++n) segment.WarmUp(*Film(n));
    const media::UniqueFrame out = NewFrame(plan.output.width, plan.output.height);
    for (int n = start; n < std::min(start + 8, kFrames); ++n) {
      segment.Run(*Film(n), *out);
      different += AreEqual(*out, *whole[n]) ? 0 : 1;
    }
  }
  return different;
}

TEST(TemporalStages, ASegmentEqualsTheWholeBitForBitAfterTheWarmUp) {
  EXPECT_EQ(DifferentPictures(NoisyPlan(), Segment().warm_up_frames), 0);
  EXPECT_EQ(DifferentPictures(AccumulatingPlan(), Segment().warm_up_frames), 0);
}

TEST(TemporalStages, TheAccumulationNeedsThreePicturesMore) {
  constexpr int kOfContrastAndDenoising = 15 + pixel::TemporalDenoiser::kMemory + 1;
  EXPECT_EQ(DifferentPictures(NoisyPlan(), kOfContrastAndDenoising), 0);
  EXPECT_GT(DifferentPictures(AccumulatingPlan(), kOfContrastAndDenoising), 0);
  EXPECT_EQ(DifferentPictures(AccumulatingPlan(), kOfContrastAndDenoising + pixel::TemporalAccumulator::kMemory), 0);
}

TEST(TemporalStages, TheAccumulationChangesThePictures) {
  device::StageClocks clocks;
  cpu::PixelChain with(AccumulatingPlan(), AV_CODEC_ID_H264, 1, clocks);
  plan::Plan faithful = AccumulatingPlan();
  faithful.is_blind = false;
  cpu::PixelChain without(faithful, AV_CODEC_ID_H264, 1, clocks);
  const media::UniqueFrame steady = NewFrame(2 * kWidth, 2 * kHeight);
  const media::UniqueFrame plain = NewFrame(2 * kWidth, 2 * kHeight);
  for (int n = 0; n < 4; ++n) {
    with.Run(*Film(n), *steady);
    without.Run(*Film(n), *plain);
    EXPECT_EQ(AreEqual(*steady, *plain), n == 0) << "picture " << n;
  }
}

TEST(TemporalStages, NothingCrossesASceneCut) {
  // Temporal denoising, accumulation and contrast use earlier pictures. After a cut the result must not depend on them.
  const plan::Plan plan = AccumulatingPlan();
  device::StageClocks clocks;
  cpu::PixelChain chain(plan, AV_CODEC_ID_H264, 2, clocks);
  cpu::PixelChain fresh(plan, AV_CODEC_ID_H264, 2, clocks);
  const media::UniqueFrame out = NewFrame(plan.output.width, plan.output.height);
  const media::UniqueFrame expected = NewFrame(plan.output.width, plan.output.height);
  for (int n = 0; n < 12; ++n) chain.Run(*Film(n), *out);
  for (int n = 12; n < 18; ++n) {
    const media::UniqueFrame other = Negative(*Film(n));
    chain.Run(*other, *out);
    fresh.Run(*other, *expected);
    EXPECT_TRUE(AreEqual(*out, *expected)) << "picture " << n - 12 << " after the cut";
  }
}

TEST(TemporalStages, AStillNoisySceneKeepsItsBrightness) {
  const plan::Plan plan = NoisyPlan();
  device::StageClocks clocks;
  cpu::PixelChain chain(plan, AV_CODEC_ID_H264, 2, clocks);
  const media::UniqueFrame out = NewFrame(plan.output.width, plan.output.height);
  double lowest = 1e9;
  double highest = -1e9;
  const media::UniqueFrame still = Film(3);
  for (int n = 0; n < 40; ++n) {
    const media::UniqueFrame noisy = NewFrame(kWidth, kHeight);
    av_frame_copy(noisy.get(), still.get());
    noisy->colorspace = AVCOL_SPC_BT709;
    std::mt19937 random(static_cast<unsigned>(n + 1000));
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) noisy->data[0][y * noisy->linesize[0] + x] += static_cast<int>(random() % 13) - 6;
    }
    chain.Run(*noisy, *out);
    double sum = 0;
    for (int y = 0; y < out->height; ++y) {
      for (int x = 0; x < out->width; ++x) sum += out->data[0][y * out->linesize[0] + x];
    }
    lowest = std::min(lowest, sum / out->width / out->height);
    highest = std::max(highest, sum / out->width / out->height);
  }
  EXPECT_LT(highest - lowest, 0.5);
}

}  // namespace
}  // namespace reelmend::run
