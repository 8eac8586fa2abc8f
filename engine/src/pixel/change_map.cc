#include "pixel/change_map.h"

#include <algorithm>
#include <cstring>

namespace reelmend::pixel {
namespace {

int Blocks(int size) { return (size + ChangeMap::kBlock - 1) / ChangeMap::kBlock; }

}  // namespace

PictureView ViewOf(const Image& image) { return {image.plane(0), image.plane(1), image.plane(2)}; }

ChangeMap::ChangeMap(int width, int height, Subsampling subsampling)
    : columns_(Blocks(width)), rows_(Blocks(height)), subsampling_(subsampling) {
  changed_.resize(static_cast<std::size_t>(columns_) * rows_);
}

bool ChangeMap::Differs(const PictureView& a, const PictureView& b, int plane, int column, int row) const {
  const int across = plane == 0 ? kBlock : kBlock >> subsampling_.log2_x;
  const int down = plane == 0 ? kBlock : kBlock >> subsampling_.log2_y;
  const int x = column * across;
  const int first = row * down;
  const int last = std::min(first + down, a[plane].height);
  const int width = std::min(across, a[plane].width - x);
  if (width <= 0) return false;  // chroma's sides are rounded up, but stay within luma's blocks
  const std::size_t bytes = sizeof(std::uint16_t) * static_cast<std::size_t>(width);
  for (int y = first; y < last; ++y) {
    if (std::memcmp(a[plane].Row(y) + x, b[plane].Row(y) + x, bytes) != 0) return true;
  }
  return false;
}

bool ChangeMap::Compare(const PictureView& a, const PictureView& b, Planes planes, int most) {
  const int last_plane = planes == Planes::kLuma ? 0 : 2;
  count_ = 0;
  for (int row = 0; row < rows_; ++row) {
    for (int column = 0; column < columns_; ++column) {
      bool differs = false;
      for (int plane = 0; plane <= last_plane && !differs; ++plane) differs = Differs(a, b, plane, column, row);
      changed_[static_cast<std::size_t>(row) * columns_ + column] = differs ? 1 : 0;
      count_ += differs ? 1 : 0;
      if (count_ > most) return false;
    }
  }
  return true;
}

bool ChangeMap::Touches(int x, int y, int width, int height) const {
  const int left = std::max(0, x) / kBlock;
  const int top = std::max(0, y) / kBlock;
  const int right = std::min(columns_, Blocks(x + width));
  const int bottom = std::min(rows_, Blocks(y + height));
  for (int row = top; row < bottom; ++row) {
    for (int column = left; column < right; ++column) {
      if (changed_[static_cast<std::size_t>(row) * columns_ + column] != 0) return true;
    }
  }
  return false;
}

}  // namespace reelmend::pixel
