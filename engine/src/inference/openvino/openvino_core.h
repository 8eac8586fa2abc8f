// What the files of this folder share: OpenVINO itself, and the sentences about models that it cannot run.
#pragma once

#include <string>

#include "inference/backend.h"
#include "openvino/openvino.hpp"

namespace reelmend::inference {

/// OpenVINO, started at the first call.
ov::Core& Core();

/// Throws Error{kInvalidArgument}.
[[noreturn]] void Refuse(const std::string& sentence);
[[noreturn]] void RefuseUnknownShape();

/// The operator that OpenVINO's message names as unsupported; empty if it names none. The messages are long and name OpenVINO's sources,
/// so nothing else of them is shown.
std::string UnsupportedOperator(const std::string& message);

/// Of a batch of one picture.
Shape ToShape(const ov::Shape& shape);

}  // namespace reelmend::inference
