// Temporal accumulation on a device: the same as pixel/temporal_accumulation.cc.
#pragma once

#include <memory>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

/// Blends luma of enlarged pictures with older ones along the motion of their sources. Run allocates nothing.
class AccumulationStage {
 public:
  /// Size of the enlarged pictures; strength: 0…1.
  AccumulationStage(std::shared_ptr<Device> device, int width, int height, float strength);

  /// Once per picture, in order. `state` and `motion` as they were for its source.
  void Run(const Plane& luma, const Plane& out, const SourceVectors& motion, const TemporalState* state, StreamHandle stream);

 private:
  DeviceArena arena_;
  float strength_;
  AccumulationHistory history_;
  MotionField refined_;
};

}  // namespace reelmend::cuda
