// Resizing on a device: the same as pixel/resize.cc, between pictures in device memory.
#pragma once

#include <memory>
#include <vector>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"

namespace reelmend::pixel {
struct AxisPlan;
}

namespace reelmend::cuda {

/// Resizes pictures of one shape to another: size, subsampling, siting (the target's is ChromaSite::kLeft). Made
/// once; Run allocates nothing. MakeRoom allocates the intermediate memory (Note [Less memory] in stage_plan.h).
class ResizeStage {
 public:
  /// `planes`: of luma (1), of chroma (2) or of both (3).
  ResizeStage(std::shared_ptr<Device> device, const Picture& from, const Picture& to, int planes);

  /// Whether a plane needs no resize at all.
  bool is_identity(int plane) const { return resize_[plane == 0 ? 0 : 1].is_identity; }
  bool is_identity() const { return resize_[0].is_identity && resize_[1].is_identity; }

  void MakeRoom();
  /// Number of row bands of the output; 1 if memory suffices.
  int bands() const { return bands_; }

  /// Fills the planes of `to` that are not identical; the others are left alone.
  void Run(const Picture& from, const Picture& to, StreamHandle stream);
  /// Where a plane lies after Run: in `to`, or still in `from` if it needs no resize.
  const Plane& Result(const Picture& from, const Picture& to, int plane) const {
    return is_identity(plane) ? from.planes[plane] : to.planes[plane];
  }

 private:
  struct PlanePair {
    DeviceAxis x;
    DeviceAxis y;
    bool is_identity = true;
    bool reduces_height = false;
    std::vector<int> y_starts;  ///< on the host: which rows a band needs
  };
  DeviceAxis SendAxis(const pixel::AxisPlan& plan);
  std::size_t IntermediateBytes(int band_rows) const;
  void RunBand(const Picture& from, const Picture& to, int plane, int first, int rows, StreamHandle stream);

  DeviceArena arena_;
  Picture from_;
  Picture to_;
  PlanePair resize_[2];  ///< luma, chroma
  DeviceMemory intermediate_;
  int band_rows_ = 0;
  int bands_ = 1;
};

}  // namespace reelmend::cuda
