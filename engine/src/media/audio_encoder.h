// Converts sound that MP4 cannot hold: decodes it, resamples it if AAC needs that, encodes it as AAC.
#pragma once

#include <cstdint>
#include <memory>

#include "media/adts.h"
#include "media/audio_track.h"

namespace reelmend::media {

/// Null if no allowed decoder exists for the stream or its parameters are unusable.
std::unique_ptr<AudioTrack> MakeEncodedAudio(const AVStream& stream, Muxer& muxer);

/// A track of AAC frames that has been copied so far. Its frames have ADTS headers if its parameters have no AudioSpecificConfig.
struct CopiedAac {
  int stream = 0;  ///< of the muxer
  AacFormat format;
  const AVCodecParameters& parameters;  ///< of the source's stream
  AVRational time_base;                 ///< of the source's stream, and of the next two
  std::int64_t end = 0;                 ///< of what was copied, since the origin
  std::int64_t offset = 0;              ///< added to the source's times
};

/// Continues such a track with frames of other formats: encodes them in the track's format. Null if the encoder cannot.
std::unique_ptr<AudioTrack> MakeContinuedAudio(const CopiedAac& track, Muxer& muxer);

}  // namespace reelmend::media
