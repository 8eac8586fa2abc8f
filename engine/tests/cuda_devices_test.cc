// The list of devices, and the device that a job gets.
#include <gtest/gtest.h>

#include "cuda_standin.h"
#include "cuda_standin_processor.h"
#include "reelmend/device.h"
#include "reelmend/error.h"
#include "run/open_processor.h"

namespace reelmend::cuda {
namespace {

using testing::ProcessorOn;
using testing::StandInDevice;

TEST(CudaDevices, AMachineWithoutAGpuSaysWhy) {
  const CudaState state = FindCudaDevices();
  const std::vector<DeviceInfo> devices = Devices();
  ASSERT_GE(devices.size(), 2U);
  EXPECT_EQ(devices[0].id, "cpu");
  if (!state.devices.empty()) {
    EXPECT_EQ(devices[1].id, "cuda:0");
    return;
  }
  EXPECT_FALSE(state.reason.empty());
  EXPECT_EQ(state.reason.back(), devices[1].reason.back());
  EXPECT_EQ(devices[1].id, "cuda");
  EXPECT_FALSE(devices[1].usable);
  EXPECT_EQ(devices[1].reason, state.reason);
  try {
    run::OpenProcessor("cuda:0", "auto");
    FAIL() << "a GPU that does not exist was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_EQ(error.what(), state.reason);
  }
  EXPECT_EQ(run::OpenProcessor("auto", "auto")->name(), "cpu");
  EXPECT_EQ(run::OpenProcessor("auto", "none")->name(), "cpu");
}

TEST(CudaDevices, ANamedNetworkSelectsADeviceThatCanRunIt) {
  if (FindCudaDevices().devices.empty()) {
    EXPECT_EQ(run::OpenProcessor("auto", "fast")->name(), "cpu");
  }
  const auto device = std::make_shared<StandInDevice>();
  EXPECT_FALSE(ProcessorOn(device)->runs_networks()) << "a processor without a backend cannot run networks";
}

}  // namespace
}  // namespace reelmend::cuda
