// Import and ExportYuv420p8 with all sample layouts, padded strides and negative strides.
#include <gtest/gtest.h>

#include <cstring>

#include "pixel/simd.h"
#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

struct Layout {
  const char* name;
  PackedLayout layout;
};

const std::vector<Layout>& Layouts() {
  static const std::vector<Layout> all = {{"yuv420p", {8, false, false, false, false, {1, 1}}},
                                          {"yuv422p", {8, false, false, false, false, {1, 0}}},
                                          {"yuv444p", {8, false, false, false, false, {0, 0}}},
                                          {"nv12", {8, false, true, false, false, {1, 1}}},
                                          {"nv21", {8, false, true, true, false, {1, 1}}},
                                          {"nv16", {8, false, true, false, false, {1, 0}}},
                                          {"gray", {8, false, false, false, true, {1, 1}}},
                                          {"yvu420p", {8, false, false, true, false, {1, 1}}},
                                          {"yuv420p10", {10, false, false, false, false, {1, 1}}},
                                          {"yuv444p12", {12, false, false, false, false, {0, 0}}},
                                          {"yuv422p9", {9, false, false, false, false, {1, 0}}},
                                          {"yuv420p16", {16, false, false, false, false, {1, 1}}},
                                          {"gray10", {10, false, false, false, true, {1, 1}}},
                                          {"p010", {10, true, true, false, false, {1, 1}}},
                                          {"p016", {16, true, true, false, false, {1, 1}}},
                                          {"p210", {10, true, true, false, false, {1, 0}}}};
  return all;
}

/// A decoded frame. Its buffers end with the last sample, so that a sanitizer detects reads after it.
struct Frame {
  std::vector<std::uint8_t> bytes[3];
  RawPlanes raw;
};

/// A reproducible pseudo-random sample of `bits` bits.
unsigned SampleAt(int plane, int x, int y, int bits) {
  return (static_cast<unsigned>(x) * 2654435761U + static_cast<unsigned>(y) * 40503U + plane * 977U) >>
         (32 - bits);
}

void PutSample(std::uint8_t* row, int index, unsigned level, const PackedLayout& layout) {
  if (layout.bits == 8) {
    row[index] = static_cast<std::uint8_t>(level);
  } else {
    const auto value = static_cast<std::uint16_t>(layout.left_aligned ? level << (16 - layout.bits) : level);
    std::memcpy(row + 2 * index, &value, 2);
  }
}

Frame MakeFrame(const Image& shape, const PackedLayout& layout, int padding, bool upside_down) {
  Frame frame;
  const int sample_bytes = layout.bits == 8 ? 1 : 2;
  const int planes = layout.gray ? 1 : layout.semi_planar ? 2 : 3;
  for (int p = 0; p < planes; ++p) {
    const ConstPlane plane = shape.plane(p);
    const int per_row = plane.width * (p > 0 && layout.semi_planar ? 2 : 1) * sample_bytes;
    const int stride = per_row + 2 * padding;
    frame.bytes[p].resize(static_cast<std::size_t>(stride) * (plane.height - 1) + per_row);
    for (int y = 0; y < plane.height; ++y) {
      std::uint8_t* row =
          frame.bytes[p].data() + static_cast<std::size_t>(upside_down ? plane.height - 1 - y : y) * stride;
      for (int x = 0; x < plane.width; ++x) {
        if (p > 0 && layout.semi_planar) {
          PutSample(row, 2 * x, SampleAt(layout.swap_chroma ? 2 : 1, x, y, layout.bits), layout);
          PutSample(row, 2 * x + 1, SampleAt(layout.swap_chroma ? 1 : 2, x, y, layout.bits), layout);
        } else {
          PutSample(row, x, SampleAt(p > 0 && layout.swap_chroma ? 3 - p : p, x, y, layout.bits), layout);
        }
      }
    }
    frame.raw.data[p] =
        frame.bytes[p].data() + (upside_down ? static_cast<std::size_t>(stride) * (plane.height - 1) : 0);
    frame.raw.stride[p] = upside_down ? -stride : stride;
  }
  return frame;
}

class ImportLayouts : public ::testing::TestWithParam<int> {};

TEST_P(ImportLayouts, LeftAlignsEverySample) {
  const auto& [name, layout] = Layouts()[GetParam()];
  for (const PictureSize size : testing::Sizes()) {
    for (const int padding : {0, 3}) {
      for (const int threads : {1, 2, 3}) {
        Image image(size.width, size.height, layout.subsampling, {});
        const Frame frame = MakeFrame(image, layout, padding, padding > 0);
        ThreadPool pool(threads);
        Import(frame.raw, layout, image, pool);
        Image expected(size.width, size.height, layout.subsampling, {});
        testing::Fill(expected, [&](int p, int x, int y) -> double {
          return p > 0 && layout.gray ? 32768 : SampleAt(p, x, y, layout.bits) << (16 - layout.bits);
        });
        ASSERT_EQ(testing::MaxDifference(image, expected), 0) << name << " " << testing::Name(size);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ImportLayouts, ::testing::Range(0, static_cast<int>(Layouts().size())),
                         [](const auto& info) { return std::string(Layouts()[info.param].name); });

TEST(Export, RoundsHalvesUpAndSaturates) {
  for (const PictureSize size : testing::Sizes()) {
    for (const int padding : {0, 5}) {
      for (const int threads : {1, 2, 3}) {
        const Image image = testing::RandomPicture(size, {1, 1}, 9);
        std::vector<std::uint8_t> bytes[3];
        MutableRawPlanes raw;
        for (int p = 0; p < 3; ++p) {
          const ConstPlane plane = image.plane(p);
          raw.stride[p] = plane.width + padding;
          bytes[p].assign(static_cast<std::size_t>(raw.stride[p]) * plane.height, 0xA5);
          raw.data[p] = bytes[p].data();
        }
        ThreadPool pool(threads);
        ExportYuv420p8(image, raw, pool);
        for (int p = 0; p < 3; ++p) {
          const ConstPlane plane = image.plane(p);
          for (int y = 0; y < plane.height; ++y) {
            for (int x = 0; x < plane.width + padding; ++x) {
              const int expected = x < plane.width ? std::min(255, (plane.Row(y)[x] + 128) / 256) : 0xA5;
              ASSERT_EQ(raw.data[p][y * raw.stride[p] + x], expected) << p << " " << x << "," << y;
            }
          }
        }
      }
    }
  }
}

TEST(Export, UndoesImportOfEightBits) {
  ThreadPool pool(2);
  const PackedLayout layout;
  Image image(129, 67, {1, 1}, {});
  const Frame frame = MakeFrame(image, layout, 0, false);
  Import(frame.raw, layout, image, pool);
  Frame back = frame;
  MutableRawPlanes raw;
  for (int p = 0; p < 3; ++p) {
    std::fill(back.bytes[p].begin(), back.bytes[p].end(), 0);
    raw.data[p] = back.bytes[p].data();
    raw.stride[p] = frame.raw.stride[p];
  }
  ExportYuv420p8(image, raw, pool);
  for (int p = 0; p < 3; ++p) EXPECT_EQ(back.bytes[p], frame.bytes[p]);
}

TEST(Export, RefusesOtherSubsamplings) {
  ThreadPool pool(1);
  EXPECT_THROW(ExportYuv420p8(testing::RandomPicture({4, 4}, {0, 0}, 1), {}, pool), Error);
}

TEST(Import, RefusesALayoutThatDoesNotFitThePicture) {
  ThreadPool pool(1);
  Image image(4, 4, {1, 0}, {});
  EXPECT_THROW(Import({}, PackedLayout{}, image, pool), Error);
}

TEST(Image, RowsAreAlignedAndSizesRoundedUp) {
  for (const Subsampling subsampling : testing::Subsamplings()) {
    Image image(17, 31, subsampling, {});
    EXPECT_EQ(image.plane(1).width, subsampling.log2_x ? 9 : 17);
    EXPECT_EQ(image.plane(2).height, subsampling.log2_y ? 16 : 31);
    for (int p = 0; p < 3; ++p) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.plane(p).Row(1)) % 64, 0U);
    }
  }
}

TEST(Image, RefusesEmptySizes) {
  EXPECT_THROW(Image(0, 4, {}, {}), Error);
  EXPECT_THROW(Image(4, -1, {}, {}), Error);
}

TEST(Simd, NamesTheInstructionSet) { EXPECT_GT(std::string(SimdTarget()).size(), 2U); }

}  // namespace
}  // namespace reelmend::pixel
