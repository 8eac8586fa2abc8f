// Networks' tensors of half floats: pictures to them and back.
#include "cuda_twins.h"

#include "cpu/network_tensors.h"
#include "pixel/color_matrix.h"

namespace reelmend::cuda {
namespace {

TEST(CudaTensors, HalfRoundsToNearestEven) {
  // Every half goes to float and back; between two halves the nearer one is taken, the even one in the middle.
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const float v = FromHalf({static_cast<std::uint16_t>(bits)});
    ASSERT_EQ(ToHalf(v).bits, bits);
    ASSERT_EQ(ToHalf(-v).bits, bits | 0x8000U);
    if (bits + 1 == 0x7C00) continue;
    const float next = FromHalf({static_cast<std::uint16_t>(bits + 1)});
    ASSERT_EQ(ToHalf((v + next) / 2).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(ToHalf(v + (next - v) * 0.49F).bits, bits) << v;
    ASSERT_EQ(ToHalf(v + (next - v) * 0.51F).bits, bits + 1) << v;
  }
  EXPECT_EQ(ToHalf(70000.0F).bits, 0x7C00);
}

RgbMatrix ToRgb(pixel::ColorSpec color) {
  const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  return {static_cast<float>(c.luma_offset), static_cast<float>(c.luma_scale), static_cast<float>(c.red_cr),
          static_cast<float>(c.green_cb), static_cast<float>(c.green_cr), static_cast<float>(c.blue_cb)};
}

YcbcrMatrix FromRgb709() {
  return {{0.2126F, 0.7152F, 0.0722F}, 219.0F * 256, 16.0F * 256, 224.0F * 256 / 1.8556F, 224.0F * 256 / 1.5748F};
}

TEST(CudaTensors, ThereAndBackKeepsAPicture) {
  const PictureSize size{50, 38};
  pixel::PackedLayout layout = Formats()[0].layout;
  layout.subsampling = {0, 0};  // full chroma: nothing is lost by interpolation
  layout.semi_planar = false;
  const RawFrame raw = MakeRaw(size, layout, 11);
  Surface surface = DescribeSurface(layout, size.width, size.height);
  for (int p = 0; p < 3; ++p) surface.data[p] = raw.planes.data[p], surface.stride[p] = raw.planes.stride[p];
  Image image(size.width, size.height, {0, 0}, {});
  Picture shape;
  shape.log2_x = shape.log2_y = 0;
  for (int p = 0; p < 3; ++p) {
    const pixel::Plane plane = image.plane(p);
    shape.planes[p] = {plane.data, plane.stride, plane.width, plane.height};
  }
  Tensor tensor{nullptr, 3, 64, 40};
  std::vector<Half> memory(static_cast<std::size_t>(3) * 64 * 40);
  tensor.data = memory.data();
  HostLaunch(SurfaceToTensorKernel{surface, shape, ToRgb({}), tensor}, {tensor.width, tensor.height, 1});
  EXPECT_EQ(tensor.PlaneAt(1)[39 * 64 + 63].bits, tensor.PlaneAt(1)[37 * 64 + 49].bits)
      << "the margin repeats the edge";
  HostLaunch(TensorToPictureKernel{tensor, FromRgb709(), shape}, {size.width, size.height, 2});
  int worst = 0;
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const int code = raw.planes.data[p][y * raw.planes.stride[p] + x];
        const int back = ToCode8(image.plane(p).Row(y)[x]);
        // Colours outside of R′G′B′ are clipped by the network's range; the pattern's chroma is wide.
        if (tensor.PlaneAt(0)[y * 64 + x].bits >= 0x3C00 || tensor.PlaneAt(1)[y * 64 + x].bits >= 0x3C00 ||
            tensor.PlaneAt(2)[y * 64 + x].bits >= 0x3C00) {
          continue;
        }
        worst = std::max(worst, std::abs(code - back));
      }
    }
  }
  EXPECT_LE(worst, 1);
}

/// The CPU's bridge and the kernels for a GPU: the same values, as near as halves hold them.
TEST(CudaTensors, YcbcrIsWhatTheCpuMakesOfIt) {
  constexpr int kWidth = 52;
  constexpr int kHeight = 34;
  constexpr std::ptrdiff_t kPlane = std::ptrdiff_t{kWidth} * kHeight;
  pixel::ThreadPool pool(1);
  for (const auto range : {pixel::Range::kLimited, pixel::Range::kFull}) {
    const pixel::ColorSpec color{pixel::Matrix::kBt709, range, pixel::ChromaSite::kLeft};
    Image image = pixel::testing::RandomPicture({50, 33}, {0, 0}, 4, color);
    Image by_cpu(50, 33, {0, 0}, color);
    Image by_kernel(50, 33, {0, 0}, color);
    const auto view = [](Image& from) {
      Picture picture;
      picture.log2_x = picture.log2_y = 0;
      for (int p = 0; p < 3; ++p) picture.planes[p] = {from.plane(p).data, from.plane(p).stride, from.plane(p).width, from.plane(p).height};
      return picture;
    };
    const auto levels = pixel::SampleLevelsOf(range);
    const Units luma{static_cast<float>(levels.luma_black), static_cast<float>(1 / levels.luma_span)};
    const Units chroma{32768.0F, static_cast<float>(1 / levels.chroma_span)};
    const auto bridge = cpu::MakeBridge(ModelFile::Layout::kYcbcrStrength, 50, 33, {0, 0}, color, 0.3F);
    std::vector<float> floats(4 * kPlane);
    bridge->Fill(image, {floats.data(), 0, 0, kWidth, kHeight}, pool);
    std::vector<Half> halves(4 * kPlane);
    HostLaunch(YcbcrToTensorKernel{view(image), 0, 0, luma, chroma, 0.3F, {halves.data(), 4, kWidth, kHeight}}, {kWidth, kHeight, 1});
    for (std::size_t i = 0; i < floats.size(); ++i) ASSERT_NEAR(FromHalf(halves[i]), floats[i], 1.0 / 2048) << i;
    // What comes out has no strength between luma and chroma: here three planes that are at hand.
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = FromHalf(halves[i]);
    const float* const first = floats.data() + kPlane;
    bridge->Take({first, kPlane, kWidth, 0, 0, 50, 33, 1}, by_cpu, pool);
    HostLaunch(TensorToYcbcrPictureKernel{{halves.data() + kPlane, 3, kWidth, kHeight}, {0, 0, 0, 0, 50, 33}, luma.offset, 1 / luma.scale,
                                          1 / chroma.scale, view(by_kernel)}, {50, 33, 1});
    EXPECT_LE(pixel::testing::MaxDifference(by_kernel, by_cpu), 1);
  }
}

TEST(CudaTensors, SubsampledChromaLandsWhereTheCpuPutsIt) {
  // Converting R′G′B′ of a tensor to another matrix equals ConvertColor of the picture.
  const PictureSize size{48, 32};
  const pixel::PackedLayout layout = Formats()[0].layout;
  const RawFrame raw = MakeRaw(size, layout, 13);
  for (const auto site : {pixel::ChromaSite::kLeft, pixel::ChromaSite::kCentre, pixel::ChromaSite::kTopLeft}) {
    Image image(size.width, size.height, {1, 1}, {pixel::Matrix::kBt601, pixel::Range::kLimited, site});
    pixel::ThreadPool pool(1);
    pixel::Import(raw.planes, layout, image, pool);
    Surface surface = DescribeSurface(layout, size.width, size.height);
    for (int p = 0; p < 2; ++p) surface.data[p] = raw.planes.data[p], surface.stride[p] = raw.planes.stride[p];
    Picture shape;
    shape.color = image.color();
    for (int p = 0; p < 3; ++p) {
      const pixel::Plane plane = image.plane(p);
      shape.planes[p] = {plane.data, plane.stride, plane.width, plane.height};
    }
    std::vector<Half> memory(static_cast<std::size_t>(3) * size.width * size.height);
    const Tensor tensor{memory.data(), 3, size.width, size.height};
    HostLaunch(SurfaceToTensorKernel{surface, shape, ToRgb(image.color()), tensor}, {size.width, size.height, 1});
    pixel::ConvertColor(image, {}, pool);
    double worst = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const std::ptrdiff_t at = y * size.width + x;
        const float luma = 0.2126F * FromHalf(tensor.PlaneAt(0)[at]) + 0.7152F * FromHalf(tensor.PlaneAt(1)[at]) +
                           0.0722F * FromHalf(tensor.PlaneAt(2)[at]);
        worst = std::max(worst, std::abs(luma * 219.0 + 16 - image.plane(0).Row(y)[x] / 256.0));
      }
    }
    EXPECT_LE(worst, 0.5) << static_cast<int>(site);
  }
}

}  // namespace
}  // namespace reelmend::cuda
