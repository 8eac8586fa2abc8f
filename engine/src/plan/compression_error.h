// How far compression has taken a source from what it was made of.
#pragma once

#include <cstdint>
#include <optional>

#include "media/av_handles.h"

namespace reelmend::plan {

/// Note [Coding error]
/// Estimated as the root mean square error of luma in 8-bit codes, from what the stream says of its own quantiser:
/// - H.264: 3.2 × 2^((QP − 28) / 9), the slope and height of x264's PSNR over its constant quantiser on camera
///   pictures (about 45 dB at 18, 38 dB at 28, 32 dB at 38); 2 is added to QP since the frames looked at are intra
///   frames, which encoders give finer steps than the others (x264's ipratio 1.4 is 3).
/// - VP9: its quantiser index is taken to the QP of equal step size, then the same.
/// - MPEG-1, -2, -4: 1.1 × scale^0.7 of the quantiser scale.
/// Decoders of other formats do not tell; for them the bits a pixel are held against what x264 spends at CRF 23
/// (0.08 at 2.1 codes; error ∝ bits^−0.35), scaled by what a format needs for the same picture.

/// From the side data AV_FRAME_DATA_VIDEO_ENC_PARAMS of one frame; nothing when there is none.
std::optional<float> CodingErrorOf(const AVFrame& frame);

/// The mean quantiser of one frame in its format's own units, from the same side data.
std::optional<float> QuantiserOf(const AVFrame& frame);

/// From the stream's rate; 0 for lossless and intermediate formats, and when the rate is not known.
float CodingErrorOfRate(AVCodecID codec, std::int64_t bits_per_second, int width, int height, double frames_per_second);

}  // namespace reelmend::plan
