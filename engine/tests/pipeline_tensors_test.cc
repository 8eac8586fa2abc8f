// Conversion between pictures and tensors of networks on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/tensor_converter.h"
#include "pixel/resize_int16.h"
#include "pixel/stages.h"
#include "pixel_testing.h"

namespace reelmend {
namespace {

using Layout = ModelFile::Layout;
using pixel::Image;
using pixel::testing::PictureSize;

/// An area of a network's input that owns its memory.
struct Area {
  Area(int planes, int x, int y, int width, int height)
      : data(static_cast<std::size_t>(planes) * width * height, -9.0F), area{data.data(), x, y, width, height} {}
  Area(const Area&) = delete;
  float at(int plane, int x, int y) const { return data[(static_cast<std::size_t>(plane) * area.height + y) * area.width + x]; }

  std::vector<float> data;
  inference::InputArea area;
};

/// Output planes that the test shuffles as OutputArea defines. The converter must read them like the plain planes.
TEST(TensorConverter, ReadsShuffledOutput) {
  pixel::ThreadPool pool(2);
  for (const auto& [layout, planes] : {std::pair{Layout::kLumaStrength, 1}, {Layout::kYcbcrStrength, 3}}) {
    ASSERT_TRUE(cpu::TakesShuffled(layout));
    const pixel::Subsampling subsampling = planes == 1 ? pixel::Subsampling{1, 1} : pixel::Subsampling{0, 0};
    for (const int by : {2, 3, 4, 8}) {
      for (const int width : {by * 3, by * 40 - 1, 1918, 2304 - by + 1}) {
        const int height = 5 * by - 1;
        const int stride = (width + by - 1) / by * by;
        const int rows = (height + by - 1) / by * by;
        const std::size_t whole = static_cast<std::size_t>(stride) * rows;
        std::vector<float> plain(whole * planes);
        std::vector<float> shuffled(plain.size());
        for (int p = 0; p < planes; ++p) {
          for (int y = 0; y < rows; ++y) {
            for (int x = 0; x < stride; ++x) {
              const float value = static_cast<float>((x * 7919 + y * 104729 + p * 31) % 1201) / 1000 - 0.1F - 0.6F * (p > 0);  // also outside of the range
              plain[whole * p + static_cast<std::size_t>(y) * stride + x] = value;
              const std::size_t plane = static_cast<std::size_t>(p) * by * by + static_cast<std::size_t>(by) * (y % by) + x % by;
              shuffled[(plane * (rows / by) + y / by) * (stride / by) + x / by] = value;
            }
          }
        }
        const auto converter = cpu::MakeTensorConverter(layout, width, height, {1, 1}, {}, 0);
        Image expected(width + 8, height + 2, subsampling, {});
        Image out(width + 8, height + 2, subsampling, {});
        converter->UnpackOutput({plain.data(), static_cast<std::int64_t>(whole), stride, 8, 2, width, height, 1}, expected, pool);
        const std::int64_t plane = static_cast<std::int64_t>(stride / by) * (rows / by);
        converter->UnpackOutput({shuffled.data(), plane, stride / by, 8, 2, width, height, by}, out, pool);
        for (int p = 0; p < planes; ++p) {
          EXPECT_GT(pixel::testing::MaxDifference(expected.plane(p), Image(width + 8, height + 2, subsampling, {}).plane(p)), 10'000);
          ASSERT_EQ(pixel::testing::MaxDifference(out.plane(p), expected.plane(p)), 0) << by << ", " << width << ", plane " << p;
        }
      }
    }
  }
}

/// 8-bit levels become tensor values as the layout defines.
TEST(TensorConverter, YcbcrHasTheUnitsOfItsLayout) {
  pixel::ThreadPool pool(1);
  struct Case { pixel::Range range; int y, cb, cr; double luma, blue, red; };
  for (const Case& c : {Case{pixel::Range::kLimited, 16, 16, 240, 0, -0.5, 0.5}, {pixel::Range::kLimited, 235, 128, 72, 1, 0, -0.25},
                        {pixel::Range::kLimited, 255, 255, 0, 239.0 / 219, 127.0 / 224, -128.0 / 224},
                        {pixel::Range::kFull, 0, 0, 255, 0, -128.0 / 255, 127.0 / 255}, {pixel::Range::kFull, 255, 128, 179, 1, 0, 0.2}}) {
    for (const pixel::Subsampling subsampling : pixel::testing::Subsamplings()) {
      const pixel::ColorSpec color{pixel::Matrix::kBt709, c.range, pixel::ChromaSite::kLeft};
      Image image(9, 7, subsampling, color);
      pixel::testing::Fill(image, [&](int p, int, int) { return 256.0 * (p == 0 ? c.y : p == 1 ? c.cb : c.cr); });
      const auto converter = cpu::MakeTensorConverter(Layout::kYcbcrStrength, 9, 7, subsampling, color, 0.3F);
      converter->Prepare(image, pool);
      const Area in(4, 0, 0, 12, 8);
      converter->PackInput(image, in.area, pool);
      constexpr double kRounding = 6 / 57'344.0;  // of the resize of chroma to luma's grid
      for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 12; ++x) {
          ASSERT_NEAR(in.at(0, x, y), c.luma, 1e-6);
          ASSERT_EQ(in.at(1, x, y), 0.3F);
          ASSERT_NEAR(in.at(2, x, y), c.blue, kRounding);
          ASSERT_NEAR(in.at(3, x, y), c.red, kRounding);
        }
      }
    }
  }
}

/// Packs and unpacks an area unchanged. Luma and 4:4:4 chroma return exactly; subsampled chroma returns as the resizer enlarges
/// it.
TEST(TensorConverter, YcbcrSurvivesARoundTrip) {
  pixel::ThreadPool pool(2);
  for (const PictureSize size : {PictureSize{1, 1}, {2, 2}, {37, 21}, {160, 90}, {161, 119}}) {
    for (const pixel::Subsampling subsampling : pixel::testing::Subsamplings()) {
      for (const pixel::Range range : {pixel::Range::kLimited, pixel::Range::kFull}) {
        SCOPED_TRACE(pixel::testing::Name(size) + " " + std::to_string(subsampling.log2_x) + std::to_string(subsampling.log2_y));
        const pixel::ColorSpec color{pixel::Matrix::kBt709, range, pixel::ChromaSite::kLeft};
        const Image image = pixel::testing::RandomPicture(size, subsampling, 3, color);
        Image full(size.width, size.height, {0, 0}, color);
        pixel::Resizer(size.width, size.height, subsampling, color, size.width, size.height, {0, 0}).Run(image, full, pool);
        const auto converter = cpu::MakeTensorConverter(Layout::kYcbcrStrength, size.width, size.height, subsampling, color, 0.7F);
        ASSERT_EQ(converter->output_subsampling(), (pixel::Subsampling{0, 0}));
        converter->Prepare(image, pool);
        // A tile that begins inside of the picture and ends outside of it.
        const int x = size.width / 3;
        const int y = size.height / 4;
        const Area in(4, x, y, size.width - x + 5, size.height - y + 3);
        converter->PackInput(image, in.area, pool);
        const int inside = size.width - x;
        const int rows = size.height - y;
        for (const int plane : {0, 2, 3}) {
          for (int row = 0; row < in.area.height; ++row) {
            for (int column = 0; column < in.area.width; ++column) {
              ASSERT_EQ(in.at(plane, column, row), in.at(plane, std::min(column, inside - 1), std::min(row, rows - 1)));
            }
          }
        }
        Image out(size.width, size.height, {0, 0}, color);
        const std::int64_t plane = std::int64_t{in.area.width} * in.area.height;
        // The output has no strength plane: copies luma and chroma without it.
        std::vector<float> made(in.data.begin(), in.data.begin() + plane);
        made.insert(made.end(), in.data.begin() + 2 * plane, in.data.end());
        converter->UnpackOutput({made.data(), plane, in.area.width, x, y, inside, rows, 1}, out, pool);
        for (int p = 0; p < 3; ++p) {
          for (int row = y; row < size.height; ++row) {
            for (int column = x; column < size.width; ++column) {
              ASSERT_NEAR(out.plane(p).Row(row)[column], full.plane(p).Row(row)[column], 1) << p;
            }
          }
        }
      }
    }
  }
}

/// A 4:2:2 sample that lies on luma's grid is not interpolated.
TEST(TensorConverter, ChromaLiesWhereItsSitingSays) {
  pixel::ThreadPool pool(1);
  const Image image = pixel::testing::RandomPicture({64, 16}, {1, 0}, 5);
  const auto converter = cpu::MakeTensorConverter(Layout::kYcbcrStrength, 64, 16, {1, 0}, image.color(), 0);
  converter->Prepare(image, pool);
  const Area in(4, 0, 0, 64, 16);
  converter->PackInput(image, in.area, pool);
  const double allowed = pixel::GetInt16Kernels() != nullptr ? 5 : 1;
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 32; ++x) {
      ASSERT_NEAR(in.at(2, 2 * x, y) * 224 * 256 + 32768, image.plane(1).Row(y)[x], allowed);
      ASSERT_NEAR(in.at(3, 2 * x, y) * 224 * 256 + 32768, image.plane(2).Row(y)[x], allowed);
    }
  }
}

}  // namespace
}  // namespace reelmend
