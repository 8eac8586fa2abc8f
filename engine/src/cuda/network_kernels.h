// Kernels between working pictures and the tensors of networks; cpu/tensor_converter.cc is the CPU's counterpart.
#pragma once

#include "cuda/launch.h"
#include "cuda/import_kernels.h"
#include "cuda/views.h"

namespace reelmend::cuda {

/// Packs luma of an area (0 = black … 1 = white) and a plane that holds the strength of restoration. Rows and columns
/// beyond the picture repeat its last ones.
struct LumaToTensorKernel {
  Plane luma;
  int x = 0;  ///< position of the area in the picture
  int y = 0;
  float offset = 0;
  float scale = 1;
  float strength = 0;
  Tensor out;

  REELMEND_HD void operator()(int column, int row, int) const {
    if (column >= out.width || row >= out.height) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * out.width + column;
    out.PlaneAt(0)[at] = ToHalf((static_cast<float>(luma.Near(x + column, y + row)) - offset) * scale);
    if (out.channels > 1) out.PlaneAt(1)[at] = ToHalf(strength);
  }
};

/// Packs R′G′B′ of an area of a picture without subsampling, clipped to [0, 1].
struct RgbToTensorKernel {
  Picture in;
  int x = 0;
  int y = 0;
  RgbMatrix matrix;
  Tensor out;

  REELMEND_HD void operator()(int column, int row, int) const {
    if (column >= out.width || row >= out.height) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * out.width + column;
    const float luma = (static_cast<float>(in.planes[0].Near(x + column, y + row)) - matrix.luma_offset) * matrix.luma_scale;
    const float cb = static_cast<float>(in.planes[1].Near(x + column, y + row)) - 32768.0F;
    const float cr = static_cast<float>(in.planes[2].Near(x + column, y + row)) - 32768.0F;
    const auto unit = [](float v) { return ToHalf(Clamp(v, 0.0F, 1.0F)); };
    out.PlaneAt(0)[at] = unit(Fma(cr, matrix.red_cr, luma));
    out.PlaneAt(1)[at] = unit(Fma(cb, matrix.green_cb, Fma(cr, matrix.green_cr, luma)));
    out.PlaneAt(2)[at] = unit(Fma(cb, matrix.blue_cb, luma));
  }
};

/// Sample → value: (sample − offset) × scale.
struct LinearScale {
  float offset = 0;
  float scale = 1;

  REELMEND_HD Half FromSample(std::uint16_t sample) const { return ToHalf((static_cast<float>(sample) - offset) * scale); }
};

/// Packs Y′ (0 … 1), the strength of restoration, Cb and Cr (−0.5 … 0.5) of an area of a picture without subsampling.
struct YcbcrToTensorKernel {
  Picture in;
  int x = 0;
  int y = 0;
  LinearScale luma;
  LinearScale chroma;
  float strength = 0;
  Tensor out;

  REELMEND_HD void operator()(int column, int row, int) const {
    if (column >= out.width || row >= out.height) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * out.width + column;
    out.PlaneAt(0)[at] = luma.FromSample(in.planes[0].Near(x + column, y + row));
    out.PlaneAt(1)[at] = ToHalf(strength);
    out.PlaneAt(2)[at] = chroma.FromSample(in.planes[1].Near(x + column, y + row));
    out.PlaneAt(3)[at] = chroma.FromSample(in.planes[2].Near(x + column, y + row));
  }
};

/// The part of a tensor that is kept, and its position in the picture.
struct KeptPart {
  int from_x = 0;  ///< in the tensor
  int from_y = 0;
  int to_x = 0;    ///< in the picture
  int to_y = 0;
  int width = 0;
  int height = 0;
};

/// Clamps, then rounds. NaN becomes 0.
REELMEND_HD inline std::uint16_t ToBoundedSample(float value) { return ToSample(value > 0 ? Min(value, 65535.0F) : 0.0F); }

struct TensorToLumaKernel {
  Tensor in;
  KeptPart part;
  float offset = 0;
  float span = 1;
  Plane out;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= part.width || y >= part.height) return;
    const float v = FromHalf(in.PlaneAt(0)[static_cast<std::ptrdiff_t>(part.from_y + y) * in.width + part.from_x + x]);
    out.At(part.to_x + x, part.to_y + y) = ToBoundedSample(Fma(v, span, offset));
  }
};

/// Unpacks Y′, Cb and Cr into a picture without subsampling.
struct TensorToYcbcrPictureKernel {
  Tensor in;
  KeptPart part;
  float luma_offset = 0;
  float luma_span = 1;
  float chroma_span = 1;  ///< of −0.5 … 0.5 around 32768
  Picture out;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= part.width || y >= part.height) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(part.from_y + y) * in.width + part.from_x + x;
    const auto value = [&](int plane) { return FromHalf(in.PlaneAt(plane)[at]); };
    const int column = part.to_x + x;
    const int row = part.to_y + y;
    out.planes[0].At(column, row) = ToBoundedSample(Fma(value(0), luma_span, luma_offset));
    out.planes[1].At(column, row) = ToBoundedSample(Fma(value(1), chroma_span, 32768.0F));
    out.planes[2].At(column, row) = ToBoundedSample(Fma(value(2), chroma_span, 32768.0F));
  }
};

/// Unpacks R′G′B′ into a picture without subsampling.
struct TensorToRgbPictureKernel {
  Tensor in;
  KeptPart part;
  YcbcrMatrix matrix;
  Picture out;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= part.width || y >= part.height) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(part.from_y + y) * in.width + part.from_x + x;
    const auto unit = [&](int channel) {
      const float v = FromHalf(in.PlaneAt(channel)[at]);
      return v > 0 ? Min(v, 1.0F) : 0.0F;
    };
    const float r = unit(0);
    const float g = unit(1);
    const float b = unit(2);
    const float luma = Fma(r, matrix.weights[0], Fma(g, matrix.weights[1], b * matrix.weights[2]));
    const int column = part.to_x + x;
    const int row = part.to_y + y;
    out.planes[0].At(column, row) = ToSample(Fma(luma, matrix.luma_span, matrix.luma_offset));
    out.planes[1].At(column, row) = ToSample(Fma(b - luma, matrix.blue, 32768.0F));
    out.planes[2].At(column, row) = ToSample(Fma(r - luma, matrix.red, 32768.0F));
  }
};

}  // namespace reelmend::cuda
