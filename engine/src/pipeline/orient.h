// Turning and mirroring pictures.
#pragma once

#include "media/geometry.h"
#include "pixel/stages.h"

namespace framelift::pipeline {

/// What a turn makes of the chroma subsampling (4:2:2 becomes 4:4:0 and the other way round).
pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation);

// The chroma siting is kept as it is labelled. Strictly, left-sited chroma turned by 90° lies at the top or
// bottom; shifting it into place would blur every turned video for a quarter to half of a chroma sample that
// the common players do not correct either (they turn the planes, too).

/// Writes `in` turned into `out`, which has the turned size and subsampling. Exact: samples only move.
void Orient(const pixel::Image& in, pixel::Image& out, const media::Orientation& orientation, pixel::ThreadPool& pool);

}  // namespace framelift::pipeline
