// Networks for the jobs of a device: from engines in the folder, newly built ones, or prepared ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cuda/face_stage.h"
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

  /// What a FaceStage needs; of the request, the file, the engines' folder and whether they may be written. Throws what FaceFinder's and
  /// FaceNetworkRunner's constructors throw.
  FaceOptions FacesOf(const NetworkRequest& request, const faces::FinderOptions& finder);

  /// Loads the expected networks and runs each once on an empty picture, so that its kernels are compiled and loaded.
  /// They are kept until the first call of OptionsOf and of FacesOf. Throws what the runner and FacesOf throw.
  void Prepare(const EnhanceOptions& options, const Expectation& expectation);
  /// Releases the network that was prepared.
  void LetGo() { prepared_.reset(); }
  void LetGoOfFaces() { prepared_faces_.reset(); }

 private:
  /// The faces that were prepared, and for which file and engines.
  struct PreparedFaces {
    ModelFile file;
    std::string engine_folder;
    FaceOptions options;
  };
  void PrepareNetwork(const EnhanceOptions& options, const Expectation& expectation);
  void PrepareFaces(const EnhanceOptions& options, const Expectation& expectation);
  FaceOptions MakeFaces(const NetworkRequest& request, const faces::FinderOptions& finder) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<inference::GpuBackend> backend_;
  std::shared_ptr<inference::GpuModel> prepared_;  ///< keeps its networks loaded
  std::string prepared_folder_;
  std::optional<PreparedFaces> prepared_faces_;
};

}  // namespace reelmend::cuda
