// ChangeMap finds every changed sample and reports no unchanged block.
#include <gtest/gtest.h>

#include "pixel/change_map.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

using testing::Name;
using testing::PictureSize;

constexpr int kBlock = ChangeMap::kBlock;

Image Picture(PictureSize size, Subsampling subsampling) {
  Image image(size.width, size.height, subsampling, {});
  testing::Fill(image, [](int p, int x, int y) { return 7919 * (x + 3 * y + p) % 65536; });
  return image;
}

int Blocks(PictureSize size) { return (size.width + kBlock - 1) / kBlock * ((size.height + kBlock - 1) / kBlock); }

TEST(ChangeMapTest, EverySampleCounts) {
  for (const PictureSize size : {PictureSize{1, 1}, {33, 31}, {65, 97}, {64, 64}}) {
    for (const Subsampling subsampling : testing::Subsamplings()) {
      SCOPED_TRACE(Name(size) + " " + std::to_string(subsampling.log2_x));
      const Image before = Picture(size, subsampling);
      Image now = Picture(size, subsampling);
      ChangeMap map(size.width, size.height, subsampling);
      EXPECT_EQ(map.blocks(), Blocks(size));
      EXPECT_TRUE(map.Compare(ViewOf(before), ViewOf(now), Planes::kAll, 0));
      EXPECT_EQ(map.changed(), 0);
      for (int p = 0; p < 3; ++p) {
        const Plane plane = now.plane(p);
        const int across = p == 0 ? kBlock : kBlock >> subsampling.log2_x;
        const int down = p == 0 ? kBlock : kBlock >> subsampling.log2_y;
        for (int y = 0; y < plane.height; y += 5) {
          for (int x = 0; x < plane.width; ++x) {
            plane.Row(y)[x] ^= 1;
            ASSERT_TRUE(map.Compare(ViewOf(before), ViewOf(now), Planes::kAll, 1));
            ASSERT_EQ(map.changed(), 1) << p << " " << x << " " << y;
            ASSERT_TRUE(map.Touches(x / across * kBlock, y / down * kBlock, 1, 1)) << p << " " << x << " " << y;
            ASSERT_TRUE(map.Compare(ViewOf(before), ViewOf(now), Planes::kLuma, 1));
            ASSERT_EQ(map.changed(), p == 0 ? 1 : 0);
            plane.Row(y)[x] ^= 1;
          }
        }
      }
    }
  }
}

TEST(ChangeMapTest, PaddingBetweenRowsDoesNotCount) {
  const Image before = Picture({65, 40}, {1, 1});
  Image now = Picture({65, 40}, {1, 1});
  now.plane(0).Row(3)[65] ^= 0xFFFF;  // after the end of the row
  ChangeMap map(65, 40, {1, 1});
  EXPECT_TRUE(map.Compare(ViewOf(before), ViewOf(now), Planes::kAll, 0));
}

TEST(ChangeMapTest, RectanglesTouchTheBlocksTheyReach) {
  const PictureSize size = {4 * kBlock - 3, 3 * kBlock};
  const Image before = Picture(size, {1, 1});
  Image now = Picture(size, {1, 1});
  now.plane(0).Row(kBlock + 4)[2 * kBlock + 9] ^= 1;  // block (2, 1)
  ChangeMap map(size.width, size.height, {1, 1});
  ASSERT_TRUE(map.Compare(ViewOf(before), ViewOf(now), Planes::kAll, map.blocks()));
  struct Case { int x, y, width, height; bool touches; };
  for (const Case& c : {Case{0, 0, size.width, size.height, true}, {2 * kBlock, kBlock, 1, 1, true}, {3 * kBlock - 1, 2 * kBlock - 1, 9, 9, true},
                        {0, 0, 2 * kBlock, size.height, false}, {0, 0, size.width, kBlock, false}, {3 * kBlock, 0, 99, 999, false},
                        {-50, -50, 51, 51, false}, {-50, -50, 2 * kBlock + 51, kBlock + 51, true}, {0, 2 * kBlock, 999, 999, false}}) {
    EXPECT_EQ(map.Touches(c.x, c.y, c.width, c.height), c.touches) << c.x << " " << c.y << " " << c.width << " " << c.height;
  }
}

TEST(ChangeMapTest, StopsWhereTooMuchHasChanged) {
  const PictureSize size = {8 * kBlock, 8 * kBlock};
  const Image before = Picture(size, {1, 1});
  Image now = Picture(size, {1, 1});
  testing::Fill(now, [](int, int, int) { return 5; });
  ChangeMap map(size.width, size.height, {1, 1});
  EXPECT_FALSE(map.Compare(ViewOf(before), ViewOf(now), Planes::kLuma, 6));
  EXPECT_EQ(map.changed(), 7);
  EXPECT_TRUE(map.Compare(ViewOf(before), ViewOf(now), Planes::kLuma, 64));
}

}  // namespace
}  // namespace reelmend::pixel
