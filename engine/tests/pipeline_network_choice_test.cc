// The choice of an installed network for a size, and its strength.
#include <gtest/gtest.h>

#include <cmath>

#include "helpers/networks.h"
#include "inference/backend.h"
#include "plan/compression_error.h"
#include "plan/network_choice.h"
#include "plan/network_plan.h"
#include "plan/plan.h"

namespace reelmend {
namespace {

using plan::FitNetwork;
using plan::NetworkDevice;
using testing::Described;

TEST(FitNetwork, RunsAsOftenAsTheRatioNeeds) {
  const std::vector<ModelFile> models = {Described("fast", 2), Described("fast", 1), Described("other", 4)};
  struct Case { Size in, out; int scale, passes; bool after; };
  for (const Case& c : {Case{{960, 540}, {1920, 1080}, 2, 1, false}, {{960, 540}, {3840, 2160}, 2, 2, false},
                        {{1280, 720}, {1920, 1080}, 2, 1, false}, {{900, 506}, {1920, 1080}, 2, 1, false},
                        {{640, 360}, {1920, 1080}, 2, 2, false}, {{320, 180}, {3840, 2160}, 2, 2, false},
                        {{1920, 1080}, {1920, 1080}, 1, 1, false}, {{1916, 1080}, {1920, 1080}, 1, 1, false},
                        {{3840, 2160}, {1920, 1080}, 1, 1, true}, {{720, 576}, {1440, 1080}, 2, 1, false}}) {
    const auto fit = FitNetwork(models, "fast", c.in, c.out);
    ASSERT_TRUE(fit.has_value());
    EXPECT_EQ(fit->file.scale, c.scale) << c.in.width << " to " << c.out.width;
    EXPECT_EQ(fit->passes, c.passes) << c.in.width << " to " << c.out.width;
    EXPECT_EQ(fit->after_resize, c.after) << c.in.width << " to " << c.out.width;
  }
  for (const Size in : {Size{480, 270}, {960, 540}, {1280, 720}, {450, 254}}) {
    EXPECT_EQ(FitNetwork(models, "other", in, {1920, 1080})->passes, 1) << in.width;
  }
  EXPECT_FALSE(FitNetwork(models, "none such", {480, 270}, {1920, 1080}).has_value());
  EXPECT_FALSE(FitNetwork({Described("fast", 2)}, "fast", {1920, 1080}, {1920, 1080}).has_value());
}

TEST(FitNetwork, OnePassSufficesWhereLittleIsLeft) {
  struct Case {
    std::vector<int> scales;
    Size in, out;
    int scale, passes;
  };
  for (const Case& c : {Case{{4}, {426, 240}, {1920, 1080}, 4, 1}, {{3}, {426, 240}, {1920, 1080}, 3, 1}, {{2}, {426, 240}, {1920, 1080}, 2, 2},
                        {{2}, {854, 480}, {1920, 1080}, 2, 1}, {{2}, {640, 360}, {1920, 1080}, 2, 2}, {{2, 3, 4}, {426, 240}, {1920, 1080}, 4, 1},
                        {{2, 3, 4}, {704, 396}, {1920, 1080}, 3, 1}, {{4}, {256, 144}, {1920, 1080}, 4, 2}, {{3}, {320, 180}, {1920, 1080}, 3, 2},
                        {{2, 3}, {426, 240}, {1920, 1080}, 3, 1}, {{2}, {320, 180}, {1920, 1080}, 2, 2}}) {
    std::vector<ModelFile> models;
    for (const int scale : c.scales) models.push_back(Described("net", scale));
    const auto fit = FitNetwork(models, "net", c.in, c.out);
    ASSERT_TRUE(fit.has_value());
    EXPECT_EQ(fit->file.scale, c.scale) << "x" << c.scales.front() << " from " << c.in.height;
    EXPECT_EQ(fit->passes, c.passes) << "x" << c.scales.front() << " from " << c.in.height;
  }
}

TEST(OwnName, IsThatOfTheFirstEntryOfAFile) {
  ModelFile alias = Described("fast", 1);
  alias.name = "quality";
  const std::vector<ModelFile> models = {Described("fast", 2), Described("fast", 1), Described("quality", 2), alias};
  EXPECT_EQ(plan::OwnName(models, models[2]), "quality");
  EXPECT_EQ(plan::OwnName(models, alias), "fast");
  ModelFile nowhere = Described("other", 2);
  EXPECT_EQ(plan::OwnName(models, nowhere), "other");
}

/// Networks as in the shipped manifest: `quality` has no ×1 file and uses the ×1 file of `fast`.
std::vector<ModelFile> WithBorrowedX1(double fast_ms = 0, double quality_ms = 0) {
  std::vector<ModelFile> models = {Described("fast", 2), Described("fast", 1), Described("quality", 2), Described("fast", 1)};
  models[3].name = "quality";
  for (ModelFile& model : models) model.ms_per_megapixel = model.scale == 2 && model.name == "quality" ? quality_ms : fast_ms;
  return models;
}

TEST(ChooseModel, NamesTheNetworkThatRunsAtX1) {
  NEEDS_OPENVINO();
  constexpr Size kSame = {1920, 1080};
  EnhanceOptions options;
  for (const auto& [device, floor] : {std::pair{NetworkDevice::kGpu, 0.0}, {NetworkDevice::kCpu, 0.0}, {NetworkDevice::kCpu, 5.0}}) {
    options.models = WithBorrowedX1(20, 120);
    options.machine.min_frames_per_second = floor;
    for (const char* asked : {"auto", "quality", "fast"}) {
      options.model = asked;
      EXPECT_EQ(plan::ChooseModel(options, {kSame, kSame, device, {}, 25}, 0.3F), "fast") << asked << ", floor " << floor;
    }
    options.model = "quality";
    EXPECT_EQ(plan::ChooseModel(options, {{960, 540}, kSame, device, {}, 25}, 0.3F), "quality");
  }
  EXPECT_EQ(plan::NamesByQuality(options.models, kSame, kSame, {}), std::vector<std::string>{"fast"});
}

TEST(FitNetwork, FilesOfOneNameMayHaveDifferentLayouts) {
  ModelFile colour = Described("quality", 2);
  colour.layout = ModelFile::Layout::kYcbcrStrength;
  const std::vector<ModelFile> models = {colour, Described("quality", 1)};
  const auto twice = FitNetwork(models, "quality", {480, 270}, {1920, 1080});
  EXPECT_EQ(twice->file.layout, ModelFile::Layout::kYcbcrStrength);
  EXPECT_EQ(twice->passes, 2);
  const auto reduced = FitNetwork(models, "quality", {3840, 2160}, {1920, 1080});
  EXPECT_EQ(reduced->file.layout, ModelFile::Layout::kLumaStrength);
  EXPECT_TRUE(reduced->after_resize);
  EXPECT_FALSE(FitNetwork({colour}, "quality", {1920, 1080}, {1920, 1080}).has_value()) << "only operators' RGB networks run without a file of the needed scale";
}

TEST(AutomaticModel, IsTheLargerNetworkWhereAGpuCanRunIt) {
  const std::vector<ModelFile> both = {Described("fast", 2), Described("quality", 2)};
  const auto of = [&](const std::vector<ModelFile>& models, Size out, NetworkDevice device) {
    return plan::AutomaticModel(models, {{960, 540}, out, device});
  };
  EXPECT_EQ(of(both, {1920, 1080}, NetworkDevice::kGpu), "quality");
  EXPECT_EQ(of(both, {1920, 1080}, NetworkDevice::kCpu), "fast");
  EXPECT_EQ(of({Described("fast", 2)}, {1920, 1080}, NetworkDevice::kGpu), "fast");
  EXPECT_EQ(of(both, {960, 540}, NetworkDevice::kGpu), "fast") << "there is no larger network for x1";
}

TEST(FitNetwork, PrefersInt8WhereItIsFastAndGood) {
  ModelFile int8 = Described("fast", 2, ModelFile::Precision::kInt8);
  for (const double loss : {-0.2, 0.05, 0.3}) {
    int8.loss_db = loss;
    const auto fit = FitNetwork({Described("fast", 2), int8}, "fast", {960, 540}, {1920, 1080});
    const bool is_int8 = fit->file.precision == ModelFile::Precision::kInt8;
    EXPECT_EQ(is_int8, inference::HasFastInt8() && loss <= 0.1) << loss;
  }
  EXPECT_TRUE(FitNetwork({int8}, "fast", {960, 540}, {1920, 1080}).has_value());  // int8 is better than no network
}

TEST(NetworkStrength, FollowsNoiseAndCompression) {
  const auto strength = [](float noise, float coding) {
    return plan::ChooseNetworkStrength({}, {noise, {}, coding});
  };
  EXPECT_EQ(strength(0, 0), 0);
  EXPECT_EQ(strength(0.3F, 0.3F), 0);
  EXPECT_NEAR(strength(25, 0), 0.5F, 1e-6);
  EXPECT_NEAR(strength(3, 4), std::hypot(3.0, 16 / 5.2) / 50, 1e-6);
  EXPECT_LT(strength(0, 2), 0.7F * 2 / 50);  // a network must not invent the detail that a good encoder removed
  EXPECT_GT(strength(0, 10), 0.85F * 10 / 50);
  EXPECT_EQ(strength(80, 0), 1);
  EnhanceOptions options;
  options.denoise = {Strength::Mode::kOff, 0};
  EXPECT_EQ(plan::ChooseNetworkStrength(options, {25, {}, 5}), 0);
  options.denoise = {Strength::Mode::kFixed, 0.3F};
  EXPECT_EQ(plan::ChooseNetworkStrength(options, {0, {}, 0}), 0.3F);
}

TEST(CompressionError, FallsWithTheRate) {
  const auto error = [](AVCodecID codec, std::int64_t rate) {
    return plan::CompressionErrorOfRate(codec, rate, 1280, 720, 25);
  };
  EXPECT_GT(error(AV_CODEC_ID_H264, 500'000), error(AV_CODEC_ID_H264, 5'000'000));
  EXPECT_LT(error(AV_CODEC_ID_HEVC, 2'000'000), error(AV_CODEC_ID_H264, 2'000'000));
  EXPECT_GT(error(AV_CODEC_ID_MPEG2VIDEO, 2'000'000), error(AV_CODEC_ID_H264, 2'000'000));
  EXPECT_EQ(error(AV_CODEC_ID_FFV1, 2'000'000), 0);
  EXPECT_EQ(error(AV_CODEC_ID_H264, 0), 0);
}

}  // namespace
}  // namespace reelmend
