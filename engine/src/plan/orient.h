// Turning and mirroring pictures.
#pragma once

#include "media/geometry.h"
#include "pixel/stages.h"

namespace reelmend::plan {

/// Where chroma of a picture that was sited as `site` lies after the turn. (Of a mirrored axis with an odd number of luma
/// samples as of an even one: its chroma would lie up to one luma sample beside any named place.)
pixel::ChromaSite OrientedSite(pixel::ChromaSite site, const media::Orientation& orientation);

/// What a turn makes of the chroma subsampling (4:2:2 becomes 4:4:0 and the other way round).
pixel::Subsampling OrientedSubsampling(pixel::Subsampling subsampling, const media::Orientation& orientation);

/// Writes `in` turned into `out`, which has the turned size and subsampling. Exact: samples only move; the resize
/// brings chroma from where OrientedSite says to the left again.
void Orient(const pixel::Image& in, pixel::Image& out, const media::Orientation& orientation, pixel::ThreadPool& pool);

}  // namespace reelmend::plan
