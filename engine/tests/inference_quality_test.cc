// The quality metrics of bench:networks, compared with computed values.
#include <gtest/gtest.h>

#include "../bench/picture_quality.h"
#include "../bench/sample_names.h"

namespace reelmend::bench {
namespace {

Plane Filled(int width, int height, float (*value)(int, int)) {
  Plane plane(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) plane.at(x, y) = value(x, y);
  }
  return plane;
}

TEST(PictureQuality, AGainIsOverTheSamplesThatAMethodSupports) {
  // A network for RGB takes no clips. The other method's mean over all samples would be 40 dB.
  const Gain gain = GainOver({{"a", 31}, {"b", 30}}, {{"a", 30}, {"b", 30.5}, {"clip", 59.5}});
  EXPECT_DOUBLE_EQ(gain.mean, 0.25);
  EXPECT_DOUBLE_EQ(gain.worst, -0.5);
}

TEST(SampleNames, DifferEvenWhereFilesHaveTheSameName) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(SampleNames({"one/a.png", "two/a.png", "two/a.jpg", "b.mp4"}), (Names{"a", "a-2", "a-3", "b"}));
  EXPECT_EQ(SampleNames({"one/a.png", "one/a-2.png", "two/a.png"}), (Names{"a", "a-2", "a-3"}));
}

TEST(PictureQuality, HalvingHasTheWeightsOfMatlabsAntialiasedBicubic) {
  // imresize(·, 0.5): the cubic kernel, stretched to eight samples and half as high.
  const double weights[8] = {-3.0 / 256, -9.0 / 256, 29.0 / 256, 111.0 / 256, 111.0 / 256, 29.0 / 256, -9.0 / 256, -3.0 / 256};
  Plane impulse(32, 1);
  for (int at = 8; at < 24; ++at) {
    std::fill(impulse.data.begin(), impulse.data.end(), 0.0F);
    impulse.at(at, 0) = 1;
    const Plane half = ResizeRows(impulse, 16, kCubicKernel);
    for (int x = 0; x < 16; ++x) {
      const int tap = at - (2 * x - 3);
      EXPECT_NEAR(half.at(x, 0), tap >= 0 && tap < 8 ? weights[tap] : 0, 1e-6) << at << " " << x;
    }
  }
}

TEST(PictureQuality, DoublingInterpolatesHalfwayBetweenSamples) {
  // Output 2i lies a quarter before sample i: Keys' kernel at 1.75, 0.75, 0.25, 1.25.
  Plane impulse(16, 1);
  impulse.at(8, 0) = 1;
  const Plane twice = ResizeRows(impulse, 32, kCubicKernel);
  EXPECT_NEAR(twice.at(16, 0), Cubic(0.25), 1e-6);
  EXPECT_NEAR(twice.at(17, 0), Cubic(0.25), 1e-6);
  EXPECT_NEAR(twice.at(18, 0), Cubic(0.75), 1e-6);
  EXPECT_NEAR(twice.at(14, 0), Cubic(1.25), 1e-6);
  EXPECT_NEAR(twice.at(20, 0), Cubic(1.75), 1e-6);
}

TEST(PictureQuality, EdgesAreMirroredAndConstantsStay) {
  for (const Kernel& kernel : {kCubicKernel, kLanczosKernel}) {
    const Plane flat = Filled(13, 9, [](int, int) { return 77.0F; });
    for (const auto& [width, height] : {std::pair{26, 18}, {6, 4}, {13, 9}, {39, 27}}) {
      for (const float value : Resize(flat, width, height, kernel).data) EXPECT_NEAR(value, 77, 1e-4);
    }
  }
  // The mirror repeats the edge sample: left of sample 0 is sample 0 again.
  Plane edge(8, 1);
  edge.at(0, 0) = 1;
  EXPECT_NEAR(ResizeRows(edge, 16, kCubicKernel).at(0, 0), Cubic(0.25) + Cubic(0.75), 1e-6);
}

TEST(PictureQuality, PsnrAndSsimAreThoseOfTheirFormulas) {
  const Plane a = Filled(40, 30, [](int, int) { return 100.0F; });
  const Plane b = Filled(40, 30, [](int, int) { return 105.0F; });
  EXPECT_NEAR(Psnr(a, b, 2), 20 * std::log10(255.0 / 5), 1e-6);
  EXPECT_EQ(Psnr(a, a, 2), 100);
  constexpr double kC1 = 6.5025;
  EXPECT_NEAR(SsimY(a, b, 2), (2 * 100 * 105 + kC1) / (100 * 100 + 105 * 105 + kC1), 1e-6);
  const Plane texture = Filled(40, 30, [](int x, int y) { return static_cast<float>((x * 37 + y * 91) % 200 + 20); });
  EXPECT_NEAR(SsimY(texture, texture, 2), 1, 1e-6);
  const Plane negative = Filled(40, 30, [](int x, int y) { return 240.0F - static_cast<float>((x * 37 + y * 91) % 200 + 20); });
  EXPECT_LT(SsimY(texture, negative, 2), -0.8);
}

TEST(PictureQuality, TheBorderDoesNotCount) {
  Plane a = Filled(40, 30, [](int, int) { return 100.0F; });
  const Plane b = a;
  for (int x = 0; x < 40; ++x) a.at(x, 0) = a.at(x, 1) = a.at(x, 29) = a.at(x, 28) = 0;
  EXPECT_EQ(Psnr(a, b, 2), 100);
  EXPECT_LT(Psnr(a, b, 1), 40);
}

}  // namespace
}  // namespace reelmend::bench
