// Interlaced frames to progressive ones.
#pragma once

#include <functional>
#include <utility>

#include "media/av_handles.h"
#include "media/video_decoder.h"

namespace reelmend::media {

/// bwdif (Bob Weaver deinterlacing filter) over frames that are flagged interlaced; others pass unchanged.
/// One frame comes out per frame that goes in, one frame later, its timestamp and duration kept.
/// The filter is only set up when the first interlaced frame comes; until then frames pass straight through.
/// It runs on the CPU: from then on all frames of a GPU's memory are copied to the host's, so that the stages get one
/// kind of frame, in order, however often the stream changes between interlaced and progressive.
class Deinterlacer {
 public:
  /// `to_host` copies a frame from a GPU's memory.
  explicit Deinterlacer(AVRational time_base, std::function<UniqueFrame(const AVFrame&)> to_host = ToHost)
      : time_base_(time_base), to_host_(std::move(to_host)) {}

  /// nullptr hands out what is held back.
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
};

}  // namespace reelmend::media
