// Estimates the error that compression has added to a source.
#pragma once

#include <cstdint>
#include <optional>

#include "media/av_handles.h"

namespace reelmend::plan {

/// Note [Compression error]
/// The estimate is the root mean square (RMS) error of luma in 8-bit levels, from the stream's quantiser:
/// - H.264: 3.2 × 2^((QP − 28) / 9), fitted to x264's PSNR at constant quantiser on camera pictures (about 45 dB at 18, 38
///   dB at 28, 32 dB at 38). 2 is added to QP, because the decoded frames are intra frames, which encoders quantise finer
///   (x264's ipratio 1.4 is 3). QP is that of 8 bits: libav's is higher by 6 for each further bit.
/// - VP9: the quantiser index is mapped to the QP with the same step size, then as above. An index means the same share of
///   the range at any bit depth.
/// - MPEG-1, -2, -4: 1.1 × scale^0.7 of the quantiser scale.
/// Other decoders do not export quantisers. For them bits per pixel are compared with x264 at CRF 23 (0.08 at 2.1
/// levels; error ∝ bits^−0.35), scaled by the format's efficiency.

/// RMS error from the side data AV_FRAME_DATA_VIDEO_ENC_PARAMS of a frame; nothing without it.
std::optional<float> CompressionErrorOf(const AVFrame& frame);

/// The mean quantiser of one frame in its format's own units, from the same side data.
std::optional<float> QuantiserOf(const AVFrame& frame);

/// RMS error from the stream's bit rate; 0 for lossless and intermediate formats and an unknown rate.
float CompressionErrorOfRate(AVCodecID codec, std::int64_t bits_per_second, int width, int height, double frames_per_second);

}  // namespace reelmend::plan
