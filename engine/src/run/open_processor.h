// Opens the device that a job runs on.
#pragma once

#include <memory>
#include <string>

#include "device/processor.h"
#include "reelmend/enhance.h"

namespace reelmend::run {

/// Opens the device that EnhanceOptions::device names. "auto": the first GPU that works, else the CPU. Where `model` names a
/// network, only a GPU that runs networks is taken. Throws Error{kInvalidArgument} for a name that does not exist and
/// Error{kUnavailable} for a device that is not there.
std::unique_ptr<device::Processor> OpenProcessor(const std::string& device, const std::string& model);

/// The processor of `prepared` where it is the one that the options ask for; else the same as OpenProcessor.
std::unique_ptr<device::Processor> OpenPrepared(const EnhanceOptions& options, std::unique_ptr<Preparation> prepared);

}  // namespace reelmend::run
