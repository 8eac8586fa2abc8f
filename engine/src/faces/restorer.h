// Restores one face with a network and blends it back.
//
// Note [Blending a face]
// The network gets a square crop aligned as in FFHQ. Only its change, result − crop, is added to the picture. So the
// picture keeps grain and detail finer than the crop, the round trip cannot shift colours, and a network that changes
// nothing has no effect. The change is weighted by strength, presence and a round mask that falls to 0 before the
// crop's border (from kMaskFull to kMaskGone of half its side). It is clipped to ModelFile::max_change 8-bit levels, which
// preserves the person's identity.
#pragma once

#include "faces/face_geometry.h"
#include "faces/face_kernel.h"
#include "faces/face_network.h"
#include "faces/sampling.h"
#include "reelmend/model.h"
#include "inference/backend.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

/// Adds the change of a face to the picture, in place.
void Blend(pixel::Image& image, const FaceChange& change, pixel::ThreadPool& pool);

class FaceRestorer {
 public:
  /// Throws what FaceNetwork's constructor throws.
  FaceRestorer(inference::Backend& backend, const ModelFile& file, int threads);

  int side() const { return network_.side(); }

  /// Restores the face with these points in place. `strength`: 0…1; 0 changes no sample. Throws Error{kInternal}.
  void Run(pixel::Image& image, const Landmarks& points, float strength, pixel::ThreadPool& pool);

 private:
  void Infer(const pixel::Image& image, const Similarity& to_picture);

  FaceNetwork network_;
  float max_change_;
  RgbPicture crop_;
  RgbPicture change_;  ///< R′G′B′, 8-bit levels
};

}  // namespace reelmend::faces
