// Restoring one face by a network, and putting it back.
//
// Note [Putting a face back]
// The network sees a square crop in which the five points lie where FFHQ has them. Not what it makes is put back but
// what it changed, result − crop: the picture keeps the grain and the detail that are finer than the crop, colours
// cannot shift by the way there and back, and a network that changes nothing changes nothing. The change is weighted by
// strength, presence and a mask that falls to 0 before the crop's border (kFull to kGone of its half side, round), and
// is cut to ModelFile::max_change codes, which keeps the face that of the same person.
#pragma once

#include <memory>
#include <vector>

#include "faces/geometry.h"
#include "faces/sampling.h"
#include "reelmend/model.h"
#include "inference/backend.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

/// Weight of a place in the crop, 0…1; `x` and `y` are shares of the crop's side.
float MaskAt(float x, float y);

class FaceRestorer {
 public:
  /// `file` takes [1, 3, N, N] of R′G′B′ from −1 to 1 and gives the same; a second input named “weight” may hold one
  /// number. N is the file's own; 512 where it leaves it open. Throws Error{kInvalidArgument} in one sentence.
  FaceRestorer(inference::Backend& backend, const ModelFile& file, int threads);

  int side() const { return side_; }

  /// Restores the face with these points in place. `strength`: 0…1; 0 leaves every sample as it is.
  /// Throws Error{kInternal}.
  void Run(pixel::Image& image, const Landmarks& points, float strength, pixel::ThreadPool& pool);

 private:
  void Infer(const pixel::Image& image, const Similarity& to_picture);
  void Paste(pixel::Image& image, const Similarity& to_crop, float strength, pixel::ThreadPool& pool) const;

  std::unique_ptr<inference::TensorNetwork> network_;
  std::size_t picture_end_ = 0;
  int side_ = 0;
  float max_change_ = 255;
  RgbPicture crop_;
  RgbPicture change_;  ///< R′G′B′, 8-bit codes
};

}  // namespace reelmend::faces
