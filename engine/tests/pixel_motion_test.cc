// The motion search of the temporal denoising: known motion, noise without motion, a second implementation, all instruction sets.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <vector>

#include "pixel/motion_search.h"
#include "pixel/simd.h"
#include "pixel_motion_testing.h"

namespace reelmend::pixel {
namespace {

using namespace testing;

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
    const Searched now(std::move(a));
    const Searched older(std::move(b));
    for (const double grain : {0.0, 6.0}) {
      int blocks = 0;
      int moved = 0;
      const auto count = [&](int, int, const MotionVectors& vectors) {
        ++blocks;
        moved += vectors[0] == MotionVector{} ? 0 : 1;
      };
      ForEachBlock(now, {&older}, 1, count, grain);
      // Without structure, a chance place may look better.
      EXPECT_LE(moved, is_flat ? (grain == 0 ? blocks / 3 : blocks / 20) : 0) << "of " << blocks << ", grain " << grain;
    }
  }
}

TEST(MotionSearch, SmallAndFirstPicturesHaveNoMotion) {
  const Searched small(Film({0, 0}, {31, 64}));
  const Searched moved(Film({3, 0}, {31, 64}));
  ForEachBlock(small, {&moved}, 1, [](int, int, const MotionVectors& vectors) { EXPECT_EQ(vectors, MotionVectors{}); });
  ForEachBlock(Searched(Film({0, 0})), {}, 0, [](int, int, const MotionVectors& vectors) { EXPECT_EQ(vectors, MotionVectors{}); });
}

TEST(MotionSearch, FollowsItsDefinition) {
  int moved = 0;
  int still = 0;
  for (const Shift speed : {Shift{0.3, 0.1}, Shift{3, -2}, Shift{-18.4, 11.7}, Shift{31.2, 30.9}}) {
    for (const PictureSize size : {PictureSize{171, 93}, PictureSize{32, 32}}) {
      const NoisyFilm film(speed, size);
      for (const double grain : {0.0, 5.0, 7.0}) {
        const auto check = [&](int x, int y, const MotionVectors& vectors) {
          MotionVectors expected{};
          for (int i = 0; i < kTemporalSteps; ++i) {
            Definition block(film.now.picture(), film.older[i]->picture(), x, y);
            expected[i] = block.Find(i == 0 ? nullptr : &expected[i - 1], grain);
            (expected[i] == MotionVector{} ? still : moved) += 1;
          }
          EXPECT_EQ(vectors, expected) << speed.x << ", " << speed.y << " at " << x << ", " << y << ", grain " << grain;
        };
        film.ForEach(check, grain);
      }
    }
  }
  EXPECT_GT(moved, 1200);
  EXPECT_GT(still, 100);
}

TEST(MotionSearch, AllInstructionSetsFindTheSameVectors) {
  for (const Shift speed : {Shift{-2.7, -1.3}, Shift{14.2, 5.5}}) {
    const NoisyFilm film(speed, {171, 93});
    const auto find = [&] {
      std::vector<MotionVectors> found;
      film.ForEach([&](int, int, const MotionVectors& vectors) { found.push_back(vectors); });
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
}

}  // namespace
}  // namespace reelmend::pixel
