// How bench_gpu repeats kernels: each one rotates through copies of its memory. Runs on a stand-in device.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "../bench/rotating_kernels.h"
#include "cuda_standin.h"

namespace reelmend::cuda {
namespace {

using testing::StandInDevice;
using testing::StandInOptions;

StageOptions SmallFrames() { return AllStages(96, 64, 160, 96); }

template <typename... Kernels>
std::size_t BytesOf(const KernelCall& call, List<Kernels...>) {
  static constexpr std::size_t kBytes[] = {sizeof(Kernels)...};
  return kBytes[call.id];
}

TEST(CudaBench, CopiesOfAFrameExceedTheCaches) {
  EXPECT_GE(RotatingFrames::CopiesOf(1280, 720), 60);
  for (const auto& [width, height] : {std::pair{1920, 1080}, {3840, 2160}}) {
    const std::size_t bytes = static_cast<std::size_t>(RotatingFrames::CopiesOf(width, height)) * width * height * 3;
    EXPECT_GE(bytes, std::size_t{126} << 20) << "smaller than the largest L2 cache (B200)";
  }
  EXPECT_EQ(RotatingFrames::CopiesOf(16384, 16384), 2);
}

TEST(CudaBench, AKernelIsRepeatedOnAllCopies) {
  const auto device = std::make_shared<StandInDevice>();
  const Stream stream = MakeStream(device);
  const RotatingFrames frames(device, SmallFrames(), stream.get());
  ASSERT_EQ(frames.count(), RotatingFrames::kMostCopies);
  const std::vector<KernelCall>& calls = frames.calls(0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_EQ(frames.calls(1)[i].id, calls[i].id);
    const std::size_t bytes = BytesOf(calls[i], KernelList{});
    EXPECT_NE(std::memcmp(frames.calls(1)[i].kernel, calls[i].kernel, bytes), 0) << kKernelNames[calls[i].id] << " uses the same memory in both copies";
  }
  std::size_t last = 0;  // the kernel that writes the encoder's luma
  while (calls[last].id != kKernelId<FinishLumaKernel>) ++last;
  const auto luma_bytes = static_cast<std::size_t>(frames.out(0).linesize[0]) * 96;
  for (int copy = 0; copy < frames.count(); ++copy) device->ClearAsync(frames.out(copy).data[0], luma_bytes, stream.get());
  const RotatingFrames::Rotation rotation = frames.Capture(last, stream.get());
  EXPECT_GE(rotation.launches, 60);
  EXPECT_EQ(rotation.launches % frames.count(), 0);
  device->WaitForStream(stream.get());
  EXPECT_EQ(int{frames.out(0).data[0][0]}, 0) << "a capture must not run the kernels";
  device->LaunchGraph(rotation.graph.get(), stream.get());
  device->WaitForStream(stream.get());
  for (int copy = 0; copy < frames.count(); ++copy) EXPECT_GT(int{frames.out(copy).data[0][0]}, 0) << copy;
}

TEST(CudaBench, EveryKernelButTheNetworksIsMeasured) {
  const auto device = std::make_shared<StandInDevice>();
  const Stream stream = MakeStream(device);
  std::set<std::string> measured;
  for (const bool is_hdr : {false, true}) {
    for (const auto& [width, height] : {std::pair{160, 96}, {48, 32}, {96, 32}}) {
      StageOptions options = AllStages(96, 64, width, height);
      if (is_hdr) options.tone = pixel::ToneMapOptions{};
      const RecordedFrame frame(device, options, stream.get());
      for (const KernelCall& call : frame.calls()) measured.insert(kKernelNames[call.id]);
    }
  }
  for (const std::string name : kKernelNames) {
    const bool is_of_networks = name.find("tensor") != std::string::npos;
    EXPECT_EQ(measured.count(name), is_of_networks ? 0U : 1U) << name;
  }
}

TEST(CudaBench, FewerCopiesWhereMemoryIsShort) {
  const auto plenty = std::make_shared<StandInDevice>();
  const Stream stream = MakeStream(plenty);
  std::size_t one = 0;
  {
    const RecordedFrame frame(plenty, SmallFrames(), stream.get());
    one = plenty->peak();
  }
  StandInOptions tight;
  tight.memory_bytes = 12 * one;
  const auto device = std::make_shared<StandInDevice>(tight);
  const Stream own = MakeStream(device);
  const RotatingFrames frames(device, SmallFrames(), own.get());
  EXPECT_GE(frames.count(), 2);
  EXPECT_LE(frames.count(), 7) << "half of the memory must stay free";
}

}  // namespace
}  // namespace reelmend::cuda
