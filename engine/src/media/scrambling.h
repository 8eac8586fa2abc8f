// Detects scrambled recordings: pay television and copied DVDs.
#pragma once

#include "media/demuxer.h"

namespace reelmend::media {

/// Note [Scrambled packets]
/// Each packet of a transport stream, and of a program stream, states whether it is scrambled. libav decodes it all the same, and finds no
/// frames or noise. Three samples of the file are looked at, none at its beginning, where receivers often have no key yet. Not more than half
/// of the packets of a DVD are scrambled, so a tenth is enough there.

/// Throws Error{kUnreadableVideo} if the chosen tracks of a transport or program stream are scrambled.
void CheckUnscrambled(const Demuxer& demuxer, ByteSource& source);

}  // namespace reelmend::media
