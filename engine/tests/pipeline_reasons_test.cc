// The sentences by which a plan says why each stage has its strength.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "faces/detector.h"
#include "plan/plan.h"
#include "plan/plan_reasons.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

std::string Why(const std::string& stage, const plan::Plan& plan, const EnhanceOptions& options = {}) {
  const auto stages = plan::DescribeStages(options, plan);
  return std::ranges::find(stages, stage, &PlannedStage::name)->why;
}

plan::Plan EnlargedTo(int width) {
  plan::Plan plan;
  plan.source.width = 100;
  plan.output = {width, width / 2};
  return plan;
}

/// `detail-best` with all that surrounds it.
plan::Plan Damaged() {
  plan::Plan plan = EnlargedTo(500);
  plan.traits.compression_error = 3.4F;
  plan.model = "detail-best";
  plan.restores_luma = plan.is_blind = true;
  plan.network_strength = 1;
  plan.temporal = {1, 2};
  plan.edges.strength = 1;
  plan.deband_threshold = 2;
  plan.face_model = ModelFile();
  return plan;
}

TEST(Reasons, NameTheNoiseAndTheCompressionErrorOfTheSource) {
  const auto why = [](float noise, float compression) {
    plan::Plan plan = EnlargedTo(100);
    plan.traits.noise_sigma = noise;
    plan.traits.compression_error = compression;
    return Why("denoise", plan);
  };
  EXPECT_EQ(why(2.06F, 5.6F), "the source has noise of 2.1 and a compression error of 5.6 (RMS, 8-bit levels)");
  EXPECT_EQ(why(2.06F, 0.04F), "the source has noise of 2.1 and no compression error (RMS, 8-bit levels)");
  EXPECT_EQ(why(0, 5.6F), "the source has a compression error of 5.6 and no noise (RMS, 8-bit levels)");
  EXPECT_EQ(why(0.04F, 0), "the source has no noise and no compression error");
}

TEST(Reasons, NameAllThatRestoresADamagedSource) {
  plan::Plan plan = Damaged();
  EXPECT_EQ(Why("denoise", plan),
            "the source has a compression error of 3.4 and no noise (RMS, 8-bit levels); the network detail-best restores it; pictures are averaged along "
            "the motion, before and after the network; blocks and banding of flat areas are smoothed; contours are straightened, and colours follow them");
  plan.edges.strength = plan.deband_threshold = 0;
  EnhanceOptions options;
  options.denoise = {Strength::Mode::kFixed, 0.5F};
  EXPECT_EQ(Why("denoise", plan, options), "requested; the network detail-best restores it; pictures are averaged along the motion");
}

TEST(Reasons, SayWhatCausedTheChoiceOfTheNetwork) {
  EnhanceOptions options;
  options.model = "auto";
  plan::Plan plan = Damaged();
  plan.restoration.cause = plan::DamageKind::kSmall;
  EXPECT_EQ(Why("model", plan, options), "the source is small and compressed: detail-best at 100 %");
  plan.restoration.cause = plan::DamageKind::kEnlargement;
  EXPECT_EQ(Why("model", plan, options), "the source was enlarged before: detail-best at 100 %");
}

TEST(Reasons, OfFaces) {
  if (!faces::CanDetectFaces()) GTEST_SKIP() << "No face detector in this build (scripts/setup-faces).";
  plan::Plan plan = Damaged();
  EnhanceOptions options;
  options.models = {ModelFile()};
  options.models[0].layout = ModelFile::Layout::kFace;
  EXPECT_EQ(Why("face_restoration", plan, options),
            "the source has a compression error of 3.4 and no noise (RMS, 8-bit levels), and detail-best makes faces look painted; only faces that are found "
            "are restored");
  options.face_restoration = {Strength::Mode::kFixed, 0.8F};
  EXPECT_EQ(Why("face_restoration", plan, options), "requested; only faces that are found are restored");
}

TEST(Reasons, SayHowManyTimesThePictureIsEnlarged) {
  const auto why = [](int width) { return Why("sharpen", EnlargedTo(width)); };
  EXPECT_EQ(why(200), "the picture is enlarged 2 times");
  EXPECT_EQ(why(150), "the picture is enlarged 1.5 times");
  EXPECT_EQ(why(133), "the picture is enlarged 1.33 times");
  EXPECT_EQ(why(1000), "the picture is enlarged 10 times");
  EXPECT_EQ(why(100), "the picture is not enlarged");
}

}  // namespace
}  // namespace reelmend
