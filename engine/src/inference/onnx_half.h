// ONNX networks of float32 as networks of fp16, and of one picture as networks of several.
#pragma once

#include <string>

namespace reelmend::inference {

struct HalfNetwork {
  std::string onnx;       ///< takes and gives fp16
  std::string precision;  ///< of what lies between: "fp16", "int8" (Q/DQ), "fp32"
  std::string why_fp32;   ///< one sentence, where it is
};

/// Note [Strong types]
/// TensorRT 11 and TensorRT-RTX compute in the types that the file states, so fp16 must be in the file. All float32
/// tensors become fp16 (weights, constants, casts, declared types) where that is safe; sums over a picture and
/// exponentials overflow fp16 or lose in it, so a network with such operators, with subgraphs or with weights beyond
/// fp16's range stays as it is, and only its ends are cast. So do networks with Q/DQ: their floats are scales, and
/// what lies between the quantisers is int8 anyway. A Q/DQ pair around another zero point than 0, which TensorRT does not
/// take, falls out: the layer behind it computes in float. The names of both ends stay.
///
/// Throws Error{kInvalidArgument} for what is no ONNX network, or not one of one float input and one output.
HalfNetwork ToHalf(const std::string& onnx);

/// The network, of one input and one output, for so many pictures at once where the file states one; for a network in
/// which something else counts on one picture too, what comes out fits no pictures at all, which the backend says.
std::string WithBatch(const std::string& onnx, int batch);

}  // namespace reelmend::inference
