// Noise reduction over time, before the spatial denoising.
#pragma once

#include <memory>

#include "pixel/image.h"
#include "pixel/motion_field.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

struct TemporalOptions {
  float strength = 0;     ///< 0…1
  float noise_sigma = 0;  ///< change from picture to picture, standard deviation in 8-bit levels
  float grain_sigma = 0;  ///< of it, what differs from sample to sample, too; not the error of an encode
};

/// Note [Temporal denoising]
/// Three steps blend a picture with an older one of the same kind:
///   a[n] = mix(in[n], in[n − 1]),  b[n] = mix(a[n], a[n − 2]),  out[n] = mix(b[n], b[n − 4]).
/// The older picture is displaced along the motion (Note [Motion search] in motion_search.h), block by block. The result is
/// the mean of eight pictures (up to 9 dB less noise) for the cost of three. Nothing is fed back: a picture depends on the
/// seven before it only, so segments of a video equal the whole after kMemory pictures.
///
/// An 8 × 8 block that fits better at the same place than along the motion is taken from there: the background beside an
/// object that moves.
///
/// mix(x, y) = x + ½ × strength × block × sample × (y − x), which never leaves the range between x and y.
/// - block: 1 while the mean |y − x| of an 8 × 8 block of luma is at most 1.4 times that of the noise alone, falling
///   to 0 at 2 times; the error of an encode counts as noise only as far as the block's texture proves that the motion is right
///   (Note [Texture limit] in temporal_limits.h). What was not found in the older picture is left to the spatial filter. Chroma uses
///   the value of its luma.
/// - sample: Tukey's biweight (1 − (d/T)²)², 0 from T on, with T = 5 standard deviations of the difference's noise. A
///   thin object that moves in a quiet block leaves at most 0.14 T behind per step.
/// Each step halves the noise's variance, and the limits follow. After Reset (a scene cut) a step starts again when
/// its older picture exists.
class TemporalDenoiser {
 public:
  static constexpr int kMemory = 7;  ///< preceding pictures that influence one

  TemporalDenoiser(int width, int height, Subsampling subsampling);
  ~TemporalDenoiser();

  /// If the strength or the noise is 0, copies the picture exactly and clears the history. `out` must be another picture. Throws Error for
  /// a picture of another size.
  void Run(const Image& in, Image& out, const TemporalOptions& options, ThreadPool& pool);

  void Reset();

  /// Writes the motion of the last picture, of the lags that its older pictures exist for.
  void CopyMotion(SourceMotion& motion) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reelmend::pixel
