// Debanding in the plan and in whole videos.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::DecodeLuma;
using testing::Ffmpeg;
using testing::PlainOptions;
using testing::TemporaryFolder;

float Threshold(float stream_error, float seen_error, const Strength& denoise = {}) {
  EnhanceOptions options;
  options.denoise = denoise;
  plan::SourceTraits traits;
  traits.compression_error = stream_error;
  traits.damage.known = true;
  traits.damage.compression_error = seen_error;
  return plan::ChooseDebanding(options, traits);
}

TEST(ChooseDebanding, GrowsWithTheCompressionError) {
  EXPECT_EQ(Threshold(0, 0), 0);
  EXPECT_EQ(Threshold(2.4F, 2.4F), 0) << "this source counts as clean";
  EXPECT_GT(Threshold(3, 0), 1);
  EXPECT_LT(Threshold(3, 0), Threshold(8, 0));
  EXPECT_EQ(Threshold(3, 8), Threshold(8, 0)) << "the error of an earlier encode, seen in the pictures, has the same effect";
  EXPECT_EQ(Threshold(40, 0), Threshold(30, 0)) << "the threshold has a maximum";
}

TEST(ChooseDebanding, FollowsTheDenoisingStrength) {
  EXPECT_EQ(Threshold(8, 8, {Strength::Mode::kOff, 0}), 0);
  EXPECT_EQ(Threshold(8, 8, {Strength::Mode::kFixed, 0}), 0);
  EXPECT_FLOAT_EQ(Threshold(8, 8, {Strength::Mode::kFixed, 0.25F}), Threshold(8, 8) / 2);
  EXPECT_EQ(Threshold(8, 8, {Strength::Mode::kFixed, 1}), Threshold(8, 8));
}

/// RMS difference between the first picture and its original ramp, in 8-bit levels.
double ErrorOf(const std::string& file, int width, int height) {
  const std::vector<std::uint8_t> luma = DecodeLuma(file);
  double sum = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double slope = 50 + x / 5.0 + y / 6.0;
      sum += std::pow(luma[static_cast<std::size_t>(y) * width + x] - slope, 2);
    }
  }
  return std::sqrt(sum / width / height);
}

TEST(Debanding, RemovesTheBlocksOfACoarselyQuantisedRamp) {
  const TemporaryFolder folder;
  const std::string source = folder.File("slope.avi");
  Ffmpeg("-f lavfi -i \"color=gray:s=320x180:r=10:d=0.5,geq=lum='50+X/5+Y/6':cb=128:cr=128\" -c:v mpeg4 -q:v 25 '" + source + "'");
  double errors[2];
  for (const bool debands : {false, true}) {
    EnhanceOptions options = PlainOptions();
    options.model = "none";
    if (debands) options.denoise = {};
    options.encoder.crf = 4;
    const std::string out = folder.File(debands ? "with.mp4" : "without.mp4");
    Enhance(source, out, options);
    errors[debands ? 1 : 0] = ErrorOf(out, 320, 180);
  }
  EXPECT_LT(errors[1], 0.75 * errors[0]) << errors[0];
}

}  // namespace
}  // namespace reelmend
