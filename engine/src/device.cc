#include "framelift/device.h"

#include <fstream>
#include <string>

#include "inference/backend.h"
#include "media/av_handles.h"
#include "pipeline/cores.h"
#include "pixel/simd.h"

namespace framelift {
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
  info.threads = pipeline::AvailableCores();
  info.simd = pixel::SimdTarget();
  info.inference = inference::AvailableBackends();
  info.usable = avcodec_find_encoder_by_name("libx264") != nullptr;
  if (info.usable) info.encoder = "libx264";
  if (!info.usable) info.reason = "This machine's libavcodec was built without libx264.";
  return info;
}

}  // namespace

std::vector<DeviceInfo> Devices() { return {Cpu()}; }

}  // namespace framelift
