// Deinterlacing of streams that switch between interlaced and progressive.
#include <gtest/gtest.h>

#include <vector>

#include "media/av_error.h"
#include "media/deinterlacer.h"
#include "media/libav_versions.h"

namespace reelmend::media {
namespace {

UniqueFrame Frame(AVPixelFormat format, std::int64_t pts, bool is_interlaced) {
  UniqueFrame frame = MakeFrame();
  frame->format = format;
  frame->width = 64;
  frame->height = 48;
  frame->pts = pts;
  SetInterlaced(*frame, is_interlaced);
  if (format != AV_PIX_FMT_CUDA) CheckAv(av_frame_get_buffer(frame.get(), 0), ErrorCode::kInternal, "Cannot allocate a frame");
  return frame;
}

TEST(Deinterlacer, OnceItIsOpenTheDeinterlacerTakesAllFrames) {
  QuietLibav();
  int copies = 0;
  Deinterlacer deinterlacer({1, 25}, [&](const AVFrame& frame) {
    ++copies;
    return Frame(AV_PIX_FMT_YUV420P, frame.pts, IsInterlaced(frame));
  });
  const std::vector<bool> is_interlaced = {false, false, true, false, true, false, false, true, false, false};
  std::vector<std::int64_t> times;
  std::vector<bool> is_on_gpu;
  const auto note = [&](UniqueFrame frame) {
    times.push_back(frame->pts);
    is_on_gpu.push_back(frame->format == AV_PIX_FMT_CUDA);
    EXPECT_FALSE(IsInterlaced(*frame));
  };
  for (std::size_t i = 0; i < is_interlaced.size(); ++i) {
    deinterlacer.Run(Frame(AV_PIX_FMT_CUDA, static_cast<std::int64_t>(i), is_interlaced[i]), note);
  }
  deinterlacer.Run(nullptr, note);
  EXPECT_EQ(times, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(is_on_gpu, (std::vector<bool>{true, true, false, false, false, false, false, false, false, false}));
  EXPECT_EQ(copies, 8);
}

}  // namespace
}  // namespace reelmend::media
