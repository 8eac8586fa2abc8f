#include "faces/face_geometry.h"

namespace reelmend::faces {

Similarity Similarity::Inverse() const {
  const float square = a * a + b * b;
  const float ia = a / square;
  const float ib = -b / square;
  return {ia, ib, -(ia * x0 - ib * y0), -(ib * x0 + ia * y0)};
}

Similarity FitSimilarity(const Landmarks& from, const Landmarks& to) {
  Point from_mean;
  Point to_mean;
  for (std::size_t i = 0; i < kPoints; ++i) {
    from_mean.x += from[i].x / kPoints;
    from_mean.y += from[i].y / kPoints;
    to_mean.x += to[i].x / kPoints;
    to_mean.y += to[i].y / kPoints;
  }
  float dot = 0;
  float cross = 0;
  float spread = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const Point p = {from[i].x - from_mean.x, from[i].y - from_mean.y};
    const Point q = {to[i].x - to_mean.x, to[i].y - to_mean.y};
    dot += p.x * q.x + p.y * q.y;
    cross += p.x * q.y - p.y * q.x;
    spread += p.x * p.x + p.y * p.y;
  }
  Similarity fit;
  if (spread > 0 && (dot != 0 || cross != 0)) {
    fit.a = dot / spread;
    fit.b = cross / spread;
  }
  fit.x0 = to_mean.x - (fit.a * from_mean.x - fit.b * from_mean.y);
  fit.y0 = to_mean.y - (fit.b * from_mean.x + fit.a * from_mean.y);
  return fit;
}

Landmarks AlignedPoints(int side) {
  constexpr Landmarks kFfhq512 = {
      {{192.98F, 239.95F}, {318.90F, 240.19F}, {256.63F, 314.02F}, {201.26F, 371.41F}, {313.09F, 371.15F}}};
  Landmarks scaled = kFfhq512;
  for (Point& point : scaled) {
    point.x *= static_cast<float>(side) / 512;
    point.y *= static_cast<float>(side) / 512;
  }
  return scaled;
}

std::optional<Similarity> ToCrop(const Landmarks& points, int side) {
  const Similarity to_crop = FitSimilarity(points, AlignedPoints(side));
  if (to_crop.scale() > 1e-3F && to_crop.scale() < 1e3F) return to_crop;
  return std::nullopt;
}

}  // namespace reelmend::faces
