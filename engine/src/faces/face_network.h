// The network that restores a face, on the CPU.
#pragma once

#include <cstddef>
#include <memory>

#include "inference/backend.h"
#include "reelmend/model.h"

namespace reelmend::faces {

class FaceNetwork {
 public:
  /// `file`: input and output [1, 3, N, N], R′G′B′ in [−1, 1]; an optional second input named “weight” holds one
  /// number. N is the file's own, kUsualFaceSide if open. Throws Error{kInvalidArgument} in one sentence.
  FaceNetwork(inference::Backend& backend, const ModelFile& file, int threads);

  int side() const { return side_; }
  float* input() { return network_->Input(picture_end_); }
  const float* output() const { return network_->Output(0); }
  /// Makes the output of the input. Throws Error{kInternal}.
  void Run() { network_->Run(); }

 private:
  std::unique_ptr<inference::TensorNetwork> network_;
  std::size_t picture_end_ = 0;
  int side_ = 0;
};

}  // namespace reelmend::faces
