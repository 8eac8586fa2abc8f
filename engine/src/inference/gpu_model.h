// From an installed ONNX file to a network on a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reelmend/model.h"
#include "inference/engine_cache.h"
#include "inference/gpu_backend.h"

namespace reelmend::inference {

/// The GPU that engines are for.
struct GpuPlace {
  GpuTarget target;
  std::string device;  ///< its name
};

/// A model that was read and made fit for a GPU. Loads engines of it, from the cache or newly built.
class GpuModel {
 public:
  /// Reads the file. Throws what ReadModelFile and ToHalf throw, in sentences that name the model.
  GpuModel(std::shared_ptr<GpuBackend> backend, const ModelFile& file, GpuPlace place, EngineCache cache);

  /// Throws Error{kInvalidArgument} for a model that the backend cannot run or that is not what its description says,
  /// Error{kLimitExceeded} when the GPU has too little memory, Error{kNoEngine} when the cache has no engine, may not be
  /// written, and building one takes minutes. What it returns keeps what it needs of this object.
  std::unique_ptr<GpuNetwork> Load(int width, int height, int batch = 1);

  /// From here on loaded networks are held, and given again to those who ask for the same size, until LetGo. One at a
  /// time may use what Load gave for a size.
  void Hold() { holds_ = true; }
  void LetGo();

  /// That side, or the next larger one that the model takes.
  int RoundedUp(int side) const { return (side + file_.multiple - 1) / file_.multiple * file_.multiple; }

  /// Builds and keeps an engine where the cache has none. Returns its file's name.
  std::string Compile(int width, int height, int batch = 1);
  /// The same of an engine for all sizes from kLeastSide up to kMostWidth × kMostHeight, which Load takes where the cache
  /// has none for a size and building one takes minutes.
  std::string CompileRange();

  static constexpr int kLeastSide = 64;
  static constexpr int kMostWidth = 4096;
  static constexpr int kMostHeight = 2304;

  /// What is best on this GPU for pictures of that size, where it was measured (cuda/network_rate.h) and the engine for it is
  /// there.
  std::optional<Occupancy> MeasuredOccupancy(int width, int height) const;
  void KeepOccupancy(int width, int height, const Occupancy& occupancy) const;

  const std::string& precision() const { return precision_; }
  const ModelFile& file() const { return file_; }
  /// Engines that were built by this object, because the cache did not have them.
  int built() const { return built_; }
  /// Keeps what the backend learnt while contexts were made.
  void KeepMemo() { cache_.KeepMemo(*backend_, place_.target, place_.device, *memo_); }

 private:
  EngineKey KeyOf(int width, int height, int batch = 1) const;
  std::string Build(const EngineKey& key);
  std::unique_ptr<GpuNetwork> LoadAnew(const EngineKey& key);
  /// Checked, with what it needs.
  std::unique_ptr<GpuNetwork> Kept(const std::string& engine, const EngineKey& wanted);
  /// Null: not there, or it cannot be loaded, which is said. `key` may be that of a range.
  std::unique_ptr<GpuNetwork> FromCache(const EngineKey& key, const EngineKey& wanted);
  GpuBuildOptions BuildOptions(const EngineKey& key) const;
  void Check(const GpuNetwork& network, const EngineKey& wanted) const;

  std::shared_ptr<GpuBackend> backend_;
  ModelFile file_;
  GpuPlace place_;
  EngineCache cache_;
  std::string sha256_;
  std::string onnx_;
  std::string precision_;
  std::shared_ptr<GpuMemo> memo_;
  int built_ = 0;
  bool holds_ = false;
  std::vector<std::shared_ptr<GpuNetwork>> held_;
};

/// The first backend that works on this machine and supports the GPU. Throws Error{kUnavailable} with one sentence that
/// says why there is none.
std::shared_ptr<GpuBackend> OpenGpuBackend(const GpuTarget& target);

}  // namespace reelmend::inference
