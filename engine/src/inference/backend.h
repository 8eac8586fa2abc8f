// Networks behind one interface: OpenVINO, TensorRT, and a stub for what was not built.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace framelift::inference {

/// A compiled network bound to fixed input and output shapes (NCHW float32, row-major).
class Network {
 public:
  virtual ~Network() = default;
  virtual std::vector<int> input_shape() const = 0;
  virtual std::vector<int> output_shape() const = 0;
  /// Blocking; `input` and `output` hold the product of their shapes. Not thread-safe.
  virtual void Run(const float* input, float* output) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Throws Error{kInvalidArgument} for a file it cannot read, in one sentence.
  virtual std::unique_ptr<Network> Load(const std::string& onnx_path, const std::vector<int>& input_shape) = 0;
};

/// Names of the backends in this build that work on this machine.
std::vector<std::string> AvailableBackends();

/// Throws Error{kUnavailable} naming what is missing when the backend is not in this build.
std::unique_ptr<Backend> CreateBackend(const std::string& name);

}  // namespace framelift::inference
