// Chooses the installed network of a job and its number of passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// Note [Any ratio]
/// A network enlarges by a fixed integer; an exact resize does the rest. It runs once if that reaches nine tenths of the
/// target's size, else twice. It also runs only once if the resize is left to enlarge by at most 1.6 and a second pass would
/// end farther from the target, by ratio: ×2 up to 2.8 times, ×3 up to 4.8, ×4 up to 6.4. A second pass of ×2 costs four times
/// as much as the first, of ×4 16 times, and restores little there. `fast` ×2, three photographs, PSNR-Y (dB) and SSIM: 480p →
/// 1080p in one pass 34.89 and 0.9514, in two 34.81 and 0.9511; 404p → 1080p 33.76 and 0.9355, in two 33.70 and 0.9352. A
/// source that is enlarged by less than a twentieth is restored at ×1 if there is a network for that. A source that is
/// reduced is reduced first: most restored detail would disappear, and a smaller picture costs less.
///
/// Where networks run. On a GPU fp32 files become fp16 (inference/onnx_half.h). They are then as fast as memory
/// bandwidth allows, so int8 files are used on a GPU only if there is no other.
///
/// Note [Working size]
/// A source that was enlarged before has no detail at its nominal size, but networks learn from pictures that do. So it is
/// reduced to about its remaining resolution, the working size, and everything after the denoising treats that as the
/// source, first of all the network. The temporal and spatial denoising work at the nominal size, where noise was
/// measured. Networks for damaged sources (ModelFile::is_blind) have learned from enlarged pictures and get the source as it
/// is. VMAF-NEG and PSNR-Y (dB) over Lanczos-3, means of five held-out photographs and two pictures each, ×2; sources that
/// were recorded at a share of their size, enlarged and encoded by x264 (0.5: by MPEG-4 before, and x264):
/// | recorded at | fast        | fast from 0.8 | from 0.6    | from 0.5    | from 0.4     | detail       | detail from 0.5 |
/// | 0.33        | 2.5, +0.08  | 3.8, +0.12    | 5.9, +0.18  | 8.0, +0.23  | 10.5, +0.26  | 25.5, +0.14  | 20.0, +0.20     |
/// | 0.4         | 3.6, +0.09  | 5.3, +0.15    | 8.0, +0.21  | 9.9, +0.23  | 10.5, +0.14  | 16.4, −0.12  | 13.0, +0.05     |
/// | 0.5         | 3.0, +0.12  | 4.5, +0.18    | 7.0, +0.26  | 9.1, +0.29  | 11.0, +0.21  | 25.4, +0.34  | 20.7, +0.23     |
/// | 0.7         | 4.9, +0.17  | 6.7, +0.23    | 6.8, +0.03  | 4.1, −0.29  | −1.1, −0.84  | 10.1, −0.01  | 0.4, −0.75      |
/// (`fast` got a strength of 0.06; an early checkpoint of `detail` at strength 1.)
enum class NetworkDevice { kCpu, kGpu };

/// Whether a source is enlarged by more than a little; else networks run at ×1.
bool IsEnlarged(Size in, Size out);

/// The working size of an upright source, with `share` of its size per axis, 0…1: even sides; the source's own from 1 on.
Size WorkingSize(Size source, float share);

struct NetworkFit {
  ModelFile file;
  int passes = 1;
  bool after_resize = false;  ///< the network restores the reduced picture instead of the source's
};

/// The file of the model `name` for a picture of size `in` that becomes `out`; nothing if none fits. On a CPU, int8 files
/// with a stated loss of at most 0.1 dB are preferred if they were measured to be at least as fast here as the fp32 file of
/// that scale; without measurements, if the processor has instructions for them. If an int8 file loses more than 0.05 dB and
/// the processor is fast in bfloat16, the fp32 file runs in bfloat16 instead, if that is allowed (ModelFile::allow_bf16) and
/// was not measured to take more than three times as long.
std::optional<NetworkFit> FitNetwork(const std::vector<ModelFile>& models, const std::string& name, Size in, Size out,
                                     NetworkDevice device = NetworkDevice::kCpu);

/// The files of the model `name` that FitNetwork chooses among: one for each scale.
std::vector<ModelFile> BestOfEachScale(const std::vector<ModelFile>& models, const std::string& name, NetworkDevice device);

/// The name that a file is installed by: the first one where several entries name it. (`quality` has no ×1 file, and names that of `fast`.)
std::string OwnName(const std::vector<ModelFile>& models, const ModelFile& file);

/// The network for faces: the file with layout kFace; the last one if there are several.
std::optional<ModelFile> FindFaceModel(const std::vector<ModelFile>& models);

/// Whether a model of that name for whole pictures is installed.
bool IsInstalled(const std::vector<ModelFile>& models, const std::string& name);

}  // namespace reelmend::plan
