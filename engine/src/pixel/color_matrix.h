// Coefficients between Y′CbCr spaces, in working samples.
#pragma once

#include "pixel/image.h"

namespace reelmend::pixel {

/// Y′ = luma × Y + cb × (Cb − 32768) + cr × (Cr − 32768) + offset;
/// Cb′ = 32768 + chroma[0][0] × (Cb − 32768) + chroma[0][1] × (Cr − 32768); Cr′ with chroma[1] alike.
/// Grey stays grey between spaces of equal primaries, so chroma never depends on luma.
struct ColorCoefficients {
  double luma = 1;
  double cb = 0;
  double cr = 0;
  double offset = 0;
  double chroma[2][2] = {{1, 0}, {0, 1}};
};

/// Coefficients of ITU-R BT.601-7, BT.709-6 and BT.2020-2 (non-constant luminance). Full range spans
/// 255 × 256 units, as 8-bit video does.
ColorCoefficients MakeColorCoefficients(Matrix from_matrix, Range from_range, Matrix to_matrix,
                                        Range to_range);

/// R′ = (Y − luma_offset) × luma_scale + red_cr × (Cr − 32768), G′ and B′ alike; R′G′B′ span 0…1.
struct YcbcrToRgb {
  double luma_offset;
  double luma_scale;
  double red_cr;
  double green_cb;
  double green_cr;
  double blue_cb;
};
YcbcrToRgb MakeYcbcrToRgb(Matrix matrix, Range range);

/// Ranges of Y, Cb and Cr in working samples: luma_black + luma_span is white; Cb and Cr span chroma_span around 32768.
struct SampleLevels {
  double luma_black;
  double luma_span;
  double chroma_span;
};
SampleLevels SampleLevelsOf(Range range);

}  // namespace reelmend::pixel
