// Converts ONNX networks from float32 to fp16, and from batch 1 to larger batches.
#pragma once

#include <string>

namespace reelmend::inference {

struct HalfNetwork {
  std::string onnx;       ///< with fp16 inputs and outputs
  std::string precision;  ///< of the layers between: "fp16", "int8" (Q/DQ), "fp32"
  std::string why_fp32;   ///< one sentence, if it is fp32
  bool changes_quantisation = false;  ///< Note [Signed quantisation]: `onnx` depends on more than the file
};

/// Note [Strong types]
/// TensorRT 11 and TensorRT-RTX compute in the types that the file states, so fp16 must be in the file. All float32 tensors
/// become fp16 (weights, constants, casts, declared types) where that is safe. Sums over a picture and exponentials overflow
/// or lose precision in fp16. A network with such operators, with subgraphs, or with weights beyond fp16's range stays
/// float32; only its inputs and outputs are cast. Networks with Q/DQ stay as they are too: their floats are scales, and the
/// layers between the quantisers are int8. Pairs that are not int8 around 0 are removed before (Note [Signed quantisation] in
/// onnx_quantised.h). Input and output names do not change.
///
/// Throws Error{kInvalidArgument} if the bytes are no ONNX network with one float input and one output.
HalfNetwork ToHalf(const std::string& onnx);

/// The network with another batch size where the file states one. If another part of the network depends on batch 1, the
/// result supports no shape, and the backend reports that.
std::string WithBatch(const std::string& onnx, int batch);

}  // namespace reelmend::inference
