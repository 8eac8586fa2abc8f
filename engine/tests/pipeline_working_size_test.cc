// The working size: a source that was enlarged before is first reduced to it, then enlarged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/pixel_chain.h"
#include "helpers/clips.h"
#include "helpers/networks.h"
#include "media/av_handles.h"
#include "media/frame_import.h"
#include "pixel/stages.h"
#include "plan/network_choice.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace reelmend {
namespace {

constexpr int kWidth = 162;
constexpr int kHeight = 98;

media::UniqueFrame NewFrame(int width, int height) {
  media::UniqueFrame frame = media::MakeFrame();
  frame->width = width;
  frame->height = height;
  frame->format = AV_PIX_FMT_YUV420P;
  frame->colorspace = AVCOL_SPC_BT709;
  if (av_frame_get_buffer(frame.get(), 64) < 0) throw std::bad_alloc();
  return frame;
}

/// Rings around a point, with a different frequency in each plane.
media::UniqueFrame Rings() {
  media::UniqueFrame frame = NewFrame(kWidth, kHeight);
  for (int p = 0; p < 3; ++p) {
    const int shift = p == 0 ? 0 : 1;
    for (int y = 0; y < kHeight >> shift; ++y) {
      for (int x = 0; x < kWidth >> shift; ++x) {
        const double level = 128 + 80 * std::cos(0.3 * (p + 1) * std::hypot(x - 40, y - 30));
        frame->data[p][y * frame->linesize[p] + x] = static_cast<std::uint8_t>(std::lround(level));
      }
    }
  }
  return frame;
}

pixel::Image Resized(const pixel::Image& from, Size size, pixel::ThreadPool& pool) {
  pixel::Image to(size.width, size.height, {1, 1}, {from.color().matrix, from.color().range, pixel::ChromaSite::kLeft});
  pixel::Resizer(from.width(), from.height(), from.subsampling(), from.color(), size.width, size.height).Run(from, to, pool);
  return to;
}

/// The expected output: only the two resizes.
media::UniqueFrame Expected(const AVFrame& source, Size working, Size output) {
  pixel::ThreadPool pool(1);
  media::FrameImporter importer(source, AV_CODEC_ID_H264);
  pixel::Image image(source.width, source.height, importer.subsampling(), importer.color().spec);
  importer.Run(source, image, pool);
  const pixel::Image enlarged = Resized(Resized(image, working, pool), output, pool);
  media::UniqueFrame frame = NewFrame(output.width, output.height);
  pixel::MutableRawPlanes raw;
  for (int p = 0; p < 3; ++p) {
    raw.data[p] = frame->data[p];
    raw.stride[p] = frame->linesize[p];
  }
  pixel::ExportYuv420p8(enlarged, raw, pool);
  return frame;
}

TEST(WorkingSize, HasEvenSidesAndEqualsTheSourceAtShareOne) {
  struct Case {
    Size source;
    float share;
    Size working;
  };
  for (const Case& c : {Case{{1281, 721}, 1, {1281, 721}}, {{1281, 721}, 0.5F, {640, 360}}, {{640, 360}, 0.33F, {212, 118}},
                        {{8, 2}, 0.2F, {2, 2}}}) {
    const Size working = plan::WorkingSize(c.source, c.share);
    EXPECT_EQ(working.width, c.working.width) << c.share;
    EXPECT_EQ(working.height, c.working.height) << c.share;
  }
}

TEST(WorkingSize, IsWhatAPictureIsEnlargedFrom) {
  const media::UniqueFrame source = Rings();
  for (const float share : {1.0F, 0.5F, 0.37F}) {
    plan::Plan plan;
    plan.output = {2 * kWidth, 2 * kHeight};
    plan.working_share = share;
    device::StageClocks clocks;
    cpu::PixelChain chain(plan, AV_CODEC_ID_H264, 1, clocks);
    const media::UniqueFrame out = NewFrame(plan.output.width, plan.output.height);
    chain.Run(*source, *out);
    const media::UniqueFrame expected = Expected(*source, plan::WorkingSize({kWidth, kHeight}, share), plan.output);
    for (int p = 0; p < 3; ++p) {
      const int shift = p == 0 ? 0 : 1;
      for (int y = 0; y < out->height >> shift; ++y) {
        const std::uint8_t* row = out->data[p] + y * out->linesize[p];
        ASSERT_TRUE(std::equal(row, row + (out->width >> shift), expected->data[p] + y * expected->linesize[p]))
            << "share " << share << " plane " << p << " row " << y;
      }
    }
  }
}

/// A clip that was enlarged by 4, and times at which `detail` keeps the floor only at the working size.
TEST(WorkingSize, IsForFaithfulNetworksWithAFloorOfSpeedToo) {
  NEEDS_OPENVINO();
  const testing::TemporaryFolder folder;
  const std::string source = folder.File("enlarged.mkv");
  testing::Ffmpeg("-f lavfi -i testsrc2=s=160x90:r=5:d=0.6 -vf scale=640:360:flags=bicubic -c:v libx264 -crf 26 -pix_fmt yuv420p '" + source + "'");
  EnhanceOptions options;
  options.models = {testing::Described("fast", 2), testing::Described("detail", 2)};
  options.models[0].ms_per_megapixel = 20;
  options.models[1].ms_per_megapixel = 40;
  options.models[1].is_blind = true;
  const auto planned = [&](double floor) {
    options.machine.min_frames_per_second = floor;
    return plan::MakePlan(source, options, {2});
  };
  const plan::Plan free = planned(0);
  ASSERT_LT(free.restoration.working_share, 1) << "the earlier enlargement must be detected";
  EXPECT_EQ(free.model, "detail");
  EXPECT_EQ(free.working_share, 1);
  const plan::Plan quick = planned(60);  // detail takes 37 ms per frame in two passes at the full size
  EXPECT_EQ(quick.model, "fast");
  EXPECT_LT(quick.working_share, 1);
  EXPECT_FALSE(quick.is_blind);
}

}  // namespace
}  // namespace reelmend
