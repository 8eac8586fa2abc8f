#include "media/color_tags.h"

#include <algorithm>
#include <limits>

#include "media/libav_versions.h"
#include "reelmend/error.h"

extern "C" {
#include <libavutil/dovi_meta.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/pixdesc.h>
}

namespace reelmend::media {
namespace {

using pixel::ChromaSite;
using pixel::Matrix;
using pixel::Range;

bool IsRgb(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return format != nullptr && (format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

bool IsGray(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return format != nullptr && (format->nb_components == 1 || format->nb_components == 2);  // surfaces of a GPU have none
}

[[noreturn]] void RefuseMatrix(const AVFrame& frame) {
  const char* name = av_color_space_name(frame.colorspace);
  throw Error(ErrorCode::kUnreadableVideo,
              "The video's colours have the matrix “" + std::string(name == nullptr ? "unknown" : name) + "”, which cannot be converted.");
}

/// HDR is mastered in BT.2020, whatever its size.
bool IsHdr(const AVFrame& frame) { return frame.color_trc == AVCOL_TRC_SMPTE2084 || frame.color_trc == AVCOL_TRC_ARIB_STD_B67; }

Matrix GuessMatrix(const AVFrame& frame, AVCodecID codec) {
  if (IsHdr(frame)) return Matrix::kBt2020;
  if (codec == AV_CODEC_ID_MJPEG) return Matrix::kBt601;
  const int longer = std::max(frame.width, frame.height);
  const int shorter = std::min(frame.width, frame.height);
  return longer >= 1280 || shorter > 576 ? Matrix::kBt709 : Matrix::kBt601;
}

Matrix DerivedMatrix(const AVFrame& frame) {
  if (frame.color_primaries == AVCOL_PRI_BT709) return Matrix::kBt709;
  if (frame.color_primaries == AVCOL_PRI_BT2020) return Matrix::kBt2020;
  RefuseMatrix(frame);
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
    case AVCOL_SPC_CHROMA_DERIVED_NCL: return DerivedMatrix(frame);
    case AVCOL_SPC_RGB:  // a mistake on a Y′CbCr format
    case AVCOL_SPC_UNSPECIFIED:
    case AVCOL_SPC_RESERVED: return GuessMatrix(frame, codec);
    default: RefuseMatrix(frame);  // BT.601 or BT.709 would be other colours
  }
}

ChromaSite FindSite(const AVFrame& frame, AVCodecID codec) {
  switch (frame.chroma_location) {
    case AVCHROMA_LOC_LEFT: return ChromaSite::kLeft;
    case AVCHROMA_LOC_CENTER: return ChromaSite::kCentre;
    case AVCHROMA_LOC_TOPLEFT: return ChromaSite::kTopLeft;
    case AVCHROMA_LOC_TOP: return ChromaSite::kTop;
    case AVCHROMA_LOC_BOTTOMLEFT: return ChromaSite::kBottomLeft;
    case AVCHROMA_LOC_BOTTOM: return ChromaSite::kBottom;
    default: break;
  }
  const bool is_jpeg_like = codec == AV_CODEC_ID_MJPEG || codec == AV_CODEC_ID_MPEG1VIDEO;
  return is_jpeg_like ? ChromaSite::kCentre : ChromaSite::kLeft;
}

pixel::ColorSpec SpecOf(const AVFrame& frame, AVCodecID codec) {
  if (IsRgb(frame)) return {Matrix::kBt709, Range::kLimited, ChromaSite::kCentre};
  return {FindMatrix(frame, codec), IsFullRange(frame) ? Range::kFull : Range::kLimited, FindSite(frame, codec)};
}

bool IsStated(AVColorPrimaries tag) {
  return av_color_primaries_name(tag) != nullptr && tag > AVCOL_PRI_RESERVED0 && tag != AVCOL_PRI_UNSPECIFIED && tag != AVCOL_PRI_RESERVED;
}

bool IsStated(AVColorTransferCharacteristic tag) {
  return av_color_transfer_name(tag) != nullptr && tag > AVCOL_TRC_RESERVED0 && tag != AVCOL_TRC_UNSPECIFIED && tag != AVCOL_TRC_RESERVED;
}

std::optional<pixel::HdrTransfer> ConversionOf(AVColorPrimaries primaries, AVColorTransferCharacteristic transfer) {
  if (transfer == AVCOL_TRC_SMPTE2084) return pixel::HdrTransfer::kPq;
  if (transfer == AVCOL_TRC_ARIB_STD_B67) return pixel::HdrTransfer::kHlg;
  const bool is_wide = primaries == AVCOL_PRI_BT2020 || primaries == AVCOL_PRI_SMPTE432;
  return is_wide ? std::optional(pixel::HdrTransfer::kSdr) : std::nullopt;
}

/// Side data of a frame, else of its stream.
class SideData {
 public:
  SideData(const AVStream& stream, AVPacketSideDataType of_stream, const AVFrame& frame, AVFrameSideDataType of_frame) {
    if (const AVFrameSideData* side = av_frame_get_side_data(&frame, of_frame)) {
      data_ = side->data;
      size_ = side->size;
    } else {
      const StreamSideData whole = FindStreamSideData(stream, of_stream);
      data_ = whole.data;
      size_ = whole.size;
    }
  }

  template <typename T>
  const T* As() const {
    return data_ != nullptr && size_ >= sizeof(T) ? reinterpret_cast<const T*>(data_) : nullptr;
  }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

constexpr double kNoPeak = std::numeric_limits<double>::infinity();

/// Whether a Dolby Vision stream is ICtCp of its own kind, which only its metadata turns into a picture: profile 5, and later
/// profiles that state no compatibility. (Short records of profile 7 state none either.)
bool IsBareDolbyVision(const AVStream& stream) {
  constexpr int kAlwaysBare = 5;
  constexpr int kStateIt = 10;  // from this profile on
  const StreamSideData side = FindStreamSideData(stream, AV_PKT_DATA_DOVI_CONF);
  if (side.data == nullptr || side.size < sizeof(AVDOVIDecoderConfigurationRecord)) return false;
  const auto& record = *reinterpret_cast<const AVDOVIDecoderConfigurationRecord*>(side.data);
  return record.dv_profile == kAlwaysBare || (record.dv_profile >= kStateIt && record.dv_bl_signal_compatibility_id == 0);
}

double BelievablePeak(double nits) { return nits >= pixel::kSdrWhiteNits && nits <= 10'000 ? nits : kNoPeak; }

}  // namespace

bool IsFullRange(const AVFrame& frame) {
  switch (frame.format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ411P: return true;
    default: return frame.color_range == AVCOL_RANGE_JPEG || (frame.color_range == AVCOL_RANGE_UNSPECIFIED && IsGray(frame));
  }
}

SourceColor DescribeColor(const AVFrame& frame, AVCodecID codec) {
  SourceColor color;
  color.spec = SpecOf(frame, codec);
  color.output_spec = {Matrix::kBt709, Range::kLimited, ChromaSite::kLeft};
  if (color.spec.matrix == Matrix::kBt2020) color.primaries = AVCOL_PRI_BT2020;
  if (IsStated(frame.color_primaries)) color.primaries = frame.color_primaries;
  if (IsStated(frame.color_trc)) color.transfer = frame.color_trc;
  color.hdr = ConversionOf(color.primaries, color.transfer);
  if (color.hdr) {  // see Note [Colour of the output]
    if (color.primaries == AVCOL_PRI_SMPTE432) color.gamut = pixel::Primaries::kP3D65;
    if (frame.color_primaries == AVCOL_PRI_BT709) color.gamut = pixel::Primaries::kBt709;
    color.primaries = AVCOL_PRI_BT709;
    color.transfer = AVCOL_TRC_BT709;
  }
  return color;
}

void CheckConvertible(const AVStream& stream, const AVFrame& frame) {
  if (IsBareDolbyVision(stream)) {
    throw Error(ErrorCode::kUnreadableVideo, "The video is Dolby Vision without a base layer of usual colours, which cannot be converted.");
  }
  DescribeColor(frame, stream.codecpar->codec_id);
}

double FindPeakNits(const AVStream& stream, const AVFrame& frame) {
  const SideData mastering(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, frame,
                           AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
  const SideData light(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
  double peak = kNoPeak;
  if (const auto* display = mastering.As<AVMasteringDisplayMetadata>()) {
    if (display->has_luminance != 0) peak = std::min(peak, BelievablePeak(av_q2d(display->max_luminance)));
  }
  if (const auto* level = light.As<AVContentLightMetadata>()) peak = std::min(peak, BelievablePeak(level->MaxCLL));
  return peak == kNoPeak ? pixel::kDefaultPeakNits : peak;
}

}  // namespace reelmend::media
