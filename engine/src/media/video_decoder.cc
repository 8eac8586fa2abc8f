#include "media/video_decoder.h"

#include <cstring>
#include <utility>

#include "media/av_error.h"
#include "media/source_policy.h"

namespace framelift::media {
namespace {

/// Some decoders put the file's own byte into a tag, whether the enumeration has that value or not; reading such a
/// tag is undefined in C++, so that it is looked at as the number that it is.
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

}  // namespace

VideoDecoder::VideoDecoder(const AVStream& stream, const SourceLimits& limits, int threads) {
  const AVCodec* codec = FindAllowedDecoder(stream.codecpar->codec_id);
  if (codec == nullptr) throw Error(ErrorCode::kUnreadableVideo, "The video's codec is not supported.");
  context_.reset(CheckAlloc(avcodec_alloc_context3(codec)));
  CheckAv(avcodec_parameters_to_context(context_.get(), stream.codecpar), ErrorCode::kUnreadableVideo,
          "The video's header is damaged");
  context_->pkt_timebase = stream.time_base;
  context_->framerate = stream.avg_frame_rate;
  context_->thread_count = threads;
  context_->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
  context_->max_pixels = limits.max_pixels;
  CheckAv(avcodec_open2(context_.get(), codec, nullptr), ErrorCode::kUnreadableVideo,
          "The video's decoder cannot be started");
}

void VideoDecoder::CountError(int result) {
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  // Before the first picture errors are normal: a recording may begin between two key frames.
  if (frames_ > 0) ++undecodable_;
}

void VideoDecoder::Decode(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame) {
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
      CountError(result);
      // A decoder that fails while draining would answer the same for ever.
      if (result != AVERROR_INVALIDDATA) return;
      continue;
    }
    ForgetUnknownTags(*frame);
    ++frames_;
    on_frame(std::move(frame));
  }
}

void VideoDecoder::Flush() { avcodec_flush_buffers(context_.get()); }

}  // namespace framelift::media
