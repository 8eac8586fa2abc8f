// Arrangements of channels: those that AAC names, and what libav needs to know about a source's.
#pragma once

#include <vector>

extern "C" {
#include <libavutil/channel_layout.h>
}

namespace reelmend::media {

/// Note [Channels]
/// AAC numbers a few arrangements of channels. For all others a file describes each channel; few players read that, and libav's encoder
/// refuses most of them, even a single left channel, which editors store in a track of its own. So sound is encoded in the smallest numbered
/// arrangement that has its channels: front and rear pairs in 5.0, whose centre is silent. A channel without a counterpart is mixed into its
/// neighbours. One or two channels stay as they are, whatever their names: mixed by their names, a low-frequency channel would be lost.
/// More than eight channels become stereo. If they have no names, as those of a recorder with many microphones, nobody knows where they
/// belong, so each is heard in both.

/// Whether a number of channels means this arrangement in FLAC (RFC 9639, 9.1.3). Matroska states others beside the stream, and MP4 does not.
bool IsUsualInFlac(const AVChannelLayout& layout);

/// The arrangement that the resampler reads. A view: memory still belongs to `layout`.
AVChannelLayout ResamplerLayout(const AVChannelLayout& layout);

/// The usual arrangement of so many channels; more than eight have none.
AVChannelLayout UsualLayout(int channels);

/// The numbered arrangement of AAC for sound.
AVChannelLayout AacLayout(const AVChannelLayout& layout);

/// Channels that the resampler takes at most.
constexpr int kMostMixedChannels = 64;

/// How much of each channel of `from` is heard in each of `to`, which has left and right in front: a row for each of `to`. Empty if the
/// resampler knows that itself; it does not for channels without names and for those above the listener.
std::vector<double> MixingMatrix(const AVChannelLayout& from, const AVChannelLayout& to);

}  // namespace reelmend::media
