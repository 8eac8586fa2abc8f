// Arrangements of channels: those that AAC names, and what libav needs to know about a source's.
#pragma once

extern "C" {
#include <libavutil/channel_layout.h>
}

namespace reelmend::media {

/// Note [Channels]
/// AAC numbers a few arrangements of channels. For all others a file describes each channel; few players read that, and libav's encoder
/// refuses most of them, even a single left channel, which editors store in a track of its own. So sound is encoded in the smallest numbered
/// arrangement that has its channels: front and rear pairs in 5.0, whose centre is silent. A channel without a counterpart is mixed into its
/// neighbours. One or two channels stay as they are, whatever their names: mixed by their names, a low-frequency channel would be lost.

/// The arrangement that the resampler reads. A view: memory still belongs to `layout`.
AVChannelLayout ResamplerLayout(const AVChannelLayout& layout);

/// The usual arrangement of so many channels.
AVChannelLayout UsualLayout(int channels);

/// The numbered arrangement of AAC for sound. More than eight channels become stereo.
AVChannelLayout AacLayout(const AVChannelLayout& layout);

}  // namespace reelmend::media
