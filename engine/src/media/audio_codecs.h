// Decoders and encoders of sound.
#pragma once

#include "media/adts.h"
#include "media/av_handles.h"

namespace reelmend::media {

/// Whether a sample rate in hertz is that of sound. A file may declare any rate; each sample of a 1 Hz track would become thousands of
/// output samples.
bool IsSoundRate(int rate);

/// Null if there is none or it cannot be opened.
UniqueCodecContext OpenSoundDecoder(const AVCodecParameters& parameters, AVRational time_base);

/// An encoder for what that decoder returns; null if there is none. If the first packet is still to come (Note [Late streams] in
/// demuxer.cc), the encoder takes what is most common.
UniqueCodecContext OpenAacEncoder(const AVCodecContext& decoder);

/// An encoder whose frames have that format; null if there is none.
UniqueCodecContext OpenAacEncoder(AacFormat format);

}  // namespace reelmend::media
