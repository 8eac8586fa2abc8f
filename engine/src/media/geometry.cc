#include "media/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "media/av_error.h"
#include "media/color_tags.h"
#include "media/libav_versions.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libavutil/rational.h>
}

namespace reelmend::media {
namespace {

/// Size of one of two bars that enlarge a side by a factor: a whole number of chroma samples.
int Bar(int side, double factor, int log2_chroma) {
  return static_cast<int>(std::lround(side * (factor - 1) / 2 / (1 << log2_chroma))) << log2_chroma;
}

}  // namespace

int Orientation::clockwise_degrees() const {
  if (transpose) return flip_x ? 90 : 270;
  return flip_x && flip_y ? 180 : 0;
}

Orientation OrientationFromMatrix(const std::int32_t matrix[9]) {
  // A stored pixel (p, q) is shown at x = a·p + c·q, y = b·p + d·q (libavutil/display.h).
  const std::int64_t a = matrix[0];
  const std::int64_t b = matrix[1];
  const std::int64_t c = matrix[3];
  const std::int64_t d = matrix[4];
  if (std::llabs(b) + std::llabs(c) > std::llabs(a) + std::llabs(d)) return {true, c < 0, b < 0};
  return {false, a < 0, d < 0};
}

Orientation FindOrientation(const AVStream& stream, const AVFrame& frame) {
  if (const AVFrameSideData* side = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX)) {
    if (side->size >= 9 * sizeof(std::int32_t)) {
      return OrientationFromMatrix(reinterpret_cast<const std::int32_t*>(side->data));
    }
  }
  const StreamSideData side = FindStreamSideData(stream, AV_PKT_DATA_DISPLAYMATRIX);
  if (side.data == nullptr || side.size < 9 * sizeof(std::int32_t)) return {};
  return OrientationFromMatrix(reinterpret_cast<const std::int32_t*>(side.data));
}

Size DisplayedSize(int width, int height, AVRational sample_aspect_ratio, const Orientation& orientation) {
  const double squared = width * av_q2d(sample_aspect_ratio);
  Size size{std::max(1, static_cast<int>(std::lround(squared))), height};
  if (orientation.transpose) std::swap(size.width, size.height);
  return size;
}

AVRational FindSampleAspectRatio(AVFormatContext* context, AVStream* stream, AVFrame* frame) {
  const AVRational ratio = av_guess_sample_aspect_ratio(context, stream, frame);
  // Real ratios lie between 1:4 and 4:1. Others come from damaged headers and would reduce the picture to a sliver.
  constexpr double kLargest = 8;
  if (ratio.num <= 0 || ratio.den <= 0) return {1, 1};
  const double value = av_q2d(ratio);
  return value > kLargest || value < 1 / kLargest ? AVRational{1, 1} : ratio;
}

double DisplayedShape(const AVFrame& frame, Size size) {
  const AVRational ratio = frame.sample_aspect_ratio;
  return (ratio.num > 0 && ratio.den > 0 ? av_q2d(ratio) : 1) * size.width / size.height;
}

UniqueFrame AddBars(const AVFrame& frame, double shape) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor& layout = *CheckAlloc(av_pix_fmt_desc_get(format));
  const double own = DisplayedShape(frame, {frame.width, frame.height});
  const int x = Bar(frame.width, std::max(1.0, shape / own), layout.log2_chroma_w);
  const int y = Bar(frame.height, std::max(1.0, own / shape), layout.log2_chroma_h);
  UniqueFrame out = MakeFrame();
  out->format = format;
  out->width = frame.width + 2 * x;
  out->height = frame.height + 2 * y;
  CheckAv(av_frame_copy_props(out.get(), &frame), ErrorCode::kInternal, "No memory for a frame");
  CheckAv(av_frame_get_buffer(out.get(), 0), ErrorCode::kInternal, "No memory for a frame");
  const std::ptrdiff_t strides[4] = {out->linesize[0], out->linesize[1], out->linesize[2], out->linesize[3]};
  const AVColorRange range = IsFullRange(frame) ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  if (av_image_fill_black(out->data, strides, format, range, out->width, out->height) < 0) return nullptr;
  for (int plane = 0; plane < av_pix_fmt_count_planes(format); ++plane) {
    const int log2 = plane == 1 || plane == 2 ? layout.log2_chroma_h : 0;
    std::uint8_t* inside = out->data[plane] + (y >> log2) * strides[plane] + av_image_get_linesize(format, x, plane);
    av_image_copy_plane(inside, out->linesize[plane], frame.data[plane], frame.linesize[plane],
                        av_image_get_linesize(format, frame.width, plane), AV_CEIL_RSHIFT(frame.height, log2));
  }
  return out;
}

}  // namespace reelmend::media
