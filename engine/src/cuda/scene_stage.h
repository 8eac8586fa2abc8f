// Scene cuts on a device: the same as pixel/scene_detector.cc.
#pragma once

#include <memory>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

/// Finds out whether a picture starts a scene, for all stages that look back in time. Made for pictures of one size; Run allocates nothing.
class SceneStage {
 public:
  SceneStage(std::shared_ptr<Device> device, int width, int height);

  /// Once per picture, in order: advances the state to this picture.
  void Run(const Plane& luma, StreamHandle stream);
  /// In device memory: Note [State on the device].
  TemporalState* state() const { return state_; }

 private:
  DeviceArena arena_;
  TemporalState* state_;
  float* thumbnails_ = nullptr;
  ShrinkKernel shrink_;
};

}  // namespace reelmend::cuda
