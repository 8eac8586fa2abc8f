// SceneDetector finds cuts, but does not report pans, fades, flashes, noise or moving objects.
#include <gtest/gtest.h>

#include "pixel/scene_detector.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

/// A synthetic scene: shading and objects that depend on the seed.
class Scene {
 public:
  explicit Scene(unsigned seed) : random_(seed), base_(40 + 130 * Next()) {
    for (Wave& wave : waves_) wave = {0.004 + 0.03 * Next(), 0.004 + 0.03 * Next(), 6.28 * Next()};
    disc_ = {600 * Next(), 300 * Next(), 40 + 90 * Next(), Next() < 0.5 ? -50.0 : 50.0};
  }
  double At(double x, double y) const {
    double v = base_;
    for (const Wave& wave : waves_) v += 22 * std::sin(wave.x * x + wave.y * y + wave.phase);
    return std::hypot(x - disc_.x, y - disc_.y) < disc_.radius ? v + disc_.step : v;
  }

 private:
  struct Wave {
    double x, y, phase;
  };
  struct Disc {
    double x, y, radius, step;
  };
  double Next() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::mt19937 random_;
  double base_;
  Wave waves_[5];
  Disc disc_;
};

/// The scene, shifted by `pan` samples.
Image Picture(PictureSize size, unsigned seed, double pan = 0, double gain = 1, double offset = 0) {
  Image image(size.width, size.height, {1, 1}, {});
  const Scene scene(seed);
  testing::Fill(image, [&](int p, int x, int y) {
    return p > 0 ? 32768.0 : 256 * std::clamp(gain * scene.At(x + pan, y) + offset, 0.0, 255.0);
  });
  return image;
}

/// Indices of the pictures that begin a scene.
std::vector<int> Cuts(const std::vector<Image>& pictures) {
  ThreadPool pool(2);
  SceneDetector detector(pictures[0].width(), pictures[0].height());
  std::vector<int> cuts;
  for (int i = 0; i < static_cast<int>(pictures.size()); ++i) {
    if (detector.IsCut(pictures[i], pool)) cuts.push_back(i);
  }
  return cuts;
}

const PictureSize kSmall = {320, 180};

TEST(Scenes, CutsAreFound) {
  std::vector<Image> film;
  std::vector<int> expected;
  for (unsigned scene = 1; scene <= 12; ++scene) {
    expected.push_back(static_cast<int>(film.size()));
    for (int i = 0; i < 3; ++i) {
      film.push_back(Picture(kSmall, 100 * scene, 2.0 * i));
      testing::AddNoise(film.back(), 3, scene * 10 + i);
    }
  }
  const std::vector<int> found = Cuts(film);
  std::vector<int> missed;
  std::set_difference(expected.begin(), expected.end(), found.begin(), found.end(), std::back_inserter(missed));
  EXPECT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end())) << "false cuts";
  EXPECT_LE(missed.size(), 1U);
}

TEST(Scenes, MotionIsNoCut) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    for (const double speed : {1.0, 8.0, 25.0}) {
      std::vector<Image> film;
      for (int i = 0; i < 8; ++i) {
        film.push_back(Picture(kSmall, seed, speed * i));
        testing::AddNoise(film.back(), 8, 40 + i);
      }
      EXPECT_EQ(Cuts(film), std::vector<int>{0}) << seed << " speed " << speed;
    }
  }
}

TEST(Scenes, FadesAreNoCuts) {
  std::vector<Image> film;
  for (int i = 0; i <= 40; ++i) film.push_back(Picture(kSmall, 4, i, std::abs(20 - i) / 20.0, 16));
  EXPECT_EQ(Cuts(film), std::vector<int>{0});
  film.clear();
  for (int i = 0; i <= 20; ++i) {  // one scene dissolves into another
    film.push_back(Picture(kSmall, 5));
    const Image other = Picture(kSmall, 6);
    for (int y = 0; y < kSmall.height; ++y) {
      std::uint16_t* row = film.back().plane(0).Row(y);
      for (int x = 0; x < kSmall.width; ++x) row[x] = testing::ToSample(row[x] + (other.plane(0).Row(y)[x] - row[x]) * i / 20.0);
    }
  }
  EXPECT_EQ(Cuts(film), std::vector<int>{0});
}

TEST(Scenes, FlashesAreNoCuts) {
  struct Flash {
    const char* name;
    double gain;
    double offset;
  };
  for (const Flash& flash : {Flash{"photograph", 1.6, 20}, Flash{"white", 0, 235}, Flash{"black", 0, 16},
                             Flash{"dimmed", 0.5, 0}}) {
    std::vector<Image> film;
    for (int i = 0; i < 9; ++i) {
      const bool is_flash = i == 4;
      film.push_back(Picture(kSmall, 7, i, is_flash ? flash.gain : 1, is_flash ? flash.offset : 0));
    }
    EXPECT_EQ(Cuts(film), std::vector<int>{0}) << flash.name;
  }
}

TEST(Scenes, ANewSceneAfterABlackPictureIsACut) {
  std::vector<Image> film;
  for (int i = 0; i < 3; ++i) film.push_back(Picture(kSmall, 8));
  film.push_back(Picture(kSmall, 8, 0, 0, 16));
  for (int i = 0; i < 3; ++i) film.push_back(Picture(kSmall, 900));
  EXPECT_EQ(Cuts(film), (std::vector<int>{0, 4}));
}

TEST(Scenes, TheAnswerDependsOnThreePicturesOnly) {
  ThreadPool pool(1);
  SceneDetector whole(kSmall.width, kSmall.height);
  SceneDetector part(kSmall.width, kSmall.height);
  for (int i = 0; i < 24; ++i) {
    const Image image = i % 7 == 5 ? Picture(kSmall, 1, 0, 0, 16) : Picture(kSmall, 100 * (i / 4 + 1));
    const bool a = whole.IsCut(image, pool);
    if (i < 9) continue;
    const bool b = part.IsCut(image, pool);
    EXPECT_TRUE(a == b || i < 11) << i;
  }
}

TEST(Scenes, SizesOfAllKindsWork) {
  ThreadPool pool(2);
  for (const PictureSize size : testing::Sizes()) {
    SceneDetector detector(size.width, size.height);
    const Image image = testing::Pattern(size, {1, 1});
    EXPECT_TRUE(detector.IsCut(image, pool));
    EXPECT_FALSE(detector.IsCut(image, pool)) << testing::Name(size);
  }
  SceneDetector detector(64, 64);
  EXPECT_THROW(detector.IsCut(testing::Pattern({64, 62}, {1, 1}), pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
