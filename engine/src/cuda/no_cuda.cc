// Replaces the CUDA device in a build without CUDA.
#ifndef REELMEND_CUDA
#include "cuda/codec_bridge.h"
#include "cuda/device.h"

namespace reelmend::cuda {
namespace {

constexpr const char* kReason = "This build has no CUDA stages (run scripts/setup-gpu and build again).";

}  // namespace

CudaState FindCudaDevices() { return {{}, kReason}; }

std::shared_ptr<Device> OpenCudaDevice(int) { throw Error(ErrorCode::kUnavailable, kReason); }

std::unique_ptr<CodecBridge> OpenCodecBridge(const std::shared_ptr<Device>&, StreamHandle) {
  throw Error(ErrorCode::kUnavailable, kReason);
}

}  // namespace reelmend::cuda
#endif
