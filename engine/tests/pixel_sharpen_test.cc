// Compares Sharpener with a scalar double-precision reference, and tests its invariants.
#include <gtest/gtest.h>

#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

struct Neighbourhood {
  double sum = 0;  // of the four neighbours
  double low = 1e9;
  double high = -1e9;
  double centre = 0;
};

Neighbourhood PlusAt(ConstPlane plane, int x, int y) {
  Neighbourhood n;
  const int steps[5][2] = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  for (const auto& step : steps) {
    const double v =
        plane.Row(std::clamp(y + step[1], 0, plane.height - 1))[std::clamp(x + step[0], 0, plane.width - 1)];
    n.low = std::min(n.low, v);
    n.high = std::max(n.high, v);
    if (step[0] == 0 && step[1] == 0) {
      n.centre = v;
    } else {
      n.sum += v;
    }
  }
  return n;
}

Image Reference(const Image& in, double strength) {
  Image out = testing::Copy(in);
  const double black = in.color().range == Range::kLimited ? 4096 : 0;
  const double white = in.color().range == Range::kLimited ? 60160 : 65280;
  const ConstPlane from = in.plane(0);
  const Plane to = out.plane(0);
  for (int y = 0; y < from.height; ++y) {
    for (int x = 0; x < from.width; ++x) {
      const Neighbourhood n = PlusAt(from, x, y);
      const double room = std::max(0.0, std::min(n.low - black, white - n.high));
      const double amplitude = room > 0 ? std::sqrt(room / (n.high - black)) : 0;
      const double w = -amplitude * strength / 5;
      to.Row(y)[x] = testing::ToSample(std::clamp((n.centre + w * n.sum) / (1 + 4 * w), n.low, n.high));
    }
  }
  return out;
}

Image Sharpen(const Image& in, float strength, int threads) {
  ThreadPool pool(threads);
  Sharpener sharpener(in.width(), in.height());
  Image out(in.width(), in.height(), in.subsampling(), {});
  sharpener.Run(in, out, strength, pool);
  return out;
}

TEST(Sharpen, EqualsTheReference) {
  for (const PictureSize size : testing::Sizes()) {
    for (const Range range : {Range::kLimited, Range::kFull}) {
      const ColorSpec color{Matrix::kBt709, range, ChromaSite::kLeft};
      for (const float strength : {0.2F, 0.6F, 1.0F}) {
        for (const Image& in :
             {testing::RandomPicture(size, {1, 1}, 6, color), testing::Pattern(size, {1, 1}, color)}) {
          EXPECT_LE(testing::MaxDifference(Sharpen(in, strength, 2), Reference(in, strength)),
                    4)  // 4/256 of a level
              << testing::Name(size) << " strength " << strength;
        }
      }
    }
  }
}

TEST(Sharpen, ThreadsDoNotChangeTheResult) {
  for (const PictureSize size : testing::Sizes()) {
    const Image in = testing::RandomPicture(size, {1, 0}, 2);
    const Image one = Sharpen(in, 0.7F, 1);
    for (const int threads : {2, 3}) EXPECT_EQ(testing::MaxDifference(one, Sharpen(in, 0.7F, threads)), 0);
  }
}

TEST(Sharpen, StrengthZeroCopiesExactlyAndChromaAlways) {
  for (const Subsampling subsampling : testing::Subsamplings()) {
    const Image in = testing::RandomPicture({67, 41}, subsampling, 3);
    EXPECT_EQ(testing::MaxDifference(in, Sharpen(in, 0, 2)), 0);
    const Image out = Sharpen(in, 1, 2);
    for (int p = 1; p < 3; ++p) EXPECT_EQ(testing::MaxDifference(in.plane(p), out.plane(p)), 0);
  }
}

TEST(Sharpen, ConstantStaysConstant) {
  for (const int value : {0, 4096, 30000, 60160, 65535}) {
    const Image in = testing::Constant({40, 30}, {1, 1}, value, value, value);
    EXPECT_EQ(testing::MaxDifference(in, Sharpen(in, 1, 2)), 0);
  }
}

TEST(Sharpen, NeverLeavesTheNeighbourhoodsRange) {
  const Image in = testing::RandomPicture({129, 67}, {1, 1}, 12);
  const Image out = Sharpen(in, 1, 2);
  for (int y = 0; y < in.height(); ++y) {
    for (int x = 0; x < in.width(); ++x) {
      const Neighbourhood n = PlusAt(in.plane(0), x, y);
      ASSERT_GE(out.plane(0).Row(y)[x], n.low);
      ASSERT_LE(out.plane(0).Row(y)[x], n.high);
    }
  }
}

TEST(Sharpen, ASoftEdgeGetsSteeperWithoutHalo) {
  Image in(64, 16, {1, 1}, {});
  testing::Fill(in, [](int p, int x, int) {
    return p > 0 ? 32768.0 : 256 * (60 + 120 / (1 + std::exp(-(x - 31.5) / 0.7)));
  });
  const Image out = Sharpen(in, 1, 1);
  const auto steepest = [](const Image& image) {
    int best = 0;
    for (int x = 1; x < 64; ++x)
      best = std::max(best, image.plane(0).Row(8)[x] - image.plane(0).Row(8)[x - 1]);
    return best;
  };
  EXPECT_GT(steepest(out), 1.15 * steepest(in));
  for (int x = 0; x < 64; ++x) {
    EXPECT_GE(out.plane(0).Row(8)[x], 60 * 256);
    EXPECT_LE(out.plane(0).Row(8)[x], 180 * 256);
  }
}

TEST(Sharpen, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  Sharpener sharpener(16, 16);
  const Image in(18, 16, {1, 1}, {});
  Image out(16, 16, {1, 1}, {});
  EXPECT_THROW(sharpener.Run(in, out, 1, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
