// Whole videos on a GPU: decoder, stages and encoder share its memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "cuda/cuda_processor.h"
#include "helpers/clips.h"
#include "reelmend/device.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::Ffmpeg;
using reelmend::testing::FrameTimes;
using reelmend::testing::PlainOptions;
using reelmend::testing::Psnr;
using reelmend::testing::StreamFacts;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::ToneInput;
using reelmend::testing::VideoInput;

/// A GPU with access to its transfer counters.
struct Gpu {
  Gpu() : device(OpenCudaDevice(0)), decode(MakeStream(device)) {
    Stream compute = MakeStream(device);
    auto bridge = OpenCodecBridge(device, decode.get());
    processor = MakeProcessor(device, std::move(compute), std::move(bridge));
  }
  std::shared_ptr<Device> device;
  Stream decode;
  std::unique_ptr<device::Processor> processor;
};

bool HasNvenc() {
  static const bool has = DescribeGpus().at(0).encoder == "h264_nvenc";
  return has;
}

struct Source {
  const char* name;
  const char* size;
  const char* rate;
  const char* encode;
  bool is_decoded_by_gpu;
};
constexpr Source kSources[] = {
    {"h264.mp4", "640x360", "25", "-c:v libx264 -pix_fmt yuv420p", true},
    {"bframes.mkv", "640x360", "30000/1001", "-c:v libx264 -bf 8 -b_strategy 0 -pix_fmt yuv420p", true},
    {"coded-1088.mp4", "1920x1080", "25", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p", true},
    {"hevc.mkv", "640x360", "25", "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p", true},
    {"hevc10.mkv", "642x362", "25", "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p10le",
     true},
    {"vp9.webm", "640x360", "25", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p", true},
    {"full-range.mp4", "640x360", "25", "-vf scale=out_range=full -c:v libx264 -pix_fmt yuvj420p", true},
    {"odd.mkv", "321x181", "25", "-c:v ffv1 -pix_fmt yuv420p", false},
    {"tiny.mp4", "64x48", "25", "-c:v libx264 -pix_fmt yuv420p", false},
    {"wide.mkv", "640x360", "25", "-c:v libx264 -pix_fmt yuv422p10le", false},
    {"rgb.mov", "640x360", "25", "-c:v qtrle -pix_fmt rgb24", false},
    {"fields.mp4", "640x360", "25", "-vf setfield=tff -flags +ildct+ilme -c:v libx264 -pix_fmt yuv420p", false},
};

struct Enhancement {
  const char* name;
  float strength;  ///< strength of all stages
  Target target;
};
constexpr Enhancement kEnhancements[] = {
    {"plain", 0, Target::kSource}, {"enlarged", 0, Target::k1080p}, {"all stages", 0.4F, Target::k1080p}};

class GpuPipeline : public ::testing::Test {
 protected:
  std::string Make(const Source& source, double seconds = 1.2) {
    const std::string file = folder_.File(source.name);
    Ffmpeg(VideoInput(source.size, seconds, source.rate) + " " + ToneInput(seconds) + " " + source.encode +
           (file.ends_with(".webm") ? " -c:a libopus " : " -c:a aac ") + file);
    return file;
  }
  TemporaryFolder folder_;
};

EnhanceOptions OptionsOf(const Enhancement& enhancement) {
  EnhanceOptions options = PlainOptions();
  options.model = "none";
  options.target = enhancement.target;
  options.denoise = options.sharpen = options.adaptive_contrast = {Strength::Mode::kFixed, enhancement.strength};
  options.encoder.crf = 8;
  return options;
}

/// Each source is a test, so that an interrupted run shows which ones passed.
class GpuPipelineSources : public GpuPipeline, public ::testing::WithParamInterface<Source> {};

TEST_P(GpuPipelineSources, MakeWhatTheCpuMakesAndFramesStayOnTheGpu) {
  const Source& source = GetParam();
  const std::string in = Make(source);
  for (const Enhancement& enhancement : kEnhancements) {
    SCOPED_TRACE(enhancement.name);
    const std::string by_cpu = folder_.File("cpu.mp4");
    const std::string by_gpu = folder_.File("gpu.mp4");
    EnhanceOptions options = OptionsOf(enhancement);
    options.device = "cpu";
    const EnhanceResult expected = Enhance(in, by_cpu, options);
    Gpu gpu;
    const EnhanceResult result = run::EnhanceOn(std::move(gpu.processor), in, by_gpu, options);
    EXPECT_EQ(result.frames, expected.frames);
    EXPECT_EQ(FrameTimes(by_gpu), FrameTimes(by_cpu));
    EXPECT_GT(Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu)), 40) << "both encoders run at a high quality";
    const TransferCounts counts = gpu.device->transfers();
    constexpr int kSmallestEncoded = 160;  // NVENC refuses widths below about 145; the CPU encodes those
    const bool is_encoded_by_gpu = HasNvenc() && result.width >= kSmallestEncoded;
    EXPECT_EQ(counts.frame_downloads, is_encoded_by_gpu ? 0 : result.frames);
    const std::string profile = is_encoded_by_gpu ? "High" : StreamFacts(by_cpu, "v").at("profile");
    EXPECT_EQ(StreamFacts(by_gpu, "v").at("profile"), profile);
    EXPECT_EQ(counts.frame_uploads, source.is_decoded_by_gpu ? 0 : result.frames);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, GpuPipelineSources, ::testing::ValuesIn(kSources), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
});

TEST_F(GpuPipeline, ASegmentIsThePartOfTheWhole) {
  const std::string in = Make(kSources[1], 3);
  EnhanceOptions options = OptionsOf(kEnhancements[2]);
  options.segment = Segment{1, 2, 24};
  const std::string by_gpu = folder_.File("gpu.mp4");
  const std::string by_cpu = folder_.File("cpu.mp4");
  Gpu gpu;
  run::EnhanceOn(std::move(gpu.processor), in, by_gpu, options);
  options.device = "cpu";
  Enhance(in, by_cpu, options);
  EXPECT_EQ(FrameTimes(by_gpu).size(), FrameTimes(by_cpu).size());
  EXPECT_GT(Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu)), 40);
}

TEST_F(GpuPipeline, TellsItsName) {
  Gpu gpu;
  const std::vector<DeviceInfo> devices = Devices();
  ASSERT_GE(devices.size(), 2U);
  EXPECT_TRUE(devices[1].usable) << devices[1].reason;
  EXPECT_EQ(gpu.processor->name(), devices[1].id + " (" + devices[1].name + ")");
  EXPECT_EQ(devices[1].encoder, HasNvenc() ? "h264_nvenc" : "libx264");
}

/// Runs a thousand jobs, or as many as the time limit allows.
TEST_F(GpuPipeline, AThousandShortJobsLeaveTheMemoryAsItWas) {
  constexpr int kJobs = 1'000;
  constexpr int kLeastJobs = 200;
  constexpr auto kTime = std::chrono::seconds(150);
  const std::string in = Make(kSources[0], 0.12);
  EnhanceOptions options = OptionsOf(kEnhancements[2]);
  options.target = Target::kSource;
  options.device = "cuda:0";
  const auto device = OpenCudaDevice(0);
  std::size_t free_after_warm_up = 0;
  const auto start = std::chrono::steady_clock::now();
  int jobs = 0;
  for (; jobs < kJobs && std::chrono::steady_clock::now() - start < kTime; ++jobs) {
    Enhance(in, folder_.File("short.mp4"), options);
    if (jobs == 20) free_after_warm_up = device->FreeBytes();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d jobs, %.0f ms each; %.1f MiB were free after 20 jobs, %.1f MiB at the end\n", jobs, 1e3 * seconds.count() / jobs,
              static_cast<double>(free_after_warm_up) / (1 << 20), static_cast<double>(device->FreeBytes()) / (1 << 20));
  EXPECT_GE(jobs, kLeastJobs);
  EXPECT_GE(device->FreeBytes() + (16U << 20), free_after_warm_up) << "16 MiB are for the driver";
}

TEST_F(GpuPipeline, CancellingGivesEverythingBack) {
  const std::string in = Make(kSources[2], 4);
  const auto device = OpenCudaDevice(0);
  EnhanceOptions options = OptionsOf(kEnhancements[2]);
  options.device = "cuda:0";
  int cancelled = 0;
  std::size_t free_bytes = 0;
  for (int i = 0; i < 20; ++i) {
    int polls = 0;
    EnhanceCallbacks callbacks;
    callbacks.is_cancelled = [&] { return ++polls > 2 + i; };
    try {
      Enhance(in, folder_.File("cancelled.mp4"), options, callbacks);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
      ++cancelled;
    }
    // The first run loads modules and fills caches, which stay.
    if (i == 0) free_bytes = device->FreeBytes();
  }
  EXPECT_GE(cancelled, 10);
  EXPECT_GE(device->FreeBytes() + (std::size_t{64} << 20), free_bytes) << "cancelled runs kept memory";
}

}  // namespace
}  // namespace reelmend::cuda
