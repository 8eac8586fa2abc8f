// Rotation, mirroring and sample aspect ratio: from stored pixels to the displayed picture.
#pragma once

#include <cstdint>

#include "reelmend/enhance.h"
#include "media/av_handles.h"

namespace reelmend::media {

/// How stored pixels are rotated for display: first transposed (rows become columns), then mirrored.
struct Orientation {
  bool transpose = false;
  bool flip_x = false;  ///< after the transposition, left becomes right
  bool flip_y = false;
  bool operator==(const Orientation&) const = default;
  bool is_identity() const { return *this == Orientation{}; }
  /// Clockwise rotation in degrees: 0, 90, 180, 270. Does not tell whether the picture is mirrored, too.
  int clockwise_degrees() const;
};

/// Orientation from a 3×3 display matrix of libav; other angles are rounded to the nearest right angle.
Orientation OrientationFromMatrix(const std::int32_t matrix[9]);

/// Orientation of a decoded frame: its own (H.264/HEVC SEI) or else the container's.
Orientation FindOrientation(const AVStream& stream, const AVFrame& frame);

/// Size in square pixels of a stored width × height with that sample aspect ratio, after rotation.
Size DisplayedSize(int width, int height, AVRational sample_aspect_ratio, const Orientation& orientation);

/// The sample aspect ratio that players use for the frame; 1:1 when unknown or absurd.
AVRational FindSampleAspectRatio(AVFormatContext* context, AVStream* stream, AVFrame* frame);

/// Displayed width ÷ height of a picture of that size, before rotation, with the frame's own sample aspect ratio (unknown: 1:1).
double DisplayedShape(const AVFrame& frame, Size size);

/// A copy of the frame, which lies in host memory, between black bars at the sides or above and below, so that it is displayed in that
/// shape without stretching. Null if its pixel format is too rare.
UniqueFrame AddBars(const AVFrame& frame, double shape);

}  // namespace reelmend::media
