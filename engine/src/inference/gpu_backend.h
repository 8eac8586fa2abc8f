// Interface of the networks on a GPU: TensorRT, TensorRT-RTX, and the engine's own kernels.
//
// Note [Whose memory, whose streams]
// A backend owns neither. cuda::Device creates tensors, workspace and streams, so that memory is counted in one place, tiles
// are used if it is short, and a network runs in order with the kernels that pack and unpack its tensors. Tensors are planar
// fp16, [batch, channels, height, width], aligned to at least 256 bytes. Their addresses never change, as CUDA graphs
// require. Streams and pointers are void* here, because this module does not know CUDA. All calls except Build work on the
// calling thread's current device.
//
// Note [Engines]
// A backend builds an engine from an ONNX file: bytes for one shape, one kind of GPU and one version of the backend.
// Building takes from tenths of a second to minutes, so engines are kept in files (engine_cache.h). An engine for a range of
// sizes is slower than one for a single size; it serves sizes without an engine of their own where building takes minutes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inference/backend.h"

namespace reelmend::inference {

/// Compute capability of a GPU: 8.6 is {8, 6}.
struct GpuTarget {
  int major = 0;
  int minor = 0;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
  bool operator==(const GpuTarget&) const = default;
};

/// One execution of a network, bound to its tensors. Used by one thread at a time.
class GpuContext {
 public:
  virtual ~GpuContext() = default;
  /// Enqueues the network on `stream` (a cudaStream_t). May be captured into a graph after a first run that was not.
  /// Throws Error{kInternal}.
  virtual void Enqueue(void* stream) = 0;
};

struct GpuBinding {
  const void* input = nullptr;
  void* output = nullptr;
  void* workspace = nullptr;  ///< workspace_bytes(), for this context alone
};

/// An engine, loaded on a device.
class GpuNetwork {
 public:
  virtual ~GpuNetwork() = default;
  virtual Shape input_shape() const = 0;   ///< of one picture
  virtual Shape output_shape() const = 0;
  virtual int batch() const = 0;           ///< pictures in a tensor
  virtual std::int64_t workspace_bytes() const = 0;
  virtual std::unique_ptr<GpuContext> MakeContext(const GpuBinding& binding) = 0;
};

/// Results that a backend keeps for its next build or load: timed tactics (TensorRT), kernels compiled for this GPU
/// (TensorRT-RTX). Opaque; empty is always valid.
struct BackendCache {
  std::string bytes;
  bool has_changed = false;
};

/// How a network uses a GPU: concurrent contexts and the batch size of each.
struct Concurrency {
  int contexts = 2;  ///< that run concurrently …
  int batch = 1;     ///< … with so many pictures each
  int pictures() const { return contexts * batch; }
  bool operator==(const Concurrency&) const = default;
};

/// TensorRT's builder optimization level: the highest finds the fastest kernels and takes minutes.
inline constexpr int kBestLevel = 5;

struct GpuBuildOptions {
  Shape input;  ///< the only one that the engine supports, or the one that it is tuned for …
  GpuTarget target;
  Shape least;  ///< … in a range of sizes, both ends included; no range if `most` is empty
  Shape most;
  int batch = 1;
  int level = kBestLevel;  ///< how long the builder may search, 0 to kBestLevel; backends that time nothing ignore it
  bool is_range() const { return most.channels > 0; }
};

class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  /// "tensorrt", "tensorrt-rtx", "kernels"
  virtual std::string name() const = 0;
  /// Version of the loaded library, up to four numbers; part of an engine's key.
  virtual std::string version() const = 0;
  virtual bool Supports(const GpuTarget& target) const = 0;
  /// Whether engines can be built on a machine without their GPU. Then nothing is timed, and building takes tenths of a
  /// second instead of minutes.
  virtual bool builds_anywhere() const = 0;
  /// Builds an engine. `onnx` has fp16 inputs and outputs (onnx_half.h). Throws Error{kInvalidArgument} in one
  /// sentence, with the operator if that is the reason; Error{kLimitExceeded} if the GPU has too little memory;
  /// Error{kUnavailable} if it cannot build here.
  virtual std::string Build(const std::string& onnx, const GpuBuildOptions& options, BackendCache& backend_cache) = 0;
  /// Loads an engine for inputs of the shape `input`. An engine for a range takes every shape within it.
  /// Throws Error{kInvalidArgument} if the bytes are no engine of this backend for the current device, or not for that shape
  /// (the caller builds another), and Error{kLimitExceeded} if the GPU has too little memory.
  virtual std::unique_ptr<GpuNetwork> Load(const std::string& engine, const Shape& input, BackendCache& backend_cache) = 0;
};

/// Names of the backends that can work on this machine.
std::vector<std::string> AvailableGpuBackends();

/// Names of the backends that support such a GPU, preferred first. Opens no library: each takes hundreds of megabytes.
std::vector<std::string> GpuBackendsFor(const GpuTarget& target);

/// By name. Throws Error{kUnavailable} naming what is missing.
std::unique_ptr<GpuBackend> CreateGpuBackend(const std::string& name);

// The interface between the engine and the modules that hold TensorRT (gpu_backends.cc).
inline constexpr int kGpuModuleInterface = 4;  ///< counts up with every change of the classes above
using GpuModuleCreateFunction = GpuBackend*();

}  // namespace reelmend::inference
