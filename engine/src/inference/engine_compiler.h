// Engines of a model, built ahead of time for one kind of GPU.
#pragma once

#include <memory>
#include <vector>

#include "reelmend/model.h"
#include "inference/gpu_model.h"

namespace reelmend::inference {

/// Builds the engine for the size of `request` and, if a build takes minutes, one for a range of sizes, which serves jobs of
/// other sizes and tiles. An engine that is in the folder already is not built again. If the GPU has too little memory to
/// build the requested size, that engine's `not_built` says so, and the range is built nevertheless. Throws
/// Error{kInvalidArgument} for a model that cannot be built, Error{kLimitExceeded} if no engine could be, Error{kIo} for one that cannot be
/// written to the folder.
std::vector<CompiledEngine> CompileEngines(const std::shared_ptr<GpuBackend>& backend, const ModelFile& model,
                                           const TargetGpu& gpu, const CompileRequest& request);

}  // namespace reelmend::inference
