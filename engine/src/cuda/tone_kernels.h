// Tone mapping: Note [Tone mapping] in pixel/tone_map.h, with the CPU's tables.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/tone_tables.h"

namespace reelmend::cuda {

/// HDR picture → SDR picture of the same size. z 0: luma; z 1: both planes of chroma.
struct ToneKernelCall {
  Picture in;
  Picture out;
  pixel::ToneKernel tone;  ///< its tables lie in device memory
  bool is_hlg = false;

  struct Rgb {
    float r, g, b;
  };

  REELMEND_HD static float Interpolated(const float* table, float v) {
    const float phase = Clamp(v, 0.0F, 1.0F) * pixel::kTableSteps;
    const int index = static_cast<int>(phase);
    const float below = table[index];
    return Fma(phase - static_cast<float>(index), table[index + 1] - below, below);
  }

  REELMEND_HD static float Dot(const float* weights, const Rgb& v) {
    return Fma(v.b, weights[2], Fma(v.g, weights[1], v.r * weights[0]));
  }

  REELMEND_HD float Signal(const float* row, const Rgb& light) const {
    const float v = SquareRoot(Clamp(Dot(row, light), 0.0F, 1.0F));
    return tone.tables->signal[static_cast<int>(Fma(v, pixel::kTableSteps, 0.5F))];
  }

  REELMEND_HD Rgb Map(float y, float cb, float cr) const {
    const pixel::ToneTables& tables = *tone.tables;
    const float luma = (y - tone.luma_offset) * tone.luma_scale;
    cb -= 32768.0F;
    cr -= 32768.0F;
    Rgb light = {Interpolated(tables.light, Fma(cr, tone.red_cr, luma)),
                 Interpolated(tables.light, Fma(cb, tone.green_cb, Fma(cr, tone.green_cr, luma))),
                 Interpolated(tables.light, Fma(cb, tone.blue_cb, luma))};
    float brightest = Max(Max(light.r, light.g), light.b);
    float gain = 1;
    if (is_hlg) {
      gain = Interpolated(tables.system, SquareRoot(Dot(tone.luminance, light)));
      brightest *= gain;
    }
    gain *= Interpolated(tables.gain, SquareRoot(SquareRoot(brightest)));
    light = {light.r * gain, light.g * gain, light.b * gain};
    return {Signal(tone.gamut[0], light), Signal(tone.gamut[1], light), Signal(tone.gamut[2], light)};
  }

  REELMEND_HD static float LumaOf(const Rgb& v) { return Fma(v.b, 0.0722F, Fma(v.g, 0.7152F, v.r * 0.2126F)); }

  /// Weights of the luma samples from the one before a chroma sample's own to the one behind them.
  REELMEND_HD static void Spread(int log2, ChromaPhase phase, float (&weight)[4]) {
    weight[0] = weight[1] = weight[2] = weight[3] = 0;
    if (log2 == 0) {
      weight[1] = 1;
    } else if (phase == ChromaPhase::kMiddle) {
      weight[1] = weight[2] = 0.5F;
    } else {
      const int at = phase == ChromaPhase::kFirst ? 1 : 2;
      weight[at - 1] = weight[at + 1] = 0.25F;
      weight[at] = 0.5F;
    }
  }

  /// Luma around chroma sample (x, y): the mean over its phase, edges replicated.
  REELMEND_HD float LumaAtChroma(int x, int y) const {
    float across[4];
    float down[4];
    Spread(in.log2_x, PhaseAcross(in.color.site), across);
    Spread(in.log2_y, PhaseDown(in.color.site), down);
    const int x0 = (x << in.log2_x) - in.color.shift_x - 1;
    const int y0 = (y << in.log2_y) - in.color.shift_y - 1;
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      if (across[i] == 0) continue;
      float column = 0;
      for (int j = 0; j < 4; ++j) {
        if (down[j] != 0) column = Fma(in.planes[0].Near(x0 + i, y0 + j), down[j], column);
      }
      sum = Fma(column, across[i], sum);
    }
    return sum;
  }

  REELMEND_HD void operator()(int x, int y, int z) const {
    const Plane& plane = in.planes[z];
    if (x >= plane.width || y >= plane.height) return;
    if (z == 0) {
      const ChromaTaps taps = TapsAt(x, y, in);
      const Rgb sdr = Map(plane.At(x, y), taps.Of(in.planes[1]), taps.Of(in.planes[2]));
      out.planes[0].At(x, y) = ToSample(Fma(LumaOf(sdr), 219.0F * 256, 16.0F * 256));
      return;
    }
    const Rgb sdr = Map(LumaAtChroma(x, y), in.planes[1].At(x, y), in.planes[2].At(x, y));
    const float luma = LumaOf(sdr);
    out.planes[1].At(x, y) = ToSample(Fma(sdr.b - luma, 224.0F * 256 / 1.8556F, 32768.0F));
    out.planes[2].At(x, y) = ToSample(Fma(sdr.r - luma, 224.0F * 256 / 1.5748F, 32768.0F));
  }
};

}  // namespace reelmend::cuda
