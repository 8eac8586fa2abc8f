// Detects encrypted video and sound. Decoders do not notice it and return grey pictures and noise.
#pragma once

#include "media/av_handles.h"

namespace reelmend::media {

/// Whether the container declares a track of video or sound as encrypted: Common Encryption and FairPlay in MP4, AES
/// in WebM. Reads the headers again and restores the reading position.
bool IsEncrypted(AVFormatContext& context);

/// The same for a file that libav does not open: since FFmpeg 7 it refuses the headers of some encrypted fragments. False if
/// the file is no MP4.
bool IsEncryptedMp4(AVIOContext& io);

/// Whether libav reports a packet as encrypted. A second check, for files with unusual headers.
bool IsEncrypted(const AVPacket& packet);

/// Throws Error{kUnreadableVideo}.
[[noreturn]] void ThrowEncrypted();

}  // namespace reelmend::media
