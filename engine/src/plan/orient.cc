#include "plan/orient.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace reelmend::plan {
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

/// Position of chroma along each axis: −1 first, 0 middle, 1 last.
struct ChromaPhase {
  int x;
  int y;
};

ChromaPhase PhaseOf(pixel::ChromaSite site) {
  using pixel::ChromaSite;
  switch (site) {
    case ChromaSite::kLeft: return {-1, 0};
    case ChromaSite::kCentre: return {0, 0};
    case ChromaSite::kTopLeft: return {-1, -1};
    case ChromaSite::kTop: return {0, -1};
    case ChromaSite::kRight: return {1, 0};
    case ChromaSite::kBottom: return {0, 1};
    case ChromaSite::kTopRight: return {1, -1};
    case ChromaSite::kBottomLeft: return {-1, 1};
    case ChromaSite::kBottomRight: return {1, 1};
  }
  return {0, 0};
}

pixel::ChromaSite SiteOf(ChromaPhase phase) {
  using pixel::ChromaSite;
  constexpr ChromaSite kSites[3][3] = {{ChromaSite::kTopLeft, ChromaSite::kTop, ChromaSite::kTopRight},
                                       {ChromaSite::kLeft, ChromaSite::kCentre, ChromaSite::kRight},
                                       {ChromaSite::kBottomLeft, ChromaSite::kBottom, ChromaSite::kBottomRight}};
  return kSites[phase.y + 1][phase.x + 1];
}

}  // namespace

pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation) {
  if (orientation.transpose) std::swap(subsampling.log2_x, subsampling.log2_y);
  return subsampling;
}

pixel::ColorSpec OrientedColor(pixel::ColorSpec color, const media::Orientation& orientation, Size size, pixel::Subsampling subsampling) {
  ChromaPhase phase = PhaseOf(color.site);
  if (orientation.transpose) std::swap(phase.x, phase.y);
  if (orientation.flip_x) phase.x = -phase.x;
  if (orientation.flip_y) phase.y = -phase.y;
  color.site = SiteOf(phase);
  // The last block of an odd axis has one luma sample. Mirrored, that block is the first.
  color.shift_x = orientation.flip_x && subsampling.log2_x != 0 ? size.width % 2 : 0;
  color.shift_y = orientation.flip_y && subsampling.log2_y != 0 ? size.height % 2 : 0;
  return color;
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

}  // namespace reelmend::plan
