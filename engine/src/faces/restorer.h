// Restores one face with a network and blends it back.
//
// Note [Blending a face]
// The network gets a square crop aligned as in FFHQ. Only its change, result − crop, is added to the picture. So the
// picture keeps grain and detail finer than the crop, the round trip cannot shift colours, and a network that changes
// nothing has no effect. The change is weighted by strength, presence and a round mask that falls to 0 before the
// crop's border (from kFull to kGone of half its side). It is clipped to ModelFile::max_change 8-bit levels, which
// preserves the person's identity.
#pragma once

#include <memory>
#include <vector>

#include "faces/face_geometry.h"
#include "faces/sampling.h"
#include "reelmend/model.h"
#include "inference/backend.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

/// Weight of a position in the crop, 0…1; `x` and `y` are fractions of the crop's side.
float MaskAt(float x, float y);

class FaceRestorer {
 public:
  /// `file`: input and output [1, 3, N, N], R′G′B′ in [−1, 1]; an optional second input named “weight” holds one
  /// number. N is the file's own, 512 if open. Throws Error{kInvalidArgument} in one sentence.
  FaceRestorer(inference::Backend& backend, const ModelFile& file, int threads);

  int side() const { return side_; }

  /// Restores the face with these points in place. `strength`: 0…1; 0 changes no sample. Throws Error{kInternal}.
  void Run(pixel::Image& image, const Landmarks& points, float strength, pixel::ThreadPool& pool);

 private:
  void Infer(const pixel::Image& image, const Similarity& to_picture);
  void Paste(pixel::Image& image, const Similarity& to_crop, float strength, pixel::ThreadPool& pool) const;

  std::unique_ptr<inference::TensorNetwork> network_;
  std::size_t picture_end_ = 0;
  int side_ = 0;
  float max_change_ = 255;
  RgbPicture crop_;
  RgbPicture change_;  ///< R′G′B′, 8-bit levels
};

}  // namespace reelmend::faces
