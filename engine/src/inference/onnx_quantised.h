// Rewrites quantised ONNX networks for backends whose 8 bits are signed and symmetric.
#pragma once

#include <string>
#include <string_view>

namespace reelmend::inference {

/// Note [Signed quantisation]
/// TensorRT's 8 bits are int8 around 0. Its parser takes uint8 for int8, so what ReLU leaves between 0 and 255 steps would end
/// at 127; other zero points it rejects. Such a range fits int8 only at half its precision, or around -128. So the activations
/// of such pairs are not rounded, only limited to the range: quantisers leave out a ReLU that the range replaces, as ONNX Runtime's
/// does. The layers between compute in floating point. That is nearer to the network before it was
/// quantised than the file itself is, and costs speed alone (int8 files run on a GPU only where there is no other). Pairs of
/// int8 around 0 stay. If none is left, nothing would be computed in 8 bits, and weights become float32 as well: their
/// DequantizeLinear is computed here. That of uint8 weights and of int32 biases always is.

/// The graph (onnx.proto's GraphProto) without pairs and weights that such a backend takes for something else.
std::string ForSignedQuantisation(std::string_view graph);

}  // namespace reelmend::inference
