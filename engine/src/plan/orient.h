// Rotates and mirrors pictures.
#pragma once

#include "media/geometry.h"
#include "pixel/stages.h"

namespace reelmend::plan {

/// Chroma subsampling after the rotation: 4:2:2 becomes 4:4:0 and vice versa.
pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation);

/// The colour with its chroma siting after the rotation. `size` and `subsampling` are those after it.
pixel::ColorSpec OrientedColor(pixel::ColorSpec color, const media::Orientation& orientation, Size size, pixel::Subsampling subsampling);

/// Writes `in`, rotated, into `out`, which has the rotated size and subsampling. Exact: samples only move. The resize moves
/// chroma from where OrientedColor says to the left again.
void Orient(const pixel::Image& in, pixel::Image& out, const media::Orientation& orientation, pixel::ThreadPool& pool);

}  // namespace reelmend::plan
