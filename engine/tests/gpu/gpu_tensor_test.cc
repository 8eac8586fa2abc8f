// Compares the kernels between pictures and tensors on the GPU with the same kernels on the host.
#include <gtest/gtest.h>

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
    std::vector<std::uint16_t> samples(static_cast<std::size_t>(3) * width * height);
    for (std::uint16_t& sample : samples) sample = static_cast<std::uint16_t>(random());
    const DeviceMemory on_device = Upload(device, samples.data(), samples.size() * sizeof(std::uint16_t));
    const auto picture = [&](std::uint16_t* base) {
      Picture at;
      at.log2_x = at.log2_y = 0;
      for (int p = 0; p < 3; ++p) at.planes[p] = {base + static_cast<std::ptrdiff_t>(p) * width * height, width, width, height};
      return at;
    };
    Tensor tensor{nullptr, 4, (width + 31) / 32 * 32, 96};
    const std::size_t count = static_cast<std::size_t>(4) * tensor.width * tensor.height;
    const LinearScale luma{4096, 1.0F / 56064};
    const LinearScale chroma{32768, 1.0F / 57344};
    std::vector<Half> expected(count);
    tensor.data = expected.data();
    HostLaunch(YcbcrToTensorKernel{picture(samples.data()), 0, 0, luma, chroma, 0.3F, tensor}, {tensor.width, tensor.height, 1});
    const DeviceMemory memory = MakeDeviceMemory(device, count * sizeof(Half));
    device->ClearAsync(memory.get(), count * sizeof(Half), stream.get());
    tensor.data = static_cast<Half*>(memory.get());
    device->Launch(MakeCall(YcbcrToTensorKernel{picture(static_cast<std::uint16_t*>(on_device.get())), 0, 0, luma, chroma, 0.3F, tensor},
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
