// The CPU as a device: libav's decoders, PixelChain, libx264.
#pragma once

#include <memory>

#include "device/processor.h"

namespace reelmend::cpu {

std::unique_ptr<device::Processor> OpenCpu();

}  // namespace reelmend::cpu
