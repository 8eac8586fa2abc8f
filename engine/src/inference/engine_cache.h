// Engines of GPU backends, kept in files.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "inference/gpu_backend.h"

namespace reelmend::inference {

/// All that an engine depends on.
struct EngineKey {
  std::string model_sha256;  ///< of the ONNX file as it is installed
  std::string backend;
  std::string backend_version;
  GpuTarget target;
  std::string device;     ///< the GPU's name, for backends that time on it; empty: any GPU of the target
  Shape input;            ///< width and height 0: any size of a range
  std::string precision;  ///< "fp16", "int8", "fp32"
  int batch = 1;          ///< pictures in a tensor

  bool is_range() const { return input.width == 0; }
  std::string text() const;
  /// Begins with what people look for; its end tells keys apart.
  std::string file_name() const;
};

/// Note [Engine files]
/// A file holds its key, the checksum of the engine and the engine. A file that is damaged or cut off, or whose key is
/// another than its name promises, is not used: it is built again and replaced, with one sentence to the log. Files are
/// written under a name of their own and renamed, so that a reader finds a whole file or none, and two writers of one
/// engine leave one of theirs. Nothing is ever deleted here: engines of models that are gone cost disk alone.
class EngineCache {
 public:
  using Log = std::function<void(const std::string& sentence)>;

  /// An empty folder name: nothing is found or kept. `may_write` false: engines are found but not kept, as in processes
  /// that also read customers' videos.
  explicit EngineCache(std::string folder = "", bool may_write = true, Log log = {});

  std::optional<std::string> Find(const EngineKey& key) const;
  /// A disk that is full or a folder that cannot be written is told to the log: the engine serves this process anyway.
  void Keep(const EngineKey& key, const std::string& engine) const;

  /// GpuMemo of a backend for a kind of GPU; empty when there is none.
  GpuMemo FindMemo(const GpuBackend& backend, const GpuTarget& target, const std::string& device) const;
  void KeepMemo(const GpuBackend& backend, const GpuTarget& target, const std::string& device, GpuMemo& memo) const;

  /// What was measured to be best on a GPU of that name. `key`: of a batch of one.
  std::optional<Occupancy> FindOccupancy(const EngineKey& key, const std::string& device) const;
  void KeepOccupancy(const EngineKey& key, const std::string& device, const Occupancy& occupancy) const;

  void Say(const std::string& sentence) const;
  const std::string& folder() const { return folder_; }
  bool may_write() const { return may_write_; }

 private:
  std::optional<std::string> Read(const std::string& name, const std::string& key, const std::string& what) const;
  void Write(const std::string& name, const std::string& key, const std::string& content) const;

  std::string folder_;
  bool may_write_;
  Log log_;
};

}  // namespace reelmend::inference
