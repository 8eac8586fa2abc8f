// From a manifest's description to a network that is known to fit it.
#pragma once

#include <memory>
#include <string>

#include "reelmend/model.h"
#include "inference/backend.h"

namespace reelmend::inference {

/// Planes that a layout has at the network's input and at its output.
int InputPlanes(ModelFile::Layout layout);
int OutputPlanes(ModelFile::Layout layout);
/// Whether colour comes out of the network, at luma's resolution as it went in; else the engine scales chroma itself.
bool MakesChroma(ModelFile::Layout layout);
/// Whether a plane of the input tells how much to restore.
bool TakesStrength(ModelFile::Layout layout);

/// The file's bytes, after a look at its description and its checksum. Throws Error{kInvalidArgument}.
std::string ReadModelFile(const ModelFile& file);

/// Reads the file, compares its checksum, and tries its shapes: planes and scale are what the description says.
/// Throws Error{kInvalidArgument} in one sentence that names the model.
std::unique_ptr<Model> LoadModel(Backend& backend, const ModelFile& file);

}  // namespace reelmend::inference
