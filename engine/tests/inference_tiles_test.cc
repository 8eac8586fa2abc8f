#include <gtest/gtest.h>

#include <vector>

#include "inference/tiles.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

struct Case {
  int width;
  int height;
  int multiple;
  int halo;
  std::int64_t most_pixels;  ///< pixels of a tile, at most
};

class TilesTest : public ::testing::TestWithParam<Case> {};

TEST_P(TilesTest, EveryPixelIsKeptOnceAndFarFromInnerEdges) {
  const Case& c = GetParam();
  const TilePlan plan = PlanTiles(c.width, c.height, c.multiple, c.halo,
                                  [&](int w, int h) { return std::int64_t{w} * h <= c.most_pixels; });
  EXPECT_LE(std::int64_t{plan.tile_width} * plan.tile_height, c.most_pixels);
  EXPECT_EQ(plan.tile_width % c.multiple, 0);
  EXPECT_EQ(plan.tile_height % c.multiple, 0);
  const int padded_width = (c.width + c.multiple - 1) / c.multiple * c.multiple;
  const int padded_height = (c.height + c.multiple - 1) / c.multiple * c.multiple;
  std::vector<int> kept(static_cast<std::size_t>(c.width) * c.height);
  for (const Tile& t : plan.tiles) {
    EXPECT_EQ(t.x % c.multiple, 0);
    EXPECT_EQ(t.y % c.multiple, 0);
    ASSERT_GE(t.x, 0);
    ASSERT_GE(t.y, 0);
    ASSERT_LE(t.x + plan.tile_width, padded_width);
    ASSERT_LE(t.y + plan.tile_height, padded_height);
    if (t.x > 0) { EXPECT_GE(t.keep_x - t.x, c.halo); }
    if (t.y > 0) { EXPECT_GE(t.keep_y - t.y, c.halo); }
    if (t.x + plan.tile_width < padded_width) { EXPECT_GE(t.x + plan.tile_width - t.keep_x - t.keep_width, c.halo); }
    if (t.y + plan.tile_height < padded_height) { EXPECT_GE(t.y + plan.tile_height - t.keep_y - t.keep_height, c.halo); }
    for (int y = t.keep_y; y < t.keep_y + t.keep_height; ++y) {
      for (int x = t.keep_x; x < t.keep_x + t.keep_width; ++x) ++kept[static_cast<std::size_t>(y) * c.width + x];
    }
  }
  for (const int count : kept) ASSERT_EQ(count, 1);
}

INSTANTIATE_TEST_SUITE_P(Sizes, TilesTest,
                         ::testing::Values(Case{64, 48, 1, 8, 1 << 20}, Case{640, 360, 2, 16, 20'000},
                                           Case{641, 361, 2, 11, 20'000}, Case{161, 121, 4, 7, 4'000},
                                           Case{1920, 1080, 8, 32, 200'000}, Case{33, 500, 2, 4, 3'000},
                                           Case{1, 1, 1, 16, 100}, Case{50, 3, 16, 20, 2'000}));

TEST(Tiles, OneTileWhenAllFits) {
  const TilePlan plan = PlanTiles(1919, 1079, 2, 32, [](int, int) { return true; });
  ASSERT_EQ(plan.tiles.size(), 1U);
  EXPECT_EQ(plan.tile_width, 1920);
  EXPECT_EQ(plan.tile_height, 1080);
}

TEST(Tiles, TilesThatCannotFitAreRefused) {
  try {
    PlanTiles(640, 360, 2, 16, [](int, int) { return false; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded);
  }
}

}  // namespace
}  // namespace reelmend::inference
