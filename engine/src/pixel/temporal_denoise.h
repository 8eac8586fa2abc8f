// Noise reduction over time, before the spatial denoising.
#pragma once

#include <memory>

#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

/// Note [Temporal denoising]
/// Three steps, each of which mixes a picture with an older one of its own kind:
///   a[n] = mix(in[n], in[n − 1]),  b[n] = mix(a[n], a[n − 2]),  out[n] = mix(b[n], b[n − 4]).
/// Where nothing moves that is the mean of eight pictures (up to 9 dB less noise) at the price of three; and since
/// nothing is fed back, a picture depends on the seven before it and on no others: segments of a video enhanced
/// apart equal the whole once kMemory pictures have gone by.
///
/// mix(x, y) = x + ½ × strength × block × sample × (y − x), so it never leaves the range between x and y.
/// - block: 1 while the mean |y − x| of an 8 × 8 block of luma is at most 1.4 times what the noise alone would make,
///   falling to 0 at 2 times: moving parts are left to the spatial filter. Chroma takes it from its luma.
/// - sample: Tukey's biweight (1 − (d/T)²)² with T = 5 standard deviations of the difference's noise, at most
///   (d² ≥ T²) 0: a thin thing that moves in a quiet block leaves no more than 0.14 T behind in a step.
/// The noise halves its variance from step to step, and the limits go with it. After Reset (a scene cut) a step
/// begins when its older picture exists again.
class TemporalDenoiser {
 public:
  static constexpr int kMemory = 7;  ///< pictures before one that have a part in it

  TemporalDenoiser(int width, int height, Subsampling subsampling);
  ~TemporalDenoiser();

  /// `strength` 0…1; `noise_sigma` of `in` in 8-bit codes. With either of them 0 the picture is copied exactly and
  /// what came before is forgotten. `out` is another picture. Throws Error for a picture of another size.
  void Run(const Image& in, Image& out, float strength, float noise_sigma, ThreadPool& pool);

  void Reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reelmend::pixel
