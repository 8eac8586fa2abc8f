// A GPU as the device of a job: decoder, stages and encoder share its memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/codec_bridge.h"
#include "cuda/device.h"
#include "device/processor.h"
#include "inference/gpu_backend.h"

namespace reelmend::cuda {

/// Opens GPU `index`. Throws Error{kUnavailable} naming what is missing. Without a backend for networks it works
/// without them.
std::unique_ptr<device::Processor> OpenProcessor(int index);

/// Capabilities of a GPU of this machine.
struct GpuReport {
  DeviceFacts facts;
  bool is_usable = false;
  std::string reason;   ///< why it is not usable, one sentence
  std::string networks; ///< their backend: "TensorRT-RTX 1.7.1"; empty if none can run …
  std::string why_no_networks;  ///< … and why, one sentence
  std::string encoder;  ///< "h264_nvenc" if a session could be opened, else "libx264"
};

/// Describes every GPU that the driver reports. Never throws; takes some tenths of a second per GPU.
std::vector<GpuReport> DescribeGpus();

/// A processor on any Device. `bridge`: hardware decoding and encoding; null: the CPU decodes and encodes, and each
/// frame is uploaded once and downloaded once. `networks`: null for none.
std::unique_ptr<device::Processor> MakeProcessor(std::shared_ptr<Device> device, Stream compute,
                                                   std::unique_ptr<CodecBridge> bridge,
                                                   std::shared_ptr<inference::GpuBackend> networks = nullptr);

}  // namespace reelmend::cuda
