// Restores one face with a network and blends it back.
//
// Note [Blending a face]
// The network gets a square crop of the source, aligned as in FFHQ: it has learned from damaged faces, and what the stages
// before it made of one is neither damaged nor natural. Only the change, result − crop of the finished picture, is added to
// the picture. So the picture keeps grain and detail finer than the crop, and the round trip cannot shift colours. The change
// is weighted by strength, presence and a round mask that falls to 0 before the crop's border (from kMaskFull to kMaskGone of
// half its side). It is clipped to ModelFile::max_change 8-bit levels, which preserves the person's identity.
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

  /// Restores the face with these points in place. `source`: the picture before the resize and its network, of any size and siting;
  /// may be `image`. `strength`: 0…1; 0 changes no sample. Throws Error{kInternal}.
  void Run(pixel::Image& image, const pixel::Image& source, const Landmarks& points, float strength, pixel::ThreadPool& pool);

 private:
  void Infer(const pixel::Image& image, const pixel::Image& source, const Similarity& to_picture);

  FaceNetwork network_;
  float max_change_;
  RgbPicture input_;   ///< of the source
  RgbPicture crop_;    ///< of the finished picture
  RgbPicture change_;  ///< R′G′B′, 8-bit levels
};

}  // namespace reelmend::faces
