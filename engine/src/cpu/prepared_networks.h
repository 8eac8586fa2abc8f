// Networks on the CPU, loaded before the video is known.
#pragma once

#include <memory>
#include <vector>

#include "device/stage_clock.h"
#include "faces/face_stage.h"
#include "inference/frame_network.h"
#include "reelmend/enhance.h"

namespace reelmend::cpu {

/// Note [Ahead of time]
/// Loading OpenVINO and compiling networks for a size dominates start-up time. A process that waits for a job does it
/// for the expected sizes. The job takes the networks that match exactly and makes the others itself. Nothing that
/// depends on the video (plan, strengths, pictures) is made here.
class PreparedNetworks {
 public:
  /// Loads the networks of a run with these options and such a video. Throws what the stages throw.
  PreparedNetworks(const EnhanceOptions& options, const Expectation& expectation);

  /// Takes the network for that file, size and number of threads; null if there is none.
  std::unique_ptr<inference::FrameNetwork> TakeNetwork(const ModelFile& file, const inference::FrameNetworkOptions& options);
  /// The same for the face stage; its strength is taken from `options`.
  std::unique_ptr<faces::FaceStage> TakeFaces(const faces::FaceStageOptions& options);

  /// Threads that OpenVINO started for them.
  const device::LibraryThreads& network_threads() const { return network_threads_; }
  const device::LibraryThreads& face_threads() const { return face_threads_; }

 private:
  struct Made {
    ModelFile file;
    inference::FrameNetworkOptions options;
    std::unique_ptr<inference::FrameNetwork> network;
  };
  void MakeNetworks(inference::Backend& backend, const EnhanceOptions& options, const Expectation& expectation);
  void MakeFaces(const EnhanceOptions& options, const Expectation& expectation);

  int threads_;
  std::vector<Made> networks_;
  faces::FaceStageOptions face_options_;
  std::unique_ptr<faces::FaceStage> faces_;
  device::LibraryThreads network_threads_;
  device::LibraryThreads face_threads_;
};

}  // namespace reelmend::cpu
