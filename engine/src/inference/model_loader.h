// Loads a model and checks it against its description.
#pragma once

#include <memory>
#include <string>

#include "reelmend/model.h"
#include "inference/backend.h"

namespace reelmend::inference {

/// Number of planes of a layout at the network's input and output.
int InputPlanes(ModelFile::Layout layout);
int OutputPlanes(ModelFile::Layout layout);
/// Whether the network makes chroma, at luma's resolution; otherwise the engine scales chroma itself.
bool MakesChroma(ModelFile::Layout layout);
/// Whether a plane of the input holds the strength of restoration.
bool TakesStrength(ModelFile::Layout layout);

/// Reads the file after checking its description; then checks its checksum. Throws Error{kInvalidArgument}.
std::string ReadModelFile(const ModelFile& file);

/// Reads the file, compares its checksum, and tests whether its planes and scale are as described. Throws
/// Error{kInvalidArgument} in one sentence that names the model.
std::unique_ptr<Model> LoadModel(Backend& backend, const ModelFile& file);

}  // namespace reelmend::inference
