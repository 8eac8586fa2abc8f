// Networks in the pipeline. Their results are computed, or compared with those of the plain filters.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <regex>

#include "cpu/network_stage.h"
#include "helpers/clips.h"
#include "helpers/networks.h"
#include "helpers/onnx_file.h"
#include "inference/backend.h"
#include "inference/frame_network.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using testing::DecodeLuma;
using testing::DecodePlane;
using testing::DeepNetwork;
using testing::Described;
using testing::Ffmpeg;
using testing::HasOpenVino;
using testing::NearestNetwork;
using testing::Psnr;
using testing::StreamFacts;
using testing::SwappedChromaNetwork;
using testing::SwappedRgbNetwork;
using testing::TemporaryFolder;
using testing::WideRgbNetwork;

class NetworkPipeline : public ::testing::Test {
 protected:
  ModelFile Save(const std::string& name, const std::string& bytes, int scale, int halo = 0) {
    ModelFile file = Described(name, scale);
    file.path = folder_.File(name + std::to_string(scale) + ".onnx");
    std::ofstream(file.path, std::ios::binary) << bytes;
    file.halo = halo;
    return file;
  }

  std::string Clip(const std::string& name, const std::string& size, const std::string& encode, double seconds = 0.4) {
    const std::string path = folder_.File(name);
    Ffmpeg("-f lavfi -i testsrc2=size=" + size + ":rate=25:duration=" + std::to_string(seconds) + " " + encode + " '" + path + "'");
    return path;
  }

  /// Options without enhancements except the network, with a target of 1080p and a nearly lossless encoder.
  static EnhanceOptions Options(const std::vector<ModelFile>& models, const std::string& model = "test") {
    EnhanceOptions options = testing::PlainOptions();
    options.model = model;
    options.models = models;
    options.encoder.crf = 1;
    return options;
  }

  TemporaryFolder folder_;
};

// The network repeats pixels and no resize follows, so every output pixel is known.
TEST_F(NetworkPipeline, TwiceTheSizeIsExactlyTheNetworksPicture) {
  NEEDS_OPENVINO();
  const std::string source = Clip("in.mkv", "960x540", "-c:v ffv1 -pix_fmt yuv420p -color_range tv -colorspace bt709");
  EnhanceOptions options = Options({Save("test", NearestNetwork(2), 2)});
  options.target = Target::k1080p;
  const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), options);
  EXPECT_EQ(result.applied.model, "test");
  EXPECT_EQ(result.frames, 10);
  Ffmpeg("-i '" + source + "' -vf scale=1920:1080:flags=neighbor -c:v ffv1 '" + folder_.File("want.mkv") + "'");
  EXPECT_GT(Psnr(DecodeLuma(folder_.File("out.mp4")), DecodeLuma(folder_.File("want.mkv"))), 49);
  EXPECT_TRUE(std::ranges::any_of(result.stages, [](const StageTime& s) { return s.name == "network" && s.cpu_seconds > 0; }));
}

// The network does not change the picture, so the conversion to and from tensors must not either, at any size and ratio.
TEST_F(NetworkPipeline, TheWayThroughANetworkLosesNothing) {
  NEEDS_OPENVINO();
  struct Case { const char* size; const char* format; const char* filter; };
  for (const Case& c : {Case{"322x182", "yuv420p", "-color_range tv"}, {"161x121", "yuv444p", ""}, {"320x180", "yuv422p10le", ""},
                        {"320x180", "yuvj420p", "-color_range pc"}}) {
    SCOPED_TRACE(c.size + std::string(" ") + c.format);
    const std::string source = Clip(std::string("in-") + c.size + c.format + ".mkv", c.size,
                                    std::string("-c:v ffv1 -colorspace bt709 -pix_fmt ") + c.format + " " + c.filter, 0.12);
    EnhanceOptions plain = Options({});
    plain.model = "none";
    Enhance(source, folder_.File("plain.mp4"), plain);
    using Layout = ModelFile::Layout;
    for (const Layout layout : {Layout::kLumaStrength, Layout::kYcbcrStrength, Layout::kRgb}) {
      SCOPED_TRACE(static_cast<int>(layout));
      const bool is_rgb = layout == Layout::kRgb;
      const bool is_luma = layout == Layout::kLumaStrength;
      ModelFile file = Save("test", is_rgb ? SwappedRgbNetwork(1) : is_luma ? NearestNetwork(1) : SwappedChromaNetwork(1), 1);
      file.layout = layout;
      const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), Options({file}));
      EXPECT_EQ(result.applied.model, "test");
      if (is_rgb) continue;
      EXPECT_GT(Psnr(DecodeLuma(folder_.File("out.mp4")), DecodeLuma(folder_.File("plain.mp4"))), 50);
      for (const char plane : {'u', 'v'}) {
        const char expected = is_luma ? plane : plane == 'u' ? 'v' : 'u';
        EXPECT_GT(Psnr(DecodePlane(folder_.File("out.mp4"), plane), DecodePlane(folder_.File("plain.mp4"), expected)), is_luma ? 50 : 33);
      }
    }
  }
}

TEST_F(NetworkPipeline, ColoursComeOutOfAnRgbNetworkAsItMadeThem) {
  NEEDS_OPENVINO();
  const std::string source = folder_.File("red.mkv");
  Ffmpeg("-f lavfi -i color=red:size=160x120:rate=10:duration=0.3 -c:v ffv1 -pix_fmt yuv420p '" + source + "'");
  for (const int scale : {1, 2, 3, 4}) {
    ModelFile file = Save("test", SwappedRgbNetwork(scale), scale);
    file.layout = ModelFile::Layout::kRgb;
    EnhanceOptions options = Options({file});
    Enhance(source, folder_.File("out.mp4"), options);
    const auto rgb = testing::DecodeRgb(folder_.File("out.mp4"));
    ASSERT_GE(rgb.size(), 3U);
    EXPECT_NEAR(rgb[0], 0, 4);
    EXPECT_NEAR(rgb[1], 0, 4);
    EXPECT_NEAR(rgb[2], 254, 4);
  }
}

TEST_F(NetworkPipeline, ABlindNetworkWithoutAStrengthGetsTheSourceUnfiltered) {
  NEEDS_OPENVINO();
  const std::string source = Clip("noise.mkv", "160x120", "-vf noise=alls=20 -c:v ffv1 -pix_fmt yuv420p", 0.1);
  ModelFile file = Save("test", SwappedRgbNetwork(1), 1);
  file.layout = ModelFile::Layout::kRgb;
  const auto luma = [&](bool is_blind, Strength denoise) {
    file.is_blind = is_blind;
    EnhanceOptions options = Options({file});
    options.denoise = denoise;
    const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), options);
    if (is_blind) { EXPECT_EQ(result.applied.denoise, denoise.mode == Strength::Mode::kOff ? 0 : 1); }
    return DecodeLuma(folder_.File("out.mp4"));
  };
  const Strength off{Strength::Mode::kOff, 0};
  const Strength full{Strength::Mode::kFixed, 1};
  const auto unfiltered = luma(false, off);
  EXPECT_LT(Psnr(luma(false, full), unfiltered), 35) << "a network that does not restore";
  EXPECT_GT(Psnr(luma(true, full), unfiltered), 40);
  EXPECT_GT(Psnr(luma(true, off), unfiltered), 60);
}

/// The network changes colours, at several scales, in one or two passes. Only the first pass gets a strength.
TEST_F(NetworkPipeline, ColoursComeOutOfAYcbcrNetworkAsItMadeThem) {
  NEEDS_OPENVINO();
  constexpr float kGain = -0.5F;
  constexpr double kStrength = 0.2;
  for (const bool is_full : {false, true}) {
    const std::string source = folder_.File("colour.mkv");
    const std::string range = is_full ? "pc" : "tv";
    Ffmpeg("-f lavfi -i color=0x904060:size=32x90:rate=10:duration=0.3 -vf scale=out_range=" + range +
           " -c:v ffv1 -pix_fmt yuv420p -colorspace bt709 -color_range " + range + " '" + source + "'");
    EnhanceOptions plain = Options({});
    plain.model = "none";
    Enhance(source, folder_.File("plain.mp4"), plain);
    const auto expected = [&](char plane) { return static_cast<double>(DecodePlane(folder_.File("plain.mp4"), plane)[0]); };
    struct Case { int scale; Target target; int passes; };
    for (const Case& c : {Case{1, Target::kSource, 1}, {2, Target::k1080p, 2}, {8, Target::k1080p, 2}, {3, Target::k1080p, 2}}) {
      SCOPED_TRACE(std::to_string(c.scale) + " " + range);
      ModelFile file = Save("test", SwappedChromaNetwork(c.scale, kGain, 1), c.scale);
      file.layout = ModelFile::Layout::kYcbcrStrength;
      EnhanceOptions options = Options({file});
      options.target = c.target;
      options.denoise = {Strength::Mode::kFixed, static_cast<float>(kStrength)};
      const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), options);
      EXPECT_EQ(result.applied.model, "test");
      EXPECT_NEAR(result.applied.denoise, kStrength, 1e-6);
      const double gain = std::pow(kGain, c.passes);
      const auto made = [&](char plane) { return static_cast<double>(DecodePlane(folder_.File("out.mp4"), plane)[0]); };
      EXPECT_NEAR(made('y'), expected('y') + kStrength * 219, 2);  // the output always has limited range
      EXPECT_NEAR(made('u'), 128 + gain * (expected(c.passes == 1 ? 'v' : 'u') - 128), 2);
      EXPECT_NEAR(made('v'), 128 + gain * (expected(c.passes == 1 ? 'u' : 'v') - 128), 2);
    }
  }
}

/// The filters do not denoise the planes that a network restores: luma, and chroma if it outputs chroma.
TEST_F(NetworkPipeline, WhatTheNetworkRestoresIsNotDenoisedBefore) {
  NEEDS_OPENVINO();
  const std::string source = folder_.File("noisy.mkv");
  // The clip has one picture, so the temporal filter has no effect.
  Ffmpeg("-f lavfi -i color=0x806040:size=160x120:rate=25 -vf noise=alls=25 -frames:v 1 -c:v ffv1 -colorspace bt709 -pix_fmt yuv420p '" + source + "'");
  using Layout = ModelFile::Layout;
  struct Case { Layout layout; float most; bool keeps_luma, keeps_chroma; };
  for (const Case& c : {Case{Layout::kLumaStrength, 1, true, false}, {Layout::kYcbcrStrength, 1, true, true},
                        {Layout::kLumaStrength, 0, false, false}, {Layout::kYcbcrStrength, 0, false, false}}) {
    SCOPED_TRACE(std::to_string(static_cast<int>(c.layout)) + " " + std::to_string(c.most));
    const bool is_luma = c.layout == Layout::kLumaStrength;
    ModelFile file = Save("test", is_luma ? NearestNetwork(1) : SwappedChromaNetwork(1), 1);
    file.layout = c.layout;
    file.max_strength = c.most;
    const auto run = [&](const std::string& name, const Strength& denoise) {
      EnhanceOptions options = Options({file});
      options.denoise = denoise;
      Enhance(source, folder_.File(name), options);
    };
    run("off.mp4", {Strength::Mode::kOff, 0});
    run("on.mp4", {Strength::Mode::kFixed, 1});
    const auto is_same = [&](char plane) { return DecodePlane(folder_.File("on.mp4"), plane) == DecodePlane(folder_.File("off.mp4"), plane); };
    // The encoder's output planes are only equal if all of its input planes are equal, so luma is compared by PSNR.
    const double alike = Psnr(DecodeLuma(folder_.File("on.mp4")), DecodeLuma(folder_.File("off.mp4")));
    EXPECT_EQ(alike > 48, c.keeps_luma) << alike;
    for (const char plane : {'u', 'v'}) EXPECT_EQ(is_same(plane), c.keeps_chroma) << plane;
  }
}

TEST_F(NetworkPipeline, AnyRatioEndsAtTheExactSize) {
  NEEDS_OPENVINO();
  const std::vector<ModelFile> models = {Save("test", NearestNetwork(2), 2), Save("test", NearestNetwork(1), 1)};
  struct Case { const char* size; Target target; int width, height; };
  for (const Case& c : {Case{"320x240", Target::k1080p, 1440, 1080}, {"1280x720", Target::k1080p, 1920, 1080},
                        {"480x854", Target::k1080p, 1080, 1920}, {"1918x1078", Target::kSource, 1918, 1078},
                        {"2560x1440", Target::k1080p, 1920, 1080}, {"161x121", Target::k1080p, 1438, 1080}}) {
    SCOPED_TRACE(c.size);
    const std::string source = Clip("in.mkv", c.size, "-c:v ffv1 -pix_fmt yuv444p", 0.08);
    EnhanceOptions options = Options(models);
    options.target = c.target;
    const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), options);
    EXPECT_EQ(result.applied.model, "test");
    EXPECT_EQ(result.height, c.height);
    EXPECT_EQ(std::atoi(StreamFacts(folder_.File("out.mp4"), "v").at("width").c_str()), result.width);
    EnhanceOptions plain = options;
    plain.model = "none";
    const EnhanceResult other = Enhance(source, folder_.File("plain.mp4"), plain);
    EXPECT_EQ(result.width, other.width);
    EXPECT_EQ(result.frames, other.frames);
    EXPECT_GT(Psnr(DecodeLuma(folder_.File("out.mp4")), DecodeLuma(folder_.File("plain.mp4"))), 18);
  }
}

/// The number of tiles per frame in a job with two threads.
std::size_t TilesOfAJob(const ModelFile& file, Size in) {
  const auto backend = inference::CreateBackend("openvino");
  inference::FrameNetworkOptions options;  // has the memory limit of jobs
  options.width = in.width;
  options.height = in.height;
  options.threads = 2;
  return inference::FrameNetwork(*backend, file, options).tiles().tiles.size();
}

/// Public networks are often RGB, ×4 and have no other scale. Their output is resized to the target. Pictures that exceed the
/// job's memory limit are processed in tiles, without visible seams.
TEST_F(NetworkPipeline, AFourfoldRgbNetworkEndsAtTheExactSizeInTilesWhereMemoryIsLimited) {
  NEEDS_OPENVINO();
  struct Case { Size in; Target target; Size out; bool is_cut; };
  for (const Case& c : {Case{{640, 360}, Target::k1080p, {1920, 1080}, true}, {{160, 120}, Target::k1080p, {1440, 1080}, false},
                        {{202, 180}, Target::kSource, {202, 180}, false}}) {
    const std::string size = std::to_string(c.in.width) + "x" + std::to_string(c.in.height);
    SCOPED_TRACE(size);
    const std::string source = Clip("in.mkv", size, "-c:v ffv1 -pix_fmt yuv420p", 0.08);
    const auto luma = [&](const EnhanceOptions& options) {
      const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), options);
      EXPECT_EQ(result.applied.model, options.model);
      EXPECT_EQ(result.width, c.out.width);
      EXPECT_EQ(result.height, c.out.height);
      EXPECT_EQ(StreamFacts(folder_.File("out.mp4"), "v").at("height"), std::to_string(c.out.height));
      return DecodeLuma(folder_.File("out.mp4"));
    };
    EnhanceOptions options = Options({});
    options.target = c.target;
    options.threads = 2;
    options.model = "none";
    const auto plain = luma(options);
    options.model = "test";
    const auto with = [&](int planes, bool is_cut) {
      options.models = {Save("test", WideRgbNetwork(4, planes), 4, 1)};
      options.models[0].layout = ModelFile::Layout::kRgb;
      EXPECT_EQ(TilesOfAJob(options.models[0], c.in) > 1, is_cut) << planes;
      return luma(options);
    };
    const auto whole = with(3, false), wide = with(512, c.is_cut);
    EXPECT_GT(Psnr(wide, whole), 50);
    EXPECT_GT(Psnr(wide, plain), 18);
  }
}

TEST_F(NetworkPipeline, FramesKeepTheirOrderAndSegmentsEqualTheWhole) {
  NEEDS_OPENVINO();
  const std::string source = Clip("in.mkv", "160x120", "-c:v ffv1 -pix_fmt yuv420p", 2);
  EnhanceOptions options = Options({Save("test", DeepNetwork(1, 3, 16), 1, 3)});
  options.adaptive_contrast = {Strength::Mode::kFixed, 0.5F};
  for (const int threads : {1, 3}) {
    options.threads = threads;
    options.segment.reset();
    Enhance(source, folder_.File("whole.mp4"), options);
    options.segment = Segment{0.8, 1.6};
    const EnhanceResult part = Enhance(source, folder_.File("part.mp4"), options);
    EXPECT_EQ(part.frames, 20);
    Ffmpeg("-ss 0.8 -i '" + folder_.File("whole.mp4") + "' -frames:v 20 -c:v ffv1 '" + folder_.File("cut.mkv") + "'");
    EXPECT_GT(Psnr(DecodeLuma(folder_.File("cut.mkv")), DecodeLuma(folder_.File("part.mp4"))), 44);
  }
}

TEST_F(NetworkPipeline, AutoTakesFastOnlyWhereItHasSomethingToDo) {
  NEEDS_OPENVINO();
  const ModelFile fast = Save("fast", NearestNetwork(2), 2);
  const ModelFile restores = Save("fast", NearestNetwork(1), 1);
  const ModelFile other = Save("other", NearestNetwork(2), 2);
  const std::string clean = Clip("clean.mkv", "1920x1080", "-c:v ffv1 -pix_fmt yuv420p", 0.12);
  const std::string small = Clip("small.mkv", "320x180", "-c:v ffv1 -pix_fmt yuv420p", 0.12);
  const std::string coarse = Clip("coarse.mp4", "1920x1080", "-c:v libx264 -preset ultrafast -qp 45 -pix_fmt yuv420p", 0.12);
  const auto ran = [&](const std::string& source, const std::vector<ModelFile>& models, const std::string& model) {
    EnhanceOptions options = Options(models, model);
    options.target = Target::k1080p;
    options.denoise = {};
    return Enhance(source, folder_.File("out.mp4"), options).applied;
  };
  EXPECT_EQ(ran(small, {fast, other}, "auto").model, "fast");
  EXPECT_EQ(ran(small, {other}, "auto").model, "none");
  EXPECT_EQ(ran(small, {fast}, "none").model, "none");
  EXPECT_EQ(ran(small, {fast, other}, "other").model, "other");
  EXPECT_EQ(ran(clean, {fast, restores}, "auto").model, "none");
  EXPECT_EQ(ran(clean, {fast}, "fast").model, "none");  // its files do not fit this size
  const AppliedEnhancements restored = ran(coarse, {fast, restores}, "auto");
  EXPECT_EQ(restored.model, "fast");
  EXPECT_GT(restored.denoise, 0.1F);  // comes from the stream's quantiser; the picture has no noise
}

TEST_F(NetworkPipeline, TheStreamsQuantiserSetsTheStrength) {
  NEEDS_OPENVINO();
  const ModelFile fast = Save("fast", NearestNetwork(2), 2);
  const auto strength = [&](const std::string& encode, const std::string& name) {
    EnhanceOptions options = Options({fast}, "fast");
    options.target = Target::k1080p;
    options.denoise = {};
    return Enhance(Clip(name, "320x180", encode, 0.2), folder_.File("out.mp4"), options).applied.denoise;
  };
  const float fine = strength("-c:v libx264 -qp 18 -pix_fmt yuv420p", "fine.mp4");
  const float middle = strength("-c:v libx264 -qp 30 -pix_fmt yuv420p", "middle.mp4");
  const float rough = strength("-c:v libx264 -qp 42 -pix_fmt yuv420p", "rough.mp4");
  EXPECT_LT(fine, middle);
  EXPECT_LT(middle, rough);
  EXPECT_LT(strength("-c:v mpeg4 -q:v 2", "fine.avi"), strength("-c:v mpeg4 -q:v 20", "rough.avi"));
}

TEST_F(NetworkPipeline, AutoRestoresADamagedSourceWithDetailAndSaysWhy) {
  NEEDS_OPENVINO();
  // This network adds its strength to luma, so the result shows the strength.
  ModelFile detail = Save("detail", NearestNetwork(2, 1, 1), 2);
  detail.is_blind = true;
  const ModelFile fast = Save("fast", NearestNetwork(2), 2);
  EnhanceOptions options = Options({fast, detail}, "auto");
  options.target = Target::k1080p;
  options.denoise = {};
  const std::string rough = Clip("rough.mp4", "320x180", "-c:v libx264 -qp 44 -pix_fmt yuv420p", 0.2);
  const EnhanceResult restored = Enhance(rough, folder_.File("out.mp4"), options);
  EXPECT_EQ(restored.applied.model, "detail");
  EXPECT_FLOAT_EQ(restored.applied.denoise, 0.7F);
  const auto model = std::ranges::find(restored.plan, "model", &PlannedStage::name);
  EXPECT_EQ(model->why, "the source is compressed: detail at 70 %");
  const auto averages_results = [](const std::string& why) { return why.find("along the motion, before and after the network") != std::string::npos; };
  EXPECT_TRUE(averages_results(restored.plan[0].why)) << restored.plan[0].why;
  const std::string fine = Clip("fine.mp4", "640x480", "-c:v libx264 -qp 16 -pix_fmt yuv420p", 0.2);
  EXPECT_EQ(PlanEnhance(fine, options).model, "fast");
  const std::string small = Clip("small.mp4", "320x180", "-c:v libx264 -qp 22 -pix_fmt yuv420p", 0.2);
  const EnhancePlan plan = PlanEnhance(small, options);
  EXPECT_EQ(plan.model, "detail");
  EXPECT_EQ(plan.stages[1].why, "the source is small and compressed: detail at 60 %");
  options.models = {fast};
  const EnhancePlan faithful = PlanEnhance(rough, options);
  EXPECT_EQ(faithful.model, "fast");
  EXPECT_FALSE(averages_results(faithful.stages[0].why)) << faithful.stages[0].why;
  options.models = {fast, detail};
  options.denoise = {Strength::Mode::kOff, 0};
  EXPECT_EQ(PlanEnhance(rough, options).model, "fast") << "restoration is off";
  options.model = "detail";
  options.denoise = {};
  const EnhancePlan asked = PlanEnhance(fine, options);
  EXPECT_EQ(asked.model, "detail");
  EXPECT_FLOAT_EQ(asked.stages[0].strength, 0.5F);
  EXPECT_EQ(asked.stages[1].why, "requested");
}

TEST_F(NetworkPipeline, AutoReducesASourceThatWasEnlargedBeforeAndSaysSo) {
  NEEDS_OPENVINO();
  EnhanceOptions options = Options({Save("fast", NearestNetwork(2), 2)}, "auto");
  options.target = Target::k1080p;
  options.denoise = {};
  const std::string path = folder_.File("in.mp4");
  const auto make = [&](const std::string& filter) {
    Ffmpeg("-f lavfi -i life=size=320x180:mold=10:ratio=0.1:seed=7:rate=25 -t 0.4 " + filter + " -c:v libx264 -crf 23 -pix_fmt yuv420p '" + path + "'");
  };
  make("-vf scale=1280:720:flags=bicubic");
  const EnhancePlan plan = PlanEnhance(path, options);
  EXPECT_NE(plan.condition.find("enlarged before from about"), std::string::npos) << plan.condition;
  EXPECT_TRUE(std::regex_match(plan.stages[1].why, std::regex("the picture is enlarged 1.5 times, from [4-7]..×[2-4].., which keeps its remaining detail")))
      << plan.stages[1].why;
  const EnhanceResult result = Enhance(path, folder_.File("out.mp4"), options);
  EXPECT_EQ(result.width, 1920);
  EXPECT_EQ(result.frames, 10);
  ModelFile detail = Save("detail", NearestNetwork(2), 2);
  detail.is_blind = true;
  options.models.push_back(detail);
  EXPECT_EQ(PlanEnhance(path, options).stages[1].why, "the source was enlarged before: detail at 90 %") << "this network was trained on such sources";
  options.target = Target::kSource;
  EXPECT_NE(PlanEnhance(path, options).stages[1].why.find("detail at 90 %, from "), std::string::npos) << "there is no ×1 file of detail";
  options.target = Target::k1080p;
  options.models.pop_back();
  options.denoise = {Strength::Mode::kOff, 0};
  EXPECT_EQ(PlanEnhance(path, options).stages[1].why, "the picture is enlarged 1.5 times") << "restoration is off";
  options.denoise = {};
  options.model = "none";
  EXPECT_EQ(PlanEnhance(path, options).stages[1].why, "turned off");
  options.model = "auto";
  make("");
  EXPECT_EQ(PlanEnhance(path, options).stages[1].why, "the picture is enlarged 6 times");
}

TEST_F(NetworkPipeline, ANetworkIsAskedForNoMoreThanItWasTrainedFor) {
  NEEDS_OPENVINO();
  // This network adds its strength to luma, so the result shows the strength.
  ModelFile fast = Save("fast", NearestNetwork(2, 1, 1), 2);
  const std::string source = folder_.File("grey.mkv");
  Ffmpeg("-f lavfi -i color=gray:size=160x120:rate=10:duration=0.3 -c:v ffv1 -pix_fmt yuv420p '" + source + "'");
  const auto brightness = [&](float most) {
    fast.max_strength = most;
    EnhanceOptions options = Options({fast}, "fast");
    options.target = Target::k1080p;
    options.denoise = {Strength::Mode::kFixed, 0.4F};
    const EnhanceResult result = Enhance(source, folder_.File("out.mp4"), options);
    EXPECT_NEAR(result.applied.denoise, most > 0 ? std::min(most, 0.4F) : 0.4F, 1e-6);  // without a network's limit the filters' strength
    return static_cast<double>(DecodeLuma(folder_.File("out.mp4"))[0]);
  };
  const double plain = brightness(0);
  EXPECT_NEAR(brightness(0.1F), plain + 0.1 * 219, 2);
  EXPECT_NEAR(brightness(1), plain + 0.4 * 219, 2);
}

TEST_F(NetworkPipeline, WhatCannotRunIsSaidInOneSentence) {
  const std::string source = Clip("in.mkv", "160x120", "-c:v ffv1 -pix_fmt yuv420p", 0.2);
  const auto refusal = [&](const EnhanceOptions& options, ErrorCode code) -> std::string {
    try {
      Enhance(source, folder_.File("out.mp4"), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_FALSE(testing::FileExists(folder_.File("out.mp4")));
      return error.what();
    }
    ADD_FAILURE() << "ran";
    return "";
  };
  EXPECT_EQ(refusal(Options({}, "imaginary"), ErrorCode::kInvalidArgument), "There is no model named “imaginary”.");
  EnhanceOptions options = Options({Save("test", "no network", 2)});
  options.target = Target::k1080p;
  if (!HasOpenVino()) {
    EXPECT_NE(refusal(options, ErrorCode::kUnavailable).find("OpenVINO"), std::string::npos);
    return;
  }
  EXPECT_NE(refusal(options, ErrorCode::kInvalidArgument).find("not an ONNX network"), std::string::npos);
  options.models[0].path = "/nowhere/model.onnx";
  EXPECT_NE(refusal(options, ErrorCode::kInvalidArgument).find("cannot be read"), std::string::npos);
}

TEST_F(NetworkPipeline, CancellingEndsAHeavyNetworkSoon) {
  NEEDS_OPENVINO();
  const std::string source = Clip("in.mkv", "960x540", "-c:v ffv1 -pix_fmt yuv420p", 2);
  EnhanceOptions options = Options({Save("test", DeepNetwork(2, 10, 64), 2, 10)});
  options.target = Target::k1080p;
  double late_s = std::numeric_limits<double>::infinity();
  // The best of several attempts, because other work on the machine may delay some.
  for (int attempt = 0; attempt < 4 && late_s > 4.5; ++attempt) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    EnhanceCallbacks callbacks;
    callbacks.is_cancelled = [deadline] { return std::chrono::steady_clock::now() >= deadline; };
    try {
      Enhance(source, folder_.File("out.mp4"), options, callbacks);
      ADD_FAILURE() << "the job was not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    late_s = std::min(late_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - deadline).count());
    EXPECT_FALSE(testing::FileExists(folder_.File("out.mp4")));
  }
  EXPECT_LT(late_s, 4.5);
}

}  // namespace
}  // namespace reelmend
