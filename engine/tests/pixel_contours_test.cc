// Compares ContourSmoother with a scalar reference, and tests its effect: stair-steps of contours become smaller, the contours become
// steeper, and texture and flat areas stay.
#include <gtest/gtest.h>

#include <array>

#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::Copy;
using testing::PictureSize;

constexpr double kEnlargement = 2.5;

/// xx, xy, yy of the gradient in 8-bit levels per sample.
using Tensor = std::array<double, 3>;

double At(ConstPlane plane, int x, int y) {
  return plane.Row(std::clamp(y, 0, plane.height - 1))[std::clamp(x, 0, plane.width - 1)];
}

Tensor Products(ConstPlane plane, int x, int y) {
  double across = 0;
  double down = 0;
  for (int i = -1; i <= 1; ++i) {
    const double weight = (i == 0 ? 2 : 1) / 8.0 / 256;
    across += weight * (At(plane, x + 1, y + i) - At(plane, x - 1, y + i));
    down += weight * (At(plane, x + i, y + 1) - At(plane, x + i, y - 1));
  }
  return {across * across, across * down, down * down};
}

/// The tensors of cells of 4×4 samples, blurred by a Gaussian that has a standard deviation of 1.2 × enlargement together with the
/// cells and the gradient.
std::vector<std::vector<Tensor>> BlurredCells(ConstPlane plane, double enlargement) {
  const int columns = (plane.width + 3) / 4;
  const int rows = (plane.height + 3) / 4;
  std::vector<std::vector<Tensor>> means(rows, std::vector<Tensor>(columns));
  for (int y = 0; y < rows * 4; ++y) {
    for (int x = 0; x < columns * 4; ++x) {
      const Tensor products = Products(plane, x, y);
      for (int k = 0; k < 3; ++k) means[y / 4][x / 4][k] += products[k] / 16;
    }
  }
  const double variance = std::max(1.44 * enlargement * enlargement - 15 / 12.0 - 0.5, 0.3 * 16) / 16;
  auto blurred = means;
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      Tensor sum{};
      double weights = 0;
      for (int j = -4; j <= 4; ++j) {
        for (int i = -4; i <= 4; ++i) {
          const double weight = std::exp(-(i * i + j * j) / (2 * variance));
          weights += weight;
          const Tensor& cell = means[std::clamp(y + j, 0, rows - 1)][std::clamp(x + i, 0, columns - 1)];
          for (int k = 0; k < 3; ++k) sum[k] += weight * cell[k];
        }
      }
      for (int k = 0; k < 3; ++k) blurred[y][x][k] = sum[k] / weights;
    }
  }
  return blurred;
}

double Rise(double v, double from, double to) {
  const double way = std::clamp((v - from) / (to - from), 0.0, 1.0);
  return way * way * (3 - 2 * way);
}

double Bilinear(ConstPlane plane, double x, double y) {
  const int left = static_cast<int>(std::floor(x));
  const int top = static_cast<int>(std::floor(y));
  const double u = x - left;
  const double v = y - top;
  return (At(plane, left, top) * (1 - u) + At(plane, left + 1, top) * u) * (1 - v) +
         (At(plane, left, top + 1) * (1 - u) + At(plane, left + 1, top + 1) * u) * v;
}

/// Direction across the contour at a sample, and how much it is changed.
struct ContourAt {
  double angle;
  double share;
};

ContourAt FindContour(const std::vector<std::vector<Tensor>>& cells, int x, int y) {
  const int rows = static_cast<int>(cells.size());
  const int columns = static_cast<int>(cells[0].size());
  const double column = (x - 1.5) / 4;
  const double row = (y - 1.5) / 4;
  const double left = std::floor(column);
  const double top = std::floor(row);
  Tensor t{};
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 2; ++i) {
      const double weight = (i == 0 ? 1 - column + left : column - left) * (j == 0 ? 1 - row + top : row - top);
      const Tensor& cell = cells[std::clamp(static_cast<int>(top) + j, 0, rows - 1)][std::clamp(static_cast<int>(left) + i, 0, columns - 1)];
      for (int k = 0; k < 3; ++k) t[k] += weight * cell[k];
    }
  }
  const double trace = t[0] + t[2];
  const double coherence = std::hypot(t[0] - t[2], 2 * t[1]) / (trace + 1e-3);
  return {std::atan2(2 * t[1], t[0] - t[2]) / 2, Rise(coherence, 0.8, 0.97) * Rise(std::sqrt(trace), 1.5, 6)};
}

/// By angles, in double precision.
void Reference(ConstPlane in, Plane out, double strength, double enlargement) {
  const auto cells = BlurredCells(in, enlargement);
  Image smoothed(in.width, in.height, {1, 1}, {});
  const Plane smooth = smoothed.plane(0);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const ContourAt contour = FindContour(cells, x, y);
      double mean = 0;
      double weights = 0;
      for (int i = -4; i <= 4; ++i) {
        const double weight = std::exp(-i * i / 8.0);
        const double far = 0.6 * enlargement * i;
        mean += weight * Bilinear(in, x - far * std::sin(contour.angle), y + far * std::cos(contour.angle));
        weights += weight;
      }
      const double v = in.Row(y)[x];
      smooth.Row(y)[x] = testing::ToSample(v + strength * contour.share * (mean / weights - v));
    }
  }
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const ContourAt contour = FindContour(cells, x, y);
      std::array<double, 5> line;
      for (int i = 0; i < 5; ++i) {
        const double far = (i - 2) * 0.228 * enlargement;
        line[i] = Bilinear(smooth, x + far * std::cos(contour.angle), y + far * std::sin(contour.angle));
      }
      const double mean = (line[0] + 2 * (line[1] + line[2] + line[3]) + line[4]) / 8;
      const double sharp = line[2] + 0.4 * strength * contour.share * (line[2] - mean);
      const auto [low, high] = std::minmax_element(line.begin(), line.end());
      out.Row(y)[x] = testing::ToSample(std::clamp(sharp, *low, *high));
    }
  }
}

Image Smoothed(const Image& in, float strength = 1, float enlargement = kEnlargement, int threads = 2) {
  ThreadPool pool(threads);
  Image image = Copy(in);
  ContourSmoother(in.width(), in.height()).Run(image, strength, enlargement, pool);
  return image;
}

/// A contour of a given slope between levels 60 and 160.
double Level(double x, double y, double slope) {
  return 256 * (110 + 50 * std::tanh((y - 60 - slope * (x - 80)) / std::hypot(1, slope) / 1.2));
}

Image Contour(double slope) {
  Image image(160, 120, {1, 1}, {});
  testing::Fill(image, [&](int p, int x, int y) { return p > 0 ? 256.0 * 128 : Level(x, y, slope); });
  return image;
}

/// The same with stair-steps: every fourth sample, linearly enlarged.
Image Stair(double slope) {
  Image image(160, 120, {1, 1}, {});
  testing::Fill(image, [&](int p, int x, int y) {
    if (p > 0) return 256.0 * 128;
    const int left = x / 4 * 4;
    const int top = y / 4 * 4;
    const double u = (x - left) / 4.0;
    const double v = (y - top) / 4.0;
    return (Level(left, top, slope) * (1 - u) + Level(left + 4, top, slope) * u) * (1 - v) +
           (Level(left, top + 4, slope) * (1 - u) + Level(left + 4, top + 4, slope) * u) * v;
  });
  return image;
}

/// Standard deviation of luma along the contour, in 8-bit levels. It is 0 for a straight one.
double Waviness(const Image& image, double slope) {
  double sum = 0;
  double squares = 0;
  for (int x = 40; x < 120; ++x) {
    const double v = Bilinear(image.plane(0), x, 60 + slope * (x - 80)) / 256;
    sum += v / 80;
    squares += v * v / 80;
  }
  return std::sqrt(squares - sum * sum);
}

/// Curved stripes, and noise.
Image Stripes(PictureSize size) {
  Image image(size.width, size.height, {1, 1}, {});
  testing::Fill(image, [](int, int x, int y) { return 256 * (110 + 50 * std::sin(0.3 * x + 0.15 * y + 0.002 * x * y)); });
  testing::AddNoise(image, 1, 3);
  return image;
}

TEST(Contours, EqualsTheReference) {
  for (const PictureSize size : testing::Sizes()) {
    if (size.width > 200) continue;
    for (const double enlargement : {1.0, 2.5, 6.0}) {
      const Image in = Stripes(size);
      Image expected = Copy(in);
      Reference(in.plane(0), expected.plane(0), 0.8, enlargement);
      EXPECT_LE(testing::MaxDifference(Smoothed(in, 0.8F, static_cast<float>(enlargement)), expected), 4) << testing::Name(size) << " " << enlargement;
    }
  }
}

TEST(Contours, StripesAreSmoothed) {
  const Image in = Stripes({129, 67});
  EXPECT_GT(testing::MaxDifference(Smoothed(in), in), 256) << "the comparison with the reference tests nothing";
}

TEST(Contours, StairsBecomeStraighter) {
  for (const double slope : {0.2, 0.5, 0.8, -0.3}) {
    const double before = Waviness(Stair(slope), slope);
    EXPECT_GT(before, 1.5) << slope;
    EXPECT_LT(Waviness(Smoothed(Stair(slope)), slope), 0.8 * before) << slope << ": " << before;
  }
}

/// Largest difference of neighbouring samples down the middle, in 8-bit levels.
double Steepness(const Image& image) {
  int largest = 0;
  for (int y = 1; y < image.height(); ++y) largest = std::max(largest, std::abs(image.plane(0).Row(y)[80] - image.plane(0).Row(y - 1)[80]));
  return largest / 256.0;
}

TEST(Contours, ContoursBecomeSteeperWithoutHalos) {
  for (const double slope : {0.0, 0.2, 0.5, -0.8}) {
    const Image contour = Contour(slope);
    const Image steep = Smoothed(contour);
    EXPECT_GT(Steepness(steep), 1.005 * Steepness(contour)) << slope;
    for (int y = 0; y < contour.height(); ++y) {
      for (int x = 0; x < contour.width(); ++x) {
        ASSERT_GE(steep.plane(0).Row(y)[x], 256 * 60 - 2);
        ASSERT_LE(steep.plane(0).Row(y)[x], 256 * 160 + 2);
      }
    }
  }
}

TEST(Contours, FlatAreasTextureAndChromaStay) {
  Image texture(160, 96, {1, 1}, {});
  testing::Fill(texture, [](int, int x, int y) { return 256 * (100 + 40 * std::sin(0.9 * x) * std::sin(0.9 * y)); });
  EXPECT_EQ(testing::MaxDifference(Smoothed(texture), texture), 0);
  Image noise = testing::Constant({160, 96}, {1, 1}, 256 * 100, 256 * 128, 256 * 128);
  testing::AddNoise(noise, 2, 5);
  EXPECT_EQ(testing::MaxDifference(Smoothed(noise), noise), 0);
  const Image pattern = Stripes({160, 96});
  const Image smoothed = Smoothed(pattern);
  for (int p = 1; p < 3; ++p) EXPECT_EQ(testing::MaxDifference(smoothed.plane(p), pattern.plane(p)), 0);
}

TEST(Contours, WithoutStrengthNothingChanges) {
  const Image in = Stripes({97, 61});
  EXPECT_EQ(testing::MaxDifference(Smoothed(in, 0), in), 0);
}

TEST(Contours, ALargerEnlargementCountsAsTheLargest) {
  const Image in = Stripes({97, 61});
  EXPECT_EQ(testing::MaxDifference(Smoothed(in, 1, 30), Smoothed(in, 1, 6)), 0);
}

TEST(Contours, ThreadsDoNotChangeTheResult) {
  const Image in = Stripes({333, 211});
  EXPECT_EQ(testing::MaxDifference(Smoothed(in, 1, kEnlargement, 1), Smoothed(in, 1, kEnlargement, 4)), 0);
}

TEST(Contours, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  Image image(320, 200, {1, 1}, {});
  EXPECT_THROW(ContourSmoother(320, 180).Run(image, 1, 2, pool), reelmend::Error);
}

}  // namespace
}  // namespace reelmend::pixel
