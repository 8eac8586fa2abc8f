// Converts sound that MP4 cannot hold: decodes it, resamples it if AAC needs that, encodes it as AAC.
#pragma once

#include <memory>

#include "media/audio_track.h"

namespace reelmend::media {

/// Null if no allowed decoder exists for the stream or its parameters are unusable.
std::unique_ptr<AudioTrack> MakeEncodedAudio(const AVStream& stream, Muxer& muxer);

}  // namespace reelmend::media
