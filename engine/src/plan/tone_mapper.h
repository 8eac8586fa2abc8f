// Tone mapping of a source's frames.
#pragma once

#include <memory>

#include "media/color_tags.h"
#include "pixel/tone_map.h"

namespace reelmend::plan {

/// Tone mapping for frames of this colour; null for SDR with usual primaries.
inline std::unique_ptr<pixel::ToneMapper> MakeToneMapper(const media::SourceColor& color, double peak_nits) {
  if (!color.hdr) return nullptr;
  return std::make_unique<pixel::ToneMapper>(pixel::ToneMapOptions{*color.hdr, color.gamut, peak_nits});
}

}  // namespace reelmend::plan
