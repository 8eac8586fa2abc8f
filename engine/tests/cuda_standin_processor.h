// A processor of whole frames on a stand-in device.
#pragma once

#include <memory>
#include <utility>

#include "cuda/cuda_processor.h"
#include "cuda_standin.h"
#include "device/processor.h"

namespace reelmend::cuda::testing {

inline std::unique_ptr<device::Processor> ProcessorOn(const std::shared_ptr<StandInDevice>& device,
                                                 std::unique_ptr<CodecBridge> bridge = nullptr) {
  return MakeProcessor(device, MakeStream(device), std::move(bridge));
}

}  // namespace reelmend::cuda::testing
