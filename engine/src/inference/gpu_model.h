// An installed model on a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reelmend/model.h"
#include "inference/engine_cache.h"
#include "inference/gpu_backend.h"

namespace reelmend::inference {

/// The kind of GPU that engines are built for.
struct TargetGpu {
  GpuTarget target;
  std::string device;  ///< its name
};

/// A model converted for a GPU. Loads its engines from the cache or builds them.
class GpuModel {
 public:
  /// Reads the file. Throws what ReadModelFile and ToHalf throw, in sentences that name the model.
  GpuModel(std::shared_ptr<GpuBackend> backend, const ModelFile& file, TargetGpu gpu, EngineCache cache);

  /// Loads the engine for that size and batch. Throws Error{kInvalidArgument} if the backend cannot run the model or the
  /// model does not match its description; Error{kLimitExceeded} if the GPU has too little memory; Error{kNoEngine} if
  /// the cache has no engine, may not be written, and building takes minutes. The result owns everything that it needs.
  std::unique_ptr<GpuNetwork> Load(int width, int height, int batch = 1);

  /// Until LetGo, keeps the networks that it loads and returns them again for the same size. One user at a time per size.
  void KeepEngine() { keeps_engines_ = true; }
  void LetGo();

  /// `side` rounded up to the model's `multiple`.
  int RoundedUp(int side) const { return (side + file_.multiple - 1) / file_.multiple * file_.multiple; }

  /// Builds an engine and keeps it, unless the cache has it. Returns its file's name. Throws Error{kIo} if it cannot be kept.
  std::string Compile(int width, int height, int batch = 1);
  /// The same for all sizes from kLeastSide to kMostWidth × kMostHeight. If building takes minutes, Load uses it for sizes
  /// without an engine of their own.
  std::string CompileRange();

  static constexpr int kLeastSide = 64;
  static constexpr int kMostWidth = 4096;
  static constexpr int kMostHeight = 2304;

  /// Best concurrency for pictures of that size, if it was measured (cuda/network_rate.h) and its engine exists.
  std::optional<Concurrency> MeasuredConcurrency(int width, int height) const;
  void KeepConcurrency(int width, int height, const Concurrency& concurrency) const;

  const std::string& precision() const { return precision_; }
  const ModelFile& file() const { return file_; }
  /// Side of the pictures of a network for faces; 0 for others.
  int face_side() const { return face_side_; }
  /// Number of engines that this object built because the cache had none.
  int built() const { return built_; }
  /// Saves the backend's cache after contexts were made.
  void KeepBackendCache() { cache_.KeepBackendCache(*backend_, gpu_.target, gpu_.device, *backend_cache_); }

 private:
  EngineKey KeyOf(int width, int height, int batch = 1) const;
  std::string Build(const EngineKey& key);
  std::shared_ptr<GpuNetwork> FindOrBuild(const EngineKey& key);
  /// Loads an engine and checks its shapes.
  std::shared_ptr<GpuNetwork> LoadEngine(const std::string& engine, const EngineKey& wanted);
  /// Null if there is none or it cannot be loaded; the latter is logged. `key` may be that of a range.
  std::shared_ptr<GpuNetwork> FromCache(const EngineKey& key, const EngineKey& wanted);
  GpuBuildOptions BuildOptions(const EngineKey& key) const;
  void Check(const GpuNetwork& network, const EngineKey& wanted) const;

  std::shared_ptr<GpuBackend> backend_;
  ModelFile file_;
  TargetGpu gpu_;
  EngineCache cache_;
  std::string sha256_;
  std::string onnx_;
  std::string precision_;
  int face_side_ = 0;
  std::shared_ptr<BackendCache> backend_cache_;
  int built_ = 0;
  bool keeps_engines_ = false;
  std::vector<std::shared_ptr<GpuNetwork>> kept_;
};

/// The level that engines are built with: REELMEND_TENSORRT_LEVEL of the environment (`text`, null: not set), else the best.
/// It is not part of an engine's key, so an engine that was built quickly is used until its file is removed. Throws
/// Error{kInvalidArgument} for anything but 0 to 5.
int BuilderLevel(const char* text);

/// The first backend that works on this machine and supports the GPU. Throws Error{kUnavailable} with one sentence that
/// says why there is none.
std::shared_ptr<GpuBackend> OpenGpuBackend(const GpuTarget& target);

}  // namespace reelmend::inference
