// Compares Debander with a scalar reference, and tests its effect: blocks in flat areas disappear, edges and texture remain.
#include <gtest/gtest.h>

#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::Copy;
using testing::PictureSize;
using testing::Spread;

constexpr int kCell = 4;

struct Cell {
  double mean;
  double low;
  double high;
};

/// Statistics of the cells up to `reach` cells around (x, y). Outside of the picture the edge cells are repeated.
Cell Window(const std::vector<std::vector<Cell>>& cells, int x, int y, int reach) {
  const int rows = static_cast<int>(cells.size());
  const int columns = static_cast<int>(cells[0].size());
  Cell all{0, 65535, 0};
  for (int j = y - reach; j <= y + reach; ++j) {
    for (int i = x - reach; i <= x + reach; ++i) {
      const Cell& cell = cells[std::clamp(j, 0, rows - 1)][std::clamp(i, 0, columns - 1)];
      all.mean += cell.mean / ((2 * reach + 1) * (2 * reach + 1));
      all.low = std::min(all.low, cell.low);
      all.high = std::max(all.high, cell.high);
    }
  }
  return all;
}

std::vector<std::vector<Cell>> CellsOf(ConstPlane plane) {
  std::vector<std::vector<Cell>> cells((plane.height + kCell - 1) / kCell, std::vector<Cell>((plane.width + kCell - 1) / kCell));
  for (int y = 0; y < static_cast<int>(cells.size()); ++y) {
    for (int x = 0; x < static_cast<int>(cells[0].size()); ++x) {
      Cell& cell = cells[y][x];
      cell = {0, 65535, 0};
      for (int i = 0; i < kCell * kCell; ++i) {
        const double v = plane.Row(std::min(y * kCell + i / kCell, plane.height - 1))[std::min(x * kCell + i % kCell, plane.width - 1)];
        cell.mean += v / (kCell * kCell);
        cell.low = std::min(cell.low, v);
        cell.high = std::max(cell.high, v);
      }
    }
  }
  return cells;
}

void ReferencePass(Plane plane, int reach, double threshold) {
  const auto cells = CellsOf(plane);
  auto windows = cells;
  const int rows = static_cast<int>(cells.size());
  const int columns = static_cast<int>(cells[0].size());
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) windows[y][x] = Window(cells, x, y, reach);
  }
  const auto at = [&](double x, double y, const auto& value) {
    const int x0 = static_cast<int>(std::floor(x));
    const int y0 = static_cast<int>(std::floor(y));
    const auto one = [&](int i, int j) { return value(windows[std::clamp(j, 0, rows - 1)][std::clamp(i, 0, columns - 1)]); };
    const double u = x - x0;
    const double v = y - y0;
    return (one(x0, y0) * (1 - u) + one(x0 + 1, y0) * u) * (1 - v) + (one(x0, y0 + 1) * (1 - u) + one(x0 + 1, y0 + 1) * u) * v;
  };
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) {
      const double column = (x - 1.5) / kCell;
      const double row = (y - 1.5) / kCell;
      const double v = plane.Row(y)[x];
      const auto flatness = [&](const Cell& c) { return std::clamp(2 - (c.high - c.low) / (3 * threshold), 0.0, 1.0); };
      const double flat = at(column, row, flatness);
      if (flat <= 0) continue;
      const double change = at(column, row, [&](const Cell& c) { return c.mean * flatness(c); }) / flat - v;
      const double near = std::max(0.0, 1 - std::abs(change) / threshold);
      plane.Row(y)[x] = testing::ToSample(v + change * near * flat);
    }
  }
}

Image Debanded(const Image& in, float threshold, int threads = 2) {
  ThreadPool pool(threads);
  Image image = Copy(in);
  Debander(in.width(), in.height()).Run(image, threshold, pool);
  return image;
}

/// Flat blocks of 16×16, like those of a coarse quantiser in a flat area. Their levels differ by `step` 8-bit levels.
Image Blocks(PictureSize size, double step, Subsampling subsampling = {1, 1}) {
  Image image(size.width, size.height, subsampling, {});
  testing::Fill(image, [&](int, int x, int y) { return 256 * (60 + step * ((x / 16 * 7 + y / 16 * 3) % 3)); });
  return image;
}

TEST(Deband, EqualsTheReference) {
  for (const PictureSize size : testing::Sizes()) {
    if (size.width > 200) continue;
    for (const Subsampling subsampling : testing::Subsamplings()) {
      Image in = Blocks(size, 2.5, subsampling);
      testing::AddNoise(in, 0.7, 3);
      Image expected = Copy(in);
      for (int p = 0; p < 3; ++p) {
        for (const int reach : {2, 4}) ReferencePass(expected.plane(p), reach, 4 * 256.0);
      }
      EXPECT_LE(testing::MaxDifference(Debanded(in, 4), expected), 1) << testing::Name(size);
    }
  }
}

TEST(Deband, RemovesBlocksInFlatAreas) {
  const Image in = Blocks({320, 180}, 3);
  EXPECT_LE(Spread(Debanded(in, 5).plane(0)), 0.45 * Spread(in.plane(0)));
}

TEST(Deband, TurnsStepsIntoARamp) {
  Image in(320, 64, {1, 1}, {});
  testing::Fill(in, [](int, int x, int) { return 256.0 * (40 + 2 * (x / 16)); });
  const Image out = Debanded(in, 5);
  int largest = 0;
  for (int x = 33; x < 280; ++x) largest = std::max(largest, out.plane(0).Row(32)[x] - out.plane(0).Row(32)[x - 1]);
  EXPECT_LE(largest, 256) << "steps of two levels must become smaller than one";
}

TEST(Deband, EdgesAndTextureStay) {
  Image edge(160, 96, {1, 1}, {});
  testing::Fill(edge, [](int, int x, int) { return x < 80 ? 256.0 * 60 : 256.0 * 140; });
  EXPECT_EQ(testing::MaxDifference(Debanded(edge, 6), edge), 0);
  Image texture(160, 96, {1, 1}, {});
  testing::Fill(texture, [](int, int x, int y) { return 256 * (100 + 20 * std::sin(0.9 * x) * std::sin(0.7 * y)); });
  EXPECT_EQ(testing::MaxDifference(Debanded(texture, 3), texture), 0);
}

TEST(Deband, WithoutAThresholdNothingChanges) {
  const Image in = Blocks({97, 61}, 3);
  EXPECT_EQ(testing::MaxDifference(Debanded(in, 0), in), 0);
}

TEST(Deband, ThreadsDoNotChangeTheResult) {
  const Image in = Blocks({333, 211}, 3);
  EXPECT_EQ(testing::MaxDifference(Debanded(in, 5, 1), Debanded(in, 5, 4)), 0);
}

TEST(Deband, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  Image image(320, 200, {1, 1}, {});
  EXPECT_THROW(Debander(320, 180).Run(image, 1, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
