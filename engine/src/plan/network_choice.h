// Chooses the installed network of a job and its number of passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// Note [Any ratio]
/// A network enlarges by a fixed integer. It runs until the picture has at least nine tenths of the target's size
/// (twice at most); an exact resize does the rest, usually a small reduction. A source that is enlarged by less than
/// a twentieth is restored at ×1 if there is a network for that. A source that is reduced is reduced first: most
/// restored detail would disappear, and a smaller picture costs less.
///
/// Where networks run. On a GPU fp32 files become fp16 (inference/onnx_half.h). They are then as fast as memory
/// bandwidth allows, so int8 files are used on a GPU only if there is no other.
///
/// Note [Working size]
/// A source that was enlarged before holds no detail of its nominal size, and networks learn from pictures that do. So it
/// is reduced to about the resolution that is left, its working size; everything behind the denoising, the network first,
/// takes that for the source. The temporal and spatial denoising keep the nominal size, at which noise was measured.
enum class NetworkDevice { kCpu, kGpu };

/// The working size for a share per axis of an upright source, 0…1: even sides; the source's own from 1 on.
Size WorkingSize(Size source, float share);

struct NetworkFit {
  ModelFile file;
  int passes = 1;
  bool after_resize = false;  ///< the network restores the reduced picture instead of the source's
};

/// The file of the model `name` for a picture of size `in` that becomes `out`; nothing if none fits. int8 files are
/// preferred if the processor is fast at int8 and their stated loss is at most 0.1 dB.
std::optional<NetworkFit> FitNetwork(const std::vector<ModelFile>& models, const std::string& name, Size in, Size out,
                                     NetworkDevice device = NetworkDevice::kCpu);

/// The network for faces: the file with layout kFace; the last one if there are several.
std::optional<ModelFile> FindFaceModel(const std::vector<ModelFile>& models);

/// Whether a model of that name for whole pictures is installed.
bool IsInstalled(const std::vector<ModelFile>& models, const std::string& name);

}  // namespace reelmend::plan
