// Tables and coefficients of the tone mapping, shared by CPU and GPU. Notes in tone_map.h and tone_map.cc.
#pragma once

#include "pixel/image.h"
#include "pixel/tone_map.h"

namespace reelmend::pixel {

inline constexpr int kTableSteps = 4096;

/// Entry i belongs to argument i / kTableSteps of the function named, or of its root.
struct ToneTables {
  alignas(64) float light[kTableSteps + 2];   ///< R′ → light, 1 = the signal's nominal peak
  alignas(64) float system[kTableSteps + 2];  ///< √luminance → gain of the HLG OOTF
  alignas(64) float gain[kTableSteps + 2];    ///< ⁴√light of the brightest channel → gain to light of the SDR display
  alignas(64) float signal[kTableSteps + 2];  ///< √light → R′ of SDR
};

/// Everything that the kernels need besides the samples.
struct ToneKernel {
  const ToneTables* tables;
  float luma_offset;  ///< R′ = (Y − luma_offset) × luma_scale + red_cr × (Cr − centre) …
  float luma_scale;
  float red_cr;
  float green_cb;
  float green_cr;
  float blue_cb;
  float luminance[3];  ///< of the source's primaries
  float gamut[3][3];
};

void FillToneTables(const ToneMapOptions& options, ToneTables& tables);

/// Coefficients for pictures of that colour; keeps `tables` as a pointer and does not read it.
ToneKernel MakeToneKernel(const ToneMapOptions& options, ColorSpec color, const ToneTables* tables);

}  // namespace reelmend::pixel
