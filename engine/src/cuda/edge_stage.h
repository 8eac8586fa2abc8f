// Restoration of edges on a device: the same as pixel/contours.cc and pixel/guided_chroma.cc.
#pragma once

#include <memory>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"
#include "pixel/stages.h"

namespace reelmend::cuda {

/// Smooths luma along its contours, sharpens it across them, and fits chroma to it. For pictures of one shape; only the constructor
/// allocates.
class EdgeStage {
 public:
  /// `strength`: 0…1; `enlargement`: output ÷ working size, per axis.
  EdgeStage(std::shared_ptr<Device> device, const Picture& shape, float enlargement, float strength);

  void SmoothContours(const Plane& luma, const Plane& out, StreamHandle stream);
  /// In place.
  void GuideChroma(const Picture& picture, StreamHandle stream);

 private:
  DeviceArena arena_;
  pixel::ContourWeights contour_weights_;
  pixel::GuidedWeights guided_weights_;
  Plane smooth_;              ///< luma smoothed along its contours
  ContourCells contours_[2];  ///< the second one: blurred along rows
  GuidedPlanes guided_[2];    ///< the second one: blurred along rows
};

}  // namespace reelmend::cuda
