// Names of devices in EnhanceOptions::device.
#pragma once

#include <string>

namespace reelmend::plan {

/// N of "cuda:N". Throws Error{kInvalidArgument} for every other text.
int CudaIndex(const std::string& device);

/// Throws Error{kInvalidArgument} unless it is "auto", "cpu" or "cuda:N".
void CheckDeviceName(const std::string& device);

}  // namespace reelmend::plan
