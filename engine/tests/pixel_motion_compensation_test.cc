// Motion compensation against a second implementation, and what the temporal denoising gains along the motion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "pixel/motion_compensation.h"
#include "pixel/stages.h"
#include "pixel/temporal_denoise.h"
#include "pixel_motion_testing.h"

namespace reelmend::pixel {
namespace {

using namespace testing;

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
    denoiser.Run(noisy, out, {1, static_cast<float>(std::max(sigma, 1.0)), static_cast<float>(sigma)}, pool);
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
