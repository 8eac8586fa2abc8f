// Compares MeasureDamageFeatures with the results of engine/training/ground/damage_features.py for the same windows.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "helpers/test_paths.h"
#include "pixel/damage_features.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

/// The same patterns as `pattern` in engine/training/ground/damage_estimate.py.
LumaWindow Pattern(int number, int width, int height) {
  LumaWindow window{width, height, {}};
  for (std::uint32_t y = 0; y < static_cast<std::uint32_t>(height); ++y) {
    for (std::uint32_t x = 0; x < static_cast<std::uint32_t>(width); ++x) {
      const std::uint32_t mixed = (x * 2654435761U ^ y * 40503U) * 1664525U + 1013904223U;
      const std::uint32_t noise = mixed >> 24;
      const std::uint32_t kinds[] = {(x * 3 + y * 5) % 160 + (noise >> 4) + 30, 40 + (x / 8 * 37 + y / 8 * 91) % 150 + x * y % 7,
                                     60 + (x * x + y * y) / 300 % 120, noise};
      window.levels.push_back(static_cast<std::uint8_t>(kinds[number]));
    }
  }
  return window;
}

TEST(DamageFeatures, AreThoseOfTheTrainingGround) {
  std::ifstream file(test_paths::SourceDir() + "/tests/damage_witness.txt");
  int number = 0;
  int width = 0;
  int height = 0;
  int patterns = 0;
  for (; file >> number >> width >> height; ++patterns) {
    const DamageFeatures made = MeasureDamageFeatures(Pattern(number, width, height));
    for (std::size_t i = 0; i < made.size(); ++i) {
      float expected = 0;
      ASSERT_TRUE(file >> expected);
      EXPECT_NEAR(made[i], expected, 1e-3) << "pattern " << number << ", feature " << i;
    }
    std::string estimates;
    std::getline(file >> std::ws, estimates);
  }
  EXPECT_EQ(patterns, 4);
}

TEST(DamageFeatures, AreFiniteForBlankWindows) {
  for (const std::uint8_t level : {0, 16, 255}) {
    for (const float value : MeasureDamageFeatures({96, 104, std::vector<std::uint8_t>(96 * 104, level)})) {
      EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(DamageFeatures, WindowsHaveLevelsOfLimitedRange) {
  const testing::PictureSize size = {128, 128};
  const Image limited = testing::Constant(size, {1, 1}, 235 * 256.0, 32768, 32768, {Matrix::kBt709, Range::kLimited});
  const Image full = testing::Constant(size, {1, 1}, 255 * 256.0, 32768, 32768, {Matrix::kBt709, Range::kFull});
  EXPECT_EQ(CutWindow(limited, 8, 16, 96, 104).levels, std::vector<std::uint8_t>(96 * 104, 235));
  EXPECT_EQ(CutWindow(full, 8, 16, 96, 104).levels, std::vector<std::uint8_t>(96 * 104, 235));
}

}  // namespace
}  // namespace reelmend::pixel
