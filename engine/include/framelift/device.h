// Which processors this build can use on this machine.
#pragma once

#include <string>
#include <vector>

namespace framelift {

struct DeviceInfo {
  std::string id;           ///< "cpu", "cuda:0"
  std::string name;         ///< marketing name of the processor
  bool usable = false;
  std::string reason;       ///< why it cannot be used, one sentence; empty when usable
  int threads = 0;          ///< cores this process may use (CPU)
  std::string simd;         ///< instruction set chosen at run time (CPU), e.g. "AVX3_DL"
  std::string encoder;      ///< "libx264", "h264_nvenc"
  std::vector<std::string> inference;  ///< inference backends that work on it
};

/// Every device known to this build, the CPU first. Never throws.
std::vector<DeviceInfo> Devices();

/// Version of the engine and of the libraries it was linked with, for logs.
std::string EngineVersion();

}  // namespace framelift
