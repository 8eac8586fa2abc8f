// Whole videos in the CUDA pipeline, on a stand-in device with delays, unsynchronised streams and injected faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "cuda_standin.h"
#include "cuda_standin_processor.h"
#include "device/processor.h"
#include "helpers/clips.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::Ffmpeg;
using reelmend::testing::FileExists;
using reelmend::testing::FrameTimes;
using reelmend::testing::PlainOptions;
using reelmend::testing::Psnr;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::ToneInput;
using reelmend::testing::VideoInput;
using testing::ProcessorOn;
using testing::StandInDevice;
using testing::StandInOptions;

EnhanceOptions AllStages() {
  EnhanceOptions options = PlainOptions();
  options.model = "none";
  options.denoise = options.sharpen = options.adaptive_contrast = {Strength::Mode::kFixed, 0.4F};
  options.encoder.crf = 8;
  return options;
}

struct Source {
  const char* name;
  const char* encode;
};
constexpr Source kSources[] = {
    {"plain.mp4", "-c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"ten.mkv", "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p10le -c:a aac"},
    {"wide.mkv", "-c:v ffv1 -pix_fmt yuv422p10le -c:a aac"},
    {"rgb.mov", "-c:v qtrle -pix_fmt rgb24 -c:a aac"},
    {"fields.mp4", "-vf setfield=tff -flags +ildct+ilme -c:v libx264 -pix_fmt yuv420p -c:a aac"},
};

class CudaPipeline : public ::testing::Test {
 protected:
  std::string Make(const Source& source, const std::string& size = "176x100", double seconds = 0.8) {
    const std::string file = folder_.File(source.name);
    if (!FileExists(file))
      Ffmpeg(VideoInput(size, seconds) + " " + ToneInput(seconds) + " " + source.encode + " " + file);
    return file;
  }

  /// Returns the error's message, or "" without an error. Expects that the output does not exist.
  std::string Fault(const std::shared_ptr<StandInDevice>& device, const EnhanceOptions& options, ErrorCode code) {
    const std::string out = folder_.File("fault.mp4");
    try {
      run::EnhanceOn(ProcessorOn(device), Make(kSources[0]), out, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_FALSE(FileExists(out));
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(CudaPipeline, MakesWhatTheCpuMakesWithOneUploadAndOneDownloadAFrame) {
  for (const Source& source : kSources) {
    SCOPED_TRACE(source.name);
    const std::string in = Make(source);
    const std::string by_cpu = folder_.File("cpu.mp4");
    const std::string by_gpu = folder_.File("gpu.mp4");
    EnhanceOptions options = AllStages();
    options.device = "cpu";
    const EnhanceResult expected = Enhance(in, by_cpu, options);
    StandInOptions late;
    late.longest_delay_us = 300;
    const auto device = std::make_shared<StandInDevice>(late);
    const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), in, by_gpu, options);
    EXPECT_EQ(result.device, "cuda:0 (stand-in)");
    EXPECT_EQ(expected.device, "cpu");
    EXPECT_EQ(result.frames, expected.frames);
    EXPECT_EQ(FrameTimes(by_gpu), FrameTimes(by_cpu));
    EXPECT_GT(Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu)), 50);
    EXPECT_EQ(device->transfers().frame_uploads, result.frames);
    EXPECT_EQ(device->transfers().frame_downloads, result.frames);
    EXPECT_EQ(device->used(), 0U) << "all memory must be released";
  }
}

TEST_F(CudaPipeline, APixelAspectThatChangesGetsTheBarsOfTheCpu) {
  const auto part = [&](const std::string& name, const std::string& shape, int start_s) {
    const std::string file = folder_.File(name);
    Ffmpeg(VideoInput("180x144", 2) + " -vf setdar=" + shape + " -c:v mpeg2video -output_ts_offset " + std::to_string(start_s) + " " + file);
    return file;
  };
  const std::string in = folder_.File("joined.ts");
  reelmend::testing::RunCommand("cat " + part("a.ts", "4/3", 0) + " " + part("b.ts", "16/9", 2) + " > " + in);
  EnhanceOptions options = AllStages();
  run::EnhanceOn(ProcessorOn(std::make_shared<StandInDevice>()), in, folder_.File("gpu.mp4"), options);
  options.device = "cpu";
  Enhance(in, folder_.File("cpu.mp4"), options);
  EXPECT_GT(Psnr(DecodeLuma(folder_.File("gpu.mp4")), DecodeLuma(folder_.File("cpu.mp4"))), 50);
}

TEST_F(CudaPipeline, ASegmentIsThePartOfTheWhole) {
  const std::string in = Make(kSources[0], "176x100", 0.8);
  EnhanceOptions options = AllStages();
  options.segment = Segment{0.4, 0.6, 24};
  const auto device = std::make_shared<StandInDevice>();
  const std::string part = folder_.File("part.mp4");
  const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), in, part, options);
  EXPECT_EQ(result.frames, 5);
  options.device = "cpu";
  Enhance(in, folder_.File("cpu-part.mp4"), options);
  EXPECT_GT(Psnr(DecodeLuma(part), DecodeLuma(folder_.File("cpu-part.mp4"))), 50);
}

TEST_F(CudaPipeline, ALostDeviceEndsInOneSentenceAtAnyMoment) {
  for (const int after : {0, 1, 7, 20, 40, 90}) {
    StandInOptions options;
    options.longest_delay_us = 200;
    options.lost_after = after;
    EXPECT_EQ(Fault(std::make_shared<StandInDevice>(options), AllStages(), ErrorCode::kUnavailable),
              "The GPU stopped working while it processed the video (stand-in).")
        << after;
  }
}

TEST_F(CudaPipeline, LessMemoryMeansBandsThenAnError) {
  const std::string in = Make({"short.mp4", kSources[0].encode}, "176x100", 0.12);
  EnhanceOptions options = AllStages();
  options.target = Target::k1080p;
  const auto plenty = std::make_shared<StandInDevice>();
  const std::string whole = folder_.File("whole.mp4");
  const EnhanceResult expected = run::EnhanceOn(ProcessorOn(plenty), in, whole, options);
  const std::vector<std::uint8_t> samples = DecodeLuma(whole);
  StandInOptions tight;
  tight.memory_bytes = plenty->peak() - 200'000;  // too little for the resize's full float intermediate
  const std::string banded = folder_.File("banded.mp4");
  EXPECT_EQ(run::EnhanceOn(ProcessorOn(std::make_shared<StandInDevice>(tight)), in, banded, options).frames,
            expected.frames);
  EXPECT_EQ(DecodeLuma(banded), samples) << "less memory must give the same samples";
  tight.memory_bytes = 1'000'000;
  EXPECT_EQ(Fault(std::make_shared<StandInDevice>(tight), options, ErrorCode::kUnavailable),
            "The GPU has too little free memory for this video.");
}

TEST_F(CudaPipeline, CancellingEndsWithoutADeadlock) {
  StandInOptions late;
  late.longest_delay_us = 20'000;
  const auto device = std::make_shared<StandInDevice>(late);
  int polls = 0;
  EnhanceCallbacks callbacks;
  callbacks.is_cancelled = [&] { return ++polls > 3; };
  const std::string out = folder_.File("cancelled.mp4");
  try {
    run::EnhanceOn(ProcessorOn(device), Make(kSources[0]), out, AllStages(), callbacks);
    FAIL() << "the job was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_FALSE(FileExists(out));
  for (int i = 0; i < 500 && device->used() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(device->used(), 0U) << "deferred destruction must release its memory, too";
}

TEST_F(CudaPipeline, ManyJobsLeaveNothingOnTheDevice) {
  const std::string in = Make({"short.mp4", kSources[0].encode}, "176x100", 0.12);
  const auto device = std::make_shared<StandInDevice>();
  std::size_t peak = 0;
  for (int i = 0; i < 20; ++i) {
    run::EnhanceOn(ProcessorOn(device), in, folder_.File("many.mp4"), AllStages());
    ASSERT_EQ(device->used(), 0U);
    if (i == 0) peak = device->peak();
  }
  EXPECT_EQ(device->peak(), peak);
}

}  // namespace
}  // namespace reelmend::cuda
