// One call of Enhance on a device that is open already.
#pragma once

#include <memory>
#include <string>

#include "device/processor.h"
#include "reelmend/enhance.h"

namespace reelmend::run {

/// Like reelmend::Enhance, on `processor`, whatever device the options name.
EnhanceResult EnhanceOn(std::unique_ptr<device::Processor> processor, const std::string& input_path, const std::string& output_path,
                        const EnhanceOptions& options, const EnhanceCallbacks& callbacks = {});

}  // namespace reelmend::run
