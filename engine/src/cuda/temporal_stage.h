// Temporal denoising on a device: the same as pixel/temporal_denoise.cc.
#pragma once

#include <memory>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

struct TemporalOptions {
  float strength = 0;     ///< 0…1
  float sigma = 0;        ///< change from picture to picture, in 8-bit levels
  float noise_sigma = 0;  ///< in 8-bit levels
};

/// Blends pictures of one shape with older ones along their motion. Run allocates nothing.
class TemporalStage {
 public:
  /// `state` is SceneStage's.
  TemporalStage(std::shared_ptr<Device> device, const Picture& shape, const TemporalOptions& options, const TemporalState* state);

  /// Once per picture, in order.
  void Run(const Picture& in, const Picture& out, StreamHandle stream);
  /// Of the picture of the last Run.
  const MotionField& motion() const { return field_; }

 private:
  void FindMotion(const Plane& luma, StreamHandle stream);

  DeviceArena arena_;
  TemporalOptions options_;
  const TemporalState* state_;
  TemporalHistory history_[3];
  MotionHistory motion_;
  MotionField field_;
};

}  // namespace reelmend::cuda
