// Debanding on a device: the same as pixel/deband.cc.
#pragma once

#include <memory>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

/// Smooths blocks and bands in flat areas of pictures of one shape. Run allocates nothing.
class DebandStage {
 public:
  /// `threshold` in 8-bit levels.
  DebandStage(std::shared_ptr<Device> device, const Picture& shape, float threshold);

  /// In place.
  void Run(const Picture& picture, StreamHandle stream);

 private:
  DeviceArena arena_;
  float threshold_;
  CellPlanes cells_[3];
  CellPlanes pooled_[3];  ///< along rows
};

}  // namespace reelmend::cuda
