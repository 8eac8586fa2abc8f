// Kernels between decoded surfaces, working pictures and network tensors.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"

namespace reelmend::cuda {

/// Surface → working picture: crop, turn, widen. Exact. One call a plane (z); a thread makes kLanes samples of a row.
struct ImportKernel {
  static constexpr int kLanes = 4;
  Surface in;
  Picture out;

  REELMEND_HD void operator()(int x, int y, int z) const {
    const Plane& plane = out.planes[z];
    const int first = x * kLanes;
    if (y >= plane.height || first >= plane.width) return;
    std::uint16_t* row = plane.Row(y);
    const int last = Min(first + kLanes, plane.width);
    for (int i = first; i < last; ++i) row[i] = in.Sample(z, i, y);
  }
};

/// Coefficients of a Y′CbCr space both ways; R′G′B′ span 0…1. Chroma is taken from its centre.
struct RgbMatrix {
  float luma_offset;
  float luma_scale;
  float red_cr;
  float green_cb;
  float green_cr;
  float blue_cb;
};

/// Surface → planar R′G′B′ (or luma alone) in fp16, turned and cropped, chroma interpolated to the places of luma
/// (Note [Chroma at luma]), edges replicated into the tensor's margin: what a network reads, in one pass.
struct SurfaceToTensorKernel {
  Surface in;
  Picture shape;  ///< of the displayed picture: sizes, subsampling and colour; its planes' data are not read
  RgbMatrix matrix;
  Tensor out;

  REELMEND_HD float Chroma(int plane, const ChromaTaps& taps) const {
    const float left = Fma(in.Sample(plane, taps.column[0], taps.row[0]), taps.down[0],
                           static_cast<float>(in.Sample(plane, taps.column[0], taps.row[1])) * taps.down[1]);
    const float right = Fma(in.Sample(plane, taps.column[1], taps.row[0]), taps.down[0],
                            static_cast<float>(in.Sample(plane, taps.column[1], taps.row[1])) * taps.down[1]);
    return Fma(left, taps.across[0], right * taps.across[1]) - 32768.0F;
  }

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= out.width || y >= out.height) return;
    const int px = Min(x, shape.planes[0].width - 1);
    const int py = Min(y, shape.planes[0].height - 1);
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(y) * out.width + x;
    const float luma = (static_cast<float>(in.Sample(0, px, py)) - matrix.luma_offset) * matrix.luma_scale;
    if (out.channels == 1) {
      out.PlaneAt(0)[at] = ToHalf(luma);
      return;
    }
    const ChromaTaps taps = TapsAt(px, py, shape);
    const float cb = Chroma(1, taps);
    const float cr = Chroma(2, taps);
    out.PlaneAt(0)[at] = ToHalf(Fma(cr, matrix.red_cr, luma));
    out.PlaneAt(1)[at] = ToHalf(Fma(cb, matrix.green_cb, Fma(cr, matrix.green_cr, luma)));
    out.PlaneAt(2)[at] = ToHalf(Fma(cb, matrix.blue_cb, luma));
  }
};

/// Coefficients R′G′B′ → Y′CbCr: Y = offset + span × Σ weight × colour, Cb = centre + blue × (B′ − Y′), Cr alike.
struct YcbcrMatrix {
  float weights[3];
  float luma_span;
  float luma_offset;
  float blue;
  float red;
};

/// Planar R′G′B′ of a network → working picture of the same size, upright and sited left, top left or centred. Chroma
/// is the mean over its place: ¼ ½ ¼ across for co-sited, ½ ½ for centred, and alike down; edges replicated. One call
/// each for luma (z 0) and chroma (z 1).
struct TensorToPictureKernel {
  Tensor in;
  YcbcrMatrix matrix;
  Picture out;

  struct Rgb {
    float r, g, b;
  };

  REELMEND_HD Rgb Read(int x, int y) const {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(Clamp(y, 0, out.planes[0].height - 1)) * in.width +
                              Clamp(x, 0, out.planes[0].width - 1);
    const auto clipped = [&](int channel) { return Clamp(FromHalf(in.PlaneAt(channel)[at]), 0.0F, 1.0F); };
    if (in.channels == 1) {
      const float v = clipped(0);
      return {v, v, v};
    }
    return {clipped(0), clipped(1), clipped(2)};
  }

  REELMEND_HD float Luma(const Rgb& v) const {
    return Fma(v.r, matrix.weights[0], Fma(v.g, matrix.weights[1], v.b * matrix.weights[2]));
  }

  /// Weights of the places before, at and behind 2 × i (or of i alone) for chroma sample i.
  REELMEND_HD static void Spread(int log2, bool cosited, float (&weight)[3]) {
    weight[0] = log2 != 0 && cosited ? 0.25F : 0.0F;
    weight[1] = log2 != 0 ? 0.5F : 1.0F;
    weight[2] = log2 == 0 ? 0.0F : cosited ? 0.25F : 0.5F;
  }

  REELMEND_HD void operator()(int x, int y, int z) const {
    const Plane& plane = out.planes[z];
    if (x >= plane.width || y >= plane.height) return;
    if (z == 0) {
      plane.At(x, y) = ToSample(Fma(Luma(Read(x, y)), matrix.luma_span, matrix.luma_offset));
      return;
    }
    float across[3];
    float down[3];
    Spread(out.log2_x, PlaceAcross(out.color.site) == Place::kFirst, across);
    Spread(out.log2_y, PlaceDown(out.color.site) == Place::kFirst, down);
    Rgb mean{0, 0, 0};
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        const float weight = across[i] * down[j];
        if (weight == 0) continue;
        const Rgb v = Read((x << out.log2_x) + i - 1, (y << out.log2_y) + j - 1);
        mean = {Fma(v.r, weight, mean.r), Fma(v.g, weight, mean.g), Fma(v.b, weight, mean.b)};
      }
    }
    const float luma = Luma(mean);
    out.planes[1].At(x, y) = ToSample(Fma(mean.b - luma, matrix.blue, 32768.0F));
    out.planes[2].At(x, y) = ToSample(Fma(mean.r - luma, matrix.red, 32768.0F));
  }
};

}  // namespace reelmend::cuda
