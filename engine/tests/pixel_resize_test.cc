// Compares Resizer with a double-precision Lanczos-3 written from the definition, and tests its invariants.
#include <gtest/gtest.h>

#include <initializer_list>
#include <numbers>
#include <utility>

#include "pixel/resize_int16_plan.h"
#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

double Sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }
double Lanczos3(double x) { return std::abs(x) < 3 ? Sinc(x) * Sinc(x / 3) : 0; }

/// Sample positions along one axis, in luma samples from the edge: that of sample 0, and the distance between samples.
struct Grid {
  double first;
  double step;
};

/// One output sample: the weights of the inputs `first`, `first` + 1, … Their sum is 1.
struct Weights {
  int first;
  std::vector<double> values;
};

/// Output sample i lies at position i of out_grid, in the output's luma samples.
std::vector<Weights> LineWeights(Grid in_grid, Grid out_grid, double ratio, int count) {
  std::vector<Weights> line;
  for (int i = 0; i < count; ++i) {
    const double centre = ((out_grid.first + i * out_grid.step) * ratio - in_grid.first) / in_grid.step;
    const double widening = std::max(1.0, ratio * out_grid.step / in_grid.step);
    const int reach = static_cast<int>(std::ceil(3 * widening)) + 1;
    const int middle = static_cast<int>(std::floor(centre));
    Weights sample{middle - reach, {}};
    double sum = 0;
    for (int k = middle - reach; k <= middle + reach; ++k) {
      sample.values.push_back(Lanczos3((k - centre) / widening));
      sum += sample.values.back();
    }
    for (double& w : sample.values) w /= sum;
    line.push_back(std::move(sample));
  }
  return line;
}

std::vector<double> ResampleLine(const std::vector<double>& in, const std::vector<Weights>& line) {
  std::vector<double> out;
  out.reserve(line.size());
  const int last = static_cast<int>(in.size()) - 1;
  for (const Weights& weights : line) {
    double sum = 0;
    int k = weights.first;
    for (const double w : weights.values) sum += w * in[std::clamp(k++, 0, last)];
    out.push_back(sum);
  }
  return out;
}

Grid GridX(int plane, Subsampling s, ChromaSite site) {
  if (plane == 0 || s.log2_x == 0) return {0.5, 1};
  return {site == ChromaSite::kCentre ? 1.0 : 0.5, 2};
}

Grid GridY(int plane, Subsampling s, ChromaSite site) {
  if (plane == 0 || s.log2_y == 0) return {0.5, 1};
  return {site == ChromaSite::kTopLeft ? 0.5 : 1.0, 2};
}

Image ReferenceResize(const Image& in, PictureSize size, Subsampling to_subsampling = {1, 1}) {
  ColorSpec color = in.color();
  color.site = ChromaSite::kLeft;
  Image out(size.width, size.height, to_subsampling, color);
  const double ratio_x = static_cast<double>(in.width()) / size.width;
  const double ratio_y = static_cast<double>(in.height()) / size.height;
  for (int p = 0; p < 3; ++p) {
    const ConstPlane from = in.plane(p);
    const Plane to = out.plane(p);
    // The same for all rows, and for all columns: computing them anew for each would take most of the tests' time.
    const auto across = LineWeights(GridX(p, in.subsampling(), in.color().site), GridX(p, to_subsampling, ChromaSite::kLeft),
                                    ratio_x, to.width);
    const auto down = LineWeights(GridY(p, in.subsampling(), in.color().site), GridY(p, to_subsampling, ChromaSite::kLeft),
                                  ratio_y, to.height);
    std::vector<std::vector<double>> rows;
    for (int y = 0; y < from.height; ++y) rows.push_back(ResampleLine({from.Row(y), from.Row(y) + from.width}, across));
    for (int x = 0; x < to.width; ++x) {
      std::vector<double> column;
      for (const auto& row : rows) column.push_back(row[x]);
      const auto line = ResampleLine(column, down);
      for (int y = 0; y < to.height; ++y) to.Row(y)[x] = testing::ToSample(line[y]);
    }
  }
  return out;
}

Image Resize(const Image& in, PictureSize size, int threads, Subsampling to_subsampling = {1, 1}) {
  ThreadPool pool(threads);
  Resizer resizer(in.width(), in.height(), in.subsampling(), in.color(), size.width, size.height, to_subsampling);
  Image out(size.width, size.height, to_subsampling, {});
  resizer.Run(in, out, pool);
  return out;
}

struct Ratio {
  PictureSize from;
  PictureSize to;
};

const std::vector<Ratio>& Ratios() {
  static const std::vector<Ratio> ratios = {
      {{1, 1}, {1, 1}},       {{1, 1}, {2, 2}},      {{1, 1}, {40, 30}},     {{2, 2}, {1, 1}},
      {{2, 2}, {4, 4}},       {{16, 16}, {16, 16}},  {{16, 16}, {32, 32}},   {{16, 16}, {48, 64}},
      {{16, 16}, {80, 24}},   {{17, 31}, {34, 62}},  {{17, 31}, {40, 50}},   {{17, 31}, {12, 70}},
      {{96, 54}, {64, 36}},   {{96, 54}, {128, 72}}, {{96, 54}, {216, 122}}, {{160, 90}, {48, 28}},
      {{160, 90}, {20, 12}},  {{33, 18}, {66, 36}},  {{64, 48}, {96, 32}},   {{640, 8}, {426, 8}},
      {{192, 108}, {96, 54}}, {{34, 70}, {17, 35}},  {{66, 30}, {33, 60}},   {{960, 54}, {1920, 108}},
      {{2, 2}, {3, 3}},       {{34, 22}, {51, 33}},  {{128, 72}, {192, 108}}, {{130, 20}, {195, 44}},
      {{640, 9}, {960, 30}},  {{86, 48}, {192, 108}}, {{192, 96}, {96, 66}},
      {{96, 40}, {128, 60}},  {{150, 30}, {200, 40}}, {{200, 40}, {150, 30}}, {{256, 20}, {192, 50}},
      {{192, 20}, {128, 40}}, {{141, 24}, {94, 32}},  {{2000, 12}, {2668, 16}}, {{2560, 10}, {1920, 24}},
      {{1708, 6}, {3840, 14}}};
  return ratios;
}

/// Largest allowed error in working units: see Note [Int16 fixed point] in resize_int16.h; 1 with float sums.
int Allowed() { return GetInt16Kernels() != nullptr ? 5 : 1; }

class ResizeMatrix : public ::testing::TestWithParam<int> {};

void ExpectReference(const Ratio& ratio) {
  for (const Subsampling subsampling : testing::Subsamplings()) {
    for (const ChromaSite site : {ChromaSite::kLeft, ChromaSite::kCentre, ChromaSite::kTopLeft}) {
      ColorSpec color;
      color.site = site;
      const Image in = testing::RandomPicture(ratio.from, subsampling, 7, color);
      const Image out = Resize(in, ratio.to, 2);
      const Image expected = ReferenceResize(in, ratio.to);
      EXPECT_LE(testing::MaxDifference(out, expected), Allowed())
          << testing::Name(ratio.from) << " to " << testing::Name(ratio.to) << " subsampling "
          << subsampling.log2_x << subsampling.log2_y << " site " << static_cast<int>(site);
      EXPECT_EQ(out.color().site, ChromaSite::kLeft);
    }
  }
}

TEST_P(ResizeMatrix, EqualsTheDoublePrecisionReference) { ExpectReference(Ratios()[GetParam()]); }

TEST_P(ResizeMatrix, SumsOfFloatsEqualItToo) {
  if (GetInt16Kernels() == nullptr) GTEST_SKIP() << "This machine has no int16 kernels; floats are tested anyway.";
  const testing::WithoutInt16 without;
  ExpectReference(Ratios()[GetParam()]);
}

TEST_P(ResizeMatrix, ThreadsDoNotChangeTheResult) {
  const Ratio ratio = Ratios()[GetParam()];
  const Image in = testing::RandomPicture(ratio.from, {1, 1}, 3);
  const Image one = Resize(in, ratio.to, 1);
  for (const int threads : {2, 3})
    EXPECT_EQ(testing::MaxDifference(one, Resize(in, ratio.to, threads)), 0) << threads;
}

void ExpectConstants(const Ratio& ratio, std::initializer_list<int> values, int allowed) {
  for (const int value : values) {
    const Image in = testing::Constant(ratio.from, {1, 0}, value, 65534 - value / 2 * 2, value / 4 * 2);
    const Image expected = testing::Constant(ratio.to, {1, 1}, value, 65534 - value / 2 * 2, value / 4 * 2);
    EXPECT_LE(testing::MaxDifference(Resize(in, ratio.to, 2), expected), allowed) << value;
  }
}

TEST_P(ResizeMatrix, ConstantStaysConstant) {
  const Ratio& ratio = Ratios()[GetParam()];
  ExpectConstants(ratio, {0, 2, 16 * 256, 33334, 65280, 65534}, 0);
  ExpectConstants(ratio, {1, 33333, 65535}, GetInt16Kernels() != nullptr ? 1 : 0);
  const testing::WithoutInt16 without;
  ExpectConstants(ratio, {0, 16 * 256, 33333, 65280, 65535}, 0);
}

INSTANTIATE_TEST_SUITE_P(Ratios, ResizeMatrix, ::testing::Range(0, static_cast<int>(Ratios().size())));

TEST(Resize, SameSizeAndSitingCopiesExactly) {
  for (const PictureSize size : testing::Sizes()) {
    const Image in = testing::RandomPicture(size, {1, 1}, 5);
    EXPECT_EQ(testing::MaxDifference(in, Resize(in, size, 2)), 0) << testing::Name(size);
  }
}

void ExpectOtherSubsamplings() {
  for (const PictureSize size : {PictureSize{1, 1}, {2, 2}, {37, 21}, {160, 90}, {161, 119}, {958, 34}}) {
    for (const Subsampling from : testing::Subsamplings()) {
      for (const Subsampling to : {Subsampling{0, 0}, {1, 0}}) {
        for (const ChromaSite site : {ChromaSite::kLeft, ChromaSite::kCentre, ChromaSite::kTopLeft}) {
          const Image in = testing::RandomPicture(size, from, 7, {Matrix::kBt709, Range::kLimited, site});
          const Image out = Resize(in, size, 2, to);
          const bool is_copy = from == to && (from == Subsampling{0, 0} || site != ChromaSite::kCentre);
          EXPECT_LE(testing::MaxDifference(out, ReferenceResize(in, size, to)), is_copy ? 0 : Allowed())
              << testing::Name(size) << ", " << from.log2_x << from.log2_y << " to " << to.log2_x << to.log2_y << ", site "
              << static_cast<int>(site);
        }
      }
    }
  }
}

TEST(Resize, ChromaGoesToAnyGrid) {
  ExpectOtherSubsamplings();
  const testing::WithoutInt16 without;
  ExpectOtherSubsamplings();
}

TEST(Resize, TypicalJobEqualsTheReference) {
  const Image in = testing::Pattern({960, 540}, {1, 1});
  EXPECT_LE(testing::MaxDifference(Resize(in, {1920, 1080}, 2), ReferenceResize(in, {1920, 1080})), Allowed());
}

TEST(Resize, QuantisedWeightsSumToOneAndStayClose) {
  for (const auto& [from, to] : {std::pair{540, 1080}, {720, 1080}, {480, 1080}, {1080, 540}, {1440, 1080}, {1080, 1080}, {100, 300}}) {
    const AxisPlan plan = MakeAxisPlan(from, from, SampleGrid{}, to, to, SampleGrid{});
    for (int i = 0; i < std::min(to, 64); ++i) {
      const auto weights = QuantiseWeights(plan.Weights(i), plan.taps);
      ASSERT_GE(weights.size(), 2U);
      int sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        sum += weights[k];
        const double exact = static_cast<int>(k) < plan.taps ? plan.Weights(i)[k] * 32768.0 : 0;
        EXPECT_LE(std::abs(weights[k] - exact), 1.01) << from << " to " << to << ", output " << i << ", tap " << k;
      }
      EXPECT_EQ(sum, 32768) << from << " to " << to << ", output " << i;
    }
  }
}

TEST(Resize, ReusingThePlanChangesNothing) {
  ThreadPool pool(2);
  const Image first = testing::RandomPicture({100, 60}, {1, 1}, 1);
  const Image second = testing::RandomPicture({100, 60}, {1, 1}, 2);
  Resizer resizer(100, 60, {1, 1}, {}, 144, 200);
  Image a(144, 200, {1, 1}, {});
  Image b(144, 200, {1, 1}, {});
  resizer.Run(second, a, pool);
  resizer.Run(first, b, pool);
  resizer.Run(second, b, pool);
  EXPECT_EQ(testing::MaxDifference(a, b), 0);
}

TEST(Resize, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  Resizer resizer(16, 16, {1, 1}, {}, 32, 32);
  const Image in(18, 16, {1, 1}, {});
  Image out(32, 32, {1, 1}, {});
  EXPECT_THROW(resizer.Run(in, out, pool), Error);
  Image full(32, 32, {0, 0}, {});
  EXPECT_THROW(resizer.Run(Image(16, 16, {1, 1}, {}), full, pool), Error);
}

}  // namespace
}  // namespace reelmend::pixel
