#include "media/source_policy.h"

#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/codec_desc.h>
#include <libavutil/avstring.h>
}

namespace reelmend::media {
namespace {

// Containers that people keep videos in. None that names other files (playlists, concat scripts, manifests, image sequences,
// SDP), and no text formats.
constexpr const char* kDemuxers =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,flv,asf,ogg,mxf,dv,ivf,gif";

// Codecs that cameras, phones, editors and encoders of the last decades commonly use. Memory errors are most likely in rare
// decoders, so the list is short.
constexpr const char* kVideoDecoders =
    "h264,hevc,vp8,vp9,libdav1d,av1,mpeg4,mpeg1video,mpeg2video,msmpeg4v1,msmpeg4v2,msmpeg4,wmv1,wmv2,wmv3,vc1,"
    "h263,h263p,flv,vp6,vp6f,theora,mjpeg,prores,dnxhd,dvvideo,gif,rawvideo,ffv1,huffyuv,ffvhuff,svq1,svq3,"
    "cinepak,qtrle,png,v210";
constexpr const char* kAudioDecoders =
    "aac,aac_latm,mp1float,mp2float,mp3float,mp3,mp2,ac3,eac3,dca,truehd,mlp,opus,libopus,vorbis,flac,alac,wavpack,tta,"
    "wmav1,wmav2,wmapro,wmalossless,amrnb,amrwb,nellymoser,speex,libspeex,gsm,gsm_ms,"
    "pcm_s8,pcm_u8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,"
    "pcm_f64be,pcm_alaw,pcm_mulaw,pcm_bluray,pcm_dvd,s302m,adpcm_ima_qt,adpcm_ima_wav,adpcm_ms,adpcm_swf";
constexpr const char* kTextDecoders = "subrip,srt,ass,ssa,webvtt,text,mov_text";

}  // namespace

const char* AllowedDemuxers() { return kDemuxers; }

const char* AllowedDecoders() {
  static const std::string list = std::string(kVideoDecoders) + "," + kAudioDecoders + "," + kTextDecoders;
  return list.c_str();
}

const AVCodec* FindAllowedDecoder(AVCodecID id) {
  // libav's own AV1 decoder only works on a GPU.
  const AVCodec* codec = id == AV_CODEC_ID_AV1 ? avcodec_find_decoder_by_name("libdav1d") : nullptr;
  if (codec == nullptr) codec = avcodec_find_decoder(id);
  return codec != nullptr && av_match_list(codec->name, AllowedDecoders(), ',') > 0 ? codec : nullptr;
}

std::string WhyUnsupported(AVCodecID id) {
  const AVCodecDescriptor* codec = id == AV_CODEC_ID_NONE ? nullptr : avcodec_descriptor_get(id);
  return codec == nullptr ? "The video's codec is not supported." : "The video's codec (" + std::string(codec->name) + ") is not supported.";
}

bool IsTextSubtitle(AVCodecID id) {
  switch (id) {
    case AV_CODEC_ID_SUBRIP:
    case AV_CODEC_ID_ASS:
    case AV_CODEC_ID_SSA:
    case AV_CODEC_ID_WEBVTT:
    case AV_CODEC_ID_TEXT:
    case AV_CODEC_ID_MOV_TEXT: return true;
    default: return false;
  }
}

}  // namespace reelmend::media
