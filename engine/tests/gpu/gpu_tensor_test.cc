// The kernels between surfaces and tensors on the GPU against the same functors on the CPU.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cuda/kernels.h"
#include "cuda/uploader.h"

namespace reelmend::cuda {
namespace {

TEST(GpuTensors, AgreeWithTheHostsLauncher) {
  const auto device = OpenCudaDevice(0);
  const Stream stream = MakeStream(device);
  std::mt19937 random(5);
  for (const int width : {64, 98, 640}) {
    const int height = 70;
    const pixel::PackedLayout layout{8, false, true, false, false, {1, 1}};
    Surface surface = DescribeSurface(layout, width, height);
    const std::size_t bytes = static_cast<std::size_t>(width) * height * 3 / 2;
    std::vector<std::uint8_t> samples(bytes);
    for (std::uint8_t& sample : samples) sample = static_cast<std::uint8_t>(random());
    const DeviceMemory on_device = Upload(device, samples.data(), bytes);
    Picture shape;
    for (int p = 0; p < 3; ++p)
      shape.planes[p] = {nullptr, 0, p == 0 ? width : width / 2, p == 0 ? height : height / 2};
    const RgbMatrix matrix{4096, 1.0F / 56064, 2.746e-5F, -3.27e-6F, -8.16e-6F, 3.236e-5F};
    Tensor tensor{nullptr, 3, (width + 31) / 32 * 32, 96};
    const std::size_t count = static_cast<std::size_t>(3) * tensor.width * tensor.height;
    const auto at = [&](const std::uint8_t* base) {
      surface.data[0] = base;
      surface.data[1] = base + width * height;
      surface.stride[0] = surface.stride[1] = width;
      return surface;
    };
    std::vector<Half> expected(count);
    tensor.data = expected.data();
    HostLaunch(SurfaceToTensorKernel{at(samples.data()), shape, matrix, tensor}, {tensor.width, tensor.height, 1});
    const DeviceMemory memory = MakeDeviceMemory(device, count * sizeof(Half));
    device->ClearAsync(memory.get(), count * sizeof(Half), stream.get());
    tensor.data = static_cast<Half*>(memory.get());
    device->Launch(
        MakeCall(SurfaceToTensorKernel{at(static_cast<const std::uint8_t*>(on_device.get())), shape, matrix, tensor},
                 {tensor.width, tensor.height, 1}),
        stream.get());
    const PinnedMemory back = MakePinnedMemory(device, count * sizeof(Half));
    device->CopyAsync({back.get(), 0, memory.get(), 0, count * sizeof(Half), 1}, stream.get());
    device->WaitForStream(stream.get());
    float worst = 0;
    for (std::size_t i = 0; i < count; ++i) {
      worst = std::max(worst, std::abs(FromHalf(static_cast<const Half*>(back.get())[i]) - FromHalf(expected[i])));
    }
    EXPECT_LE(worst, 1.0F / 1024) << width;
  }
}

}  // namespace
}  // namespace reelmend::cuda
