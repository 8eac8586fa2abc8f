// The stages of a job on a GPU, as a chain from decoded frames to the encoder's.
#pragma once

#include <memory>
#include <string>

#include "cuda/codec_bridge.h"
#include "cuda/device.h"
#include "cuda/frame_pool.h"
#include "cuda/network_source.h"
#include "device/processor.h"

namespace reelmend::cuda {

/// State shared by a processor and its parts.
struct Session {
  std::shared_ptr<Device> device;
  Stream compute;
  Stream decode;  ///< only with a bridge
  std::unique_ptr<CodecBridge> bridge;
  std::shared_ptr<FramePool> pool;  ///< made with the encoder
  std::unique_ptr<NetworkSource> networks;  ///< null: none
  std::string why_no_networks;
};

/// Frames come from the GPU's decoder directly or from a CPU's decoder through the uploader. After the encoder was made.
std::unique_ptr<device::StageChain> MakeChain(std::shared_ptr<Session> session, const device::ChainOptions& options);

}  // namespace reelmend::cuda
