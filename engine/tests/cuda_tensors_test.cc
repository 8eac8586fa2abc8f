// Conversion between pictures and fp16 tensors of networks.
#include "cuda_twins.h"

#include "cpu/tensor_converter.h"
#include "pixel/color_matrix.h"

namespace reelmend::cuda {
namespace {

TEST(CudaTensors, HalfRoundsToNearestEven) {
  // Every half survives the round trip through float. A float between two halves rounds to the nearer one, ties to even.
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

/// The CUDA kernels give the same values as the CPU's converter, up to the rounding of halves.
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
    const LinearScale luma{static_cast<float>(levels.luma_black), static_cast<float>(1 / levels.luma_span)};
    const LinearScale chroma{32768.0F, static_cast<float>(1 / levels.chroma_span)};
    const auto converter = cpu::MakeTensorConverter(ModelFile::Layout::kYcbcrStrength, 50, 33, {0, 0}, color, 0.3F);
    std::vector<float> floats(4 * kPlane);
    converter->PackInput(image, {floats.data(), 0, 0, kWidth, kHeight}, pool);
    std::vector<Half> halves(4 * kPlane);
    HostLaunch(YcbcrToTensorKernel{view(image), 0, 0, luma, chroma, 0.3F, {halves.data(), 4, kWidth, kHeight}}, {kWidth, kHeight, 1});
    for (std::size_t i = 0; i < floats.size(); ++i) ASSERT_NEAR(FromHalf(halves[i]), floats[i], 1.0 / 2048) << i;
    // The output has no strength plane, so it uses three other planes of the input.
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = FromHalf(halves[i]);
    const float* const first = floats.data() + kPlane;
    converter->UnpackOutput({first, kPlane, kWidth, 0, 0, 50, 33, 1}, by_cpu, pool);
    HostLaunch(TensorToYcbcrPictureKernel{{halves.data() + kPlane, 3, kWidth, kHeight}, {0, 0, 0, 0, 50, 33}, luma.offset, 1 / luma.scale,
                                          1 / chroma.scale, view(by_kernel)}, {50, 33, 1});
    EXPECT_LE(pixel::testing::MaxDifference(by_kernel, by_cpu), 1);
  }
}

}  // namespace
}  // namespace reelmend::cuda
