// Sources whose pictures or sound are encrypted. Decoders do not notice: they make grey pictures and noise of what they cannot read.
#pragma once

#include "media/av_handles.h"

namespace reelmend::media {

/// Whether the container says that a track of pictures or sound is encrypted: Common Encryption and FairPlay in MP4, AES in
/// WebM. Reads the headers again and leaves the reading position as it was.
bool IsEncrypted(AVFormatContext& context);

/// Whether libav says of a packet that it is encrypted. A second sign, for files whose headers are too odd to be read again.
bool IsEncrypted(const AVPacket& packet);

}  // namespace reelmend::media
