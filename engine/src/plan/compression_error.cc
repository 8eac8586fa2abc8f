#include "plan/compression_error.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include <libavutil/pixdesc.h>
#include <libavutil/video_enc_params.h>
}

namespace reelmend::plan {
namespace {

constexpr double kIntraOffset = 2;
constexpr double kWorst = 12;  ///< levels; beyond that a network restores little

float OfH264(double qp) { return static_cast<float>(std::min(kWorst, 3.2 * std::exp2((qp + kIntraOffset - 28) / 9))); }

/// VP9's AC step is about 1.03^index above 40 and 4 at the bottom (table of the specification, 8 bits), at the scale
/// of 8 × the transform; H.264's step is 0.625 × 2^(QP / 6).
float OfVp9(double index) {
  const double step = std::max(4.0, 8.0 * std::exp(index / 255 * std::log(1828.0 / 8.0)));
  return OfH264(6 * std::log2(step / 8 / 0.625));
}

/// libav counts H.264's QP from 0 at any bit depth: 6 more for each bit above 8.
double DepthOffset(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return format == nullptr ? 0 : 6.0 * std::max(0, format->comp[0].depth - 8);
}

float OfMpeg(double scale) { return static_cast<float>(std::min(kWorst, 1.1 * std::pow(std::max(1.0, scale), 0.7))); }

double MeanQuantiser(const AVVideoEncParams& parameters) {
  // libav's interface takes it without const, but only reads it.
  auto* all = const_cast<AVVideoEncParams*>(&parameters);
  if (parameters.nb_blocks == 0) return parameters.qp;
  double weighted = 0;
  double area = 0;
  for (unsigned i = 0; i < parameters.nb_blocks; ++i) {
    const AVVideoBlockParams* block = av_video_enc_params_block(all, i);
    const double size = std::max(1.0, static_cast<double>(block->w) * block->h);
    weighted += size * (parameters.qp + block->delta_qp);
    area += size;
  }
  return weighted / area;
}

/// Bits that a format needs for the same picture, relative to H.264; 0 for a format with a negligible loss.
double RelativeBits(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_HEVC: return 0.6;
    case AV_CODEC_ID_VP9: return 0.65;
    case AV_CODEC_ID_AV1: return 0.5;
    case AV_CODEC_ID_H264: return 1;
    case AV_CODEC_ID_VP8: return 1.2;
    case AV_CODEC_ID_H263:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_MSMPEG4V1:
    case AV_CODEC_ID_MSMPEG4V2:
    case AV_CODEC_ID_MSMPEG4V3:
    case AV_CODEC_ID_WMV1:
    case AV_CODEC_ID_WMV2:
    case AV_CODEC_ID_WMV3:
    case AV_CODEC_ID_VC1:
    case AV_CODEC_ID_FLV1:
    case AV_CODEC_ID_THEORA: return 1.8;
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO: return 2.5;
    case AV_CODEC_ID_MJPEG: return 12;
    default: return 0;
  }
}

}  // namespace

std::optional<float> QuantiserOf(const AVFrame& frame) {
  const AVFrameSideData* data = av_frame_get_side_data(&frame, AV_FRAME_DATA_VIDEO_ENC_PARAMS);
  if (data == nullptr || data->size < sizeof(AVVideoEncParams)) return std::nullopt;
  return static_cast<float>(MeanQuantiser(*reinterpret_cast<const AVVideoEncParams*>(data->data)));
}

std::optional<float> CompressionErrorOf(const AVFrame& frame) {
  const AVFrameSideData* data = av_frame_get_side_data(&frame, AV_FRAME_DATA_VIDEO_ENC_PARAMS);
  if (data == nullptr || data->size < sizeof(AVVideoEncParams)) return std::nullopt;
  const auto& parameters = *reinterpret_cast<const AVVideoEncParams*>(data->data);
  const double quantiser = MeanQuantiser(parameters);
  switch (parameters.type) {
    case AV_VIDEO_ENC_PARAMS_H264: return OfH264(quantiser - DepthOffset(frame));
    case AV_VIDEO_ENC_PARAMS_VP9: return OfVp9(quantiser);
    case AV_VIDEO_ENC_PARAMS_MPEG2: return OfMpeg(quantiser);
    default: return std::nullopt;
  }
}

float CompressionErrorOfRate(AVCodecID codec, std::int64_t bits_per_second, int width, int height,
                        double frames_per_second) {
  const double relative = RelativeBits(codec);
  if (relative == 0 || bits_per_second <= 0 || frames_per_second <= 0) return 0;
  const double bits = static_cast<double>(bits_per_second) / (static_cast<double>(width) * height * frames_per_second);
  return static_cast<float>(std::clamp(2.1 * std::pow(0.08 * relative / bits, 0.35), 0.5, 6.0));
}

}  // namespace reelmend::plan
