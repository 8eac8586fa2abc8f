// Which processors this build can use on this machine.
#pragma once

#include <string>
#include <vector>

namespace reelmend {

struct DeviceInfo {
  std::string id;           ///< "cpu", "cuda:0"; "cuda" where no GPU can be used
  std::string name;         ///< marketing name of the processor
  bool usable = false;
  std::string reason;       ///< why it cannot be used, one sentence; empty when usable
  int threads = 0;          ///< cores this process may use (CPU)
  std::string simd;         ///< instruction set chosen at run time, e.g. "AVX3_DL", "sm_90"
  std::string encoder;      ///< "libx264", or "h264_nvenc" if a session could be opened
  std::vector<std::string> inference;  ///< inference backends that run on it
};

/// All devices, the CPU first. If no GPU can be used, one entry says why (no CUDA in this build, no driver, no GPU).
/// Never throws.
std::vector<DeviceInfo> Devices();

/// Version of the engine, with a hash of its sources and networks, and of the libraries it was linked with. Pieces of engines
/// whose versions differ are never joined.
std::string EngineVersion();

}  // namespace reelmend
