#include "media/frame_import.h"

#include <cmath>
#include <string>

#include "media/av_error.h"
#include "pixel/resize_plan.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace reelmend::media {
namespace {

constexpr std::uint64_t kForeignFlags = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                                        AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;

/// The planar format that swscale converts a foreign one to: full depth and full chroma for RGB, the same subsampling for
/// Y′CbCr.
AVPixelFormat IntermediateFormat(const AVPixFmtDescriptor& format) {
  if ((format.flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) return AV_PIX_FMT_YUV444P16LE;
  const bool is_deep = format.comp[0].depth > 8;
  if (format.log2_chroma_w == 0) return is_deep ? AV_PIX_FMT_YUV444P16LE : AV_PIX_FMT_YUV444P;
  if (format.log2_chroma_h == 0) return is_deep ? AV_PIX_FMT_YUV422P16LE : AV_PIX_FMT_YUV422P;
  return is_deep ? AV_PIX_FMT_YUV420P16LE : AV_PIX_FMT_YUV420P;
}

/// Whether red, green and blue share 16 bits. Scaling from such a format, swscale fills the missing bits with zeros: white becomes 248.
/// Where it only unpacks one to 8 bits each, it repeats the upper bits: white becomes 255.
bool HasPackedComponents(const AVPixFmtDescriptor& format) {
  return (format.flags & AV_PIX_FMT_FLAG_RGB) != 0 && format.comp[0].depth == 5;
}

UniqueFrame MakePicture(int width, int height, AVPixelFormat format) {
  UniqueFrame picture = MakeFrame();
  picture->width = width;
  picture->height = height;
  picture->format = format;
  CheckAv(av_frame_get_buffer(picture.get(), 0), ErrorCode::kInternal, "No memory for a frame");
  return picture;
}

void SetOption(SwsContext* scaler, const char* name, std::int64_t value) {
  CheckAv(av_opt_set_int(scaler, name, value, 0), ErrorCode::kInternal, "A pixel format cannot be converted");
}

/// Tells swscale where chroma lies on one side of a conversion, "src" or "dst". Its own guess is the middle of a block.
void SetChromaSite(SwsContext* scaler, const std::string& side, AVPixelFormat format, const pixel::ColorSpec& color) {
  const AVPixFmtDescriptor& layout = *CheckAlloc(av_pix_fmt_desc_get(format));
  const pixel::Subsampling subsampling{layout.log2_chroma_w, layout.log2_chroma_h};
  const auto position = [](const pixel::SampleGrid& grid) { return std::lround((grid.offset - 0.5) * 256); };
  SetOption(scaler, (side + "_h_chr_pos").c_str(), position(pixel::HorizontalGrid(1, subsampling, color)));
  SetOption(scaler, (side + "_v_chr_pos").c_str(), position(pixel::VerticalGrid(1, subsampling, color)));
}

UniqueScaler MakeConverter(int width, int height, AVPixelFormat from, AVPixelFormat to, const pixel::ColorSpec& color) {
  constexpr int kFlags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
  UniqueScaler scaler(CheckAlloc(sws_alloc_context()));
  for (const char* name : {"srcw", "dstw"}) SetOption(scaler.get(), name, width);
  for (const char* name : {"srch", "dsth"}) SetOption(scaler.get(), name, height);
  SetOption(scaler.get(), "src_format", from);
  SetOption(scaler.get(), "dst_format", to);
  SetOption(scaler.get(), "sws_flags", kFlags);
  SetChromaSite(scaler.get(), "src", from, color);
  SetChromaSite(scaler.get(), "dst", to, color);
  CheckAv(sws_init_context(scaler.get(), nullptr, nullptr), ErrorCode::kInternal, "A pixel format cannot be converted");
  return scaler;
}

int SwsMatrix(pixel::Matrix matrix) {
  switch (matrix) {
    case pixel::Matrix::kBt601: return SWS_CS_ITU601;
    case pixel::Matrix::kBt709: return SWS_CS_ITU709;
    case pixel::Matrix::kBt2020: return SWS_CS_BT2020;
  }
  return SWS_CS_ITU709;
}

}  // namespace

std::optional<pixel::PackedLayout> NativeLayout(AVPixelFormat format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if (d == nullptr || (d->flags & kForeignFlags) != 0) return std::nullopt;
  const AVComponentDescriptor& luma = d->comp[0];
  const int bytes = luma.depth + luma.shift > 8 ? 2 : 1;
  if (bytes == 2 && (d->flags & AV_PIX_FMT_FLAG_BE) != 0) return std::nullopt;
  if (luma.depth > 16 || luma.plane != 0 || luma.step != bytes || luma.offset != 0) return std::nullopt;
  pixel::PackedLayout layout;
  layout.bits = luma.depth;
  layout.left_aligned = luma.shift != 0;
  if (layout.left_aligned && luma.shift + luma.depth != 16) return std::nullopt;
  layout.gray = d->nb_components < 3;
  if (layout.gray) return layout;
  // Pictures of the stages hold chroma down to a half per axis; 4:1:1 and 4:1:0 go through swscale.
  if (d->log2_chroma_w > 1 || d->log2_chroma_h > 1) return std::nullopt;
  layout.subsampling = {d->log2_chroma_w, d->log2_chroma_h};
  const AVComponentDescriptor& cb = d->comp[1];
  const AVComponentDescriptor& cr = d->comp[2];
  if (cb.plane == 1 && cr.plane == 2 && cb.step == bytes && cr.step == bytes) return layout;
  if (cb.plane != 1 || cr.plane != 1 || cb.step != 2 * bytes) return std::nullopt;
  layout.semi_planar = true;
  layout.swap_chroma = cr.offset < cb.offset;
  return layout;
}

pixel::PackedLayout ImportedLayout(AVPixelFormat format) {
  if (const auto native = NativeLayout(format)) return *native;
  const AVPixFmtDescriptor* source = av_pix_fmt_desc_get(format);
  if (source == nullptr) throw Error(ErrorCode::kUnreadableVideo, "The video's pixel format is not supported.");
  return *NativeLayout(IntermediateFormat(*source));
}

FrameImporter::FrameImporter(const AVFrame& like, AVCodecID codec)
    : width_(like.width),
      height_(like.height),
      format_(static_cast<AVPixelFormat>(like.format)),
      color_(DescribeColor(like, codec)) {
  if (const auto native = NativeLayout(format_)) {
    layout_ = *native;
  } else {
    MakeScaler();
  }
}

void FrameImporter::MakeScaler() {
  const AVPixFmtDescriptor* source = av_pix_fmt_desc_get(format_);
  if (source == nullptr || sws_isSupportedInput(format_) == 0) {
    throw Error(ErrorCode::kUnreadableVideo, "The video's pixel format is not supported.");
  }
  const AVPixelFormat target = IntermediateFormat(*source);
  layout_ = *NativeLayout(target);
  AVPixelFormat from = format_;
  if (HasPackedComponents(*source)) {
    from = AV_PIX_FMT_RGB24;
    unpacker_ = MakeConverter(width_, height_, format_, from, color_.spec);
    unpacked_ = MakePicture(width_, height_, from);
  }
  scaler_ = MakeConverter(width_, height_, from, target, color_.spec);
  const int* coefficients = sws_getCoefficients(SwsMatrix(color_.spec.matrix));
  const bool is_rgb = (source->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
  const int target_range = color_.spec.range == pixel::Range::kFull ? 1 : 0;
  const int source_range = is_rgb ? 1 : target_range;
  sws_setColorspaceDetails(scaler_.get(), coefficients, source_range, coefficients, target_range, 0, 1 << 16, 1 << 16);
  intermediate_ = MakePicture(width_, height_, target);
}

bool FrameImporter::Fits(const AVFrame& frame, AVCodecID codec) const {
  return frame.width == width_ && frame.height == height_ && frame.format == format_ &&
         DescribeColor(frame, codec) == color_;
}

pixel::RawPlanes FrameImporter::Planes(const AVFrame& frame) {
  const AVFrame* source = &frame;
  if (unpacker_) {
    sws_scale(unpacker_.get(), frame.data, frame.linesize, 0, height_, unpacked_->data, unpacked_->linesize);
    source = unpacked_.get();
  }
  if (scaler_) {
    sws_scale(scaler_.get(), source->data, source->linesize, 0, height_, intermediate_->data, intermediate_->linesize);
    source = intermediate_.get();
  }
  pixel::RawPlanes raw;
  for (int plane = 0; plane < 3; ++plane) {
    raw.data[plane] = source->data[plane];
    raw.stride[plane] = source->linesize[plane];
  }
  return raw;
}

void FrameImporter::Run(const AVFrame& frame, pixel::Image& out, pixel::ThreadPool& pool) {
  pixel::Import(Planes(frame), layout_, out, pool);
}

}  // namespace reelmend::media
