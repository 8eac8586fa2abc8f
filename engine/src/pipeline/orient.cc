#include "pipeline/orient.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace framelift::pipeline {
namespace {

using pixel::ConstPlane;
using pixel::Plane;

void OrientRow(const ConstPlane& in, const Plane& out, const media::Orientation& o, int y) {
  const int row = o.flip_y ? in.height - 1 - y : y;
  if (!o.flip_x) {
    std::memcpy(out.Row(y), in.Row(row), sizeof(std::uint16_t) * static_cast<std::size_t>(in.width));
  } else {
    std::reverse_copy(in.Row(row), in.Row(row) + in.width, out.Row(y));
  }
}

/// Rows [first, last) of a transposition, in blocks that stay in the cache.
void TransposeRows(const ConstPlane& in, const Plane& out, const media::Orientation& o, int first, int last) {
  constexpr int kBlock = 16;
  for (int x0 = 0; x0 < out.width; x0 += kBlock) {
    const int x1 = std::min(x0 + kBlock, out.width);
    for (int y = first; y < last; ++y) {
      const int column = o.flip_y ? in.width - 1 - y : y;
      std::uint16_t* row = out.Row(y);
      for (int x = x0; x < x1; ++x) row[x] = in.Row(o.flip_x ? in.height - 1 - x : x)[column];
    }
  }
}

}  // namespace

pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation) {
  if (orientation.transpose) std::swap(subsampling.log2_x, subsampling.log2_y);
  return subsampling;
}

void Orient(const pixel::Image& in, pixel::Image& out, const media::Orientation& orientation, pixel::ThreadPool& pool) {
  for (int i = 0; i < 3; ++i) {
    const ConstPlane from = in.plane(i);
    const Plane to = out.plane(i);
    pool.ParallelRows(to.height, 16, [&](int first, int last) {
      if (orientation.transpose) {
        TransposeRows(from, to, orientation, first, last);
      } else {
        for (int y = first; y < last; ++y) OrientRow(from, to, orientation, y);
      }
    });
  }
}

}  // namespace framelift::pipeline
