// Networks on a GPU: TensorRT, TensorRT-RTX, and the engine's own kernels behind one interface.
//
// Note [Whose memory, whose streams]
// A backend owns neither: tensors, workspace and streams are the pipeline's, made by cuda::Device, so that memory is
// counted in one place, too little of it is answered by tiles, and a network runs in order with the kernels that fill
// and empty its tensors. Tensors are planar fp16, [batch, channels, height, width], at least 256-byte aligned; that is also
// what a CUDA graph needs: their addresses never change. Streams and pointers are void* here: this room knows no CUDA.
// All calls but Build work on the calling thread's current device.
//
// Note [Engines]
// What a backend builds of an ONNX file is an engine: bytes for one shape, one kind of GPU and one version of the
// backend. Building takes from tenths of a second to minutes, so engines are kept in files (engine_cache.h). One for a
// range of sizes is slower than one for a size; it serves where the right one is not there and takes minutes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inference/backend.h"

namespace reelmend::inference {

/// What an engine is for: compute capability 8.6 is {8, 6}.
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
  /// Puts the network on `stream` (a cudaStream_t); may be captured into a graph after a first run that was not.
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
  virtual int batch() const = 0;           ///< pictures behind each other in a tensor
  virtual std::int64_t workspace_bytes() const = 0;
  virtual std::unique_ptr<GpuContext> MakeContext(const GpuBinding& binding) = 0;
};

/// What a backend learnt while it built or loaded, to be given to it the next time: tactics that were timed
/// (TensorRT), kernels that were compiled for this GPU (TensorRT-RTX). Opaque; empty is always right.
struct GpuMemo {
  std::string bytes;
  bool has_changed = false;
};

/// How much of a network is on a GPU at once.
struct Occupancy {
  int contexts = 2;  ///< beside each other …
  int batch = 1;     ///< … with so many pictures in each
  int pictures() const { return contexts * batch; }
  bool operator==(const Occupancy&) const = default;
};

struct GpuBuildOptions {
  Shape input;  ///< the only one that the engine takes, or the one that it is tuned for …
  GpuTarget target;
  Shape least;  ///< … of a range of sizes, both ends within; no range where `most` is empty
  Shape most;
  int batch = 1;
  bool is_range() const { return most.channels > 0; }
};

class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  /// "tensorrt", "tensorrt-rtx", "kernels"
  virtual std::string name() const = 0;
  /// Of the library that is loaded, as four numbers or fewer: part of an engine's key.
  virtual std::string version() const = 0;
  virtual bool Supports(const GpuTarget& target) const = 0;
  /// Whether an engine can be built on a machine without the GPU that it is for: nothing is timed then, and building
  /// takes tenths of a second instead of minutes.
  virtual bool builds_anywhere() const = 0;
  /// `onnx`: fp16 at its ends (onnx_half.h). Throws Error{kInvalidArgument} for what it cannot run, in one sentence that
  /// names the operator where that is the reason, and Error{kUnavailable} where it cannot build here.
  virtual std::string Build(const std::string& onnx, const GpuBuildOptions& options, GpuMemo& memo) = 0;
  /// Throws Error{kInvalidArgument} for bytes that are no engine for this backend on the current device (the caller
  /// builds another) and Error{kLimitExceeded} when the GPU has too little memory.
  /// `input`: of the pictures that will go in. An engine for a range takes any within it; what lies outside, or another
  /// shape than an engine was built for, is refused with Error{kInvalidArgument}, too.
  virtual std::unique_ptr<GpuNetwork> Load(const std::string& engine, const Shape& input, GpuMemo& memo) = 0;
};

/// Names of the backends that can work on this machine.
std::vector<std::string> AvailableGpuBackends();

/// By name. Throws Error{kUnavailable} naming what is missing.
std::unique_ptr<GpuBackend> CreateGpuBackend(const std::string& name);

// The interface between the engine and the modules that hold TensorRT (gpu_backends.cc).
inline constexpr int kGpuModuleInterface = 3;  ///< counts up with every change of the classes above
using GpuModuleCreateFunction = GpuBackend*();

}  // namespace reelmend::inference
