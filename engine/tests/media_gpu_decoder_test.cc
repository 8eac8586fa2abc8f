// The way back to the CPU's decoders where a GPU's refuses a stream. The device here is none of CUDA's, which libav finds
// when it makes surfaces: as late as a GPU that lacks the codec does.
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <vector>

#include "helpers/clips.h"
#include "media/av_error.h"
#include "media/demuxer.h"
#include "media/video_decoder.h"

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace reelmend::media {
namespace {

using reelmend::testing::Ffmpeg;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::VideoInput;

using UniqueBuffer = std::unique_ptr<AVBufferRef, FreeByAddress<av_buffer_unref>>;

TEST(GpuDecoder, GivesWayToTheCpusWhereItRefusesTheStream) {
  const TemporaryFolder folder;
  const struct {
    const char* name;
    const char* encode;
  } clips[] = {{"h264.mp4", "-c:v libx264 -pix_fmt yuv420p"},
               {"hevc.mkv", "-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le"},
               {"vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"},
               {"av1.mkv", "-c:v libaom-av1 -usage realtime -cpu-used 8 -pix_fmt yuv420p"}};
  for (const auto& clip : clips) {
    SCOPED_TRACE(clip.name);
    const std::string file = folder.File(clip.name);
    Ffmpeg(VideoInput("320x180", 0.4) + " " + clip.encode + " " + file);
    const UniqueBuffer device(CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM)));
    FileSource source(file);
    Demuxer demuxer(source, {});
    demuxer.ReadVideoOnly();
    ASSERT_TRUE(SuitsGpu(*demuxer.video()->codecpar));
    VideoDecoder decoder(*demuxer.video(), {}, 1, device.get());
    int frames = 0;
    const auto count = [&](UniqueFrame frame) {
      EXPECT_NE(frame->format, AV_PIX_FMT_CUDA);
      ++frames;
    };
    const UniquePacket packet = MakePacket();
    while (demuxer.ReadPacket(packet.get())) {
      decoder.Decode(packet.get(), count);
      av_packet_unref(packet.get());
    }
    decoder.Decode(nullptr, count);
    EXPECT_EQ(frames, 10);
    EXPECT_EQ(decoder.undecodable(), 0);
  }
}

TEST(Fault17_35, ARefusedStreamIsDecodedByFrameThreads) {
  const TemporaryFolder folder;
  const struct {
    const char* name;
    const char* encode;
  } clips[] = {{"h264.mp4", "-c:v libx264 -bf 2 -pix_fmt yuv420p"},
               {"hevc.mkv", "-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le"},
               {"vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"}};
  for (const auto& clip : clips) {
    SCOPED_TRACE(clip.name);
    const std::string file = folder.File(clip.name);
    Ffmpeg(VideoInput("320x180", 0.8) + " " + clip.encode + " " + file);
    const UniqueBuffer device(CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM)));
    FileSource source(file);
    Demuxer demuxer(source, {});
    demuxer.ReadVideoOnly();
    VideoDecoder decoder(*demuxer.video(), {}, 3, device.get());
    EXPECT_FALSE(decoder.has_frame_threads()) << "NVDEC's surfaces are few";
    std::vector<std::int64_t> times;
    const auto note = [&](UniqueFrame frame) { times.push_back(frame->best_effort_timestamp); };
    const UniquePacket packet = MakePacket();
    while (demuxer.ReadPacket(packet.get())) {
      decoder.Decode(packet.get(), note);
      av_packet_unref(packet.get());
    }
    EXPECT_TRUE(decoder.has_frame_threads());
    decoder.Decode(nullptr, note);
    EXPECT_EQ(times.size(), 20U);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_EQ(decoder.undecodable(), 0);
  }
}

TEST(Fault17_35, ADecoderIsMadeWithTheSurfacesThatItCanHave) {
  EXPECT_EQ(SurfacesWithin(20), 20);
  EXPECT_EQ(SurfacesWithin(34), 32);
  EXPECT_THROW(ThrowExhausted(false), std::bad_alloc);
  try {
    ThrowExhausted(true);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << "another device may decode it";
  }
}

}  // namespace
}  // namespace reelmend::media
