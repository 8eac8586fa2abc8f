// Temporal denoising on a device: the same as pixel/temporal_denoise.cc.
#pragma once

#include <memory>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"
#include "pixel/temporal_denoise.h"

namespace reelmend::cuda {

/// Blends pictures of one shape with older ones along their motion. Run allocates nothing.
class TemporalStage {
 public:
  /// `state` is SceneStage's.
  TemporalStage(std::shared_ptr<Device> device, const Picture& shape, const pixel::TemporalOptions& options, const TemporalState* state);

  /// Once per picture, in order.
  void Run(const Picture& in, const Picture& out, StreamHandle stream);
  /// Of the picture of the last Run.
  const MotionField& motion() const { return field_; }

 private:
  void FindMotion(const Plane& luma, StreamHandle stream);

  DeviceArena arena_;
  pixel::TemporalOptions options_;
  const TemporalState* state_;
  TemporalHistory history_[3];
  MotionHistory motion_;
  MotionField field_;
};

}  // namespace reelmend::cuda
