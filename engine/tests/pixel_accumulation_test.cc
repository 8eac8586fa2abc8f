// TemporalAccumulator: it steadies detail that follows the motion, blurs and smears nothing that does not, and remembers three pictures.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

constexpr PictureSize kSource = {96, 64};
constexpr int kScale = 3;
constexpr PictureSize kSize = {kSource.width * kScale, kSource.height * kScale};
/// Of a picture, in samples of the enlarged one.
constexpr int kPanX = 4;
constexpr int kPanY = -2;

/// A soft random texture, as a resize leaves it.
class Texture {
 public:
  explicit Texture(unsigned seed) : levels_(kSide * kSide) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, 60);
    std::vector<double> noise(levels_.size());
    for (double& level : noise) level = normal(random);
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        double sum = 0;
        for (int i = -2; i <= 2; ++i) {
          for (int j = -2; j <= 2; ++j) sum += noise[Place(x + i, y + j)] / 10;
        }
        levels_[Place(x, y)] = sum;
      }
    }
  }
  double At(int x, int y) const { return levels_[Place(x, y)]; }

 private:
  static constexpr int kSide = 128;
  static std::size_t Place(int x, int y) {
    return static_cast<std::size_t>((y % kSide + kSide) % kSide) * kSide + static_cast<std::size_t>((x % kSide + kSide) % kSide);
  }
  std::vector<double> levels_;
};

/// The enlarged picture of a number. The pan shows at (x, y) what its first picture showed at (x, y) + number × pan.
Image Enlarged(const Texture& texture, int number, int pan_x = kPanX, int pan_y = kPanY) {
  Image image(kSize.width, kSize.height, {1, 1}, {});
  testing::Fill(image, [&](int p, int x, int y) { return p > 0 ? 32'768 : 256 * (120 + texture.At(x + number * pan_x, y + number * pan_y)); });
  return image;
}

/// What temporal denoising would find in the source.
SourceMotion MotionOf(int pan_x, int pan_y) {
  SourceMotion motion;
  motion.columns = (kSource.width + kMotionBlock - 1) / kMotionBlock;
  motion.width = kSource.width;
  motion.height = kSource.height;
  MotionVectors vectors{};
  for (int step = 0; step < kTemporalSteps; ++step) {
    const int units = -kTemporalLags[step] * kMotionUnits;
    vectors[step] = {static_cast<std::int16_t>(units * pan_x / kScale), static_cast<std::int16_t>(units * pan_y / kScale)};
  }
  motion.vectors.assign(static_cast<std::size_t>(motion.columns) * ((kSource.height + kMotionBlock - 1) / kMotionBlock), vectors);
  return motion;
}

/// The vector points to where the content was, so content that moves to the left came from the right.
SourceMotion Panned() { return MotionOf(-kPanX, -kPanY); }

/// Mean square change from picture to picture along the pan, in the middle.
double Unsteadiness(const Image& before, const Image& now) {
  const ConstPlane a = before.plane(0);
  const ConstPlane b = now.plane(0);
  double sum = 0;
  int count = 0;
  for (int y = 24; y < kSize.height - 24; ++y) {
    for (int x = 24; x < kSize.width - 24; ++x, ++count) {
      const double d = (int{a.Row(y + kPanY)[x + kPanX]} - int{b.Row(y)[x]}) / 256.0;
      sum += d * d;
    }
  }
  return sum / count;
}

TEST(TemporalAccumulation, SteadiesDetailAlongTheMotion) {
  ThreadPool pool(2);
  const Texture texture(1);
  TemporalAccumulator accumulator(kSize.width, kSize.height);
  Image plain[2];
  Image steady[2];
  for (int i = 0; i < 8; ++i) {
    const Image clean = Enlarged(texture, i);
    Image image = testing::Copy(clean);
    testing::AddNoise(image, 4, static_cast<unsigned>(i));
    plain[i % 2] = testing::Copy(image);
    accumulator.Run(image, Panned(), 1, pool);
    steady[i % 2] = testing::Copy(image);
    if (i < TemporalAccumulator::kMemory) continue;
    EXPECT_GT(testing::Psnr(image.plane(0), clean.plane(0)) - testing::Psnr(plain[i % 2].plane(0), clean.plane(0)), 3) << "picture " << i;
    if (i == TemporalAccumulator::kMemory) continue;
    EXPECT_LT(Unsteadiness(steady[(i + 1) % 2], steady[i % 2]), 0.25 * Unsteadiness(plain[(i + 1) % 2], plain[i % 2])) << "picture " << i;
  }
}

TEST(TemporalAccumulation, FitsAVectorThatIsOffByHalfASampleOfTheSource) {
  ThreadPool pool(1);
  const Texture texture(2);
  SourceMotion motion = Panned();
  for (MotionVectors& vectors : motion.vectors) {
    for (MotionVector& vector : vectors) vector.x = static_cast<std::int16_t>(vector.x + kMotionUnits / 2);
  }
  TemporalAccumulator accumulator(kSize.width, kSize.height);
  for (int i = 0; i < 6; ++i) {
    Image image = Enlarged(texture, i);
    const Image clean = testing::Copy(image);
    accumulator.Run(image, motion, 1, pool);
    EXPECT_GT(testing::Psnr(image.plane(0), clean.plane(0)), 45) << "picture " << i;
  }
}

TEST(TemporalAccumulation, LeavesTextureThatNoVectorFollowsAsItIs) {
  ThreadPool pool(1);
  TemporalAccumulator accumulator(kSize.width, kSize.height);
  for (unsigned i = 0; i < 6; ++i) {
    const Texture other(10 + i);
    Image image = Enlarged(other, 0);
    const Image before = testing::Copy(image);
    accumulator.Run(image, MotionOf(0, 0), 1, pool);
    EXPECT_GT(testing::Psnr(image.plane(0), before.plane(0)), 47) << "picture " << i;  // half of another texture: 22 dB
  }
}

TEST(TemporalAccumulation, AThingThatMovesOtherwiseLeavesLittle) {
  ThreadPool pool(1);
  const Texture texture(3);
  TemporalAccumulator accumulator(kSize.width, kSize.height);
  constexpr int kStep = 105 * 256;  // from the mean of the texture to the square
  for (int i = 0; i < 8; ++i) {
    Image image = Enlarged(texture, i);
    const Plane luma = image.plane(0);
    for (int y = 60; y < 120; ++y) {  // a bright square that moves against the pan
      for (int x = 40 + 12 * i; x < 100 + 12 * i; ++x) luma.Row(y)[x] = 256 * 225;
    }
    const Image before = testing::Copy(image);
    accumulator.Run(image, Panned(), 1, pool);
    EXPECT_LT(testing::MaxDifference(image, before), kStep / 4) << "picture " << i;
    EXPECT_GT(testing::Psnr(luma, before.plane(0)), 45) << "picture " << i;
  }
}

TEST(TemporalAccumulation, TheFirstPictureAndTheFirstAfterResetStayAsTheyAre) {
  ThreadPool pool(1);
  const Texture texture(4);
  TemporalAccumulator accumulator(kSize.width, kSize.height);
  for (int i = 0; i < 6; ++i) {
    if (i == 3) accumulator.Reset();
    Image image = Enlarged(texture, i);
    testing::AddNoise(image, 4, static_cast<unsigned>(i));
    const Image before = testing::Copy(image);
    accumulator.Run(image, Panned(), 1, pool);
    EXPECT_EQ(testing::MaxDifference(image, before) == 0, i % 3 == 0) << "picture " << i;
  }
}

TEST(TemporalAccumulation, RemembersThreePicturesAndNoMore) {
  ThreadPool pool(1);
  const Texture texture(5);
  const auto noisy = [&](int number) {
    Image image = Enlarged(texture, number);
    testing::AddNoise(image, 4, static_cast<unsigned>(number));
    return image;
  };
  TemporalAccumulator whole(kSize.width, kSize.height);
  TemporalAccumulator part(kSize.width, kSize.height);
  for (int i = 0; i < 8; ++i) {
    Image of_whole = noisy(i);
    whole.Run(of_whole, Panned(), 1, pool);
    if (i < 3) continue;
    Image of_part = noisy(i);
    part.Run(of_part, Panned(), 1, pool);
    EXPECT_EQ(testing::MaxDifference(of_whole, of_part) == 0, i - 3 >= TemporalAccumulator::kMemory) << "picture " << i;
  }
}

TEST(TemporalAccumulation, NothingToDoChangesNothing) {
  ThreadPool pool(1);
  for (const auto& [size, strength] : {std::pair{kSize, 0.0F}, std::pair{PictureSize{30, 64}, 1.0F}}) {
    TemporalAccumulator accumulator(size.width, size.height);
    for (unsigned i = 0; i < 3; ++i) {
      Image image(size.width, size.height, {1, 1}, {});
      testing::AddNoise(image, 20, i);
      const Image before = testing::Copy(image);
      accumulator.Run(image, Panned(), strength, pool);
      EXPECT_EQ(testing::MaxDifference(image, before), 0);
    }
  }
}

TEST(TemporalAccumulation, SizesAndThreadsOfAllKindsAgree) {
  for (const PictureSize size : {PictureSize{32, 32}, PictureSize{33, 47}, PictureSize{250, 130}, PictureSize{64, 500}}) {
    ThreadPool one(1);
    ThreadPool three(3);
    SourceMotion motion = Panned();
    TemporalAccumulator alone(size.width, size.height);
    TemporalAccumulator together(size.width, size.height);
    for (unsigned i = 0; i < 5; ++i) {
      Image a = testing::Pattern(size, {1, 1}, {});
      testing::AddNoise(a, 3, i);
      Image b = testing::Copy(a);
      alone.Run(a, motion, 0.7F, one);
      together.Run(b, motion, 0.7F, three);
      EXPECT_EQ(testing::MaxDifference(a, b), 0) << testing::Name(size);
    }
  }
}

TEST(TemporalAccumulation, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  TemporalAccumulator accumulator(64, 64);
  Image image(66, 64, {1, 1}, {});
  EXPECT_THROW(accumulator.Run(image, Panned(), 1, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
