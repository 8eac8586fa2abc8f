// The network that restores a face, for pictures on a device.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cuda/device_arena.h"
#include "cuda/views.h"
#include "device/stage_clock.h"
#include "faces/face_network.h"
#include "inference/backend.h"
#include "inference/gpu_model.h"
#include "reelmend/model.h"

namespace reelmend::cuda {

/// Where a network for faces comes from.
struct FaceModel {
  ModelFile file;  ///< of the layout kFace
  int side = 0;    ///< of its crop
  /// Throws what inference::GpuModel's constructor throws.
  std::function<std::shared_ptr<inference::GpuModel>()> open;
};

/// Note [Face networks that a device cannot run]
/// Operators bring networks for faces of any kind, and engines may be missing. Where the device has none for this network, it runs on
/// the CPU: a crop is small, so sending it there and back costs little beside the network, and the rest of the job stays on the device.
class FaceNetworkRunner {
 public:
  /// `openvino` runs it on the CPU. Throws Error{kInvalidArgument} in one sentence if neither runs it, DeviceLost, OutOfDeviceMemory.
  FaceNetworkRunner(std::shared_ptr<Device> device, const FaceModel& model, inference::Backend& openvino, int threads);

  bool is_on_device() const { return context_ != nullptr; }
  const std::string& why_on_cpu() const { return why_on_cpu_; }  ///< a sentence; empty on the device
  const Tensor& crop() const { return crop_; }  ///< input: R′G′B′ from −1 to 1
  const Tensor& made() const { return made_; }  ///< output

  /// Makes the output of the input. On the CPU it waits for the stream. Throws Error{kUnavailable}: another device may succeed.
  void Run(StreamHandle stream);
  /// CPU seconds of OpenVINO's threads so far.
  double HelperCpuSeconds() { return openvino_threads_.CpuSeconds(); }

 private:
  void MakeTensors(int side);
  void LoadOnDevice(const FaceModel& model);
  void LoadOnCpu(const FaceModel& model, inference::Backend& openvino, int threads);
  void RunOnCpu(StreamHandle stream);
  std::size_t samples() const { return static_cast<std::size_t>(crop_.channels) * crop_.height * crop_.width; }

  DeviceArena arena_;
  Tensor crop_;
  Tensor made_;
  std::unique_ptr<inference::GpuNetwork> network_;
  std::unique_ptr<inference::GpuContext> context_;
  std::unique_ptr<faces::FaceNetwork> on_cpu_;
  std::string why_on_cpu_;
  device::LibraryThreads openvino_threads_;
  PinnedMemory transfer_;  ///< a tensor on its way to the CPU or back
};

}  // namespace reelmend::cuda
