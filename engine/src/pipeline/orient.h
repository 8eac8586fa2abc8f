// Turning and mirroring pictures.
#pragma once

#include "media/geometry.h"
#include "pixel/stages.h"

namespace framelift::pipeline {

/// What a turn makes of the chroma subsampling (4:2:2 becomes 4:4:0 and the other way round).
pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation);

/// What a turn makes of the chroma siting.
pixel::ColorSpec OrientedColor(pixel::ColorSpec color, const media::Orientation& orientation);

/// Writes `in` turned into `out`, which has the turned size and subsampling. Exact: samples only move.
void Orient(const pixel::Image& in, pixel::Image& out, const media::Orientation& orientation, pixel::ThreadPool& pool);

}  // namespace framelift::pipeline
