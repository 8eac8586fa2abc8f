// Compares GuidedChroma with a reference, and tests its effect: colours end at the edges of luma, blotches become smaller, and colours
// without an edge in luma stay.
#include <gtest/gtest.h>

#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::Copy;
using testing::PictureSize;

using Grid = std::vector<std::vector<double>>;

double Near(const Grid& grid, int x, int y) {
  const int rows = static_cast<int>(grid.size());
  const int columns = static_cast<int>(grid[0].size());
  return grid[std::clamp(y, 0, rows - 1)][std::clamp(x, 0, columns - 1)];
}

/// By a Gaussian of 13 × 13 cells.
Grid Blurred(const Grid& in, double sigma) {
  Grid out = in;
  for (int y = 0; y < static_cast<int>(in.size()); ++y) {
    for (int x = 0; x < static_cast<int>(in[0].size()); ++x) {
      double sum = 0;
      double weights = 0;
      for (int j = -6; j <= 6; ++j) {
        for (int i = -6; i <= 6; ++i) {
          const double weight = std::exp(-(i * i + j * j) / (2 * sigma * sigma));
          sum += weight * Near(in, x + i, y + j);
          weights += weight;
        }
      }
      out[y][x] = sum / weights;
    }
  }
  return out;
}

/// Luma at the positions of left-sited chroma, in 8-bit levels.
Grid Guide(const Image& image) {
  const ConstPlane luma = image.plane(0);
  const ConstPlane chroma = image.plane(1);
  Grid guide(chroma.height, std::vector<double>(chroma.width));
  for (int y = 0; y < chroma.height; ++y) {
    for (int x = 0; x < chroma.width; ++x) {
      for (int j = 0; j < 2; ++j) {
        const std::uint16_t* row = luma.Row(std::min(2 * y + j, luma.height - 1));
        for (int i = -1; i <= 1; ++i) guide[y][x] += (i == 0 ? 2 : 1) * row[std::clamp(2 * x + i, 0, luma.width - 1)] / 8.0 / 256;
      }
    }
  }
  return guide;
}

Grid Levels(ConstPlane plane) {
  Grid levels(plane.height, std::vector<double>(plane.width));
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) levels[y][x] = plane.Row(y)[x] / 256.0;
  }
  return levels;
}

Grid Cells(const Grid& samples) {
  Grid cells((samples.size() + 1) / 2, std::vector<double>((samples[0].size() + 1) / 2));
  for (int y = 0; y < static_cast<int>(cells.size()); ++y) {
    for (int x = 0; x < static_cast<int>(cells[0].size()); ++x) {
      for (int i = 0; i < 4; ++i) cells[y][x] += Near(samples, 2 * x + i % 2, 2 * y + i / 2) / 4;
    }
  }
  return cells;
}

Grid Product(const Grid& a, const Grid& b) {
  Grid out = a;
  for (std::size_t y = 0; y < a.size(); ++y) {
    for (std::size_t x = 0; x < a[0].size(); ++x) out[y][x] *= b[y][x];
  }
  return out;
}

void Reference(const Image& in, Image& out, double strength, double enlargement) {
  const double window = 0.65 * enlargement / 2;
  const Grid sharp = Guide(in);
  const Grid guide = Blurred(Cells(sharp), 0.55 * enlargement / 2);
  const Grid mean = Blurred(guide, window);
  const Grid squared = Blurred(Product(guide, guide), window);
  for (int p = 1; p < 3; ++p) {
    const Grid chroma = Cells(Levels(in.plane(p)));
    const Grid chroma_mean = Blurred(chroma, window);
    const Grid chroma_squared = Blurred(Product(chroma, chroma), window);
    const Grid product = Blurred(Product(guide, chroma), window);
    Grid slope = mean;
    Grid offset = mean;
    Grid trust = mean;
    for (std::size_t y = 0; y < mean.size(); ++y) {
      for (std::size_t x = 0; x < mean[0].size(); ++x) {
        const double variance = std::max(0.0, squared[y][x] - mean[y][x] * mean[y][x]);
        const double covariance = product[y][x] - mean[y][x] * chroma_mean[y][x];
        const double a = covariance / (variance + 16);
        const double rest = std::max(0.0, chroma_squared[y][x] - chroma_mean[y][x] * chroma_mean[y][x] - a * covariance);
        trust[y][x] = 60 / (60 + rest);
        slope[y][x] = trust[y][x] * a;
        offset[y][x] = trust[y][x] * (chroma_mean[y][x] - a * mean[y][x]);
      }
    }
    slope = Blurred(slope, window);
    offset = Blurred(offset, window);
    trust = Blurred(trust, window);
    const auto at = [](const Grid& cells, int x, int y) {
      const int i = x % 2 == 0 ? -1 : 1;
      const int j = y % 2 == 0 ? -1 : 1;
      return 0.75 * (0.75 * Near(cells, x / 2, y / 2) + 0.25 * Near(cells, x / 2, y / 2 + j)) +
             0.25 * (0.75 * Near(cells, x / 2 + i, y / 2) + 0.25 * Near(cells, x / 2 + i, y / 2 + j));
    };
    const Plane plane = out.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        const double v = in.plane(p).Row(y)[x];
        const double fitted = 256 * (at(slope, x, y) * sharp[y][x] + at(offset, x, y)) + (1 - at(trust, x, y)) * v;
        plane.Row(y)[x] = testing::ToSample(v + strength * (fitted - v));
      }
    }
  }
}

Image Guided(const Image& in, float strength = 1, float enlargement = 3, int threads = 2) {
  ThreadPool pool(threads);
  Image image = Copy(in);
  GuidedChroma(in.width(), in.height()).Run(image, strength, enlargement, pool);
  return image;
}

/// A sharp edge in luma down the middle (of `contrast` 8-bit levels), and chroma that changes there softly.
Image Bleeding(double contrast) {
  Image image(160, 96, {1, 1}, {});
  testing::Fill(image, [&](int p, int x, int) {
    if (p == 0) return 256 * (100 + (x < 80 ? 0 : contrast));
    return 256 * (128 + (p == 1 ? 40 : -30) * std::tanh((x - 39.5) / 4));
  });
  return image;
}

/// Largest difference of neighbouring chroma samples, in 8-bit levels.
double Steepness(const Image& image) {
  const std::uint16_t* row = image.plane(1).Row(20);
  int largest = 0;
  for (int x = 1; x < image.plane(1).width; ++x) largest = std::max(largest, std::abs(row[x] - row[x - 1]));
  return largest / 256.0;
}

TEST(GuidedChroma, EqualsTheReference) {
  for (const PictureSize size : testing::Sizes()) {
    if (size.width > 200) continue;
    for (const double enlargement : {1.5, 3.0, 6.0}) {
      Image in = testing::Pattern(size, {1, 1});
      testing::AddNoise(in, 1, 3);
      Image expected = Copy(in);
      Reference(in, expected, 0.8, enlargement);
      EXPECT_LE(testing::MaxDifference(Guided(in, 0.8F, static_cast<float>(enlargement)), expected), 4) << testing::Name(size) << " " << enlargement;
    }
  }
}

TEST(GuidedChroma, ColoursEndAtTheEdgesOfLuma) {
  const Image in = Bleeding(80);
  EXPECT_GT(Steepness(Guided(in)), 2.5 * Steepness(in));
}

TEST(GuidedChroma, ColoursWithoutAnEdgeInLumaStay) {
  const Image in = Bleeding(0);
  EXPECT_LT(testing::MaxDifference(Guided(in), in), 256 * 5) << "8-bit levels, of a change by 80";
  EXPECT_GT(Steepness(Guided(in)), 0.75 * Steepness(in));
}

TEST(GuidedChroma, BlotchesBecomeSmaller) {
  Image in = testing::Constant({160, 96}, {1, 1}, 256 * 100, 256 * 120, 256 * 140);
  testing::AddNoise(in, 3, 7);
  const Image out = Guided(in);
  for (int p = 1; p < 3; ++p) EXPECT_LT(testing::Spread(out.plane(p)), 0.4 * testing::Spread(in.plane(p)));
}

TEST(GuidedChroma, LumaStays) {
  const Image in = testing::Pattern({97, 61}, {1, 1});
  EXPECT_EQ(testing::MaxDifference(Guided(in).plane(0), in.plane(0)), 0);
}

TEST(GuidedChroma, WithoutStrengthNothingChanges) {
  const Image in = testing::Pattern({97, 61}, {1, 1});
  EXPECT_EQ(testing::MaxDifference(Guided(in, 0), in), 0);
}

TEST(GuidedChroma, ThreadsDoNotChangeTheResult) {
  const Image in = testing::Pattern({333, 211}, {1, 1});
  EXPECT_EQ(testing::MaxDifference(Guided(in, 1, 3, 1), Guided(in, 1, 3, 4)), 0);
}

TEST(GuidedChroma, RefusesAPictureOfAnotherShape) {
  ThreadPool pool(1);
  Image other(320, 200, {1, 1}, {});
  EXPECT_THROW(GuidedChroma(320, 180).Run(other, 1, 2, pool), reelmend::Error);
  Image full(320, 180, {0, 0}, {});
  EXPECT_THROW(GuidedChroma(320, 180).Run(full, 1, 2, pool), reelmend::Error);
}

}  // namespace
}  // namespace reelmend::pixel
