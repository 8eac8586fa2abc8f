// Finds and opens the module that OpenVINO is linked into.
#pragma once

#include <memory>

#include "inference/backend.h"

namespace reelmend::inference {

/// Note [A module of its own]
/// OpenVINO's libraries take 90 MB and a tenth of a second to load, and most calls of the engine (probing above all)
/// need no network. So they are linked into reelmend_openvino.so, which lies with them in the folder "openvino"
/// beside the program (or one folder above it) and is opened when the first network is asked for. The engine runs
/// without the folder, too.
///
/// Throws Error{kUnavailable} if the module is missing or cannot be loaded.
std::unique_ptr<Backend> CreateOpenVinoBackend();

}  // namespace reelmend::inference
