// Which installed network a job runs, and how often.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// Note [Any ratio]
/// A network enlarges by its own whole number. It is run as often as brings the picture to at least nine tenths of the
/// target (twice at most), and an exact resize does the rest, mostly a small reduction. A source that is enlarged by
/// less than a twentieth is restored at ×1 where there is a network for that; one that is reduced is reduced first,
/// since most of what would be restored disappears in that and a smaller picture costs less.
/// Where networks run. On a GPU fp32 files become fp16 (inference/onnx_half.h), which is as fast there as what moves the
/// pictures allows, so int8 files are taken only where there is no other.
enum class NetworkPlace { kCpu, kGpu };

struct NetworkFit {
  ModelFile file;
  int passes = 1;
  bool after_resize = false;  ///< the network restores the reduced picture instead of the source's
};

/// The file of the model `name` for a picture of `in` that becomes `out`; nothing when none of its files serves that.
/// int8 files are preferred where the processor is fast at them and their stated loss is at most 0.1 dB.
std::optional<NetworkFit> FitNetwork(const std::vector<ModelFile>& models, const std::string& name, Size in, Size out,
                                     NetworkPlace place = NetworkPlace::kCpu);

/// The network for faces: the file of the layout kFace; the last one where there are several.
std::optional<ModelFile> FindFaceModel(const std::vector<ModelFile>& models);

/// Whether a model of that name is installed that makes whole pictures.
bool IsInstalled(const std::vector<ModelFile>& models, const std::string& name);

}  // namespace reelmend::plan
