// Rotates and mirrors pictures.
#pragma once

#include "media/geometry.h"
#include "pixel/stages.h"

namespace reelmend::plan {

/// Chroma siting after the rotation. An axis with an odd number of luma samples is treated like an even one; mirrored, its
/// chroma may be up to one luma sample off.
pixel::ChromaSite OrientedSite(pixel::ChromaSite site, const media::Orientation& orientation);

/// Chroma subsampling after the rotation: 4:2:2 becomes 4:4:0 and vice versa.
pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation);

/// Writes `in`, rotated, into `out`, which has the rotated size and subsampling. Exact: samples only move. The resize moves
/// chroma from OrientedSite to the left again.
void Orient(const pixel::Image& in, pixel::Image& out, const media::Orientation& orientation, pixel::ThreadPool& pool);

}  // namespace reelmend::plan
