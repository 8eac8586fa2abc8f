// Which parts of a picture differ from another one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pixel/image.h"

namespace reelmend::pixel {

/// Views of the planes of an Image; they stay valid when the Image is moved.
using PictureView = std::array<ConstPlane, 3>;
PictureView ViewOf(const Image& image);

/// Compares pictures of one size block by block, bit by bit. The last blocks of a row or column may be smaller.
class ChangeMap {
 public:
  static constexpr int kBlock = 32;  ///< side, in samples of luma

  ChangeMap(int width, int height, Subsampling subsampling);

  /// Marks the blocks that differ in `planes` (kAll or kLuma). Stops and returns false at more than `most` of them; the rest
  /// is then unknown.
  bool Compare(const PictureView& a, const PictureView& b, Planes planes, int most);

  int blocks() const { return static_cast<int>(changed_.size()); }
  int changed() const { return count_; }
  /// Whether the rectangle, in samples of luma and cut at the picture's edges, touches a changed block.
  bool Touches(int x, int y, int width, int height) const;

 private:
  bool Differs(const PictureView& a, const PictureView& b, int plane, int column, int row) const;

  int columns_;
  int rows_;
  Subsampling subsampling_;
  std::vector<std::uint8_t> changed_;
  int count_ = 0;
};

}  // namespace reelmend::pixel
