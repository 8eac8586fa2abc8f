// Sound that MP4 does not hold: decoded, resampled where AAC needs it, encoded as AAC.
#pragma once

#include <memory>

#include "media/audio_track.h"

namespace reelmend::media {

/// Null when there is no decoder for the stream on the allow list or its parameters are unusable.
std::unique_ptr<AudioTrack> MakeEncodedAudio(const AVStream& stream, Muxer& muxer);

}  // namespace reelmend::media
