// Stages that process only luma or only chroma.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "pixel/stages.h"

namespace reelmend::pixel {
namespace {

Image Noise(int width, int height, Subsampling subsampling, unsigned seed) {
  Image image(width, height, subsampling, {});
  std::mt19937 random(seed);
  for (int p = 0; p < 3; ++p) {
    const Plane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) plane.Row(y)[x] = static_cast<std::uint16_t>(20'000 + random() % 8'000);
    }
  }
  return image;
}

std::vector<std::uint16_t> Samples(const Image& image, int plane) {
  std::vector<std::uint16_t> samples;
  const ConstPlane view = image.plane(plane);
  for (int y = 0; y < view.height; ++y) samples.insert(samples.end(), view.Row(y), view.Row(y) + view.width);
  return samples;
}

/// Expects that `run(in, out, planes)` gives the same wanted planes as with all planes, and does not change the others.
template <typename Run>
void ExpectOnlyThose(const Image& in, int width, int height, Subsampling subsampling, const Run& run) {
  Image all = Noise(width, height, subsampling, 2);
  run(in, all, Planes::kAll);
  for (const Planes planes : {Planes::kLuma, Planes::kChroma}) {
    const Image before = Noise(width, height, subsampling, 3);
    Image out = Noise(width, height, subsampling, 3);
    run(in, out, planes);
    for (int p = 0; p < 3; ++p) {
      const bool is_wanted = (planes == Planes::kLuma) == (p == 0);
      EXPECT_EQ(Samples(out, p), Samples(is_wanted ? all : before, p)) << "plane " << p;
    }
  }
}

class PlanesTest : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};

TEST_P(PlanesTest, TheResizerLeavesOtherPlanesAlone) {
  for (const Subsampling subsampling : {Subsampling{1, 1}, Subsampling{0, 0}, Subsampling{1, 0}}) {
    const Image in = Noise(90, 70, subsampling, 1);
    for (const auto& [width, height] : {std::pair{180, 140}, {90, 70}, {44, 34}, {120, 200}}) {
      Resizer resizer(90, 70, subsampling, in.color(), width, height);
      ExpectOnlyThose(in, width, height, {1, 1},
                      [&](const Image& from, Image& to, Planes planes) { resizer.Run(from, to, pool_, planes); });
    }
  }
}

TEST_P(PlanesTest, TheDenoiserLeavesOtherPlanesAlone) {
  const Image in = Noise(90, 70, {1, 1}, 1);
  Denoiser denoiser(90, 70, {1, 1});
  ExpectOnlyThose(in, 90, 70, {1, 1}, [&](const Image& from, Image& to, Planes planes) {
    denoiser.Run(from, to, 0.6F, 6, pool_, planes);
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, PlanesTest, ::testing::Values(1, 3));

}  // namespace
}  // namespace reelmend::pixel
