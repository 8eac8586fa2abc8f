// Fallback to the CPU's decoders if the GPU's decoder refuses a stream. These tests use a device that is not CUDA's. libav
// notices that when it allocates surfaces, as late as it would notice a GPU without the codec.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <new>
#include <vector>

#include "helpers/clips.h"
#include "media/av_error.h"
#include "media/byte_io.h"
#include "media/demuxer.h"
#include "media/video_decoder.h"
#include "run/frame_source.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/mem.h>
}

namespace reelmend::media {
namespace {

using reelmend::testing::Ffmpeg;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::VideoInput;

TEST(GpuDecoder, FallsBackToTheCpuWhenItRefusesTheStream) {
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

TEST(GpuDecoder, ARefusedStreamIsDecodedByFrameThreads) {
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
    EXPECT_FALSE(decoder.has_frame_threads()) << "NVDEC has too few surfaces for frame threads";
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

TEST(GpuDecoder, OutlivesTheDemuxerOfItsStream) {
  const TemporaryFolder folder;
  const std::string file = folder.File("h264.mp4");
  Ffmpeg(VideoInput("320x180", 0.4) + " -c:v libx264 -pix_fmt yuv420p " + file);
  const UniqueBuffer device(CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM)));
  FileSource source(file);
  Demuxer first(source, {});
  VideoDecoder decoder(*first.video(), {}, 1, device.get());
  first.video()->codecpar->codec_id = AV_CODEC_ID_NONE;  // simulates freed memory
  Demuxer second(source, {});
  second.ReadVideoOnly();
  int frames = 0;
  const auto count = [&](UniqueFrame) { ++frames; };
  const UniquePacket packet = MakePacket();
  while (second.ReadPacket(packet.get())) {
    decoder.Decode(packet.get(), count);
    av_packet_unref(packet.get());
  }
  decoder.Decode(nullptr, count);
  EXPECT_EQ(frames, 10);
}

TEST(GpuDecoder, ARefusedSegmentAtTheStartIsDecodedByTheCpu) {
  const TemporaryFolder folder;
  const std::string file = folder.File("h264.mp4");
  Ffmpeg(VideoInput("320x180", 0.8) + " -c:v libx264 -pix_fmt yuv420p " + file);
  const UniqueBuffer device(CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM)));
  EnhanceOptions options = reelmend::testing::PlainOptions();
  options.segment = Segment{0, 0.4, 0};  // starts at 0 without a seek, so the demuxer is opened again
  const plan::Plan plan = plan::MakePlan(file, options, {1});
  device::StageClocks clocks;
  FileSource source_file(file);
  run::FrameSource source(source_file, plan, options, clocks, {1, device.get()});
  int frames = 0;
  source.Run([&](const run::TimedFrame&) { return ++frames > 0; });
  EXPECT_EQ(frames, 10);
  EXPECT_EQ(source.undecodable(), 0);
}

/// Limits libav's allocations to `bytes` each, for the lifetime of the object.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t bytes) { av_max_alloc(bytes); }
  ~MemoryLimit() { av_max_alloc(INT_MAX); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

/// The number of surfaces that a decoder of `stream` would allocate. libav provides it only in the callback that chooses the
/// pixel format. 0 if the decoder does not offer CUDA surfaces or has no count.
int CountSurfaces(const AVStream& stream, const AVPacket& packet, AVBufferRef* device, int outside) {
  const AVCodec* codec = avcodec_find_decoder_by_name("vp9");
  const UniqueCodecContext context(CheckAlloc(avcodec_alloc_context3(codec)));
  CheckAv(avcodec_parameters_to_context(context.get(), stream.codecpar), ErrorCode::kInternal, "Cannot copy the parameters");
  int count = 0;
  context->hw_device_ctx = CheckAlloc(av_buffer_ref(device));
  context->extra_hw_frames = outside;
  context->opaque = &count;
  context->get_format = [](AVCodecContext* decoder, const AVPixelFormat* format) {
    while (*format != AV_PIX_FMT_NONE && *format != AV_PIX_FMT_CUDA) ++format;
    if (*format == AV_PIX_FMT_NONE) return AV_PIX_FMT_NONE;
    const UniqueBuffer surfaces = DescribeSurfaces(*decoder);
    if (surfaces) *static_cast<int*>(decoder->opaque) = reinterpret_cast<const AVHWFramesContext*>(surfaces->data)->initial_pool_size;
    return AV_PIX_FMT_NONE;
  };
  CheckAv(avcodec_open2(context.get(), codec, nullptr), ErrorCode::kInternal, "Cannot open the decoder");
  avcodec_send_packet(context.get(), &packet);
  return count;
}

TEST(GpuDecoder, ADecoderHasNoMoreSurfacesThanNvdecSupports) {
  const TemporaryFolder folder;
  const std::string file = folder.File("vp9.webm");
  Ffmpeg(VideoInput("640x360", 0.04) + " -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p " + file);
  FileSource source(file);
  Demuxer demuxer(source, {});
  const UniquePacket packet = MakePacket();
  ASSERT_TRUE(demuxer.ReadPacket(packet.get()));
  const UniqueBuffer device(CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA)));
  for (const int outside : {12, 40}) {
    const int count = CountSurfaces(*demuxer.video(), *packet, device.get(), outside);
    EXPECT_GT(count, 12);
    EXPECT_LE(count, 32) << "NVDEC supports no more";
  }
}

/// Decodes the first packet of a clip with limited memory.
void DecodeFirstPacket(const std::string& file, std::size_t limit_bytes, AVBufferRef* device = nullptr) {
  FileSource source(file);
  Demuxer demuxer(source, {});
  demuxer.ReadVideoOnly();
  const UniquePacket packet = MakePacket();
  ASSERT_TRUE(demuxer.ReadPacket(packet.get()));
  VideoDecoder decoder(*demuxer.video(), {}, 1, device);
  const MemoryLimit limit(limit_bytes);
  decoder.Decode(packet.get(), [](UniqueFrame) {});
}

TEST(GpuDecoder, TheErrorSaysWhetherTheCpuOrTheGpuRanOutOfMemory) {
  const TemporaryFolder folder;
  // The FFV1 decoder returns ENOMEM; the H.264 decoder would continue with the next picture.
  const std::string by_cpu = folder.File("ffv1.mkv");
  const std::string by_gpu = folder.File("h264.mp4");
  Ffmpeg(VideoInput("320x180", 0.2) + " -c:v ffv1 -pix_fmt yuv420p " + by_cpu);
  Ffmpeg(VideoInput("320x180", 0.2) + " -c:v libx264 -pix_fmt yuv420p " + by_gpu);
  EXPECT_THROW(DecodeFirstPacket(by_cpu, 20'000), std::bad_alloc);
  const UniqueBuffer device(CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM)));
  try {
    DecodeFirstPacket(by_gpu, 16, device.get());  // no memory for the packet
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << "the job may succeed on another device";
  }
}

}  // namespace
}  // namespace reelmend::media
