// Files of engines for GPUs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "inference/gpu_backend.h"

namespace reelmend::inference {

/// Everything that an engine depends on.
struct EngineKey {
  std::string model_sha256;  ///< of the ONNX file as it is installed; of the converted one if its quantisation was changed
  std::string backend;
  std::string backend_version;
  GpuTarget target;
  std::string device;     ///< the GPU's name, for backends that time on it; empty: any GPU of the target
  Shape input;            ///< width and height 0: any size of a range
  std::string precision;  ///< "fp16", "int8", "fp32"
  int batch = 1;          ///< pictures in a tensor

  bool is_range() const { return input.width == 0; }
  std::string text() const;
  /// Readable parts first; a hash at the end makes it unique.
  std::string file_name() const;
};

/// Note [Engine files]
/// A file holds its key, the checksum of the engine, and the engine. A file that is damaged or cut off, or whose key
/// does not match its name, is not used: the engine is built again and the file replaced, with one sentence in the
/// log. Files are written under a temporary name and renamed: readers find a whole file or none, and the last of two
/// writers wins. Another writer may have the same process number, in another container or before it was killed. Files are
/// never deleted here; engines of removed models only take disk space.
class EngineCache {
 public:
  using Log = std::function<void(const std::string& sentence)>;

  /// Empty folder name: nothing is found or kept. `may_write` false: engines are found but not kept, for processes
  /// that also read customers' videos.
  explicit EngineCache(std::string folder = "", bool may_write = true, Log log = {});

  std::optional<std::string> Find(const EngineKey& key) const;
  /// Errors of the disk go to the log: the engine still serves this process. Returns why it could not be written, else nothing.
  std::string Keep(const EngineKey& key, const std::string& engine) const;

  /// The BackendCache of a backend for one kind of GPU; empty if there is none.
  BackendCache FindBackendCache(const GpuBackend& backend, const GpuTarget& target, const std::string& device) const;
  void KeepBackendCache(const GpuBackend& backend, const GpuTarget& target, const std::string& device, BackendCache& backend_cache) const;

  /// The measured optimum on a GPU of that name. `key` has batch 1.
  std::optional<Concurrency> FindConcurrency(const EngineKey& key, const std::string& device) const;
  void KeepConcurrency(const EngineKey& key, const std::string& device, const Concurrency& concurrency) const;

  void Say(const std::string& sentence) const;
  const std::string& folder() const { return folder_; }
  bool may_write() const { return may_write_; }

 private:
  std::optional<std::string> Read(const std::string& name, const std::string& key, const std::string& what) const;
  std::string Write(const std::string& name, const std::string& key, const std::string& content) const;

  std::string folder_;
  bool may_write_;
  Log log_;
};

}  // namespace reelmend::inference
