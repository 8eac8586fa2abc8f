#include "reelmend/device.h"

#include <fstream>
#include <string>

#include "cuda/cuda_processor.h"
#include "device/cores.h"
#include "inference/backend.h"
#include "media/av_handles.h"
#include "pixel/simd.h"

namespace reelmend {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

DeviceInfo Cpu() {
  DeviceInfo info;
  info.id = "cpu";
  info.name = ProcessorName();
  info.threads = device::AvailableCores();
  info.simd = pixel::SimdTarget();
  info.inference = inference::AvailableBackends();
  info.usable = avcodec_find_encoder_by_name("libx264") != nullptr;
  if (info.usable) info.encoder = "libx264";
  if (!info.usable) info.reason = "This machine's libavcodec was built without libx264.";
  return info;
}

DeviceInfo Gpu(const cuda::GpuReport& report) {
  const cuda::DeviceFacts& facts = report.facts;
  DeviceInfo info;
  info.id = facts.id();
  info.name = facts.name;
  info.usable = report.is_usable;
  info.reason = report.reason;
  info.simd = "sm_" + std::to_string(10 * facts.compute_major + facts.compute_minor);
  if (info.usable) info.encoder = report.encoder;
  return info;
}

/// Placeholder for GPUs if there are none; it says why.
DeviceInfo NoGpu() {
  DeviceInfo info;
  info.id = "cuda";
  info.name = "NVIDIA GPU";
  info.reason = cuda::FindCudaDevices().reason;
  return info;
}

}  // namespace

std::vector<DeviceInfo> Devices() {
  std::vector<DeviceInfo> devices = {Cpu()};
  for (const cuda::GpuReport& report : cuda::DescribeGpus()) devices.push_back(Gpu(report));
  if (devices.size() == 1) devices.push_back(NoGpu());
  return devices;
}

}  // namespace reelmend
