// Steadies what a network makes anew in each picture.
#pragma once

#include <memory>

#include "pixel/image.h"
#include "pixel/motion_field.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

/// Note [Temporal accumulation]
/// A network that restores detail makes it anew in each picture, and small changes of the source change it: textures boil, letters
/// tremble. So two steps blend luma of an enlarged picture with older ones, as temporal antialiasing does (L. Yang, S. Liu and M. Salvi,
/// “A Survey of Temporal Antialiasing Techniques”, 2020), but without feedback:
///   a[n] = mix(in[n], in[n − 1]),  out[n] = mix(a[n], a[n − 2]).
/// The result is the mean of up to four pictures. It depends on the three before it only, so segments of a video equal the whole.
///
/// The older picture is displaced along the motion (Note [Refined motion] in motion_field.h).
///
/// mix(x, y) = x + ½ × strength × block × sample × (y − x)
/// - block: 1 while the mean |y − x| of a block of 8 × 8 samples is small beside its texture, 0 for what the motion does not explain
///   (WeighAccumulation in accumulation_limits.h).
/// - sample: Tukey's biweight (1 − (d/T)²)², so that an edge that moved otherwise leaves no ghost.
class TemporalAccumulator {
 public:
  static constexpr int kMemory = 3;  ///< preceding pictures that influence one

  /// Of luma.
  TemporalAccumulator(int width, int height);
  ~TemporalAccumulator();

  /// In place. `motion` is that of the picture's source; chroma is not changed. `strength` 0…1; 0 changes nothing, and clears the history.
  void Run(Image& image, const SourceMotion& motion, float strength, ThreadPool& pool);

  /// The next picture begins a scene.
  void Reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reelmend::pixel
