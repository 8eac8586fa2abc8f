// Networks in the CUDA pipeline, on a stand-in device and a stand-in backend. The output must equal the CPU's output for the
// same ONNX file, in order, with any delays of the streams, with several slots or tiles. Faults are injected.
#include <gtest/gtest.h>

#include <thread>

#include "cuda/network_runner.h"
#include "cuda_network_fixture.h"
#include "device/processor.h"
#include "helpers/clips.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::DecodePlane;
using reelmend::testing::Ffmpeg;
using reelmend::testing::FileExists;
using reelmend::testing::FrameTimes;
using reelmend::testing::Psnr;
using testing::StandInDevice;
using testing::StandInOptions;

class CudaNetworks : public testing::CudaNetworkTest {};

/// The pictures are narrow, so that the tests are fast, but as high as the target needs.
struct Case {
  const char* name;
  const char* size;
  ModelFile::Layout layout;
  float strength;  ///< strength of all stages
  float denoise;
};
constexpr Case kCases[] = {
    {"luma, all stages", "128x540", ModelFile::Layout::kLumaStrength, 0.4F, 0.4F},
    {"luma, twice", "64x270", ModelFile::Layout::kLumaStrength, 0, 0.2F},
    {"RGB, all stages", "128x540", ModelFile::Layout::kRgb, 0.3F, 0.3F},
    {"YCbCr, all stages", "128x540", ModelFile::Layout::kYcbcrStrength, 0.3F, 0.5F},
    {"YCbCr, twice", "64x270", ModelFile::Layout::kYcbcrStrength, 0, 0.2F},
};

TEST_F(CudaNetworks, MakeWhatTheCpuMakesOfTheSameFile) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const std::string in = Clip(c.size, 0.12);
    const ModelFile model = c.layout == ModelFile::Layout::kRgb ? Rgb() : c.layout == ModelFile::Layout::kLumaStrength ? Fast() : Ycbcr();
    EnhanceOptions options = Options(model, Target::k1080p);
    options.sharpen = options.adaptive_contrast = {c.strength > 0 ? Strength::Mode::kFixed : Strength::Mode::kOff, c.strength};
    options.denoise = {c.denoise > 0 ? Strength::Mode::kFixed : Strength::Mode::kOff, c.denoise};
    const std::string by_cpu = folder_.File("cpu.mp4");
    const std::string by_gpu = folder_.File("gpu.mp4");
    options.device = "cpu";
    const EnhanceResult expected = Enhance(in, by_cpu, options);
    const auto device = Late();
    const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), in, by_gpu, options);
    EXPECT_EQ(result.device, "cuda:0 (stand-in)");
    EXPECT_EQ(result.applied.model, model.name);
    EXPECT_EQ(expected.applied.model, result.applied.model);
    EXPECT_EQ(result.frames, expected.frames);
    EXPECT_EQ(FrameTimes(by_gpu), FrameTimes(by_cpu));
    EXPECT_GT(Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu)), 46);
    for (const char plane : {'u', 'v'}) EXPECT_GT(Psnr(DecodePlane(by_gpu, plane), DecodePlane(by_cpu, plane)), 46) << plane;
    EXPECT_EQ(device->transfers().frame_uploads, result.frames);
    EXPECT_EQ(device->transfers().frame_downloads, result.frames);
    EXPECT_GT(device->graph_launches(), 0) << "no graph was launched";
    EXPECT_EQ(log_->contexts, 0);
    EXPECT_EQ(device->used(), 0U);
  }
}

TEST_F(CudaNetworks, PicturesRunConcurrentlyAndComeOutInOrder) {
  const std::string in = Clip("160x90", 0.8);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  const std::string quiet = folder_.File("quiet.mp4");
  run::EnhanceOn(ProcessorOn(Late(0)), in, quiet, options);
  const auto expected = DecodeLuma(quiet);
  log_->waits_for_second = true;
  for (const int delay : {100, 2000}) {
    log_->most_at_once = 0;
    const std::string late = folder_.File("late.mp4");
    run::EnhanceOn(ProcessorOn(Late(delay)), in, late, options);
    EXPECT_EQ(DecodeLuma(late), expected) << delay;
    EXPECT_EQ(FrameTimes(late), FrameTimes(quiet));
    EXPECT_GE(log_->most_at_once, 2) << "no two pictures ran concurrently";
  }
}

TEST_F(CudaNetworks, ANetworkThatCannotBeCapturedRunsWithoutAGraph) {
  const std::string in = Clip();
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  const std::string with_graphs = folder_.File("graphs.mp4");
  const std::string without = folder_.File("pieces.mp4");
  run::EnhanceOn(ProcessorOn(Late()), in, with_graphs, options);
  log_->refuses_capture = true;
  const auto device = Late();
  run::EnhanceOn(ProcessorOn(device), in, without, options);
  EXPECT_EQ(device->graph_launches(), 0);
  EXPECT_EQ(DecodeLuma(without), DecodeLuma(with_graphs));
}

TEST_F(CudaNetworks, LessMemoryMeansTilesThenAnError) {
  const std::string in = Clip("160x540", 0.08);
  EnhanceOptions options = Options(Fast());
  options.models[0].scale = 2;
  log_->workspace_bytes = 8 << 20;
  const auto plenty = Late(0);
  const std::string whole = folder_.File("whole.mp4");
  run::EnhanceOn(ProcessorOn(plenty), in, whole, options);
  const auto expected = DecodeLuma(whole);
  bool was_cut = false;
  bool was_refused = false;
  for (std::size_t memory = plenty->peak(); memory > plenty->peak() / 20; memory = memory * 3 / 5) {
    SCOPED_TRACE(memory);
    const int before = log_->built;
    const std::string out = folder_.File("less.mp4");
    try {
      run::EnhanceOn(ProcessorOn(Late(0, memory)), in, out, options);
      EXPECT_GT(Psnr(DecodeLuma(out), expected), 60) << "tiles must give the same picture";
      was_cut = was_cut || log_->built - before > 1;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
      EXPECT_NE(std::string(error.what()).find("too little free memory"), std::string::npos) << error.what();
      was_refused = true;
    }
    EXPECT_EQ(log_->contexts, 0);
  }
  EXPECT_TRUE(was_cut) << "no picture was processed in tiles";
  EXPECT_TRUE(was_refused);
}

TEST_F(CudaNetworks, TilesOfColourEqualTheWhole) {
  const std::string in = Clip("160x540", 0.12);
  const EnhanceOptions options = Options(Ycbcr());
  log_->workspace_bytes = 8 << 20;
  const auto plenty = Late(0);
  const std::string whole = folder_.File("whole.mp4");
  run::EnhanceOn(ProcessorOn(plenty), in, whole, options);
  bool was_cut = false;
  for (std::size_t memory = plenty->peak(); memory > plenty->peak() / 20 && !was_cut; memory = memory * 4 / 5) {
    const int before = log_->built;
    const std::string out = folder_.File("less.mp4");
    try {
      run::EnhanceOn(ProcessorOn(Late(0, memory)), in, out, options);
    } catch (const Error&) {
      break;
    }
    was_cut = log_->built - before > 1;
    for (const char plane : {'y', 'u', 'v'}) EXPECT_GT(Psnr(DecodePlane(out, plane), DecodePlane(whole, plane)), 60) << plane;
  }
  EXPECT_TRUE(was_cut) << "no picture was processed in tiles";
}

/// Same as NetworkPipeline.WhatTheNetworkRestoresIsNotDenoisedBefore on the CPU.
TEST_F(CudaNetworks, WhatTheNetworkRestoresIsNotDenoisedBefore) {
  const std::string in = folder_.File("noisy.mkv");
  Ffmpeg("-f lavfi -i color=0x806040:size=160x120:rate=25 -vf noise=alls=25 -frames:v 1 -c:v ffv1 -colorspace bt709 -pix_fmt yuv420p '" + in + "'");
  for (const float most : {1.0F, 0.0F}) {
    ModelFile model = Save("pure", 2, ModelFile::Layout::kYcbcrStrength, reelmend::testing::SwappedChromaNetwork(2));
    model.max_strength = most;
    const auto run = [&](const std::string& name, const Strength& denoise) {
      EnhanceOptions options = Options(model, Target::k1080p);
      options.denoise = denoise;
      run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File(name), options);
    };
    run("off.mp4", {Strength::Mode::kOff, 0});
    run("on.mp4", {Strength::Mode::kFixed, 1});
    for (const char plane : {'y', 'u', 'v'}) {
      EXPECT_EQ(DecodePlane(folder_.File("on.mp4"), plane) == DecodePlane(folder_.File("off.mp4"), plane), most > 0) << plane;
    }
  }
}

/// Same as NetworkPipeline.AutoReducesASourceThatWasEnlargedBeforeAndSaysSo on the CPU. The target is the source's size, so
/// the source is reduced first, and the network enlarges it again.
TEST_F(CudaNetworks, ASourceThatWasEnlargedBeforeIsReducedFirst) {
  const std::string in = folder_.File("enlarged.mp4");
  Ffmpeg("-f lavfi -i life=size=320x180:mold=10:ratio=0.1:seed=7:rate=25 -t 0.08 -vf scale=960:540:flags=bicubic -c:v libx264 -crf 23 "
         "-pix_fmt yuv420p '" + in + "'");
  for (const ModelFile& model : {Fast(), Rgb(), Ycbcr()}) {
    SCOPED_TRACE(model.name);
    EnhanceOptions options = Options(model, Target::kSource);
    options.denoise = {};
    const auto why = PlanEnhance(in, options).stages[1].why;
    EXPECT_NE(why.find("requested, from "), std::string::npos) << why;
    options.device = "cpu";
    Enhance(in, folder_.File("cpu.mp4"), options);
    run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File("gpu.mp4"), options);
    for (const char plane : {'y', 'u', 'v'}) {
      EXPECT_GT(Psnr(DecodePlane(folder_.File("gpu.mp4"), plane), DecodePlane(folder_.File("cpu.mp4"), plane)), 46) << plane;
    }
  }
}

TEST_F(CudaNetworks, APreparedNetworkIsLoadedOnceAndMakesTheSame) {
  const std::string in = Clip("160x90", 0.2);
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  const std::string cold = folder_.File("cold.mp4");
  const std::string warm = folder_.File("warm.mp4");
  run::EnhanceOn(ProcessorOn(Late()), in, cold, options);
  for (const bool fits : {true, false}) {
    SCOPED_TRACE(fits);
    const int built = log_->built;
    const int loaded = log_->loaded;
    const auto device = Late();
    auto processor = ProcessorOn(device);
    const int enqueued = log_->enqueued;
    processor->Prepare(options, {{fits ? 160 : 80, 90}, {fits ? 160 : 80, 90}, "rgb", false});
    EXPECT_EQ(log_->built, built + 1);
    EXPECT_GT(log_->enqueued, enqueued) << "the prepared network did not run";
    EXPECT_EQ(log_->contexts, 0) << "its memory must be released";
    run::EnhanceOn(std::move(processor), in, warm, options);
    EXPECT_EQ(log_->built, built + (fits ? 1 : 2));
    EXPECT_EQ(log_->loaded, loaded + (fits ? 1 : 2));
    EXPECT_EQ(DecodeLuma(warm), DecodeLuma(cold));
    EXPECT_EQ(device->used(), 0U);
  }
}

TEST_F(CudaNetworks, TooLittleMemoryToPrepareLeavesTheDeviceAsItWas) {
  const auto device = Late(0, 64 << 10);
  const auto processor = ProcessorOn(device);
  const std::size_t before = device->used();
  const int built = log_->built;
  EXPECT_THROW(processor->Prepare(Options(Rgb(), Target::kSource), {{640, 360}, {640, 360}, "rgb", false}), Error);
  EXPECT_EQ(device->used(), before);
  EXPECT_LE(log_->built, built + 1) << "no engines for tiles may be built";
}

TEST(NetworkContexts, AreAsManyAsHalfOfTheFreeMemoryHolds) {
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  struct Case { std::size_t free, context; int most, expected; };
  for (const Case& c : {Case{1000 * kMegabyte, 100 * kMegabyte, 4, 4}, {700 * kMegabyte, 100 * kMegabyte, 4, 3}, {599 * kMegabyte, 100 * kMegabyte, 4, 2},
                        {400 * kMegabyte, 100 * kMegabyte, 2, 2}, {150 * kMegabyte, 100 * kMegabyte, 4, 1}, {0, 100 * kMegabyte, 4, 1},
                        {std::size_t{80} << 30, 1, 4, 4}, {100, 0, 3, 3}, {1000 * kMegabyte, 100 * kMegabyte, 0, 1}}) {
    EXPECT_EQ(ContextsWithin(c.free, c.context, c.most), c.expected) << c.free / kMegabyte << " MB free, at most " << c.most;
  }
}

TEST_F(CudaNetworks, AsManyContextsAsTheFreeMemoryAllows) {
  const std::string in = Clip("160x90", 0.4);
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  log_->workspace_bytes = 16 << 20;
  const auto most_on = [&](std::size_t memory) {
    log_->most_contexts = 0;
    run::EnhanceOn(ProcessorOn(Late(0, memory)), in, folder_.File("out.mp4"), options);
    return log_->most_contexts.load();
  };
  EXPECT_EQ(most_on(std::size_t{256} << 20), 2);
  EXPECT_EQ(most_on(std::size_t{48} << 20), 1);
}

/// Returns the error's message. Expects that the output does not exist.
std::string Fault(std::unique_ptr<device::Processor> processor, const std::string& in, const std::string& out, const EnhanceOptions& options,
                  ErrorCode code, const EnhanceCallbacks& callbacks = {}) {
  try {
    run::EnhanceOn(std::move(processor), in, out, options, callbacks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_FALSE(FileExists(out));
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

TEST_F(CudaNetworks, FaultsEndInOneSentenceAtAnyMoment) {
  const std::string in = Clip();
  const std::string out = folder_.File("fault.mp4");
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  for (const int after : {0, 3, 11, 40, 90}) {
    StandInOptions lost;
    lost.longest_delay_us = 200;
    lost.lost_after = after;
    EXPECT_EQ(Fault(ProcessorOn(std::make_shared<StandInDevice>(lost)), in, out, options, ErrorCode::kUnavailable),
              "The GPU stopped working while it processed the video (stand-in).")
        << after;
    EXPECT_EQ(log_->contexts, 0);
  }
  for (const int after : {0, 1, 2, 3}) {  // before, between and during the captures of graphs
    log_->fails_after = log_->enqueued + after;
    EXPECT_EQ(Fault(ProcessorOn(Late()), in, out, options, ErrorCode::kUnavailable), "The network failed while it ran.") << after;
    EXPECT_EQ(log_->contexts, 0);
  }
  log_->fails_after = -1;
  log_->refuses = "The model uses the operator Abacus in a way that this cannot run.";
  EXPECT_EQ(Fault(ProcessorOn(Late()), in, out, options, ErrorCode::kUnavailable), "Model “rgb”: " + log_->refuses);
}

TEST_F(CudaNetworks, CancellingWithPicturesInTheNetworkGivesItsMemoryBack) {
  const std::string in = Clip("160x90", 2);
  const std::string out = folder_.File("cancelled.mp4");
  EnhanceCallbacks callbacks;
  callbacks.is_cancelled = [&] { return log_->enqueued >= 2; };
  const auto device = Late(4000);
  Fault(ProcessorOn(device), in, out, Options(Rgb(), Target::kSource), ErrorCode::kCancelled, callbacks);
  for (int i = 0; i < 500 && device->used() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(device->used(), 0U);
  EXPECT_EQ(log_->contexts, 0);
}

TEST_F(CudaNetworks, TwoJobsShareADevice) {
  const std::string in = Clip("160x90", 0.8);
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  const std::string alone = folder_.File("alone.mp4");
  run::EnhanceOn(ProcessorOn(Late(0)), in, alone, options);
  const auto expected = DecodeLuma(alone);
  const auto device = Late(500);
  std::vector<std::jthread> jobs;
  for (const char* name : {"one.mp4", "two.mp4"}) {
    jobs.emplace_back([&, name] { run::EnhanceOn(ProcessorOn(device), in, folder_.File(name), options); });
  }
  jobs.clear();
  EXPECT_EQ(DecodeLuma(folder_.File("one.mp4")), expected);
  EXPECT_EQ(DecodeLuma(folder_.File("two.mp4")), expected);
  EXPECT_EQ(device->used(), 0U);
}

TEST_F(CudaNetworks, ManyPicturesAllocateNothing) {
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  const auto allocations = [&](double seconds) {
    const auto device = Late(0);
    run::EnhanceOn(ProcessorOn(device), Clip("160x90", seconds), folder_.File("out.mp4"), options);
    return device->allocations();
  };
  EXPECT_EQ(allocations(0.4), allocations(1.6));
}

}  // namespace
}  // namespace reelmend::cuda
