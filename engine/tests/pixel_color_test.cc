// Compares ConvertColor with a double-precision conversion through R′G′B′, for every pair of colour specs.
#include <gtest/gtest.h>

#include "pixel/stages.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

struct Weights {
  double red;
  double blue;
};
Weights Of(Matrix m) {
  if (m == Matrix::kBt601) return {0.299, 0.114};
  if (m == Matrix::kBt2020) return {0.2627, 0.0593};
  return {0.2126, 0.0722};
}

struct Triple {
  double y;
  double cb;
  double cr;
};

/// Converts working units to y in 0…1 and chroma in −0.5…0.5. Denormalise is the inverse.
Triple Normalise(Triple v, Range range) {
  if (range == Range::kFull) return {v.y / 65280, (v.cb - 32768) / 65280, (v.cr - 32768) / 65280};
  return {(v.y - 4096) / 56064, (v.cb - 32768) / 57344, (v.cr - 32768) / 57344};
}
Triple Denormalise(Triple v, Range range) {
  if (range == Range::kFull) return {v.y * 65280, v.cb * 65280 + 32768, v.cr * 65280 + 32768};
  return {v.y * 56064 + 4096, v.cb * 57344 + 32768, v.cr * 57344 + 32768};
}

Triple Convert(Triple in, ColorSpec from, ColorSpec to) {
  const Triple n = Normalise(in, from.range);
  const Weights a = Of(from.matrix);
  const double red = n.y + 2 * (1 - a.red) * n.cr;
  const double blue = n.y + 2 * (1 - a.blue) * n.cb;
  const double green = (n.y - a.red * red - a.blue * blue) / (1 - a.red - a.blue);
  const Weights b = Of(to.matrix);
  const double y = b.red * red + (1 - b.red - b.blue) * green + b.blue * blue;
  return Denormalise({y, (blue - y) / (2 * (1 - b.blue)), (red - y) / (2 * (1 - b.red))}, to.range);
}

/// Linear interpolation of a chroma plane at a luma position.
double ChromaAt(ConstPlane plane, int x, int y, Subsampling s, ChromaSite site) {
  const auto position = [](int luma, int log2, bool centred) {
    if (log2 == 0) return static_cast<double>(luma);
    return centred ? (luma + 0.5) / 2 - 0.5 : luma / 2.0;
  };
  const double px = position(x, s.log2_x, site == ChromaSite::kCentre);
  const double py = position(y, s.log2_y, site != ChromaSite::kTopLeft);
  const int x0 = static_cast<int>(std::floor(px));
  const int y0 = static_cast<int>(std::floor(py));
  double sum = 0;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      const double weight = (dx ? px - x0 : 1 - px + x0) * (dy ? py - y0 : 1 - py + y0);
      sum += weight *
             plane.Row(std::clamp(y0 + dy, 0, plane.height - 1))[std::clamp(x0 + dx, 0, plane.width - 1)];
    }
  }
  return sum;
}

Image Reference(const Image& in, ColorSpec to) {
  Image out(in.width(), in.height(), in.subsampling(), {to.matrix, to.range, in.color().site});
  testing::Fill(out, [&](int p, int x, int y) {
    if (p > 0) {
      const Triple v{32768.0, double(in.plane(1).Row(y)[x]), double(in.plane(2).Row(y)[x])};
      const Triple converted = Convert(v, in.color(), to);
      return p == 1 ? converted.cb : converted.cr;
    }
    const Triple v{double(in.plane(0).Row(y)[x]),
                   ChromaAt(in.plane(1), x, y, in.subsampling(), in.color().site),
                   ChromaAt(in.plane(2), x, y, in.subsampling(), in.color().site)};
    return Convert(v, in.color(), to).y;
  });
  return out;
}

std::vector<ColorSpec> Specs(ChromaSite site) {
  std::vector<ColorSpec> specs;
  for (const Matrix matrix : {Matrix::kBt601, Matrix::kBt709, Matrix::kBt2020}) {
    for (const Range range : {Range::kLimited, Range::kFull}) specs.push_back({matrix, range, site});
  }
  return specs;
}

TEST(Color, EveryPairEqualsTheReference) {
  ThreadPool pool(2);
  for (const ChromaSite site : {ChromaSite::kLeft, ChromaSite::kCentre, ChromaSite::kTopLeft}) {
    for (const Subsampling subsampling : testing::Subsamplings()) {
      for (const ColorSpec& from : Specs(site)) {
        const Image in = testing::RandomPicture({37, 22}, subsampling, 4, from);
        for (const ColorSpec& to : Specs(site)) {
          Image image = testing::Copy(in);
          ConvertColor(image, to, pool);
          EXPECT_LE(testing::MaxDifference(image, Reference(in, to)), 1)
              << static_cast<int>(from.matrix) << static_cast<int>(from.range) << " to "
              << static_cast<int>(to.matrix) << static_cast<int>(to.range) << " site "
              << static_cast<int>(site);
          EXPECT_EQ(image.color().matrix, to.matrix);
          EXPECT_EQ(image.color().range, to.range);
        }
      }
    }
  }
}

TEST(Color, EverySizeEqualsTheReferenceWithAnyThreadCount) {
  const ColorSpec from{Matrix::kBt601, Range::kFull, ChromaSite::kLeft};
  const ColorSpec to{Matrix::kBt709, Range::kLimited, ChromaSite::kLeft};
  std::vector<PictureSize> sizes = testing::Sizes();
  sizes.push_back({1100, 5});  // a row of several chunks
  for (const PictureSize size : sizes) {
    const Image in = testing::RandomPicture(size, {1, 1}, 11, from);
    const Image expected = Reference(in, to);
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      Image image = testing::Copy(in);
      ConvertColor(image, to, pool);
      EXPECT_LE(testing::MaxDifference(image, expected), 1) << testing::Name(size);
    }
  }
}

TEST(Color, EqualMatrixAndRangeIsExact) {
  ThreadPool pool(2);
  for (const ColorSpec& spec : Specs(ChromaSite::kLeft)) {
    const Image in = testing::RandomPicture({65, 31}, {1, 1}, 8, spec);
    Image image = testing::Copy(in);
    ColorSpec to = spec;
    to.site = ChromaSite::kCentre;  // only the resize changes siting
    ConvertColor(image, to, pool);
    EXPECT_EQ(testing::MaxDifference(image, in), 0);
    EXPECT_EQ(image.color(), spec);
  }
}

TEST(Color, KnownColoursLandOnTheirLevels) {
  // Pure red of BT.601 limited (81, 90, 240) is (63, 102, 240) in BT.709 limited.
  ThreadPool pool(1);
  Image image = testing::Constant({8, 8}, {1, 1}, 81.481 * 256, 90.203 * 256, 240 * 256,
                                  {Matrix::kBt601, Range::kLimited, ChromaSite::kLeft});
  ConvertColor(image, {Matrix::kBt709, Range::kLimited, ChromaSite::kLeft}, pool);
  EXPECT_NEAR(image.plane(0).Row(3)[3] / 256.0, 62.56, 0.05);
  EXPECT_NEAR(image.plane(1).Row(2)[2] / 256.0, 102.34, 0.05);
  EXPECT_NEAR(image.plane(2).Row(2)[2] / 256.0, 240, 0.05);
}

TEST(Color, ARoundTripIsWithinAFractionOfALevel) {
  ThreadPool pool(2);
  const ColorSpec a{Matrix::kBt601, Range::kLimited, ChromaSite::kLeft};
  const ColorSpec b{Matrix::kBt709, Range::kFull, ChromaSite::kLeft};
  const Image in = testing::Pattern({96, 54}, {0, 0}, a);
  Image image = testing::Copy(in);
  ConvertColor(image, b, pool);
  ConvertColor(image, a, pool);
  EXPECT_LE(testing::MaxDifference(image, in), 3);  // 3/256 of a level
}

}  // namespace
}  // namespace reelmend::pixel
