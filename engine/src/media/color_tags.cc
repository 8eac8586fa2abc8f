#include "media/color_tags.h"

#include <algorithm>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace framelift::media {
namespace {

using pixel::ChromaSite;
using pixel::Matrix;
using pixel::Range;

bool IsRgb(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return format != nullptr && (format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

bool IsFullRange(const AVFrame& frame) {
  switch (frame.format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ411P: return true;
    default: return frame.color_range == AVCOL_RANGE_JPEG;
  }
}

Matrix GuessMatrix(const AVFrame& frame, AVCodecID codec) {
  if (codec == AV_CODEC_ID_MJPEG) return Matrix::kBt601;
  const int longer = std::max(frame.width, frame.height);
  const int shorter = std::min(frame.width, frame.height);
  return longer >= 1280 || shorter > 576 ? Matrix::kBt709 : Matrix::kBt601;
}

Matrix FindMatrix(const AVFrame& frame, AVCodecID codec) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_SMPTE240M:  // differs from BT.709 in the third digit
      return Matrix::kBt709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_FCC:  // differs from BT.601 in the third digit
      return Matrix::kBt601;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: return Matrix::kBt2020;
    default: return GuessMatrix(frame, codec);  // includes RGB tags on Y′CbCr formats, which are mistakes
  }
}

ChromaSite FindSite(const AVFrame& frame, AVCodecID codec) {
  switch (frame.chroma_location) {
    case AVCHROMA_LOC_LEFT: return ChromaSite::kLeft;
    case AVCHROMA_LOC_CENTER: return ChromaSite::kCentre;
    case AVCHROMA_LOC_TOPLEFT: return ChromaSite::kTopLeft;
    default: break;
  }
  const bool is_jpeg_like = codec == AV_CODEC_ID_MJPEG || codec == AV_CODEC_ID_MPEG1VIDEO;
  return is_jpeg_like ? ChromaSite::kCentre : ChromaSite::kLeft;
}

}  // namespace

SourceColor DescribeColor(const AVFrame& frame, AVCodecID codec) {
  SourceColor color;
  color.output_spec = {Matrix::kBt709, Range::kLimited, ChromaSite::kLeft};
  if (IsRgb(frame)) {
    color.spec = {Matrix::kBt709, Range::kLimited, ChromaSite::kCentre};
  } else {
    color.spec = {FindMatrix(frame, codec), IsFullRange(frame) ? Range::kFull : Range::kLimited,
                  FindSite(frame, codec)};
  }
  const bool is_wide = color.spec.matrix == Matrix::kBt2020;
  color.primaries = is_wide ? AVCOL_PRI_BT2020 : AVCOL_PRI_BT709;
  if (av_color_primaries_name(frame.color_primaries) != nullptr && frame.color_primaries > AVCOL_PRI_RESERVED0 &&
      frame.color_primaries != AVCOL_PRI_UNSPECIFIED && frame.color_primaries != AVCOL_PRI_RESERVED) {
    color.primaries = frame.color_primaries;
  }
  if (av_color_transfer_name(frame.color_trc) != nullptr && frame.color_trc > AVCOL_TRC_RESERVED0 &&
      frame.color_trc != AVCOL_TRC_UNSPECIFIED && frame.color_trc != AVCOL_TRC_RESERVED) {
    color.transfer = frame.color_trc;
  }
  const bool is_hdr = color.transfer == AVCOL_TRC_SMPTE2084 || color.transfer == AVCOL_TRC_ARIB_STD_B67;
  if (is_hdr && is_wide) {  // see Note [Colour of the output]
    color.output_spec.matrix = Matrix::kBt2020;
    color.matrix = AVCOL_SPC_BT2020_NCL;
  }
  return color;
}

}  // namespace framelift::media
