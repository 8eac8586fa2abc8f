// A picture in which faces are searched, wherever its samples lie.
#pragma once

#include <span>

#include "faces/face_geometry.h"
#include "faces/sampling.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

/// Left-sited.
class FacePicture {
 public:
  virtual ~FacePicture() = default;
  /// The whole picture, averaged over areas to the size of `out`.
  virtual void Reduce(RgbPicture& out) = 0;
  /// Squares of the picture as R′G′B′ of the size of `out`, one for each; all of the same size. Black outside of the picture.
  virtual void Crop(std::span<const Box> squares, std::span<RgbPicture> out) = 0;
};

/// From the pixels of a crop of `side` pixels to the square in the picture.
inline Similarity ToSquare(const Box& square, int side) { return {square.side() / static_cast<float>(side), 0, square.left, square.top}; }

/// In the host's memory.
class HostPicture : public FacePicture {
 public:
  /// Both must outlive it.
  HostPicture(const pixel::Image& image, pixel::ThreadPool& pool) : image_(image), pool_(pool) {}

  void Reduce(RgbPicture& out) override { ReduceToRgb(image_, out, pool_); }
  void Crop(std::span<const Box> squares, std::span<RgbPicture> out) override {
    for (std::size_t i = 0; i < squares.size(); ++i) Sample(image_, ToSquare(squares[i], out[i].width), true, out[i]);
  }

 private:
  const pixel::Image& image_;
  pixel::ThreadPool& pool_;
};

}  // namespace reelmend::faces
