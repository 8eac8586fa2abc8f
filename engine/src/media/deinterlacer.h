// Interlaced frames to progressive ones.
#pragma once

#include <functional>
#include <utility>

#include "media/av_handles.h"
#include "media/avfilter.h"
#include "media/video_decoder.h"

namespace reelmend::media {

/// bwdif (Bob Weaver deinterlacing filter) for frames flagged as interlaced; other frames pass unchanged. One frame
/// out per frame in, one frame later, with its timestamp and duration.
/// The filter is created with the first interlaced frame; frames before it pass directly. It runs on the CPU: from
/// then on all frames in GPU memory are copied to the host, so that the stages get one kind of frame, in order, even
/// if the stream keeps changing.
class Deinterlacer {
 public:
  /// `to_host` copies a frame from a GPU's memory.
  explicit Deinterlacer(AVRational time_base, std::function<UniqueFrame(const AVFrame&)> to_host = ToHost)
      : time_base_(time_base), to_host_(std::move(to_host)) {}

  /// nullptr flushes the frame that is held back.
  void Run(UniqueFrame frame, const std::function<void(UniqueFrame)>& on_frame);

 private:
  void Open(const AVFrame& like);
  bool Fits(const AVFrame& frame) const;
  void Receive(const std::function<void(UniqueFrame)>& on_frame);
  void Close(const std::function<void(UniqueFrame)>& on_frame);

  AVRational time_base_;
  std::function<UniqueFrame(const AVFrame&)> to_host_;
  UniqueFilterGraph graph_;
  AVFilterContext* source_ = nullptr;
  AVFilterContext* sink_ = nullptr;
  int width_ = 0;
  int height_ = 0;
  int format_ = -1;
  AVRational pixel_aspect_ = {0, 1};  ///< from libavfilter 10 on, frames leave the graph with that of its input
};

}  // namespace reelmend::media
