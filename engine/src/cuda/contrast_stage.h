// Curves of the adaptive contrast on a device: the same as pixel/contrast.cc. FinishLumaKernel applies them.
#pragma once

#include <memory>
#include <optional>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"
#include "pixel/stages.h"

namespace reelmend::cuda {

struct ContrastOptions {
  float strength = 0;  ///< of the local contrast, 0…1
  pixel::LevelLift level_lift;
  pixel::Range range = pixel::Range::kLimited;  ///< of the output
};

/// Measures pictures of one size and makes their curves. Run allocates nothing.
class ContrastStage {
 public:
  ContrastStage(std::shared_ptr<Device> device, int width, int height, const ContrastOptions& options);

  /// Once per picture, in order. `state` as it was for this picture.
  void Run(const LumaReader& luma, const TemporalState* state, StreamHandle stream);
  /// The curves of the picture of the last Run, in device memory.
  const ContrastMap& map() const { return map_; }
  /// In device memory; null if levels are not lifted.
  const float* chroma_gain() const { return levels_ ? levels_->chroma_gain : nullptr; }

 private:
  void MakeLevels(const pixel::LevelLift& lift);

  DeviceArena arena_;
  CurveKernel curves_;
  std::optional<LevelKernel> levels_;
  ContrastMap map_;
};

}  // namespace reelmend::cuda
