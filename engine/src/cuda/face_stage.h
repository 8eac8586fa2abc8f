// Restoration of faces on a device: the same as faces/face_stage.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cuda/device_arena.h"
#include "cuda/face_network_runner.h"
#include "cuda/kernels.h"
#include "device/stage_clock.h"
#include "faces/face_finder.h"
#include "pixel/thread_pool.h"

namespace reelmend::cuda {

struct FaceOptions {
  std::shared_ptr<faces::FaceFinder> finder;
  device::LibraryThreads finder_threads;  ///< of OpenVINO, that run the detector
  std::shared_ptr<FaceNetworkRunner> network;
  float max_change = 255;  ///< ModelFile::max_change
};

/// Note [Faces on a device]
/// The picture stays on the device. The host runs the detector: its networks are tiny, and each decides what the next one looks at. For
/// that it gets a reduced picture every faces::kKeyEvery frames, and squares of 24 or 48 pixels. The crop of a face, the network that
/// restores it and the blend are work on the device, in fp16. The host waits for the picture; meanwhile later pictures go on in the
/// inference slots of the main network.
class FaceStage {
 public:
  /// For left-sited pictures of that shape. Throws OutOfDeviceMemory.
  FaceStage(std::shared_ptr<Device> device, const FaceOptions& options, const Picture& shape);
  ~FaceStage();
  FaceStage(const FaceStage&) = delete;
  FaceStage& operator=(const FaceStage&) = delete;

  /// Once per picture, in order; works in place. `source`: the picture before the resize and its network, of any size and siting; may be
  /// `picture`. `state`: SceneStage's, of this picture. `number`: of its frame in the whole video. Waits for the stream. A warm-up frame
  /// is analysed only.
  void Run(const Picture& picture, const Picture& source, const TemporalState* state, std::int64_t number, bool is_warm_up, StreamHandle stream);

  /// Number of restored faces so far, summed over frames.
  std::int64_t restored() const { return restored_; }
  const std::string& why_on_cpu() const { return options_.network->why_on_cpu(); }
  /// CPU seconds of the threads that helped the caller so far.
  double HelperCpuSeconds() { return options_.finder_threads.CpuSeconds() + options_.network->HelperCpuSeconds() + pool_.WorkerCpuSeconds(); }

 private:
  class SearchedPicture;

  bool IsCut(const TemporalState* state, StreamHandle stream);
  void Restore(const Picture& picture, const Picture& source, const faces::FoundFace& face, StreamHandle stream);

  FaceOptions options_;
  DeviceArena arena_;
  pixel::ThreadPool pool_;
  std::unique_ptr<SearchedPicture> searched_;
  PinnedMemory is_cut_;
  Tensor crop_;    ///< of the finished picture
  float* change_;  ///< [3, side, side]
  std::int64_t restored_ = 0;
};

}  // namespace reelmend::cuda
