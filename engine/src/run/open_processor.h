// Opens the device that a job runs on.
#pragma once

#include <memory>
#include <string>

#include "device/processor.h"
#include "reelmend/enhance.h"

namespace reelmend::run {

/// Opens the device that EnhanceOptions::device names. "auto": the first GPU that works, else the CPU. If `model` names a
/// network, only a GPU that runs networks is used. Throws Error{kInvalidArgument} for a name that does not exist and
/// Error{kUnavailable} for a missing device.
std::unique_ptr<device::Processor> OpenProcessor(const std::string& device, const std::string& model);

/// The processor of `prepared` if it is the one that the options name; otherwise the result of OpenProcessor.
std::unique_ptr<device::Processor> OpenPrepared(const EnhanceOptions& options, std::unique_ptr<Preparation> prepared);

}  // namespace reelmend::run
