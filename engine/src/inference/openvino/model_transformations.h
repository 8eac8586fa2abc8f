// Transformations of a model that make it cheaper for OpenVINO's CPU plugin. Its results stay the same.
#pragma once

#include "openvino/openvino.hpp"

namespace reelmend::inference {

/// Removes a final depth-to-space by a divisor of `multiple`, which the engine then does, and returns its factor, else 1. Several planes only in
/// the order of Network::shuffle (ONNX's CRD); for one plane both orders of ONNX are the same.
///
/// Note [Where the time of a small network goes]
/// 32 planes at half the resolution, 8 layers (`detail`), int8, 960×540, one core at about 3.2 GHz with AVX-512 VNNI, ms
/// from OpenVINO's counters: eight layers of 32 × 32 planes 3.3 to 3.9 each (1.19 G multiply-adds, 2.9 at the processor's
/// peak), the first 2.3, the last 1.9; the fp32 skip 1.7 and its input's layout change 1.3; quantising the input 0.9;
/// depth to space 4.3. The engine does the last step (RemoveShuffle): 1.7 for the planes then needed, and no extra time in
/// the loop that makes samples. No gain: input or output as NHWC, [1, H, W, C] (OpenVINO then transposes by itself, 45.8
/// instead of 42.0 ms in all). Not tried: bfloat16 for the float parts only. So 28 of 40 ms are convolutions at 85 % of
/// the peak. At full resolution (`fast`) the skip would cost 4.3, so it sees luma alone.
int RemoveShuffle(ov::Model& model, int multiple);

/// Cuts an output whose planes share the cache's sets into slices of its channels, in their order.
///
/// Note [Planes that share the cache's sets]
/// OpenVINO computes with the channels innermost, and copies 16 to 64 channels into planes value by value (Reorder::optimizedNspc2Ncsp).
/// A cache of 64 sets keeps a line of each plane at hand, unless the planes lie whole multiples of 4,096 bytes apart, as those of 640×360
/// and 320×240 do: then all lines belong to one set of 8 or 12. Fewer than 16 channels go another, faster way. So an output with such planes
/// is cut into slices, whose tensors lie one behind the other. `bench:networks --scale 4 --model detail-large --size …` (48 planes, int8, two
/// cores of an EPYC), ms without → with slices: 640×360 90 → 57, 320×240 29 → 18; 480×270 has no such planes and took 28. Not used, by a
/// script that is not kept, one core at 640×360 (193 without, 118 with slices): planes of 16-bit floats (103; they round by up to 0.06
/// 8-bit levels), a Transpose (129), and slices everywhere (480×270: 59 → 63).
void CutOutput(ov::Model& model);

/// Gives the slopes of each PReLU as many dimensions as its input has: [C, 1, 1], as PyTorch exports them, becomes [1, C, 1, 1].
///
/// Note [Slopes]
/// A PReLU of one convolution is a part of that convolution. One of a sum (conv0_0 + conv0_2 of `detail-best`) is compiled as a Subgraph, which
/// can have its channels innermost, as convolutions have them, only if all its inputs have one rank (Subgraph::initSupportedPrimitiveDescriptors).
/// Otherwise both sums are copied into planes value by value, and the result back. `detail-best` ×2, int8, 960×540, two cores of an
/// EPYC, ms from OpenVINO's counters: 459, of which copies 95 → 372, none.
void MatchSlopesToRank(ov::Model& model);

}  // namespace reelmend::inference
