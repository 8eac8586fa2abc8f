// Changes to the end of a model that make its output cheaper. The engine does the rest.
#pragma once

#include "openvino/openvino.hpp"

namespace reelmend::inference {

/// Removes a final depth-to-space by a divisor of `multiple` and returns its factor, else 1. Several planes only in
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

}  // namespace reelmend::inference
