// Networks for the jobs of a device: from engines in the folder, newly built ones, or prepared ones.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cuda/face_network.h"
#include "cuda/network_runner.h"
#include "inference/gpu_model.h"
#include "plan/network_choice.h"
#include "reelmend/enhance.h"

namespace reelmend::cuda {

struct NetworkRequest {
  ModelFile file;
  int passes = 1;
  Size picture;  ///< input of the first one
  float strength = 0;
  std::string engine_folder;
  bool may_write_engines = true;
  std::function<bool()> is_stopped;
};

class NetworkSource {
 public:
  NetworkSource(std::shared_ptr<Device> device, std::shared_ptr<inference::GpuBackend> backend)
      : device_(std::move(device)), backend_(std::move(backend)) {}

  /// What a NetworkRunner needs. Throws what inference::GpuModel's constructor throws.
  NetworkOptions OptionsOf(const NetworkRequest& request);

  /// A network for faces; `request.picture` does not matter. Throws what inference::ReadModelFile throws.
  FaceModel FacesOf(const NetworkRequest& request) const;

  /// Loads the expected network and runs it once on an empty picture, so that its kernels are compiled and loaded.
  /// Engines are kept until OptionsOf is called for the first network. Throws what the runner throws.
  void Prepare(const EnhanceOptions& options, const Expectation& expectation);
  /// Releases what was prepared.
  void LetGo() { prepared_.reset(); }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<inference::GpuBackend> backend_;
  std::shared_ptr<inference::GpuModel> prepared_;  ///< keeps its networks loaded
  std::string prepared_folder_;
};

}  // namespace reelmend::cuda
