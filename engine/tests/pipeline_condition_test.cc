// The estimate of a source's damage, and its description.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "helpers/test_paths.h"
#include "plan/damage.h"
#include "plan/plan.h"

namespace reelmend::plan {
namespace {

DamageEstimate Clean() {
  DamageEstimate damage;
  damage.known = true;
  return damage;
}

TEST(DamageMeter, EstimatesAsTheTrainingGroundDoes) {
  std::ifstream file(test_paths::SourceDir() + "/tests/damage_witness.txt");
  int patterns = 0;
  for (int number, width, height; file >> number >> width >> height; ++patterns) {
    pixel::DamageFeatures features;
    for (float& feature : features) ASSERT_TRUE(file >> feature);
    const DamageEstimate made = DamageMeter::Read(DamageMeter::LikelihoodsOf(features));
    const float values[] = {made.compression_error, made.true_scale, made.blur_sigma,
                            made.noise_sigma,       made.error,      made.effective_scale};
    for (const float value : values) {
      float expected = 0;
      ASSERT_TRUE(file >> expected);
      EXPECT_NEAR(value, expected, 0.002 + 0.005 * static_cast<double>(expected)) << "pattern " << number;
    }
  }
  EXPECT_EQ(patterns, 4);
}

/// Stripes and squares inside black bars.
pixel::Image Picture(int width, int height, int bar) {
  pixel::Image image(width, height, {1, 1}, {});
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool is_bar = y < bar || y >= height - bar;
      image.plane(0).Row(y)[x] = static_cast<std::uint16_t>((is_bar ? 16 : 60 + (x * 7 + y * 3) % 90 + (x / 16 + y / 16) % 2 * 60) * 256);
    }
  }
  return image;
}

TEST(DamageMeter, LeavesBlackBarsAside) {
  DamageMeter with_bars;
  with_bars.Add(Picture(640, 480, 64));
  DamageMeter without;
  without.Add(Picture(640, 480, 0));
  EXPECT_TRUE(with_bars.Estimate().known);
  EXPECT_EQ(with_bars.Estimate().black_level, without.Estimate().black_level);
  EXPECT_GE(without.Estimate().black_level, 60);
  EXPECT_LE(without.Estimate().white_level, 210);
}

/// Random detail of 384×288 pixels, enlarged to 640×480 by linear interpolation.
pixel::Image Enlarged(std::uint32_t seed) {
  constexpr int kWidth = 384;
  const auto recorded = [&](int x, int y) {
    std::uint32_t mixed = (static_cast<std::uint32_t>(y * kWidth + x) + seed * 1'000'003U) * 2654435761U;
    mixed ^= mixed >> 15;
    return static_cast<double>(60 + (mixed * 40503U >> 24) / 2);
  };
  pixel::Image image(640, 480, {1, 1}, {});
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const double across = (x + 0.5) * 0.6 + 0.5;
      const double down = (y + 0.5) * 0.6 + 0.5;
      const int left = static_cast<int>(across);
      const int top = static_cast<int>(down);
      const double upper = std::lerp(recorded(left, top), recorded(left + 1, top), across - left);
      const double lower = std::lerp(recorded(left, top + 1), recorded(left + 1, top + 1), across - left);
      image.plane(0).Row(y)[x] = static_cast<std::uint16_t>(std::lerp(upper, lower, down - top) * 256);
    }
  }
  return image;
}

TEST(DamageMeter, ReadsTheSizeOfAnEnlargedRecordingFromItsLines) {
  DamageMeter meter;
  for (std::uint32_t picture = 0; picture < 4; ++picture) meter.Add(Enlarged(picture));
  const DamageEstimate damage = meter.Estimate();
  EXPECT_NEAR(damage.true_scale, 0.6, 0.005);
  EXPECT_LE(damage.effective_scale, damage.true_scale);
  EXPECT_NE(DescribeDamage(damage, {640, 480}).find("enlarged before from about 288p"), std::string::npos);
}

TEST(DamageMeter, KnowsNothingOfBlankAndTinyPictures) {
  for (const auto& [width, height] : {std::pair{64, 48}, std::pair{1, 1}, std::pair{640, 90}}) {
    DamageMeter meter;
    meter.Add(Picture(width, height, 0));
    EXPECT_FALSE(meter.Estimate().known) << width << "x" << height;
  }
  DamageMeter black;
  black.Add(Picture(640, 480, 240));
  EXPECT_FALSE(black.Estimate().known);
  EXPECT_FALSE(DamageMeter().Estimate().known);
}

struct Wording {
  float DamageEstimate::* field;
  float value;
  std::string text;
};

TEST(DescribeDamage, NamesTheDamage) {
  EXPECT_EQ(DescribeDamage({}, {1280, 720}), "");
  DamageEstimate by_stream;  // the pictures were too small or too plain to be measured
  by_stream.compression_error = 5.5F;
  EXPECT_EQ(DescribeDamage(by_stream, {160, 90}), "compressed");
  EXPECT_EQ(DescribeDamage(Clean(), {1280, 720}), "clean");
  DamageEstimate mild = Clean();
  mild.compression_error = 1.6F;
  EXPECT_EQ(DescribeDamage(mild, {1280, 720}), "clean");
  EXPECT_EQ(DescribeDamage(mild, {320, 240}), "lightly compressed");
  EXPECT_EQ(DescribeDamage(Clean(), {320, 240}), "clean");
  const Wording wordings[] = {{&DamageEstimate::compression_error, 3, "lightly compressed"},
                              {&DamageEstimate::compression_error, 5, "compressed"},
                              {&DamageEstimate::compression_error, 9, "heavily compressed"},
                              {&DamageEstimate::true_scale, 0.34F, "enlarged before from about 240p"},
                              {&DamageEstimate::true_scale, 0.5F, "enlarged before from about 360p"},
                              {&DamageEstimate::effective_scale, 0.5F, "only as sharp as about 360p"},
                              {&DamageEstimate::effective_scale, 0.7F, "a little soft"},
                              {&DamageEstimate::noise_sigma, 6, "noisy"},
                              {&DamageEstimate::white_level, 108, "flat (42 % of the range)"}};
  for (const Wording& wording : wordings) {
    DamageEstimate damage = Clean();
    damage.*wording.field = wording.value;
    EXPECT_EQ(DescribeDamage(damage, {1280, 720}), wording.text);
    EXPECT_EQ(DescribeDamage(damage, {720, 1280}), wording.text) << "in a portrait video";
  }
  DamageEstimate blank = Clean();
  blank.white_level = blank.black_level;
  EXPECT_EQ(DescribeDamage(blank, {1280, 720}), "clean");
  DamageEstimate both = Clean();
  both.compression_error = 8;
  both.true_scale = 0.33F;
  EXPECT_EQ(DescribeDamage(both, {1280, 720}), "heavily compressed, enlarged before from about 240p");
}

TEST(DescribeDamage, NamesAUsualHeightOnlyIfItIsNear) {
  const std::pair<float, std::string> heights[] = {{0.5F, "180p"}, {0.575F, "210p"}, {0.6F, "220p"}, {0.66F, "240p"}, {0.41F, "144p"}};
  for (const auto& [share, height] : heights) {
    DamageEstimate enlarged = Clean();
    enlarged.true_scale = share;
    EXPECT_EQ(DescribeDamage(enlarged, {640, 360}), "enlarged before from about " + height);
  }
}

TEST(DescribeDamage, CountsTheStreamsQuantiserToo) {
  SourceTraits traits;
  traits.damage = Clean();
  traits.compression_error = 4.7F;
  EXPECT_EQ(DescribeDamage(DamageToDescribe(traits), {320, 240}), "compressed");
  traits.damage.compression_error = 8;
  EXPECT_EQ(DescribeDamage(DamageToDescribe(traits), {320, 240}), "heavily compressed");
  traits.damage.known = false;
  EXPECT_EQ(DescribeDamage(DamageToDescribe(traits), {320, 240}), "compressed") << "without a measurement of the pictures";
}

}  // namespace
}  // namespace reelmend::plan
