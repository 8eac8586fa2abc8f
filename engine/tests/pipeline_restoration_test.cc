// The choice of network and strength for damaged sources.
#include <gtest/gtest.h>

#include <vector>

#include "plan/network_plan.h"
#include "plan/plan.h"
#include "plan/restoration_choice.h"

namespace reelmend {
namespace {

using plan::ChooseRestoration;
using plan::Damage;
using plan::DamageKind;
using plan::NetworkDevice;

TEST(ChooseRestoration, IsFaithfulToCleanAndNoisySources) {
  for (const float noise : {0.0F, 5.0F, 40.0F}) {
    for (const float compression_error : {0.0F, 1.0F, 3.4F}) {
      for (const float blur : {0.0F, 0.5F}) {
        const auto choice = ChooseRestoration({compression_error, noise, blur, 0.9F});
        EXPECT_EQ(choice.strength, 0) << compression_error << ", blur " << blur;
        EXPECT_EQ(choice.cause, DamageKind::kNone);
      }
    }
  }
}

TEST(ChooseRestoration, NamesTheWorstDamage) {
  struct Case {
    Damage damage;
    DamageKind cause;
    float least;
    const char* name;
  };
  for (const Case& c : {Case{{7, 0, 0, 1}, DamageKind::kCompression, 0.7F, "compressed"},
                        {{7, 0, 1.5F, 1}, DamageKind::kBlur, 0.9F, "blurred"},
                        {{3, 0, 0.4F, 0.9F, 0.5F}, DamageKind::kBlur, 0.9F, "blurred"},
                        {{0, 0, 0, 0.5F}, DamageKind::kEnlargement, 0.9F, "enlarged before"},
                        {{7, 0, 0, 0.9F, 0.9F}, DamageKind::kCompression, 0.7F, "compressed"},
                        {{3.5F}, DamageKind::kCompression, 0.6F, "compressed"},
                        {{0, 0, 0, 1, 1, 4.8F}, DamageKind::kNone, 0, ""},
                        {{0, 0, 0, 1, 1, 5}, DamageKind::kCompression, 0.6F, "compressed"}}) {
    const auto choice = ChooseRestoration(c.damage);
    EXPECT_EQ(choice.cause, c.cause) << c.name;
    EXPECT_GE(choice.strength, c.least) << c.name;
    EXPECT_EQ(plan::DamageName(choice.cause), c.name);
  }
}

TEST(ChooseRestoration, TakesTwoMildSignsTogether) {
  const auto of = [](float stream, float measured, float scale) { return ChooseRestoration({stream, 0, 0, 1, scale, measured}); };
  EXPECT_EQ(of(3, 3.6F, 1).strength, 0) << "neither sign is strong enough";
  EXPECT_EQ(of(3, 4.2F, 1).cause, DamageKind::kCompression);
  EXPECT_EQ(of(0.5F, 4.8F, 1).strength, 0) << "a drawing with a good quantiser";
  EXPECT_EQ(of(0.5F, 1, 0.7F).strength, 0) << "slightly soft and hardly compressed";
  EXPECT_EQ(of(2.6F, 1, 0.7F).cause, DamageKind::kBlur);
  EXPECT_EQ(of(2.6F, 1, 0.85F).strength, 0);
}

TEST(ChooseRestoration, AssumesMoreDamageInSmallSources) {
  const auto of = [](int lines, float stream, float measured) { return ChooseRestoration({stream, 0, 0, 1, 1, measured, lines}); };
  for (const int lines : {144, 240, 400}) {
    EXPECT_EQ(of(lines, 1.6F, 0).cause, DamageKind::kSmall) << lines;
    EXPECT_FLOAT_EQ(of(lines, 1.2F, 0).strength, 0.6F) << lines;
    EXPECT_EQ(of(lines, 0, 2.4F).cause, DamageKind::kSmall) << lines;
    EXPECT_EQ(of(lines, 1.1F, 1.1F).strength, 0) << lines;
    EXPECT_EQ(of(lines, 5, 0).cause, DamageKind::kCompression) << lines;  // a measured cause takes precedence
  }
  for (const int lines : {0, 402, 1080}) EXPECT_EQ(of(lines, 1.6F, 2.4F).strength, 0) << lines;
  EXPECT_EQ(plan::DamageName(DamageKind::kSmall), "small and compressed");
}

TEST(ChooseRestoration, AtTheSameSizeOnlyLostResolutionCounts) {
  plan::Damage damage{8, 0, 0, 1, 1, 8};
  EXPECT_GT(ChooseRestoration(damage).strength, 0.6F);
  damage.keeps_size = true;
  EXPECT_EQ(ChooseRestoration(damage).strength, 0);
  damage.blur_sigma = 1.3F;
  EXPECT_FLOAT_EQ(ChooseRestoration(damage).strength, 0.9F);
}

TEST(ChooseRestoration, GrowsAsResolutionIsLost) {
  float last = 0;
  for (float scale = 1; scale > 0.1F; scale -= 0.01F) {
    const float strength = ChooseRestoration({0, 0, 0, 1, scale}).strength;
    EXPECT_GE(strength, last) << scale;
    last = strength;
  }
  EXPECT_FLOAT_EQ(last, 0.9F);
}

TEST(ChooseRestoration, ASourceThatLostHalfOfItsResolutionHasASmallerWorkingSize) {
  for (const auto& [scale, share] : {std::pair{1.0F, 1.0F}, {0.6F, 1.0F}, {0.55F, 0.605F}, {0.5F, 0.55F}, {0.3F, 0.4F}, {0.15F, 0.4F}}) {
    EXPECT_FLOAT_EQ(ChooseRestoration({0, 0, 0, scale, 1}).working_share, share) << "true scale " << scale;
    EXPECT_FLOAT_EQ(ChooseRestoration({0, 0, 0, 1, scale}).working_share, share) << "effective scale " << scale;
  }
}

TEST(ChooseRestoration, GrowsWithEveryDamage) {
  const std::vector<float> errors = {0, 1, 2, 3, 3.4F, 3.6F, 4, 5, 6, 7, 9, 12, 30};
  const std::vector<float> noises = {0, 2, 10, 50};
  const std::vector<float> blurs = {0, 0.3F, 0.6F, 0.9F, 1.2F, 1.5F, 3};
  const std::vector<float> scales = {1, 0.95F, 0.85F, 0.75F, 0.65F, 0.5F, 0.2F};
  for (std::size_t e = 0; e < errors.size(); ++e) {
    for (std::size_t n = 0; n < noises.size(); ++n) {
      for (std::size_t b = 0; b < blurs.size(); ++b) {
        for (std::size_t s = 0; s < scales.size(); ++s) {
          const float strength = ChooseRestoration({errors[e], noises[n], blurs[b], scales[s]}).strength;
          EXPECT_TRUE(strength == 0 || (strength >= 0.5F && strength <= 1)) << strength;
          if (e > 0) {
            EXPECT_GE(strength, ChooseRestoration({errors[e - 1], noises[n], blurs[b], scales[s]}).strength);
          }
          if (n > 0) {
            EXPECT_GE(strength, ChooseRestoration({errors[e], noises[n - 1], blurs[b], scales[s]}).strength);
          }
          if (b > 0) {
            EXPECT_GE(strength, ChooseRestoration({errors[e], noises[n], blurs[b - 1], scales[s]}).strength);
          }
          if (s > 0) {
            EXPECT_GE(strength, ChooseRestoration({errors[e], noises[n], blurs[b], scales[s - 1]}).strength);
          }
        }
      }
    }
  }
}

ModelFile Named(const std::string& name, bool is_blind, int scale = 2) {
  ModelFile file;
  file.name = name;
  file.path = name;
  file.scale = scale;
  file.is_blind = is_blind;
  return file;
}

TEST(AutomaticModel, IsDetailForDamagedSourcesWhereItIsInstalled) {
  const ModelFile fast = Named("fast", false);
  const ModelFile quality = Named("quality", false);
  const ModelFile detail = Named("detail", true);
  const ModelFile large = Named("detail-large", true);
  const auto of = [](const std::vector<ModelFile>& models, NetworkDevice device, float strength, Size out = {1920, 1080}) {
    return plan::AutomaticModel(models, {{960, 540}, out, device, {strength, DamageKind::kBlur}});
  };
  const std::vector<ModelFile> all = {fast, quality, detail, large};
  EXPECT_EQ(of(all, NetworkDevice::kCpu, 0.5F), "detail");
  EXPECT_EQ(of(all, NetworkDevice::kGpu, 0.5F), "detail-large");
  const std::vector<ModelFile> best = {fast, quality, detail, large, Named("detail-best", true)};
  EXPECT_EQ(of(best, NetworkDevice::kGpu, 0.5F), "detail-best");
  EXPECT_EQ(of(best, NetworkDevice::kCpu, 0.5F), "detail") << "without a minimum speed";
  EXPECT_EQ(of(all, NetworkDevice::kCpu, 0), "fast");
  EXPECT_EQ(of(all, NetworkDevice::kGpu, 0), "quality");
  EXPECT_EQ(of({fast, quality, detail}, NetworkDevice::kGpu, 0.5F), "detail");
  EXPECT_EQ(of({fast}, NetworkDevice::kCpu, 0.5F), "fast");
  EXPECT_EQ(of({fast, Named("detail", false)}, NetworkDevice::kCpu, 0.5F), "fast") << "an operator's network with that name that is not blind";
  EXPECT_EQ(of(all, NetworkDevice::kCpu, 0.5F, {960, 540}), "fast") << "there is no ×1 file of detail";
}

TEST(BlindStrength, FollowsTheOptionsAndTheMeasurement) {
  const auto of = [](const std::string& model, Strength denoise, float measured, float gain = 1) {
    EnhanceOptions options;
    options.model = model;
    options.denoise = denoise;
    ModelFile file = Named(model, true);
    file.strength_gain = gain;
    return plan::ChooseBlindStrength(options, {measured, DamageKind::kBlur}, file);
  };
  EXPECT_EQ(of("auto", {}, 0.6F), 0.6F);
  EXPECT_EQ(of("detail", {}, 0.6F), 0.6F);
  EXPECT_EQ(of("auto", {}, 0.6F, 1.5F), 1.5F * 0.6F);
  EXPECT_EQ(of("auto", {}, 0.8F, 1.5F), 1);
  EXPECT_EQ(of("auto", {Strength::Mode::kFixed, 0.2F}, 0.6F, 1.5F), 0.2F) << "a requested strength is what it is";
  EXPECT_EQ(of("detail", {}, 0), 0.5F) << "the network is requested by name";
  EXPECT_EQ(of("detail", {Strength::Mode::kFixed, 0.2F}, 0.6F), 0.2F);
  EXPECT_EQ(of("detail", {Strength::Mode::kOff, 0}, 0.6F), 0) << "off selects the faithful result";
}

TEST(BlindStrength, IsAllOrNothingForANetworkThatTakesNone) {
  const auto of = [](Strength denoise) {
    EnhanceOptions options;
    options.model = "realesr-animevideov3";
    options.denoise = denoise;
    ModelFile file = Named(options.model, true, 4);
    file.layout = ModelFile::Layout::kRgb;
    return plan::ChooseBlindStrength(options, {0.6F, DamageKind::kBlur}, file);
  };
  EXPECT_EQ(of({}), 1);
  EXPECT_EQ(of({Strength::Mode::kFixed, 0.2F}), 1);
  EXPECT_EQ(of({Strength::Mode::kOff, 0}), 0);
}

plan::EdgeRestoration Edges(bool is_blind, float strength, int source_width, float working_share = 1) {
  plan::Plan plan;
  plan.is_blind = is_blind;
  plan.network_strength = strength;
  plan.source.width = source_width;
  plan.working_share = working_share;
  plan.output = {1920, 1080};
  return plan::ChooseEdges(plan);
}

TEST(ChooseEdges, OnlyBehindANetworkForDamagedSourcesThatEnlarges) {
  EXPECT_EQ(Edges(true, 0.8F, 640).strength, 1);
  EXPECT_FLOAT_EQ(Edges(true, 0.8F, 640).enlargement, 3);
  EXPECT_EQ(Edges(false, 0.3F, 640).strength, 0) << "a faithful network";
  EXPECT_EQ(Edges(true, 0, 640).strength, 0) << "turned off";
  EXPECT_EQ(Edges(true, 0.8F, 1440).strength, 0) << "hardly enlarged";
  EXPECT_EQ(Edges(true, 0.8F, 1920).strength, 0);
}

TEST(ChooseEdges, AnEarlierEnlargementCounts) {
  EXPECT_FLOAT_EQ(Edges(true, 0.8F, 1280, 0.5F).enlargement, 3);
}

}  // namespace
}  // namespace reelmend
