#include "media/video_decoder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "media/av_error.h"
#include "media/source_policy.h"

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace reelmend::media {
namespace {

/// Some decoders copy the file's byte into a tag even if the enumeration has no such value. Reading such an enumeration is
/// undefined in C++, so its bytes are read as a number.
template <typename Tag>
void ForgetUnknown(Tag& tag, int count, Tag unspecified) {
  static_assert(sizeof(Tag) == sizeof(int));
  int value = 0;
  std::memcpy(&value, &tag, sizeof value);
  if (value < 0 || value >= count) tag = unspecified;
}

void ForgetUnknownTags(AVFrame& frame) {
  ForgetUnknown(frame.color_primaries, static_cast<int>(AVCOL_PRI_NB), AVCOL_PRI_UNSPECIFIED);
  ForgetUnknown(frame.color_trc, static_cast<int>(AVCOL_TRC_NB), AVCOL_TRC_UNSPECIFIED);
  ForgetUnknown(frame.colorspace, static_cast<int>(AVCOL_SPC_NB), AVCOL_SPC_UNSPECIFIED);
  ForgetUnknown(frame.color_range, static_cast<int>(AVCOL_RANGE_NB), AVCOL_RANGE_UNSPECIFIED);
  ForgetUnknown(frame.chroma_location, static_cast<int>(AVCHROMA_LOC_NB), AVCHROMA_LOC_UNSPECIFIED);
}

/// libav's own decoder with CUDA acceleration. For AV1 it is another decoder than on the CPU.
const AVCodec* GpuDecoder(const AVCodecParameters& parameters) {
  if (!SuitsGpu(parameters)) return nullptr;
  const AVCodec* codec = avcodec_find_decoder_by_name(avcodec_get_name(parameters.codec_id));
  for (int i = 0; codec != nullptr; ++i) {
    const AVCodecHWConfig* config = avcodec_get_hw_config(codec, i);
    if (config == nullptr) return nullptr;
    const bool takes_device = (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0;
    if (takes_device && config->device_type == AV_HWDEVICE_TYPE_CUDA) return codec;
  }
  return nullptr;
}

/// NVDEC has a fixed number of surfaces, created with the decoder. libav 5 hands out the surfaces themselves (later versions
/// copy) and fails if none is left. libav counts the codec's reference frames and three more. These surfaces are for frames
/// outside the decoder: decoded ahead (one, one of unknown duration, one whose timestamp jumps, the queue's four, one that waits
/// for the queue), in the stages, and read by kernels (four).
constexpr int kSurfacesOutside = 13;

/// NVDEC's maximum.
constexpr int kMostSurfaces = 32;

/// Creates the surfaces of a GPU's decoder. If this fails, libav creates them itself and reports the error.
void LayOutSurfaces(AVCodecContext& context) {
  UniqueBuffer surfaces = DescribeSurfaces(context);
  if (!surfaces || av_hwframe_ctx_init(surfaces.get()) < 0) return;
  av_buffer_unref(&context.hw_frames_ctx);
  context.hw_frames_ctx = surfaces.release();
}

/// A GPU's decoder has a fixed number of surfaces, so another device may succeed. On a CPU the process is out of memory.
[[noreturn]] void ThrowExhausted(bool is_on_gpu) {
  if (!is_on_gpu) throw std::bad_alloc();
  throw Error(ErrorCode::kUnavailable, "The GPU's video decoder has no surface left for this video.");
}

}  // namespace

UniqueBuffer DescribeSurfaces(AVCodecContext& context) {
  AVBufferRef* buffer = nullptr;
  if (avcodec_get_hw_frames_parameters(&context, context.hw_device_ctx, AV_PIX_FMT_CUDA, &buffer) < 0) return nullptr;
  auto& frames = *reinterpret_cast<AVHWFramesContext*>(buffer->data);
  frames.initial_pool_size = std::min(frames.initial_pool_size, kMostSurfaces);
  return UniqueBuffer(buffer);
}

/// Chooses CUDA surfaces if libav offers them. If the GPU refuses the stream, libav calls again without them. Then nothing
/// is chosen, and a CPU decoder decodes the packet (Note [A refused stream]).
AVPixelFormat VideoDecoder::ChooseFormat(AVCodecContext* context, const AVPixelFormat* formats) {
  for (const AVPixelFormat* format = formats; *format != AV_PIX_FMT_NONE; ++format) {
    if (*format != AV_PIX_FMT_CUDA) continue;
    LayOutSurfaces(*context);
    return *format;
  }
  static_cast<VideoDecoder*>(context->opaque)->is_refused_ = true;
  return AV_PIX_FMT_NONE;
}

bool SuitsGpu(const AVCodecParameters& p) {
  // Some generations fail below about 130 samples; none supports odd sides.
  constexpr int kSmallestSide = 144;
  if (p.width < kSmallestSide || p.height < kSmallestSide || p.width % 2 != 0 || p.height % 2 != 0) return false;
  if (p.field_order != AV_FIELD_PROGRESSIVE && p.field_order != AV_FIELD_UNKNOWN) return false;
  const bool is_8bit = p.format == AV_PIX_FMT_YUV420P || p.format == AV_PIX_FMT_YUVJ420P;
  const bool is_10bit = p.format == AV_PIX_FMT_YUV420P10LE;
  switch (p.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_MPEG2VIDEO: return is_8bit;
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1: return is_8bit || is_10bit;
    default: return false;
  }
}

UniqueFrame ToHost(const AVFrame& frame) {
  UniqueFrame host = MakeFrame();
  CheckAv(av_hwframe_transfer_data(host.get(), &frame, 0), ErrorCode::kUnavailable,
          "A frame cannot be read from the GPU");
  CheckAv(av_frame_copy_props(host.get(), &frame), ErrorCode::kInternal, "No memory for a frame");
  // libav crops surfaces only at the right and the bottom.
  CheckAv(av_frame_apply_cropping(host.get(), AV_FRAME_CROP_UNALIGNED), ErrorCode::kUnreadableVideo,
          "The video's crop is damaged");
  return host;
}

VideoDecoder::VideoDecoder(const AVStream& stream, const SourceLimits& limits, int threads, AVBufferRef* gpu)
    : parameters_(CheckAlloc(avcodec_parameters_alloc())),
      time_base_(stream.time_base),
      frame_rate_(stream.avg_frame_rate),
      max_pixels_(limits.max_pixels),
      threads_(threads) {
  CheckAv(avcodec_parameters_copy(parameters_.get(), stream.codecpar), ErrorCode::kInternal, "No memory for the video's header");
  Open(gpu != nullptr ? GpuDecoder(*stream.codecpar) : nullptr, gpu);
}

void VideoDecoder::Open(const AVCodec* gpu_codec, AVBufferRef* gpu) {
  const AVCodec* codec = gpu_codec != nullptr ? gpu_codec : FindAllowedDecoder(parameters_->codec_id);
  if (codec == nullptr) throw Error(ErrorCode::kUnreadableVideo, WhyUnsupported(parameters_->codec_id));
  const int exported = context_ ? context_->export_side_data : 0;
  context_.reset(CheckAlloc(avcodec_alloc_context3(codec)));
  context_->export_side_data = exported;
  CheckAv(avcodec_parameters_to_context(context_.get(), parameters_.get()), ErrorCode::kUnreadableVideo,
          "The video's header is damaged");
  context_->pkt_timebase = time_base_;
  context_->framerate = frame_rate_;
  context_->thread_count = threads_;
  context_->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
  context_->flags |= AV_CODEC_FLAG_UNALIGNED;  // else libav does not crop the left, unless by a multiple of its alignment
  if (parameters_->codec_id == AV_CODEC_ID_THEORA) context_->thread_count = 1;  // else it refuses the headers of the next file in a chain
  context_->max_pixels = max_pixels_;
  if (refuses_damage_) context_->err_recognition |= AV_EF_EXPLODE;
  is_on_gpu_ = gpu_codec != nullptr;
  is_refused_ = false;
  if (is_on_gpu_) {
    context_->hw_device_ctx = CheckAlloc(av_buffer_ref(gpu));
    context_->extra_hw_frames = kSurfacesOutside;
    context_->opaque = this;
    context_->get_format = ChooseFormat;
    context_->thread_type = FF_THREAD_SLICE;  // each frame thread would take decoder surfaces
  }
  CheckAv(avcodec_open2(context_.get(), codec, nullptr), ErrorCode::kUnreadableVideo,
          "The video's decoder cannot be started");
}

void VideoDecoder::RefuseDamage() {
  refuses_damage_ = true;
  Open(nullptr, nullptr);  // frame threads take over this setting when they are opened
}

void VideoDecoder::CountError(int result) {
  if (is_refused_) return;  // the CPU's decoder gets the packet again
  if (result == AVERROR(ENOMEM)) ThrowExhausted(is_on_gpu_);
  // libav's error for each call of CUDA and NVDEC that fails; damage is AVERROR_INVALIDDATA.
  if (is_on_gpu_ && result == AVERROR_EXTERNAL) throw Error(ErrorCode::kUnavailable, "The GPU's video decoder failed.");
  // Before the first picture errors are normal: a recording may begin between two key frames.
  if (frames_ > 0) ++undecodable_;
}

void VideoDecoder::Decode(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame) {
  if (packet != nullptr && packet->size == 0) return;  // libav would take it for the end of the stream, or for damage
  Submit(packet, on_frame);
  if (!is_refused_) return;
  Submit(nullptr, on_frame);  // the pictures before this packet
  Open(nullptr, nullptr);
  Submit(packet, on_frame);
}

void VideoDecoder::Submit(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame) {
  for (;;) {
    const int result = avcodec_send_packet(context_.get(), packet);
    if (result == AVERROR(EAGAIN)) {
      Receive(on_frame);
      continue;
    }
    if (result < 0 && result != AVERROR_EOF) CountError(result);
    break;
  }
  Receive(on_frame);
}

void VideoDecoder::Receive(const std::function<void(UniqueFrame)>& on_frame) {
  for (;;) {
    UniqueFrame frame = MakeFrame();
    const int result = avcodec_receive_frame(context_.get(), frame.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
    if (result < 0) {
      if (is_refused_) return;
      CountError(result);
      // A decoder that fails while it is drained would return the same error forever.
      if (result != AVERROR_INVALIDDATA) return;
      continue;
    }
    ForgetUnknownTags(*frame);
    ++frames_;
    on_frame(std::move(frame));
  }
}

void VideoDecoder::Flush() { avcodec_flush_buffers(context_.get()); }

}  // namespace reelmend::media
