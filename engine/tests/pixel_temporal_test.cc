// TemporalDenoiser: its gain in still scenes, its artefacts in moving scenes, and the length of its memory.
#include <gtest/gtest.h>

#include "pixel/stages.h"
#include "pixel/temporal_denoise.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

constexpr PictureSize kSize = {320, 180};

/// Shading with a brighter bar whose left edge is at `edge`.
Image Scene(double edge = 1e9, PictureSize size = kSize, Subsampling subsampling = {1, 1}) {
  Image image(size.width, size.height, subsampling, {});
  testing::Fill(image, [&](int p, int x, int y) {
    if (p > 0) return 256 * (128 + 20 * std::sin(0.03 * x + 0.05 * y * p));
    const double shade = 110 + 40 * std::sin(0.02 * x) + 20 * std::sin(0.05 * y);
    return 256 * (x >= edge && x < edge + 30 ? shade + 50 : shade);
  });
  return image;
}

Image Noisy(const Image& clean, double sigma, unsigned seed) {
  Image image = testing::Copy(clean);
  testing::AddNoise(image, sigma, seed);
  return image;
}

Image Like(const Image& image) { return Image(image.width(), image.height(), image.subsampling(), {}); }

TEST(TemporalDenoise, GainsSixDecibelsOnAStillSceneWithinTenPictures) {
  ThreadPool pool(2);
  for (const double sigma : {4.0, 10.0}) {
    for (const Subsampling subsampling : testing::Subsamplings()) {
      const Image clean = Scene(1e9, kSize, subsampling);
      TemporalDenoiser denoiser(kSize.width, kSize.height, subsampling);
      Image out = Like(clean);
      Image in = Like(clean);
      for (unsigned i = 0; i < 10; ++i) {
        in = Noisy(clean, sigma, i);
        denoiser.Run(in, out, {1, static_cast<float>(sigma), static_cast<float>(sigma)}, pool);
      }
      for (int p = 0; p < 3; ++p) {
        const double gain = testing::Psnr(out.plane(p), clean.plane(p)) - testing::Psnr(in.plane(p), clean.plane(p));
        EXPECT_GT(gain, 6) << "sigma " << sigma << " plane " << p;
      }
    }
  }
}

TEST(TemporalDenoise, AStillScenesBrightnessIsConstant) {
  ThreadPool pool(2);
  const Image clean = Scene();
  TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
  Image out = Like(clean);
  for (unsigned i = 0; i < 40; ++i) {
    denoiser.Run(Noisy(clean, 10, i), out, {1, 10, 10}, pool);
    EXPECT_NEAR(testing::MeanLevel(out.plane(0)), testing::MeanLevel(clean.plane(0)), 0.25) << i;
  }
}

TEST(TemporalDenoise, AMovingEdgeLeavesNoGhost) {
  ThreadPool pool(2);
  for (const double speed : {1.0, 4.0, 16.0}) {
    TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
    Image with = Like(Scene());
    Image without = Like(Scene());
    Image clean = Like(Scene());
    for (unsigned i = 0; i < 14; ++i) {
      clean = Scene(20 + speed * i);
      const Image in = Noisy(clean, 5, i);
      denoiser.Run(in, with, {1, 5, 5}, pool);
      for (int p = 0; p < 3; ++p) {
        for (int y = 0; y < in.plane(p).height; ++y) {
          std::copy_n(in.plane(p).Row(y), in.plane(p).width, without.plane(p).Row(y));
        }
      }
    }
    // The mean over the rows removes the noise; the ghost of the bar remains.
    double worst = 0;
    for (int x = 0; x < kSize.width; ++x) {
      double residue = 0;
      for (int y = 0; y < kSize.height; ++y) {
        residue += (int{with.plane(0).Row(y)[x]} - int{clean.plane(0).Row(y)[x]}) / 256.0 / kSize.height;
      }
      worst = std::max(worst, std::abs(residue));
    }
    EXPECT_LT(worst, 2.5) << "speed " << speed;
    // The whole picture must be closer to the original than the input.
    EXPECT_GT(testing::Psnr(with.plane(0), clean.plane(0)), testing::Psnr(without.plane(0), clean.plane(0)) + 3);
  }
}

TEST(TemporalDenoise, AThinLineLeavesLittleInAQuietBlock) {
  ThreadPool pool(1);
  const Image empty = testing::Constant({64, 64}, {1, 1}, 128 * 256, 32768, 32768);
  for (const int contrast : {10, 20, 40, 80}) {
    TemporalDenoiser denoiser(64, 64, {1, 1});
    Image out = Like(empty);
    for (int i = 0; i < 9; ++i) {
      Image in = testing::Copy(empty);
      if (i < 8) std::for_each_n(in.plane(0).Row(20), 64, [&](std::uint16_t& v) { v += contrast * 256; });
      denoiser.Run(in, out, {1, 8, 8}, pool);
    }
    // At most 0.143 × T in each of three steps, where T = 5 × √2 × 8 levels and decreases with each step: below 18 levels.
    EXPECT_LE(std::abs(out.plane(0).Row(20)[30] - 128 * 256) / 256.0, 18) << contrast;
    EXPECT_TRUE(contrast < 80 || out.plane(0).Row(20)[30] == 128 * 256);
  }
}

TEST(TemporalDenoise, ATextureThatNoVectorFollowsStaysSharpUnlessItIsKnownToBeGrain) {
  ThreadPool pool(2);
  const Image flat = testing::Constant(kSize, {1, 1}, 128 * 256, 32768, 32768);
  for (const float grain : {0.0F, 4.0F}) {
    TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
    Image out = Like(flat);
    double lost_db = 0;
    for (unsigned i = 0; i < 9; ++i) {
      const Image in = Noisy(flat, 4, i);  // grass or water: another texture in each picture
      denoiser.Run(in, out, {1, 6, grain}, pool);
      lost_db = testing::Psnr(out.plane(0), flat.plane(0)) - testing::Psnr(in.plane(0), flat.plane(0));
    }
    EXPECT_EQ(lost_db > 0.1, grain > 0) << lost_db;
  }
}

TEST(TemporalDenoise, TheErrorOfAnEncodeGoesWhereATextureProvesTheMotion) {
  ThreadPool pool(2);
  TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
  Image out = Like(Scene());
  double gain = 0;
  for (unsigned i = 0; i < 10; ++i) {
    Image clean = Like(Scene());
    testing::Fill(clean, [&](int p, int x, int y) {
      return p > 0 ? 32768 : 256 * (128 + 40 * std::sin(0.9 * (x + 2.0 * i)) * std::cos(0.7 * y));
    });
    const Image in = Noisy(clean, 3, i);
    denoiser.Run(in, out, {1, 4, 0}, pool);
    gain = testing::Psnr(out.plane(0), clean.plane(0)) - testing::Psnr(in.plane(0), clean.plane(0));
  }
  EXPECT_GT(gain, 4);
}

TEST(TemporalDenoise, NothingToDoCopiesExactly) {
  ThreadPool pool(2);
  TemporalDenoiser denoiser(67, 41, {1, 1});
  for (unsigned i = 0; i < 4; ++i) {
    const Image in = testing::RandomPicture({67, 41}, {1, 1}, i);
    Image out = Like(in);
    denoiser.Run(in, out, {0, 9}, pool);
    EXPECT_EQ(testing::MaxDifference(in, out), 0);
    denoiser.Run(in, out, {1, 0}, pool);
    EXPECT_EQ(testing::MaxDifference(in, out), 0);
  }
}

TEST(TemporalDenoise, TheFirstPictureAndTheFirstAfterResetStayAsTheyAre) {
  ThreadPool pool(2);
  TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
  Image out = Like(Scene());
  for (unsigned i = 0; i < 12; ++i) {
    if (i == 6) denoiser.Reset();
    const Image in = Noisy(Scene(), 6, i);
    denoiser.Run(in, out, {1, 6, 6}, pool);
    EXPECT_EQ(testing::MaxDifference(in, out) == 0, i == 0 || i == 6) << i;
  }
}

TEST(TemporalDenoise, RemembersSevenPicturesAndNoMore) {
  ThreadPool pool(2);
  TemporalDenoiser whole(kSize.width, kSize.height, {1, 1});
  TemporalDenoiser part(kSize.width, kSize.height, {1, 1});
  Image a = Like(Scene());
  Image b = Like(Scene());
  for (unsigned i = 0; i < 40; ++i) {
    const Image in = Noisy(Scene(3.0 * i), 6, i);
    whole.Run(in, a, {0.8F, 6, 6}, pool);
    if (i < 13) continue;
    part.Run(in, b, {0.8F, 6, 6}, pool);
    const bool is_equal = testing::MaxDifference(a, b) == 0;
    EXPECT_TRUE(is_equal || i < 13 + TemporalDenoiser::kMemory) << i;
  }
}

TEST(TemporalDenoise, SizesAndThreadsOfAllKinds) {
  for (const PictureSize size : testing::Sizes()) {
    for (const Subsampling subsampling : testing::Subsamplings()) {
      ThreadPool one(1);
      ThreadPool three(3);
      TemporalDenoiser a(size.width, size.height, subsampling);
      TemporalDenoiser b(size.width, size.height, subsampling);
      for (unsigned i = 0; i < 6; ++i) {
        Image in = testing::Pattern(size, subsampling);
        testing::AddNoise(in, 5, i);
        Image x = Like(in);
        Image y = Like(in);
        a.Run(in, x, {1, 5, 3}, one);
        b.Run(in, y, {1, 5, 3}, three);
        EXPECT_EQ(testing::MaxDifference(x, y), 0) << testing::Name(size);
        EXPECT_TRUE(i > 0 || testing::MaxDifference(x, in) == 0) << testing::Name(size);
      }
    }
  }
}

TEST(TemporalDenoise, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  TemporalDenoiser denoiser(64, 64, {1, 1});
  const Image in(64, 62, {1, 1}, {});
  Image out(64, 62, {1, 1}, {});
  EXPECT_THROW(denoiser.Run(in, out, {1, 5}, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
