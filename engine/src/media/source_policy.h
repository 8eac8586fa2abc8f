// What a source may be: the demuxers and decoders that are let near a customer's bytes.
#pragma once

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

/// Subtitles that are words (SubRip, ASS, WebVTT, timed text), not pictures.
bool IsTextSubtitle(AVCodecID id);

}  // namespace reelmend::media
