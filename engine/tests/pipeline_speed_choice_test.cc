// The network that `auto` chooses on a CPU from measured times and an operator's minimum speed (floor). The times are constants.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "helpers/networks.h"
#include "inference/backend.h"
#include "plan/network_choice.h"
#include "plan/network_plan.h"
#include "plan/plan.h"
#include "plan/plan_reasons.h"
#include "plan/plan_record.h"
#include "plan/speed_choice.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using plan::NetworkDevice;
using testing::Described;

constexpr Size kSource = {1000, 500};  // half a megapixel
constexpr Size kTwice = {2000, 1000};  // two megapixels
constexpr Size kFourTimes = {4000, 2000};

ModelFile Measured(const std::string& name, double ms_per_megapixel, ModelFile::Precision precision = ModelFile::Precision::kFp32) {
  ModelFile file = Described(name, 2, precision);
  file.ms_per_megapixel = ms_per_megapixel;
  file.sha256 = std::string(64, precision == ModelFile::Precision::kInt8 ? '8' : 'f');
  return file;
}

const std::vector<ModelFile> kBoth = {Measured("fast", 20), Measured("quality", 120)};

MachineSpeed AtLeast(double frames_per_second, double times_length = 0, double other = 0) { return {other, frames_per_second, times_length}; }

std::string Automatic(const std::vector<ModelFile>& models, const MachineSpeed& machine, double rate = 25, Size out = kTwice,
                      NetworkDevice device = NetworkDevice::kCpu, plan::RestorationChoice restoration = {}) {
  return plan::AutomaticModel(models, {kSource, out, device, restoration, rate}, machine);
}

TEST(FrameTime, IsTheSumOfAllPassesAndOtherWork) {
  const auto time_ms = [&](Size out, double other) {
    return plan::FrameTime_ms(*plan::FitNetwork(kBoth, "fast", kSource, out), kSource, out, {other, 0, 0});
  };
  EXPECT_DOUBLE_EQ(*time_ms(kTwice, 0), 10);
  EXPECT_DOUBLE_EQ(*time_ms(kTwice, 15), 40);
  EXPECT_DOUBLE_EQ(*time_ms(kFourTimes, 0), 50) << "the second pass has four times the pixels";
  EXPECT_FALSE(plan::FrameTime_ms({Described("fast", 2), 1, false}, kSource, kTwice, {}).has_value());
}

TEST(FrameTime, CountsTheReducedPictureWhereTheSourceIsReducedFirst) {
  ModelFile same = Measured("fast", 20);
  same.scale = 1;
  const auto fit = plan::FitNetwork({same}, "fast", kFourTimes, kSource);
  ASSERT_TRUE(fit && fit->after_resize);
  EXPECT_DOUBLE_EQ(*plan::FrameTime_ms(*fit, kFourTimes, kSource, {}), 10);
}

TEST(Floor, IsTheLargerOfBothUnits) {
  EXPECT_EQ(plan::FloorOf({}, 30), 0);
  EXPECT_EQ(plan::FloorOf(AtLeast(12), 30), 12);
  EXPECT_EQ(plan::FloorOf(AtLeast(0, 0.5), 30), 15);
  EXPECT_EQ(plan::FloorOf(AtLeast(20, 0.5), 30), 20);
  EXPECT_EQ(plan::FloorOf(AtLeast(0, 2), 0), 50) << "an unknown rate counts as 25";
}

TEST(AutomaticModel, IsTheBestThatKeepsTheFloor) {
  // quality: 60 ms per frame, 16.7 frames per second; fast: 10 ms per frame, 100 frames per second.
  EXPECT_EQ(Automatic(kBoth, {}), "fast") << "without a floor the times do not matter";
  EXPECT_EQ(Automatic(kBoth, AtLeast(16)), "quality");
  EXPECT_EQ(Automatic(kBoth, AtLeast(17)), "fast");
  EXPECT_EQ(Automatic(kBoth, AtLeast(1000)), "fast") << "no network keeps the floor, so the fastest is chosen";
  EXPECT_EQ(Automatic(kBoth, AtLeast(0, 1), 12), "quality");
  EXPECT_EQ(Automatic(kBoth, AtLeast(0, 1), 25), "fast");
  EXPECT_EQ(Automatic(kBoth, AtLeast(16, 0, 30)), "fast") << "other work takes another 60 ms";
  EXPECT_EQ(Automatic(kBoth, AtLeast(10), 25, kFourTimes), "fast") << "two passes take 300 ms";
}

TEST(AutomaticModel, NeedsFiguresForAFloor) {
  const std::vector<ModelFile> unknown = {Described("fast", 2), Described("quality", 2)};
  EXPECT_EQ(Automatic(unknown, AtLeast(1)), "fast");
  EXPECT_EQ(Automatic({Measured("fast", 20), Described("quality", 2)}, AtLeast(1)), "fast");
  EXPECT_EQ(Automatic({Measured("quality", 20)}, AtLeast(1)), "quality") << "no other network is installed";
}

TEST(AutomaticModel, HasNoFloorOnAGpu) { EXPECT_EQ(Automatic(kBoth, AtLeast(1000), 25, kTwice, NetworkDevice::kGpu), "quality"); }

TEST(AutomaticModel, OfADamagedSourceIsDetailWhereItKeepsTheFloor) {
  ModelFile detail = Measured("detail", 40);
  detail.is_blind = true;
  const std::vector<ModelFile> models = {kBoth[0], kBoth[1], detail};
  const auto of = [&](double floor) {
    return Automatic(models, AtLeast(floor), 25, kTwice, NetworkDevice::kCpu, {0.5F, plan::DamageKind::kBlur});
  };
  EXPECT_EQ(of(1), "detail") << "a larger faithful network would keep the damage";
  EXPECT_EQ(of(60), "fast");
}

TEST(AutomaticModel, OfADamagedSourceIsTheBestOfThoseThatKeepTheFloor) {
  std::vector<ModelFile> models = {kBoth[0], Measured("detail", 20), Measured("detail-large", 80), Measured("detail-best", 400)};
  for (ModelFile& file : std::span(models).subspan(1)) file.is_blind = true;
  const auto of = [&](double floor) {
    return Automatic(models, AtLeast(floor), 25, kTwice, NetworkDevice::kCpu, {0.5F, plan::DamageKind::kBlur});
  };
  const double best = 1000 / *plan::FrameTime_ms(*plan::FitNetwork(models, "detail-best", kSource, kTwice), kSource, kTwice, {});
  EXPECT_EQ(of(best * 0.9), "detail-best");
  EXPECT_EQ(of(best * 1.1), "detail-large");
  EXPECT_EQ(of(best * 6), "detail");
}

TEST(FitNetwork, TakesTheMeasuredFasterPrecision) {
  const auto is_int8 = [](double fp32_ms, double int8_ms, double loss, NetworkDevice device = NetworkDevice::kCpu) {
    ModelFile int8 = Measured("fast", int8_ms, ModelFile::Precision::kInt8);
    int8.loss_db = loss;
    return plan::FitNetwork({Measured("fast", fp32_ms), int8}, "fast", kSource, kTwice, device)->file.precision == ModelFile::Precision::kInt8;
  };
  EXPECT_TRUE(is_int8(30, 20, 0.05)) << "the measured times take precedence over the CPU's features";
  EXPECT_FALSE(is_int8(20, 30, 0.05));
  EXPECT_FALSE(is_int8(30, 20, 0.3)) << "int8 loses too much quality";
  EXPECT_FALSE(is_int8(30, 20, 0.05, NetworkDevice::kGpu));
  EXPECT_EQ(is_int8(0, 0, 0.05), inference::HasFastInt8());
}

TEST(FitNetwork, TakesBfloatWhereInt8LosesMore) {
  const auto is_int8 = [](double fp32_ms, double int8_ms, double loss, bool allow_bf16, NetworkDevice device = NetworkDevice::kCpu) {
    ModelFile int8 = Measured("fast", int8_ms, ModelFile::Precision::kInt8);
    int8.loss_db = loss;
    ModelFile fp32 = Measured("fast", fp32_ms);
    fp32.allow_bf16 = allow_bf16;
    return plan::FitNetwork({fp32, int8}, "fast", kSource, kTwice, device)->file.precision == ModelFile::Precision::kInt8;
  };
  const bool has_bf16 = inference::HasFastBf16();
  EXPECT_EQ(is_int8(50, 20, 0.053, true), !has_bf16);
  EXPECT_TRUE(is_int8(50, 20, 0.053, false)) << "bfloat16 is not allowed for this network";
  EXPECT_TRUE(is_int8(50, 20, 0.03, true));
  EXPECT_TRUE(is_int8(70, 20, 0.053, true)) << "fp32 takes more than three times as long";
  EXPECT_EQ(is_int8(0, 0, 0.053, true), inference::HasFastInt8() && !has_bf16) << "without measured times";
  EXPECT_FALSE(is_int8(50, 20, 0.2, false));
  EXPECT_FALSE(is_int8(50, 20, 0.053, true, NetworkDevice::kGpu));
}

std::string WhyModel(const plan::SpeedChoice& speed) {
  EnhanceOptions options;
  options.models = kBoth;
  plan::Plan plan;
  plan.source.width = kSource.width;
  plan.output = kTwice;
  plan.model = speed.model;
  plan.speed = speed;
  return plan::DescribeStages(options, plan).at(1).why;
}

TEST(Reasons, NameTheSpeedThatDecided) {
  EXPECT_EQ(WhyModel({"fast", 0, 0, "", 0}), "the picture is enlarged 2 times");
  EXPECT_EQ(WhyModel({"fast", 31.2, 0, "", 0}), "the picture is enlarged 2 times; about 31 frames a second on this machine");
  EXPECT_EQ(WhyModel({"fast", 31.2, 25, "quality", 8.44}),
            "the picture is enlarged 2 times; about 31 frames a second on this machine (quality: about 8.4), at least 25 are wanted");
  EXPECT_EQ(WhyModel({"fast", 5, 25, "quality", 1}),
            "the picture is enlarged 2 times; about 5 frames a second on this machine (quality: about 1), at least 25 are wanted, "
            "which no network reaches");
}

/// The text of a plan record with this network file.
std::string RecordText(const ModelFile& file) {
  plan::PlanRecord record;
  record.plan.model = file.name;
  record.plan.models = {file};
  record.cuts.emplace_back();
  return plan::WriteRecord(record);
}

plan::PlanRecord Recorded(const ModelFile& file) { return plan::ReadRecord(RecordText(file)); }

/// The network files of a piece that follows the record, where only `installed` is there.
std::vector<ModelFile> FilesOfPiece(const plan::PlanRecord& record, const ModelFile& installed) {
  EnhanceOptions options;
  options.models = {installed};
  plan::Plan plan;
  plan::Decide(record, options, NetworkDevice::kCpu, plan);
  return plan.models;
}

void ExpectRefused(const plan::PlanRecord& record, const ModelFile& installed) {
  try {
    FilesOfPiece(record, installed);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kSegmentMismatch);
  }
}

TEST(PlanRecord, KeepsThePrecisionForMachinesThatPreferAnother) {
  const ModelFile fp32 = Measured("fast", 0);
  const ModelFile int8 = Measured("fast", 0, ModelFile::Precision::kInt8);
  for (const ModelFile& planned : {fp32, int8}) {
    for (const auto& [fp32_ms, int8_ms] : {std::pair{30.0, 20.0}, {20.0, 30.0}, {0.0, 0.0}}) {
      EnhanceOptions options;
      options.models = {fp32, int8, Described("quality", 2)};
      options.models[0].ms_per_megapixel = fp32_ms;
      options.models[1].ms_per_megapixel = int8_ms;
      plan::Plan plan;
      plan::Decide(Recorded(planned), options, NetworkDevice::kCpu, plan);
      ASSERT_EQ(plan.models.size(), 1U);
      EXPECT_EQ(plan::FitNetwork(plan.models, plan.model, kSource, kTwice)->file.precision, planned.precision);
    }
  }
}

TEST(PlanRecord, IsRefusedWhereItsNetworkIsNotInstalled) {
  ExpectRefused(Recorded(Measured("fast", 0, ModelFile::Precision::kInt8)), Measured("fast", 0));
}

/// The record as a machine writes it that is fast in bfloat16, or is not.
plan::PlanRecord RecordedIn(const std::string& precision, const ModelFile& file) {
  const std::string text = RecordText(file);
  const std::string own = text.find("/bf16/") == std::string::npos ? "/fp32/" : "/bf16/";
  return plan::ReadRecord(std::string(text).replace(text.find(own), own.size(), precision));
}

TEST(PlanRecord, TellsBfloatFromFloat) {
  ModelFile file = Measured("fast", 0);
  EXPECT_NE(RecordText(file).find("/fp32/"), std::string::npos);
  file.allow_bf16 = true;
  EXPECT_NE(RecordText(file).find(inference::HasFastBf16() ? "/bf16/" : "/fp32/"), std::string::npos);
}

TEST(PlanRecord, KeepsFloatWhereBfloatIsFaster) {
  ModelFile file = Measured("fast", 0);
  file.allow_bf16 = true;
  const std::vector<ModelFile> files = FilesOfPiece(RecordedIn("/fp32/", file), file);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_FALSE(files[0].allow_bf16);
}

TEST(PlanRecord, InBfloatIsRefusedByMachinesWithoutIt) {
  const ModelFile float_only = Measured("fast", 0);
  ModelFile either = float_only;
  either.allow_bf16 = true;
  const plan::PlanRecord record = RecordedIn("/bf16/", either);
  ExpectRefused(record, float_only);
  if (!inference::HasFastBf16()) return ExpectRefused(record, either);
  const std::vector<ModelFile> files = FilesOfPiece(record, either);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(files[0].allow_bf16);
}

}  // namespace
}  // namespace reelmend
