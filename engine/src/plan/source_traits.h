// What is measured on a few frames of a source.
#pragma once

#include "media/demuxer.h"
#include "pixel/tone_map.h"
#include "plan/damage.h"
#include "plan/picture_stats.h"
#include "plan/restoration_choice.h"
#include "reelmend/probe.h"

namespace reelmend::plan {

/// Properties of the source, measured on a few frames.
struct SourceTraits {
  float noise_sigma = 0;  ///< noise of luma, standard deviation in 8-bit levels; median of the measured frames
  VideoLevels levels;     ///< of luma, over the measured frames
  float compression_error = 0; ///< of luma, by the stream's quantiser, RMS in 8-bit levels (Note [Compression error]); median
  DamageEstimate damage = {};  ///< from the pictures alone (Note [Damage])
};

/// The input of DescribeDamage: the estimate from the pictures, but with the compression error by the stream's quantiser if
/// that is larger.
DamageEstimate DamageToDescribe(const SourceTraits& traits);

/// The traits in the form that ChooseRestoration takes.
Damage DamageOf(const SourceTraits& traits);

/// What MeasureTraits needs to know of the source, besides its frames.
struct SourceFacts {
  ProbeResult probe;
  AVRational frame_rate;  ///< Plan::frame_rate
  double peak_nits = pixel::kDefaultPeakNits;  ///< of an HDR source
};

/// Measures the first frame and one near each of a few positions (the same for every segment of the video), because the
/// first frame is often black or a title. Moves the demuxer.
SourceTraits MeasureTraits(media::Demuxer& demuxer, const AVFrame& first, const SourceFacts& facts, const SourceLimits& limits, int threads);

}  // namespace reelmend::plan
