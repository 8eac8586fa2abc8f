// Compares AdaptiveContrast with a scalar double-precision reference, and tests its behaviour over time.
#include <gtest/gtest.h>

#include "pixel/contrast_levels.h"
#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;
using testing::Spread;

// ---- reference: one picture, without temporal averaging ---------------------------------------------------

struct Axis {
  int size;
  int count() const { return std::clamp(size / 32, 1, 8); }
  int Begin(int i) const { return static_cast<int>(static_cast<long long>(size) * i / count()); }
  /// Centre of a tile, rounded to a multiple of `grid`.
  double Centre(int i, int grid) const { return ((Begin(i) + Begin(i + 1)) / 2 + grid / 2) / grid * grid; }

  /// The two tiles around a position, and the position between their centres from 0 to 1.
  struct Between {
    int a;
    int b;
    double way;
  };
  Between At(int position, int grid) const {
    int a = 0;
    while (a + 1 < count() && Centre(a + 1, grid) <= position) ++a;
    if (position < Centre(a, grid) || a + 1 == count()) return {a, a, 0};
    const double from = Centre(a, grid);
    const double to = Centre(a + 1, grid);
    return {a, a + 1, to > from ? (position - from) / (to - from) : 0};
  }
};

struct BinLayout {
  double base;
  int bins;
  int bins_per_node;
};
BinLayout LevelsOf(Range range) { return range == Range::kLimited ? BinLayout{3968, 55, 5} : BinLayout{-128, 64, 4}; }

/// The curve's change at each node: its value minus the node.
std::vector<double> NodesOf(ConstPlane luma, int x0, int x1, int y0, int y1, const BinLayout& levels) {
  const int step =
      std::max(1, static_cast<int>(std::ceil(std::sqrt((x1 - x0) * double(y1 - y0) / 4096) - 1e-9)));
  std::vector<double> bins(levels.bins);
  double total = 0;
  for (int y = y0; y < y1; y += step) {
    for (int x = x0; x < x1; x += step) {
      const int bin = static_cast<int>(std::floor((luma.Row(y)[x] - levels.base) / 1024));
      bins[std::clamp(bin, 0, levels.bins - 1)] += 1;
      total += 1;
    }
  }
  const double limit = 2.0 * total / levels.bins;
  for (int round = 0; round < 4; ++round) {
    double excess = 0;
    for (double& bin : bins) {
      excess += std::max(0.0, bin - limit);
      bin = std::min(bin, limit);
    }
    for (double& bin : bins) bin += excess / levels.bins;
  }
  std::vector<double> nodes = {0};
  double below = 0;
  for (int i = 0; i < levels.bins; ++i) {
    below += bins[i];
    if ((i + 1) % levels.bins_per_node == 0)
      nodes.push_back(1024.0 * levels.bins * below / total - 1024.0 * (i + 1));
  }
  return nodes;
}

double Interpolate(const std::vector<double>& nodes, double v, const BinLayout& levels) {
  const double position = (v - levels.base) / (1024 * levels.bins_per_node);
  const int i = std::clamp(static_cast<int>(std::floor(position)), 0, static_cast<int>(nodes.size()) - 2);
  return nodes[i] + (position - i) * (nodes[i + 1] - nodes[i]);
}

Image Reference(const Image& in, double strength) {
  const ConstPlane luma = in.plane(0);
  const Axis across{luma.width};
  const Axis down{luma.height};
  const BinLayout levels = LevelsOf(in.color().range);
  std::vector<std::vector<double>> nodes;
  for (int ty = 0; ty < down.count(); ++ty) {
    for (int tx = 0; tx < across.count(); ++tx) {
      nodes.push_back(
          NodesOf(luma, across.Begin(tx), across.Begin(tx + 1), down.Begin(ty), down.Begin(ty + 1), levels));
    }
  }
  const double black = in.color().range == Range::kLimited ? 4096 : 0;
  const double white = in.color().range == Range::kLimited ? 60160 : 65280;
  Image out = testing::Copy(in);
  for (int y = 0; y < luma.height; ++y) {
    for (int x = 0; x < luma.width; ++x) {
      const double v = luma.Row(y)[x];
      if (v < levels.base || v > levels.base + 1024 * levels.bins) continue;
      const auto h = across.At(x, 32);
      const auto d = down.At(y, 1);
      const auto at = [&](int ty, int tx) { return Interpolate(nodes[ty * across.count() + tx], v, levels); };
      const double upper = at(d.a, h.a) * (1 - h.way) + at(d.a, h.b) * h.way;
      const double lower = at(d.b, h.a) * (1 - h.way) + at(d.b, h.b) * h.way;
      const double changed = v + strength * (upper * (1 - d.way) + lower * d.way);
      out.plane(0).Row(y)[x] = testing::ToSample(std::clamp(changed, std::min(v, black), std::max(v, white)));
    }
  }
  return out;
}

Image Enhance(const Image& in, float strength, int threads) {
  ThreadPool pool(threads);
  AdaptiveContrast contrast(in.width(), in.height());
  Image image = testing::Copy(in);
  contrast.Run(image, strength, pool);
  return image;
}

/// Grey shading between two levels, darker at the upper left, with a little noise.
Image Foggy(PictureSize size, double low, double high, unsigned seed, Range range = Range::kLimited) {
  Image image(size.width, size.height, {1, 1}, {Matrix::kBt709, range, ChromaSite::kLeft});
  testing::Fill(image, [&](int p, int x, int y) {
    if (p > 0) return 32768.0;
    const double t = 0.5 + 0.25 * std::sin(0.05 * x) + 0.25 * std::sin(0.07 * y + 0.02 * x);
    return 256 * (low + (high - low) * t * (0.6 + 0.4 * (x + y) / (size.width + size.height)));
  });
  testing::AddNoise(image, 1.0, seed);
  return image;
}

TEST(Contrast, EqualsTheReference) {
  std::vector<PictureSize> sizes = testing::Sizes();
  sizes.push_back({257, 129});
  sizes.push_back({1000, 300});
  for (const PictureSize size : sizes) {
    for (const Range range : {Range::kLimited, Range::kFull}) {
      for (const float strength : {0.3F, 1.0F}) {
        const ColorSpec color{Matrix::kBt709, range, ChromaSite::kLeft};
        for (const Image& in :
             {Foggy(size, 70, 150, 1, range), testing::RandomPicture(size, {1, 1}, 5, color)}) {
          EXPECT_LE(testing::MaxDifference(Enhance(in, strength, 2), Reference(in, strength)), 2)
              << testing::Name(size) << " strength " << strength << " range " << static_cast<int>(range);
        }
      }
    }
  }
}

TEST(Contrast, ThreadsDoNotChangeTheResult) {
  for (const PictureSize size : testing::Sizes()) {
    const Image in = Foggy(size, 60, 140, 2);
    const Image one = Enhance(in, 0.8F, 1);
    for (const int threads : {2, 3}) EXPECT_EQ(testing::MaxDifference(one, Enhance(in, 0.8F, threads)), 0);
  }
}

TEST(Contrast, StrengthZeroChangesNothingAndChromaNever) {
  const Image in = testing::RandomPicture({200, 100}, {1, 1}, 3);
  EXPECT_EQ(testing::MaxDifference(in, Enhance(in, 0, 2)), 0);
  const Image out = Enhance(in, 1, 2);
  for (int p = 1; p < 3; ++p) EXPECT_EQ(testing::MaxDifference(in.plane(p), out.plane(p)), 0);
}

TEST(Contrast, LiftsAFoggyPicture) {
  const Image in = Foggy({480, 270}, 90, 140, 4);
  EXPECT_GT(Spread(Enhance(in, 1, 2).plane(0)), 1.25 * Spread(in.plane(0)));
}

TEST(Contrast, AWellSpreadHistogramStays) {
  for (const Range range : {Range::kLimited, Range::kFull}) {
    const int first = range == Range::kLimited ? 16 : 0;
    const int levels = range == Range::kLimited ? 220 : 256;
    const ColorSpec color{Matrix::kBt709, range, ChromaSite::kLeft};
    Image even(880, 256, {1, 1}, color);  // every tile has every level equally often
    testing::Fill(
        even, [&](int p, int x, int y) { return p > 0 ? 32768 : 256 * (first + (x * 7 + y * 13) % levels); });
    EXPECT_LE(testing::MaxDifference(even, Enhance(even, 1, 2)), 256) << levels;
    Image noise(1920, 1080, {1, 1}, color);
    std::mt19937 random(5);
    testing::Fill(noise, [&](int, int, int) { return 256 * (first + static_cast<int>(random() % levels)); });
    const Image out = Enhance(noise, 1, 2);
    EXPECT_GT(testing::Psnr(noise.plane(0), out.plane(0)), 40) << levels;
  }
}

TEST(Contrast, LevelsOfTheRangeStayInIt) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    Image in(480, 270, {1, 1}, {});
    std::mt19937 random(seed);
    testing::Fill(in, [&](int p, int x, int) {
      const int level = x < 240 ? 16 + static_cast<int>(random() % 6) : 230 + static_cast<int>(random() % 6);
      return p > 0 ? 32768 : 256 * level;
    });
    const Image out = Enhance(in, 1, 2);
    for (int y = 0; y < 270; ++y) {
      for (int x = 0; x < 480; ++x) {
        ASSERT_GE(out.plane(0).Row(y)[x], 16 * 256);
        ASSERT_LE(out.plane(0).Row(y)[x], 235 * 256);
      }
    }
  }
}

TEST(Contrast, BlackStaysBlack) {
  Image in = Foggy({640, 360}, 40, 120, 6);
  for (int y = 0; y < 45; ++y) std::fill_n(in.plane(0).Row(y), 640, std::uint16_t{4096});
  const Image out = Enhance(in, 1, 2);
  for (int x = 0; x < 640; ++x) EXPECT_LE(out.plane(0).Row(20)[x], 4096 + 64);  // a quarter of a level
}

TEST(Contrast, AStillSceneKeepsItsBrightness) {
  ThreadPool pool(2);
  AdaptiveContrast contrast(480, 270);
  double lowest = 1e9;
  double highest = -1e9;
  for (unsigned frame = 0; frame < 60; ++frame) {
    Image image = Foggy({480, 270}, 60, 150, 100 + frame);
    contrast.Run(image, 1, pool);
    lowest = std::min(lowest, testing::MeanLevel(image.plane(0)));
    highest = std::max(highest, testing::MeanLevel(image.plane(0)));
  }
  EXPECT_LT(highest - lowest, 0.5);
}

TEST(Contrast, AFlashMovesThePicturesAfterItByLittle) {
  // One picture has a weight of 1/16: it changes any sample by at most 220 / 16 levels, and the mean by far less.
  ThreadPool pool(2);
  AdaptiveContrast contrast(480, 270);
  double before = 0;
  for (unsigned frame = 0; frame < 50; ++frame) {
    Image image = frame == 24 ? Foggy({480, 270}, 140, 220, 7) : Foggy({480, 270}, 60, 150, 7);
    contrast.Run(image, 1, pool);
    const double mean = testing::MeanLevel(image.plane(0));
    if (frame == 23) before = mean;
    if (frame <= 24) continue;
    EXPECT_LT(std::abs(mean - before), frame <= 24 + 15 ? 220.0 / 16 / 2 : 0.001) << frame;
  }
}

TEST(Contrast, AfterTheWarmUpASegmentEqualsTheWholeRun) {
  ThreadPool pool(2);
  AdaptiveContrast whole(320, 180);
  AdaptiveContrast segment(320, 180);
  for (unsigned frame = 0; frame < 45; ++frame) {
    const Image in = Foggy({320, 180}, 50 + frame, 120 + frame, frame);
    Image a = testing::Copy(in);
    whole.Run(a, 0.7F, pool);
    if (frame < 20) continue;
    Image b = testing::Copy(in);
    segment.Run(b, 0.7F, pool);
    if (frame < 20 + 16) continue;
    EXPECT_EQ(testing::MaxDifference(a, b), 0) << frame;
  }
}

TEST(Contrast, ResetForgetsTheSceneBefore) {
  ThreadPool pool(2);
  AdaptiveContrast contrast(320, 180);
  for (unsigned frame = 0; frame < 20; ++frame) {
    Image image = Foggy({320, 180}, 140, 220, frame);
    contrast.Run(image, 1, pool);
  }
  contrast.Reset();
  Image image = Foggy({320, 180}, 40, 90, 1);
  const Image expected = Enhance(image, 1, 1);
  contrast.Run(image, 1, pool);
  EXPECT_EQ(testing::MaxDifference(image, expected), 0);
}
TEST(Contrast, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  AdaptiveContrast contrast(320, 180);
  Image image(320, 200, {1, 1}, {});
  EXPECT_THROW(contrast.Run(image, 1, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
