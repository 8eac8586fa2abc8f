#include "media/deinterlacer.h"

#include <cstdio>
#include <utility>

#include "media/av_error.h"
#include "media/avfilter.h"
#include "media/libav_versions.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

constexpr int kSmallestSide = 4;  // bwdif looks two rows up and down

/// 0/1 if it is unknown, as libavfilter wants it.
AVRational PixelAspect(const AVFrame& frame) {
  const AVRational aspect = frame.sample_aspect_ratio;
  return aspect.num > 0 && aspect.den > 0 ? aspect : AVRational{0, 1};
}

AVFilterContext* AddFilter(AVFilterGraph* graph, const char* filter, const char* arguments) {
  AVFilterContext* context = nullptr;
  const AvfilterFunctions& avfilter = Avfilter();
  const int result = avfilter.graph_create_filter(&context, CheckAlloc(avfilter.get_by_name(filter)), filter, arguments, nullptr, graph);
  CheckAv(result, ErrorCode::kInternal, "The deinterlacer cannot be started");
  return context;
}

}  // namespace

void Deinterlacer::Open(const AVFrame& like) {
  graph_.reset(CheckAlloc(Avfilter().graph_alloc()));
  graph_->nb_threads = 1;
  char arguments[160];
  const AVRational aspect = PixelAspect(like);
  std::snprintf(arguments, sizeof arguments, "video_size=%dx%d:pix_fmt=%d:time_base=%d/%d:pixel_aspect=%d/%d", like.width,
                like.height, like.format, time_base_.num, time_base_.den, aspect.num, aspect.den);
  source_ = AddFilter(graph_.get(), "buffer", arguments);
  AVFilterContext* filter = AddFilter(graph_.get(), "bwdif", "mode=send_frame:parity=auto:deint=interlaced");
  sink_ = AddFilter(graph_.get(), "buffersink", nullptr);
  // libavfilter inserts a scale filter for pixel formats that bwdif does not take, such as packed ones.
  CheckAv(Avfilter().link(source_, 0, filter, 0), ErrorCode::kInternal, "The deinterlacer cannot be connected");
  CheckAv(Avfilter().link(filter, 0, sink_, 0), ErrorCode::kInternal, "The deinterlacer cannot be connected");
  CheckAv(Avfilter().graph_config(graph_.get(), nullptr), ErrorCode::kUnreadableVideo,
          "Interlaced video in this pixel format is not supported");
  width_ = like.width;
  height_ = like.height;
  format_ = like.format;
  pixel_aspect_ = aspect;
}

bool Deinterlacer::Fits(const AVFrame& frame) const {
  const AVRational aspect = PixelAspect(frame);
  const bool has_aspect = aspect.num == pixel_aspect_.num && aspect.den == pixel_aspect_.den;
  return frame.width == width_ && frame.height == height_ && frame.format == format_ && has_aspect;
}

void Deinterlacer::Run(UniqueFrame frame, const std::function<void(UniqueFrame)>& on_frame) {
  if (!frame) {
    Close(on_frame);
    return;
  }
  if (frame->format == AV_PIX_FMT_CUDA && (graph_ || IsInterlaced(*frame))) frame = to_host_(*frame);
  if (graph_ && !Fits(*frame)) Close(on_frame);
  const bool is_large_enough = frame->width >= kSmallestSide && frame->height >= kSmallestSide;
  if (!graph_ && IsInterlaced(*frame) && is_large_enough) Open(*frame);
  if (!graph_) {
    on_frame(std::move(frame));
    return;
  }
  CheckAv(Avfilter().buffersrc_add_frame(source_, frame.get()), ErrorCode::kInternal, "The deinterlacer failed");
  Receive(on_frame);
}

void Deinterlacer::Receive(const std::function<void(UniqueFrame)>& on_frame) {
  const AVRational out = Avfilter().buffersink_get_time_base(sink_);
  for (;;) {
    UniqueFrame frame = MakeFrame();
    const int result = Avfilter().buffersink_get_frame(sink_, frame.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
    CheckAv(result, ErrorCode::kInternal, "The deinterlacer failed");
    frame->pts = av_rescale_q(frame->pts, out, time_base_);
    SetInterlaced(*frame, false);
    on_frame(std::move(frame));
  }
}

void Deinterlacer::Close(const std::function<void(UniqueFrame)>& on_frame) {
  if (!graph_) return;
  CheckAv(Avfilter().buffersrc_add_frame(source_, nullptr), ErrorCode::kInternal, "The deinterlacer failed");
  Receive(on_frame);
  graph_.reset();
}

}  // namespace reelmend::media
