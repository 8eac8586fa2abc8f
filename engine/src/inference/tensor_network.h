// Small networks with any inputs and outputs, run on the calling thread: face detectors and
// restorers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reelmend::inference {

/// An input or output of a network: float32 whatever the file holds, row-major.
struct TensorEnd {
  std::string name;
  std::vector<std::int64_t> dims;  ///< −1: open
};

/// Compiled for fixed shapes. Used by one thread at a time; separate networks are independent.
class TensorNetwork {
 public:
  virtual ~TensorNetwork() = default;
  /// In host memory, valid for the network's life. Numbered in the file's order.
  virtual float* Input(std::size_t end) = 0;
  /// In host memory, valid until the next run.
  virtual const float* Output(std::size_t end) const = 0;
  virtual const std::vector<TensorEnd>& outputs() const = 0;
  /// Throws Error{kInternal}.
  virtual void Run() = 0;
};

class TensorModel {
 public:
  virtual ~TensorModel() = default;
  virtual const std::vector<TensorEnd>& inputs() const = 0;
  virtual const std::vector<TensorEnd>& outputs() const = 0;
  /// `input_dims`: the shape of each input in order, without open dimensions. Throws Error{kInvalidArgument} if the
  /// network cannot take them.
  virtual std::unique_ptr<TensorNetwork> Compile(const std::vector<std::vector<std::int64_t>>& input_dims, int threads) = 0;
  /// One network for each shape of the only input, compiled together: a compilation takes 30 ms, even of a small network. The
  /// shapes have the same number of dimensions. Throws like `Compile`.
  virtual std::vector<std::unique_ptr<TensorNetwork>> CompileShapes(const std::vector<std::vector<std::int64_t>>& shapes, int threads) = 0;
};

/// Index of the input or output of that name; −1 if there is none.
inline int FindEnd(const std::vector<TensorEnd>& ends, const std::string& name) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace reelmend::inference
