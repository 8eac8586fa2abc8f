// The motion of all blocks of a picture: global motion, objects, still cameras, noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "pixel/motion_field.h"
#include "pixel_motion_testing.h"

namespace reelmend::pixel {
namespace {

using namespace testing;

/// The vectors of all blocks, row by row, as a MotionField finds them.
std::vector<MotionVectors> FieldOf(const NoisyFilm& film, double grain_sigma = 0) {
  const Image& luma = film.now.luma;
  MotionField field(luma.width(), luma.height());
  ThreadPool pool(2);
  field.Find(film.now.picture(), {film.older[0]->picture(), film.older[1]->picture(), film.older[2]->picture()}, kTemporalSteps,
             StillSad(grain_sigma), pool);
  std::vector<MotionVectors> vectors;
  for (int row = 0; row < field.rows(); ++row) {
    for (int column = 0; column < field.columns(); ++column) vectors.push_back(field.Row(row)[column].vectors);
  }
  return vectors;
}

/// What FieldOf must find, by the definition of Note [Global motion].
std::vector<MotionVectors> DefinedField(const NoisyFilm& film, double grain_sigma) {
  std::vector<MotionVectors> own;
  std::vector<std::pair<int, int>> places;
  const auto add = [&](int x, int y, const MotionVectors& vectors) {
    own.push_back(vectors);
    places.emplace_back(x, y);
  };
  film.ForEach(add, grain_sigma);
  std::vector<MotionVectors> made = own;
  for (int step = 0; step < kTemporalSteps; ++step) {
    std::vector<std::int16_t> x;
    std::vector<std::int16_t> y;
    for (const MotionVectors& v : own) {
      if (v[step] == MotionVector{}) continue;
      x.push_back(v[step].x);
      y.push_back(v[step].y);
    }
    if (x.empty()) continue;
    std::ranges::sort(x);
    std::ranges::sort(y);
    const MotionVector global{x[x.size() / 2], y[y.size() / 2]};
    std::size_t near = 0;
    for (const MotionVectors& v : own) {
      const bool is_near = std::abs(v[step].x - global.x) <= kMotionUnits && std::abs(v[step].y - global.y) <= kMotionUnits;
      near += v[step] != MotionVector{} && is_near ? 1 : 0;
    }
    if (near * 8 < own.size()) continue;
    const auto is_better = [](std::uint32_t a, std::uint32_t b) { return a < b - b / 4; };
    int votes = 0;
    for (const bool counts : {true, false}) {
      if (!counts && votes <= 0) break;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const Definition block(film.now.picture(), film.older[step]->picture(), places[i].first, places[i].second);
        if (block.IsStill()) continue;
        const std::uint32_t along = block.ErrorAt(global);
        const std::uint32_t none = block.ErrorAt({});
        if (counts) {
          votes += is_better(along, none) ? 1 : is_better(none, along) ? -1 : 0;
        } else if (!is_better(block.ErrorAt(own[i][step]), along)) {
          made[i][step] = global;
        }
      }
    }
  }
  return made;
}

/// Texture with a square that may move on its own; on the right no structure, at the bottom a bar without noise.
struct ObjectFilm {
  Shift camera;
  Shift object;

  NoisyFilm Make() const {
    return NoisyFilm([&](double pictures, unsigned seed) {
      Image image(kWidth, kHeight, {1, 1}, {});
      testing::Fill(image, [&](int p, int x, int y) {
        if (p > 0) return 32768.0;
        const Shift at = IsObject(x, y, 0) ? object : camera;
        return 256 * (x >= kFlatFrom ? 128 : 128 + Texture(x - pictures * at.x, y - pictures * at.y));
      });
      testing::AddNoise(image, 5, seed);
      for (int y = kBarFrom; y < kHeight; ++y) std::fill_n(image.plane(0).Row(y), kWidth, std::uint16_t{16 * 256});
      return image;
    });
  }
  /// `margin`: samples around the square that count, too.
  static bool IsObject(int x, int y, int margin) { return x >= 16 - margin && x < 144 + margin && y >= 32 - margin && y < 160 + margin; }

  static constexpr int kWidth = 448;
  static constexpr int kHeight = 224;
  static constexpr int kFlatFrom = 256;
  static constexpr int kBarFrom = 208;
};

/// The shares of blocks with nearly this motion for the lag of one picture. Blocks beside another part do not count.
struct Shares {
  double flat = 0;
  double object = 0;
  double around = 0;
};

Shares SharesOf(const std::vector<MotionVectors>& vectors, Shift flat, Shift object, Shift around) {
  using F = ObjectFilm;
  Shares hits;
  Shares all;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const int x = static_cast<int>(i) % (F::kWidth / kMotionBlock) * kMotionBlock;
    const int y = static_cast<int>(i) / (F::kWidth / kMotionBlock) * kMotionBlock;
    if (x < 16 || y < 16 || x > F::kWidth - 32 || y > F::kBarFrom - 32 || std::abs(x + 8 - F::kFlatFrom) < 32) continue;
    const bool is_object = F::IsObject(x - 16, y - 16, 0) && F::IsObject(x + 16, y + 16, 0);
    if (!is_object && F::IsObject(x, y, 32)) continue;
    double Shares::*part = x >= F::kFlatFrom ? &Shares::flat : is_object ? &Shares::object : &Shares::around;
    const Shift expected = x >= F::kFlatFrom ? flat : is_object ? object : around;
    hits.*part += std::hypot(vectors[i][0].x / 16.0 + expected.x, vectors[i][0].y / 16.0 + expected.y) < 0.5 ? 1 : 0;
    all.*part += 1;
  }
  return {hits.flat / all.flat, hits.object / all.object, hits.around / all.around};
}

TEST(MotionField, FollowsItsDefinition) {
  for (const ObjectFilm& film : {ObjectFilm{{2.6, -1.2}, {-3, 4}}, ObjectFilm{{0, 0}, {-3, 4}}, ObjectFilm{{-0.5, 6}, {-0.5, 6}}}) {
    const NoisyFilm made = film.Make();
    for (const double grain : {0.0, 5.0}) {
      EXPECT_EQ(FieldOf(made, grain), DefinedField(made, grain)) << film.camera.x << ", " << film.object.x << ", grain " << grain;
    }
  }
  for (const Shift speed : {Shift{0.3, 0.1}, Shift{3, -2}, Shift{-9.4, 5.7}, Shift{0, 0}}) {
    for (const PictureSize size : {PictureSize{171, 93}, PictureSize{32, 32}}) {
      const NoisyFilm film(speed, size);
      for (const double grain : {0.0, 5.0}) {
        EXPECT_EQ(FieldOf(film, grain), DefinedField(film, grain)) << speed.x << ", " << speed.y << ", " << size.width << ", grain " << grain;
      }
    }
  }
}

TEST(MotionField, BlocksWithoutStructureFollowTheCamera) {
  const Shift pan{2.6, -1.2};
  const NoisyFilm film = ObjectFilm{pan, pan}.Make();
  for (const double grain : {0.0, 5.0}) {
    std::vector<MotionVectors> own;
    film.ForEach([&](int, int, const MotionVectors& vectors) { own.push_back(vectors); }, grain);
    EXPECT_LT(SharesOf(own, pan, pan, pan).flat, 0.3) << grain;
    const Shares shares = SharesOf(FieldOf(film, grain), pan, pan, pan);
    EXPECT_GT(shares.flat, 0.9) << grain;
    EXPECT_EQ(shares.around, 1) << grain;
  }
}

TEST(MotionField, AnObjectKeepsItsOwnMotion) {
  const Shift pan{2.6, -1.2};
  const Shift object{-3, 4};
  const Shares shares = SharesOf(FieldOf(ObjectFilm{pan, object}.Make()), pan, object, pan);
  EXPECT_EQ(shares.object, 1);
  EXPECT_EQ(shares.around, 1);
}

TEST(MotionField, AStillCameraIsNotMovedByAnObject) {
  const Shift object{-3, 4};
  const Shares shares = SharesOf(FieldOf(ObjectFilm{{0, 0}, object}.Make()), {0, 0}, object, {0, 0});
  EXPECT_EQ(shares.object, 1);
  EXPECT_EQ(shares.around, 1);
  EXPECT_GT(shares.flat, 0.5);
}

TEST(MotionField, NoiseIsNoGlobalMotion) {
  const NoisyFilm film([](double, unsigned seed) {
    Image image = testing::Constant(kSize, {1, 1}, 120 * 256, 32768, 32768);
    testing::AddNoise(image, 6, seed);
    return image;
  });
  std::vector<MotionVectors> own;
  film.ForEach([&](int, int, const MotionVectors& vectors) { own.push_back(vectors); });
  EXPECT_EQ(FieldOf(film), own);
}

}  // namespace
}  // namespace reelmend::pixel
