// Tone mapping: Note [Tone mapping] in pixel/tone_map.h, with the CPU's tables.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/tone_tables.h"

namespace framelift::cuda {

/// HDR picture → SDR picture of the same size. z 0: luma; z 1: both planes of chroma.
struct ToneKernelCall {
  Picture in;
  Picture out;
  pixel::ToneKernel tone;  ///< its tables lie in device memory
  bool is_hlg = false;

  struct Rgb {
    float r, g, b;
  };

  FRAMELIFT_HD static float Interpolated(const float* table, float v) {
    const float place = Clamp(v, 0.0F, 1.0F) * pixel::kTableSteps;
    const int index = static_cast<int>(place);
    const float below = table[index];
    return Fma(place - static_cast<float>(index), table[index + 1] - below, below);
  }

  FRAMELIFT_HD static float Dot(const float* weights, const Rgb& v) {
    return Fma(v.b, weights[2], Fma(v.g, weights[1], v.r * weights[0]));
  }

  FRAMELIFT_HD float Signal(const float* row, const Rgb& light) const {
    const float v = SquareRoot(Clamp(Dot(row, light), 0.0F, 1.0F));
    return tone.tables->signal[static_cast<int>(Fma(v, pixel::kTableSteps, 0.5F))];
  }

  FRAMELIFT_HD Rgb Map(float y, float cb, float cr) const {
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

  FRAMELIFT_HD static float LumaOf(const Rgb& v) { return Fma(v.b, 0.0722F, Fma(v.g, 0.7152F, v.r * 0.2126F)); }

  /// Luma around chroma sample (x, y): the mean over its place, edges replicated.
  FRAMELIFT_HD float LumaAtChroma(int x, int y) const {
    const bool cosited_across = in.color.site != pixel::ChromaSite::kCentre;
    const bool cosited_down = in.color.site == pixel::ChromaSite::kTopLeft;
    const auto column = [&](int lx) {
      const Plane& luma = in.planes[0];
      if (in.log2_y == 0) return static_cast<float>(luma.Near(lx, y));
      const float at = luma.Near(lx, 2 * y);
      const float below = luma.Near(lx, 2 * y + 1);
      if (!cosited_down) return Fma(at, 0.5F, below * 0.5F);
      return Fma(luma.Near(lx, 2 * y - 1), 0.25F, Fma(at, 0.5F, below * 0.25F));
    };
    if (in.log2_x == 0) return column(x);
    const float sides = cosited_across ? Fma(column(2 * x - 1), 0.25F, column(2 * x + 1) * 0.25F) : column(2 * x + 1) * 0.5F;
    return Fma(column(2 * x), 0.5F, sides);
  }

  FRAMELIFT_HD void operator()(int x, int y, int z) const {
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

}  // namespace framelift::cuda
