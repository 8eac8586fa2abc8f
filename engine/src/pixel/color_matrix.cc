#include "pixel/color_matrix.h"

namespace reelmend::pixel {
namespace {

struct LumaWeights {
  double red;
  double blue;
  double green() const { return 1 - red - blue; }
};

LumaWeights WeightsOf(Matrix matrix) {
  switch (matrix) {
    case Matrix::kBt601:
      return {0.299, 0.114};
    case Matrix::kBt2020:
      return {0.2627, 0.0593};
    default:
      return {0.2126, 0.0722};
  }
}

/// Y′, Cb, Cr of the target space for unit Cb or Cr (luma 0) of the source space.
struct Response {
  double luma;
  double cb;
  double cr;
};

Response RespondTo(double cb, double cr, LumaWeights from, LumaWeights to) {
  const double red = 2 * (1 - from.red) * cr;
  const double blue = 2 * (1 - from.blue) * cb;
  const double green = -(from.red * red + from.blue * blue) / from.green();
  const double luma = to.red * red + to.green() * green + to.blue * blue;
  return {luma, (blue - luma) / (2 * (1 - to.blue)), (red - luma) / (2 * (1 - to.red))};
}

}  // namespace

SampleLevels SampleLevelsOf(Range range) {
  return range == Range::kFull ? SampleLevels{0, 255.0 * 256, 255.0 * 256}
                               : SampleLevels{16.0 * 256, 219.0 * 256, 224.0 * 256};
}

ColorCoefficients MakeColorCoefficients(Matrix from_matrix, Range from_range, Matrix to_matrix,
                                        Range to_range) {
  const SampleLevels from = SampleLevelsOf(from_range);
  const SampleLevels to = SampleLevelsOf(to_range);
  ColorCoefficients c;
  c.luma = to.luma_span / from.luma_span;
  c.offset = to.luma_black - from.luma_black * c.luma;
  const double chroma_scale = to.chroma_span / from.chroma_span;
  c.chroma[0][0] = c.chroma[1][1] = chroma_scale;
  if (from_matrix == to_matrix) return c;
  const Response cb = RespondTo(1, 0, WeightsOf(from_matrix), WeightsOf(to_matrix));
  const Response cr = RespondTo(0, 1, WeightsOf(from_matrix), WeightsOf(to_matrix));
  c.cb = cb.luma * to.luma_span / from.chroma_span;
  c.cr = cr.luma * to.luma_span / from.chroma_span;
  c.chroma[0][0] = cb.cb * chroma_scale;
  c.chroma[0][1] = cr.cb * chroma_scale;
  c.chroma[1][0] = cb.cr * chroma_scale;
  c.chroma[1][1] = cr.cr * chroma_scale;
  return c;
}

YcbcrToRgb MakeYcbcrToRgb(Matrix matrix, Range range) {
  const LumaWeights weights = WeightsOf(matrix);
  const SampleLevels levels = SampleLevelsOf(range);
  YcbcrToRgb c;
  c.luma_offset = levels.luma_black;
  c.luma_scale = 1 / levels.luma_span;
  c.red_cr = 2 * (1 - weights.red) / levels.chroma_span;
  c.blue_cb = 2 * (1 - weights.blue) / levels.chroma_span;
  c.green_cr = -weights.red / weights.green() * c.red_cr;
  c.green_cb = -weights.blue / weights.green() * c.blue_cb;
  return c;
}

}  // namespace reelmend::pixel
