// The demuxers and decoders that may read customers' files.
#pragma once

#include <string>

extern "C" {
#include <libavcodec/codec_id.h>
}

struct AVCodec;

namespace reelmend::media {

/// Comma-separated names for AVFormatContext.format_whitelist.
const char* AllowedDemuxers();

/// Comma-separated decoder names for codec_whitelist: video, audio and text.
const char* AllowedDecoders();

/// The decoder for `id` if it is on the allow list, else nullptr.
const AVCodec* FindAllowedDecoder(AVCodecID id);

/// Why a video of that codec is refused: one sentence, with libav's name of the codec if it has one.
std::string WhyUnsupported(AVCodecID id);

/// Whether a subtitle format is text (SubRip, ASS, WebVTT, timed text), not pictures.
bool IsTextSubtitle(AVCodecID id);

}  // namespace reelmend::media
