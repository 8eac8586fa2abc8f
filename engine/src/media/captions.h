// Captions that are stored with the pictures.
#pragma once

#include "media/av_handles.h"

namespace reelmend::media {

/// Note [Captions]
/// North American broadcasts carry captions (CEA-608 and CEA-708) in the video stream, a few bytes with each picture (ATSC A/53). Decoders hand
/// them out with the frame, and encoders write them into the stream again.

/// The captions of a decoded frame; null if it has none.
UniqueBuffer TakeCaptions(const AVFrame& frame);

/// Gives captions to the frame that is encoded. Null is allowed.
void SetCaptions(AVFrame& frame, UniqueBuffer captions);

}  // namespace reelmend::media
