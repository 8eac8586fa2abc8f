#include "media/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "media/libav_versions.h"

extern "C" {
#include <libavutil/rational.h>
}

namespace reelmend::media {

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

}  // namespace reelmend::media
