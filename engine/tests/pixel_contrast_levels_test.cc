// Level adjustment of AdaptiveContrast: the lift of low-contrast footage, the pictures it does not change, and its stability over
// time.
#include <gtest/gtest.h>

#include "pixel/contrast_levels.h"
#include "pixel/stages.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;
using testing::Spread;

// ---- levels -----------------------------------------------------------------------------------------------

constexpr Levels kFlat{0.30F, 0.72F};

LevelLift LiftOf(Levels video, float amount = 1) { return {amount, video, 0, true}; }

Levels Measured(const Image& image) {
  const RangeLayout layout = LayoutOf(image.color().range);
  std::vector<std::uint32_t> histogram(layout.bins);
  const ConstPlane luma = image.plane(0);
  for (int y = 0; y < luma.height; ++y) {
    for (int x = 0; x < luma.width; ++x) ++histogram[std::clamp((luma.Row(y)[x] - layout.base) >> kBinBits, 0, layout.bins - 1)];
  }
  return MeasureLevels(histogram.data(), layout, 0);
}

/// A textured colour picture between two levels, given as shares of the range.
Image Textured(PictureSize size, Levels levels, unsigned seed, Range range = Range::kLimited) {
  const double first = range == Range::kLimited ? 16 : 0;
  const double width = range == Range::kLimited ? 219 : 255;
  Image image(size.width, size.height, {1, 1}, {Matrix::kBt709, range, ChromaSite::kLeft});
  testing::Fill(image, [&](int p, int x, int y) {
    if (p == 1) return 32768 + 256 * (20 + 10 * std::sin(0.1 * x));
    if (p == 2) return 32768 - 256 * (14 + 8 * std::sin(0.13 * y));
    const double t = 0.5 + 0.25 * std::sin(0.05 * x + 0.001 * seed) + 0.25 * std::sin(0.07 * y + 0.02 * x);
    return 256 * (first + width * (levels.black + (levels.white - levels.black) * t));
  });
  return image;
}

Image Lifted(const Image& in, const LevelLift& lift, float strength = 0.5F, int threads = 2) {
  ThreadPool pool(threads);
  AdaptiveContrast contrast(in.width(), in.height(), lift);
  Image image = testing::Copy(in);
  contrast.Run(image, strength, pool);
  return image;
}

TEST(ContrastLevels, LiftFlatFootageVisibly) {
  for (const Range range : {Range::kLimited, Range::kFull}) {
    for (const PictureSize size : {PictureSize{480, 270}, PictureSize{97, 61}, PictureSize{200, 120}}) {
      const Image in = Textured(size, kFlat, 1, range);
      const Levels before = Measured(in);
      if (size.width > 100) {
        EXPECT_NEAR(before.used(), 0.42, 0.015);
      }
      for (const float strength : {0.02F, 0.5F}) {
        const Levels after = Measured(Lifted(in, LiftOf(before), strength));
        EXPECT_GE(after.used(), before.used() * 0.65F / 0.42F) << testing::Name(size) << " strength " << strength;
        EXPECT_LE(after.used(), 0.85F) << testing::Name(size) << " strength " << strength;
      }
    }
  }
}

TEST(ContrastLevels, NeverFallAndNeverClip) {
  for (int b = 0; b <= 20; ++b) {
    for (int w = b; w <= 20; ++w) {
      for (const float amount : {0.3F, 1.0F}) {
        const Levels levels{static_cast<float>(b) / 20, static_cast<float>(w) / 20};
        const LevelCurve curve = LevelCurve::Of(LiftOf(levels, amount), levels);
        EXPECT_EQ(curve.Change(0), 0);
        EXPECT_NEAR(curve.Change(1), 0, 1e-6);
        EXPECT_GE(curve.gain, 1);
        EXPECT_LE(curve.gain, kMaxLevelGain);
        EXPECT_GE(curve.margin, 0.45F) << b << " to " << w;
        for (int i = 1; i <= 100; ++i) {
          const float rise = 0.01F + curve.Change(0.01F * static_cast<float>(i)) - curve.Change(0.01F * static_cast<float>(i - 1));
          EXPECT_GE(rise, 0.0045F) << b << " to " << w << " at " << i;
          EXPECT_LE(rise, 0.01F * kMaxLevelGain + 1e-5F);
        }
      }
    }
  }
}

TEST(ContrastLevels, ClipNoPixels) {
  const auto at_the_ends = [](const Image& image) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        const int v = image.plane(0).Row(y)[x];
        count += v <= 17 * 256 || v >= 234 * 256 ? 1 : 0;
      }
    }
    return static_cast<double>(count) / image.width() / image.height();
  };
  Image in = Textured({480, 270}, kFlat, 3);
  testing::AddNoise(in, 3.0, 5);
  for (int x = 0; x < 480; ++x) in.plane(0).Row(9)[x] = static_cast<std::uint16_t>((24 + x * 200 / 480) * 256);  // rare levels must not be clipped either
  for (const float strength : {0.5F, 1.0F}) {
    EXPECT_LE(at_the_ends(Lifted(in, LiftOf(kFlat), strength)), at_the_ends(in) + 0.001) << strength;
  }
}

TEST(ContrastLevels, LeaveOtherScenesOfAFlatVideoAsTheyAre) {
  struct Case {
    const char* name;
    Levels levels;
  };
  for (const Case& c : {Case{"well exposed", {0.0F, 1.0F}}, {"a title", {0, 0.98F}}, {"a night", {0, 0.2F}}, {"snow", {0.6F, 1}}}) {
    const Image in = Textured({320, 180}, c.levels, 2);
    EXPECT_EQ(testing::MaxDifference(in, Lifted(in, LiftOf(kFlat))), 0) << c.name;
  }
}

TEST(ContrastLevels, IgnoreBars) {
  Image in = Textured({480, 270}, kFlat, 1);
  for (int y = 0; y < 270; ++y) {
    if (y < 30 || y >= 240) std::fill_n(in.plane(0).Row(y), 480, std::uint16_t{16 * 256 + 200});
  }
  LevelLift lift = LiftOf(kFlat);
  lift.bars = 60.0F / 270 + 0.01F;
  const Image out = Lifted(in, lift, 0.02F);
  const Image expected = Lifted(Textured({480, 270}, kFlat, 1), LiftOf(kFlat), 0.02F);
  EXPECT_NEAR(testing::MeanLevel(out.plane(0)) * 270 - 60 * 16.8, testing::MeanLevel(expected.plane(0)) * 210, 210 * 3.0);
  for (int x = 0; x < 480; ++x) EXPECT_LE(out.plane(0).Row(10)[x], 16 * 256 + 200);
}

TEST(ContrastLevels, KeepHueAndHoldSaturationWithinTheRange) {
  const Image in = Textured({320, 180}, kFlat, 4);
  Image vivid = testing::Copy(in);
  for (int x = 0; x < 160; ++x) vivid.plane(1).Row(7)[x] = 239 * 256;
  const Image out = Lifted(vivid, LiftOf(kFlat));
  double largest = 0;
  for (int y = 0; y < 90; ++y) {
    for (int x = 0; x < 160; ++x) {
      const double b = vivid.plane(1).Row(y)[x] - 32768.0;
      const double r = vivid.plane(2).Row(y)[x] - 32768.0;
      const double new_b = out.plane(1).Row(y)[x] - 32768.0;
      const double new_r = out.plane(2).Row(y)[x] - 32768.0;
      EXPECT_NEAR(std::atan2(new_r, new_b), std::atan2(r, b), 2e-4) << x << "," << y;
      const double factor = std::hypot(new_b, new_r) / std::hypot(b, r);
      EXPECT_GE(factor, 0.999);
      EXPECT_LE(factor, 1.36);
      if (y != 7) largest = std::max(largest, factor);
      EXPECT_LE(std::max(std::abs(new_b), std::abs(new_r)), 112 * 256);
    }
  }
  EXPECT_GT(largest, 1.3) << "chroma must be scaled with luma, or colours look paler";
}

TEST(ContrastLevels, AreSteadyInAStillScene) {
  ThreadPool pool(2);
  AdaptiveContrast contrast(480, 270, LiftOf(kFlat));
  double lowest = 1e9;
  double highest = -1e9;
  for (unsigned frame = 0; frame < 60; ++frame) {
    Image image = Textured({480, 270}, kFlat, 1);
    testing::AddNoise(image, 2.0, 100 + frame);
    contrast.Run(image, 0.5F, pool);
    lowest = std::min(lowest, testing::MeanLevel(image.plane(0)));
    highest = std::max(highest, testing::MeanLevel(image.plane(0)));
  }
  EXPECT_LT(highest - lowest, 0.3);
}

/// Mean level of each output picture of a scene whose levels change linearly.
std::vector<double> MeansOver(int frames, Levels from, Levels to, const LevelLift& lift) {
  ThreadPool pool(2);
  AdaptiveContrast contrast(320, 180, lift);
  std::vector<double> means;
  for (int i = 0; i < frames; ++i) {
    const float way = static_cast<float>(i) / static_cast<float>(frames - 1);
    Image image = Textured({320, 180}, {from.black + way * (to.black - from.black), from.white + way * (to.white - from.white)}, 1);
    contrast.Run(image, 0.5F, pool);
    means.push_back(testing::MeanLevel(image.plane(0)));
  }
  return means;
}

TEST(ContrastLevels, FollowARampWithoutPumping) {
  // The picture gets brighter by 60 levels over two seconds. The result must follow evenly.
  const std::vector<double> means = MeansOver(60, {0.15F, 0.45F}, {0.42F, 0.72F}, LiftOf({0.30F, 0.60F}));
  for (std::size_t i = 1; i < means.size(); ++i) {
    EXPECT_GT(means[i], means[i - 1] - 0.05) << i;
    EXPECT_LT(means[i], means[i - 1] + 60.0 / 59 * 2.5) << i;
  }
}

TEST(ContrastLevels, DoNotAmplifyAFadeToBlack) {
  ThreadPool pool(2);
  AdaptiveContrast contrast(320, 180, LiftOf(kFlat));
  constexpr int kFrames = 50;
  for (unsigned i = 0; i <= kFrames; ++i) {
    const float light = 1 - static_cast<float>(i) / kFrames;
    Image in = Textured({320, 180}, {kFlat.black * light, kFlat.white * light}, 1);
    testing::AddNoise(in, 2.0, 100 + i);
    Image out = testing::Copy(in);
    contrast.Run(out, 0.5F, pool);
    EXPECT_LE(Spread(out.plane(0)), Spread(in.plane(0)) * 1.9) << i;
    // Dark pictures are not lifted. The temporal mean reacts with a delay, so the bounds are wider at first.
    if (light < 0.35F) {
      EXPECT_LE(Spread(out.plane(0)), Spread(in.plane(0)) * (light < 0.18F ? 1.01 : 1.1) + 0.05) << i;
      EXPECT_LE(testing::MeanLevel(out.plane(0)), testing::MeanLevel(in.plane(0)) + 0.5) << i;
    }
  }
}

TEST(ContrastLevels, AFlashMovesThePicturesAfterItByLittle) {
  ThreadPool pool(2);
  AdaptiveContrast contrast(320, 180, LiftOf(kFlat));
  double before = 0;
  for (unsigned frame = 0; frame < 50; ++frame) {
    Image image = Textured({320, 180}, frame == 24 ? Levels{0.8F, 1.0F} : kFlat, 7);
    contrast.Run(image, 0.5F, pool);
    const double mean = testing::MeanLevel(image.plane(0));
    if (frame == 23) before = mean;
    if (frame > 24) {
      EXPECT_LT(std::abs(mean - before), frame <= 24 + 15 ? 219.0 / 16 : 0.001) << frame;
    }
  }
}

TEST(ContrastLevels, StartAnewAtACutAndInASegment) {
  ThreadPool pool(2);
  AdaptiveContrast whole(320, 180, LiftOf(kFlat));
  AdaptiveContrast segment(320, 180, LiftOf(kFlat));
  for (unsigned frame = 0; frame < 45; ++frame) {
    const float shift = 0.003F * static_cast<float>(frame);
    const Image in = Textured({320, 180}, {kFlat.black - shift, kFlat.white - shift}, frame);
    Image a = testing::Copy(in);
    whole.Run(a, 0.5F, pool);
    if (frame < 20) continue;
    Image b = testing::Copy(in);
    segment.Run(b, 0.5F, pool);
    if (frame >= 20 + 16) {
      EXPECT_EQ(testing::MaxDifference(a, b), 0) << frame;
    }
  }
  whole.Reset();
  const Image in = Textured({320, 180}, {0.2F, 0.6F}, 1);
  Image a = testing::Copy(in);
  whole.Run(a, 0.5F, pool);
  EXPECT_EQ(testing::MaxDifference(a, Lifted(in, LiftOf(kFlat), 0.5F, 1)), 0);
}

}  // namespace
}  // namespace reelmend::pixel
