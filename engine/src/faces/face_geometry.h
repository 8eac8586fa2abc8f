// Faces as rectangles and five landmarks, and the similarity transform that aligns one with a square crop.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "pixel/hd.h"

namespace reelmend::faces {

/// In pixels of the picture; (0.5, 0.5) is the middle of its first pixel.
struct Point {
  float x = 0;
  float y = 0;
};

struct Box {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  float width() const { return right - left; }
  float height() const { return bottom - top; }
  float side() const { return std::max(width(), height()); }
  Point centre() const { return {(left + right) / 2, (top + bottom) / 2}; }
  bool operator==(const Box&) const = default;
};

/// The square of the box's longer side around its middle.
inline Box Squared(const Box& box) {
  const auto [x, y] = box.centre();
  const float half = box.side() / 2;
  return {x - half, y - half, x + half, y + half};
}

inline float Overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return std::max(0.0F, width) * std::max(0.0F, height);
}

/// Intersection over union, 0…1.
inline float OverlapOfUnion(const Box& a, const Box& b) {
  const float both = Overlap(a, b);
  return both <= 0 ? 0 : both / (a.width() * a.height() + b.width() * b.height() - both);
}

inline constexpr std::size_t kPoints = 5;
/// Left eye as seen in the picture, right eye, tip of the nose, left and right corner of the mouth.
using Landmarks = std::array<Point, kPoints>;

struct Face {
  Box box;
  float score = 0;  ///< 0…1
  Landmarks points;
};

/// Mean distance between two sets of points, in pixels.
inline float Distance(const Landmarks& a, const Landmarks& b) {
  float sum = 0;
  for (std::size_t i = 0; i < kPoints; ++i) sum += std::hypot(a[i].x - b[i].x, a[i].y - b[i].y);
  return sum / kPoints;
}

/// x′ = a·x − b·y + x0, y′ = b·x + a·y + y0: rotates, moves and scales, never mirrors.
struct Similarity {
  float a = 1;
  float b = 0;
  float x0 = 0;
  float y0 = 0;
  REELMEND_HD Point operator()(Point p) const { return {a * p.x - b * p.y + x0, b * p.x + a * p.y + y0}; }
  REELMEND_HD float scale() const { return std::hypot(a, b); }
  Similarity Inverse() const;
};

/// Least squares over the points (Umeyama 1991, for two dimensions in closed form). Points that all coincide give the
/// identity, moved.
Similarity FitSimilarity(const Landmarks& from, const Landmarks& to);

/// Landmarks of an aligned face in a crop of side × side: the FFHQ alignment at 512, scaled.
Landmarks AlignedPoints(int side);

/// From the picture to the aligned crop; none if all points coincide.
std::optional<Similarity> ToCrop(const Landmarks& points, int side);

}  // namespace reelmend::faces
