// Headers of AAC frames in transport and program streams (ADTS, ISO/IEC 14496-3, 1.A.3).
#pragma once

#include <cstdint>
#include <optional>

#include "media/av_handles.h"

namespace reelmend::media {

/// The format of an AAC stream as the first 16 bits of an AudioSpecificConfig have it (ISO/IEC 14496-3, 1.6.2.1): 5 bits of profile, 4 of
/// the sample rate's index, 4 of the channel configuration; then zeros.
struct AacFormat {
  std::uint16_t bits = 0;
  bool operator==(const AacFormat&) const = default;
  int sample_rate() const;  ///< in hertz; 0 if the index is reserved
  int channels() const;     ///< 0 if only the frames tell
};

/// The format according to the packet's ADTS header; nothing if it has none.
std::optional<AacFormat> ReadAdtsFormat(const AVPacket& packet);

/// The format according to an AudioSpecificConfig; nothing if it is shorter.
std::optional<AacFormat> ReadConfigFormat(const std::uint8_t* config, int size);

/// A copy of a raw AAC frame with an ADTS header.
UniquePacket WithAdtsHeader(const AVPacket& frame, AacFormat format);

}  // namespace reelmend::media
