#include "media/audio_codecs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "media/av_error.h"
#include "media/channel_layouts.h"
#include "media/source_policy.h"

extern "C" {
#include <libavutil/channel_layout.h>
}

namespace reelmend::media {
namespace {

constexpr std::int64_t kBitsPerChannel = 96'000;

/// The source's rate if AAC supports it, otherwise the next higher one.
int AacSampleRate(int rate) {
  constexpr std::array kRates = {7350,  8000,  11025, 12000, 16000, 22050, 24000,
                                 32000, 44100, 48000, 64000, 88200, 96000};
  const auto found = std::ranges::lower_bound(kRates, rate);
  return found == kRates.end() ? 96'000 : *found;
}

/// Whether each frame of the codec states its sample rate and channels.
bool DescribesItself(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_MP1:
    case AV_CODEC_ID_MP2:
    case AV_CODEC_ID_MP3:
    case AV_CODEC_ID_AAC:
    case AV_CODEC_ID_AAC_LATM:
    case AV_CODEC_ID_AC3:
    case AV_CODEC_ID_EAC3:
    case AV_CODEC_ID_DTS:
    case AV_CODEC_ID_PCM_BLURAY:
    case AV_CODEC_ID_PCM_DVD:
    case AV_CODEC_ID_S302M: return true;
    default: return false;
  }
}

UniqueCodecContext OpenAacEncoder(int sample_rate, const AVChannelLayout& layout) {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_AAC);
  if (codec == nullptr) return nullptr;
  UniqueCodecContext context(CheckAlloc(avcodec_alloc_context3(codec)));
  context->sample_fmt = AV_SAMPLE_FMT_FLTP;
  context->sample_rate = AacSampleRate(sample_rate);
  context->time_base = {1, context->sample_rate};
  context->ch_layout = AacLayout(layout);
  context->bit_rate = kBitsPerChannel * std::max(1, std::min(context->ch_layout.nb_channels, 6));
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  return avcodec_open2(context.get(), codec, nullptr) < 0 ? nullptr : std::move(context);
}

UniqueCodecContext OpenAacEncoder(int sample_rate, int channels) {
  return OpenAacEncoder(sample_rate, UsualLayout(channels));
}

}  // namespace

bool IsSoundRate(int rate) {
  constexpr int kLowest = 4'000;
  constexpr int kHighest = 768'000;
  return rate >= kLowest && rate <= kHighest;
}

UniqueCodecContext OpenSoundDecoder(const AVCodecParameters& parameters, AVRational time_base) {
  const AVCodec* codec = FindAllowedDecoder(parameters.codec_id);
  if (codec == nullptr) return nullptr;
  UniqueCodecContext context(CheckAlloc(avcodec_alloc_context3(codec)));
  if (avcodec_parameters_to_context(context.get(), &parameters) < 0) return nullptr;
  context->pkt_timebase = time_base;
  return avcodec_open2(context.get(), codec, nullptr) < 0 ? nullptr : std::move(context);
}

UniqueCodecContext OpenAacEncoder(const AVCodecContext& decoder) {
  const bool is_late = decoder.sample_rate == 0 || decoder.ch_layout.nb_channels == 0;
  if (is_late) return DescribesItself(decoder.codec_id) ? OpenAacEncoder(48'000, 2) : nullptr;
  const bool is_sound = IsSoundRate(decoder.sample_rate) && decoder.ch_layout.nb_channels <= kMostMixedChannels;
  return is_sound ? OpenAacEncoder(decoder.sample_rate, decoder.ch_layout) : nullptr;
}

UniqueCodecContext OpenAacEncoder(AacFormat format) {
  UniqueCodecContext encoder = format.channels() > 0 ? OpenAacEncoder(format.sample_rate(), format.channels()) : nullptr;
  const bool fits = encoder && ReadConfigFormat(encoder->extradata, encoder->extradata_size) == format;
  return fits ? std::move(encoder) : nullptr;
}

}  // namespace reelmend::media
