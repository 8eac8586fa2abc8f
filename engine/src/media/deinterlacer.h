// Interlaced frames to progressive ones.
#pragma once

#include <functional>

#include "media/av_handles.h"

namespace framelift::media {

/// bwdif (Bob Weaver deinterlacing filter) over frames that are flagged interlaced; others pass unchanged.
/// One frame comes out per frame that goes in, one frame later, its timestamp and duration kept.
/// The filter is only set up when the first interlaced frame comes; until then frames pass straight through.
class Deinterlacer {
 public:
  explicit Deinterlacer(AVRational time_base) : time_base_(time_base) {}

  /// nullptr hands out what is held back.
  void Run(UniqueFrame frame, const std::function<void(UniqueFrame)>& on_frame);

 private:
  void Open(const AVFrame& like);
  bool Fits(const AVFrame& frame) const;
  void Receive(const std::function<void(UniqueFrame)>& on_frame);
  void Close(const std::function<void(UniqueFrame)>& on_frame);

  AVRational time_base_;
  UniqueFilterGraph graph_;
  AVFilterContext* source_ = nullptr;
  AVFilterContext* sink_ = nullptr;
  int width_ = 0;
  int height_ = 0;
  int format_ = -1;
};

}  // namespace framelift::media
