// The motion search of the temporal denoising: known motion, noise without motion, interpolation by a second implementation.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "pixel/motion_search.h"
#include "pixel/simd.h"
#include "pixel/stages.h"
#include "pixel/temporal_denoise.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

constexpr PictureSize kSize = {256, 160};

struct Shift {
  double x;
  double y;
};

/// Texture without a period, level 0 in the mean.
double Texture(double x, double y) {
  double sum = 0;
  for (int k = 0; k < 12; ++k) {
    const double frequency = 0.06 + 0.07 * k;
    sum += std::sin(frequency * (x * std::cos(2.4 * k) + y * std::sin(2.4 * k)) + 1.7 * k * k) / (1 + 0.12 * k);
  }
  return 14 * sum;
}

/// Texture whose content has moved by `shift` luma samples to the right and down.
Image Film(Shift shift, PictureSize size = kSize, Subsampling subsampling = {1, 1}) {
  Image image(size.width, size.height, subsampling, {});
  testing::Fill(image, [&](int p, int column, int row) {
    const double x = (p == 0 ? column : column << subsampling.log2_x) - shift.x;
    const double y = (p == 0 ? row : row << subsampling.log2_y) - shift.y;
    return 256 * (128 + (p == 0 ? Texture(x, y) : 20 * std::sin(0.021 * x + 0.4) * std::cos(0.017 * y)));
  });
  return image;
}

/// A picture with the means that the search needs.
struct Searched {
  explicit Searched(Image made) : luma(std::move(made)), means(std::max(1, luma.width() / kMotionCell), std::max(1, luma.height() / kMotionCell), {1, 1}, {}) {
    if (luma.width() >= kMotionCell && luma.height() >= kMotionCell) WriteMotionMeans(luma.plane(0), means.plane(0), 0, means.height());
  }
  MotionPicture picture() const { return {luma.plane(0), means.plane(0)}; }

  Image luma;
  Image means;
};

/// Calls `check` with the position and the vectors of each block.
void ForEachBlock(const Searched& now, const std::array<const Searched*, kTemporalSteps>& older, int count,
                  const std::function<void(int, int, const MotionVectors&)>& check) {
  std::array<MotionPicture, kTemporalSteps> pictures;
  for (int i = 0; i < count; ++i) pictures[i] = older[i]->picture();
  for (int y = 0; y < now.luma.height(); y += kMotionBlock) {
    for (int x = 0; x < now.luma.width(); x += kMotionBlock) check(x, y, SearchMotion(now.picture(), pictures, count, x, y));
  }
}

/// Whether the place that a block came from lies in the picture, with the window of the fit.
bool ComesFromInside(int x, int y, Shift shift) {
  const auto inside = [](double first, int size) { return first - kFitMargin - 2 >= 0 && first + kMotionBlock + kFitMargin + 2 <= size; };
  return inside(x, kSize.width) && inside(y, kSize.height) && inside(x - shift.x, kSize.width) && inside(y - shift.y, kSize.height);
}

TEST(MotionSearch, FindsFractionsOfASample) {
  const Searched now(Film({0, 0}));
  for (const Shift shift : {Shift{1, 0}, Shift{0.5, 0}, Shift{-0.25, 0.75}, Shift{7.3, -2.6}, Shift{-13.4, 9.9}, Shift{29.8, 0.1}, Shift{0, -30.6}}) {
    const Searched older(Film({-shift.x, -shift.y}));
    int blocks = 0;
    ForEachBlock(now, {&older}, 1, [&](int x, int y, const MotionVectors& vectors) {
      if (!ComesFromInside(x, y, shift)) return;
      ++blocks;
      EXPECT_NEAR(vectors[0].x, -shift.x * kMotionUnits, 2) << shift.x << ", " << shift.y << " at " << x << ", " << y;
      EXPECT_NEAR(vectors[0].y, -shift.y * kMotionUnits, 2) << shift.x << ", " << shift.y << " at " << x << ", " << y;
    });
    EXPECT_GT(blocks, 20);
  }
}

TEST(MotionSearch, LongerLagsGoOnFromTwiceTheMotion) {
  const Shift speed{9.25, -6.5};
  const Searched now(Film({0, 0}));
  const Searched first(Film({-speed.x, -speed.y}));
  const Searched second(Film({-2 * speed.x, -2 * speed.y}));
  const Searched third(Film({-4 * speed.x, -4 * speed.y}));
  int blocks = 0;
  ForEachBlock(now, {&first, &second, &third}, 3, [&](int x, int y, const MotionVectors& vectors) {
    if (!ComesFromInside(x, y, {4 * speed.x, 4 * speed.y})) return;
    ++blocks;
    for (int i = 0; i < kTemporalSteps; ++i) {
      EXPECT_NEAR(vectors[i].x, -speed.x * kTemporalLags[i] * kMotionUnits, 2) << i;
      EXPECT_NEAR(vectors[i].y, -speed.y * kTemporalLags[i] * kMotionUnits, 2) << i;
    }
  });
  EXPECT_GT(blocks, 10);
}

TEST(MotionSearch, NoiseDoesNotMoveAStillPicture) {
  for (const bool is_flat : {false, true}) {
    const Image clean = is_flat ? testing::Constant(kSize, {1, 1}, 120 * 256, 32768, 32768) : Film({0, 0});
    Image a = testing::Copy(clean);
    Image b = testing::Copy(clean);
    testing::AddNoise(a, 6, 1);
    testing::AddNoise(b, 6, 2);
    int blocks = 0;
    int moved = 0;
    const Searched older(std::move(b));
    ForEachBlock(Searched(std::move(a)), {&older}, 1, [&](int, int, const MotionVectors& vectors) {
      ++blocks;
      moved += vectors[0] == MotionVector{} ? 0 : 1;
    });
    EXPECT_LE(moved, is_flat ? blocks / 3 : 0) << "of " << blocks;  // without structure, a chance place may look better
  }
}

TEST(MotionSearch, SmallAndFirstPicturesHaveNoMotion) {
  const Searched small(Film({0, 0}, {31, 64}));
  const Searched moved(Film({3, 0}, {31, 64}));
  ForEachBlock(small, {&moved}, 1, [](int, int, const MotionVectors& vectors) { EXPECT_EQ(vectors, MotionVectors{}); });
  ForEachBlock(Searched(Film({0, 0})), {}, 0, [](int, int, const MotionVectors& vectors) { EXPECT_EQ(vectors, MotionVectors{}); });
}

TEST(MotionSearch, AllInstructionSetsFindTheSameVectors) {
  Image a = Film({0, 0}, {171, 93});
  Image b = Film({2.7, 1.3}, {171, 93});
  testing::AddNoise(a, 4, 1);
  testing::AddNoise(b, 4, 2);
  const Searched now(std::move(a));
  const Searched older(std::move(b));
  const auto find = [&] {
    std::vector<MotionVectors> found;
    ForEachBlock(now, {&older}, 1, [&](int, int, const MotionVectors& vectors) { found.push_back(vectors); });
    return found;
  };
  const std::vector<MotionVectors> expected = find();
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left);  // the lowest bit is the best target
    hwy::GetChosenTarget().Update(left);
    EXPECT_EQ(find(), expected) << SimdTarget();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Catmull-Rom by its definition (Keys 1981), with repeated edges.
double Interpolated(ConstPlane plane, double x, double y) {
  const auto kernel = [](double t) {
    t = std::abs(t);
    if (t < 1) return 1.5 * t * t * t - 2.5 * t * t + 1;
    return t < 2 ? -0.5 * t * t * t + 2.5 * t * t - 4 * t + 2 : 0;
  };
  double sum = 0;
  for (int j = static_cast<int>(std::floor(y)) - 1; j <= std::floor(y) + 2; ++j) {
    for (int i = static_cast<int>(std::floor(x)) - 1; i <= std::floor(x) + 2; ++i) {
      sum += kernel(x - i) * kernel(y - j) * plane.Row(std::clamp(j, 0, plane.height - 1))[std::clamp(i, 0, plane.width - 1)];
    }
  }
  return std::clamp(sum, 0.0, 65535.0);
}

TEST(MotionSearch, CompensationFollowsTheDefinitionAtAllFractionsAndEdges) {
  for (const Subsampling subsampling : {Subsampling{0, 0}, Subsampling{1, 0}, Subsampling{1, 1}}) {
    const Image image = testing::RandomPicture({67, 41}, {0, 0}, 3);
    const ConstPlane plane = image.plane(0);
    Image out(64, kMotionBlock, {0, 0}, {});
    for (int i = 0; i < 200; ++i) {
      const MotionVector vector{static_cast<std::int16_t>((i * 37) % 1200 - 600), static_cast<std::int16_t>((i * 53) % 900 - 450)};
      const BlockArea area{(i * 5) % 52, (i * 3) % 26, kMotionBlock - i % 3, kMotionBlock - i % 4};
      CompensateBlock(plane, area, vector, subsampling, out.plane(0).data, out.plane(0).stride);
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          const double dx = std::floor(vector.x * 2.0 / (1 << subsampling.log2_x)) / kMotionPhases;
          const double dy = std::floor(vector.y * 2.0 / (1 << subsampling.log2_y)) / kMotionPhases;
          EXPECT_NEAR(out.plane(0).Row(y)[x], Interpolated(plane, area.x + x + dx, area.y + y + dy), 1);
        }
      }
    }
  }
}

/// Luma away from the edges, where all content has been in the pictures before.
ConstPlane Inside(const Image& image, int margin) {
  const ConstPlane plane = image.plane(0);
  return {plane.Row(margin) + margin, plane.stride, plane.width - 2 * margin, plane.height - 2 * margin};
}

/// How much closer to the clean film the last of ten noisy pictures has come, dB of luma.
double GainOnAFilm(double sigma, const std::function<Image(int)>& picture) {
  ThreadPool pool(2);
  TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
  Image out(kSize.width, kSize.height, {1, 1}, {});
  double gain = 0;
  for (int i = 0; i < 10; ++i) {
    const Image clean = picture(i);
    Image noisy = testing::Copy(clean);
    if (sigma > 0) testing::AddNoise(noisy, sigma, static_cast<unsigned>(i));
    denoiser.Run(noisy, out, 1, static_cast<float>(std::max(sigma, 1.0)), pool);
    gain = testing::Psnr(Inside(out, 36), Inside(clean, 36)) - (sigma > 0 ? testing::Psnr(Inside(noisy, 36), Inside(clean, 36)) : 0);
  }
  return gain;
}

TEST(TemporalDenoise, GainsOnAPanAsOnAStillScene) {
  for (const Shift speed : {Shift{2, 0}, Shift{1.37, -0.61}, Shift{-11.8, 3.2}}) {
    EXPECT_GT(GainOnAFilm(5, [&](int i) { return Film({speed.x * i, speed.y * i}); }), 6) << speed.x;
  }
}

TEST(TemporalDenoise, GainsOnAZoom) {
  const auto zoom = [](int i) {
    const double scale = 1 + 0.01 * i;
    Image image(kSize.width, kSize.height, {1, 1}, {});
    testing::Fill(image, [&](int p, int column, int row) {
      const double x = ((p == 0 ? column : 2 * column) - 128) / scale;
      const double y = ((p == 0 ? row : 2 * row) - 80) / scale;
      return 256 * (128 + Texture(x, y));
    });
    return image;
  };
  EXPECT_GT(GainOnAFilm(5, zoom), 3);
}

TEST(TemporalDenoise, ACleanPanStaysSharp) {
  // Interpolation softens; on this texture by less than a coder of high quality does.
  EXPECT_GT(GainOnAFilm(0, [](int i) { return Film({1.37 * i, -0.61 * i}); }), 44);
}

}  // namespace
}  // namespace reelmend::pixel
