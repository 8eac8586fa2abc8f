// Interface of the networks on the CPU (OpenVINO). Networks on GPUs have another (gpu_backend.h), because there the
// backend owns neither memory nor streams.
//
// Note [Where tensors live]
// A network owns the tensors of its requests, in host memory: the caller writes planes into Input(i) and reads
// Output(i). Shapes are fixed by Compile, requests run concurrently, and a frame is cut into tiles (tiles.h) if
// WorkingBytes says that a whole one needs too much memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reelmend/error.h"
#include "inference/tensor_network.h"

namespace reelmend::inference {

/// Shape of a tensor [1, channels, height, width], float32, row-major.
struct Shape {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::int64_t count() const { return std::int64_t{channels} * height * width; }
  bool operator==(const Shape&) const = default;
};

inline constexpr int kMaxShuffle = 8;

/// A network compiled for fixed shapes. Requests are independent of each other: each is used by one thread at a time.
class Network {
 public:
  virtual ~Network() = default;
  virtual Shape input_shape() const = 0;
  virtual Shape output_shape() const = 0;
  /// Precision of the inference: "fp32", "bf16", "int8".
  virtual std::string precision() const = 0;
  virtual int requests() const = 0;
  /// b > 1: the network leaves out its last depth-to-space (CompileOptions::shuffle_multiple). Sample (x, y) of plane
  /// p of output_shape() is then in plane p × b² + b × (y mod b) + x mod b, at (x ÷ b, y ÷ b); planes have (width ÷
  /// b) × (height ÷ b) samples. The left-out step is PyTorch's pixel_shuffle, ONNX's DepthToSpace in mode CRD.
  virtual int shuffle() const { return 1; }
  virtual float* Input(int request) = 0;
  virtual const float* Output(int request) const = 0;
  /// Starts the request and returns at once.
  virtual void Start(int request) = 0;
  /// Waits for the started request. Throws Error{kInternal}.
  virtual void Wait(int request) = 0;
};

struct CompileOptions {
  Shape input;
  int requests = 1;         ///< concurrent requests
  int threads = 1;          ///< for all requests together
  bool allow_bf16 = false;  ///< compute in bfloat16 if the processor is faster with it (AMX)
  /// A network that ends in a depth-to-space by a divisor of this number (at most kMaxShuffle) leaves it out: see
  /// Network::shuffle. Callers read every sample anyway and do it on the way; alone it takes a tenth of a small network's
  /// time.
  int shuffle_multiple = 1;
};

/// A network read from a file and not yet bound to shapes.
class Model {
 public:
  virtual ~Model() = default;
  /// Planes of the input; 0 if the file leaves them open.
  virtual int input_channels() const = 0;
  /// Output shape for an input of this shape. Throws Error{kInvalidArgument} if the network does not support it.
  virtual Shape OutputShape(const Shape& input) = 0;
  /// Estimated memory of one request of this shape. Throws like OutputShape.
  virtual std::int64_t WorkingBytes(const Shape& input) = 0;
  virtual std::unique_ptr<Network> Compile(const CompileOptions& options) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Reads an ONNX file from memory. `input` and `output` name its tensors; empty: its only ones. Throws
  /// Error{kInvalidArgument} in one sentence if it cannot be read or run.
  virtual std::unique_ptr<Model> Load(const std::string& onnx, const std::string& input, const std::string& output) = 0;
  /// Reads an ONNX file with any inputs and outputs. Throws like Load, Error{kUnavailable} if not supported.
  virtual std::unique_ptr<TensorModel> LoadTensors(const std::string& onnx) {
    static_cast<void>(onnx);
    throw Error(ErrorCode::kUnavailable, "The backend " + name() + " runs no networks of this kind.");
  }
};

/// Names of the backends in this build that work on this machine.
std::vector<std::string> AvailableBackends();

/// Throws Error{kUnavailable} naming what is missing when the backend is not in this build.
std::unique_ptr<Backend> CreateBackend(const std::string& name);

/// Whether this machine computes with 8-bit integers faster than with floats (AVX-512 VNNI, AVX-VNNI).
bool HasFastInt8();

/// Whether this machine computes in bfloat16 much faster than with floats: AMX that the kernel grants, or AVX512_BF16 of AMD's
/// (Note [bfloat16] in openvino/picture_model.cc).
bool HasFastBf16();

// The interface between the engine and the module that holds OpenVINO (openvino_module.cc).
inline constexpr int kModuleInterface = 3;  ///< counts up with every change of the classes above
using ModuleInterfaceFunction = int();
using ModuleCreateFunction = Backend*();

}  // namespace reelmend::inference
