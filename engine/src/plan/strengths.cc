#include "plan/strengths.h"

#include <algorithm>
#include <cmath>

#include "inference/model_loader.h"
#include "plan/damage.h"

namespace reelmend::plan {
namespace {

constexpr float kUnnoticeable = 0.6F;  ///< error in 8-bit levels after rounding to 8 bits and a good encoder
constexpr float kFullLevels = 0.5F;    ///< from this strength of the adaptive contrast on, the levels are spread in full

/// Share of the full spreading of levels that suits a source: small if its error is large compared with its used range.
float LevelShare(const SourceTraits& traits) {
  constexpr float kLevels = 219;
  constexpr float kMostlyError = 6;
  constexpr float kHardlyError = 16;
  const float error = std::hypot(traits.noise_sigma, traits.compression_error);
  const float used = kLevels * traits.levels.levels.used();
  return std::clamp((used - kMostlyError * error) / ((kHardlyError - kMostlyError) * std::max(error, 1e-3F)), 0.0F, 1.0F);
}

}  // namespace

float Resolve(const Strength& strength, float automatic) {
  switch (strength.mode) {
    case Strength::Mode::kAuto: return automatic;
    case Strength::Mode::kOff: return 0;
    case Strength::Mode::kFixed: return strength.value;
  }
  return 0;
}

Strengths ChooseStrengths(const EnhanceOptions& options, const SourceTraits& traits, double scale) {
  const float error = std::hypot(traits.noise_sigma, traits.compression_error);
  const float denoise = std::clamp((traits.noise_sigma - 1.5F) * 0.1F, 0.0F, 0.6F);
  const float enlargement = static_cast<float>(std::clamp(scale - 1.0, 0.0, 1.0));
  const float sharpen = 0.25F * enlargement * (denoise > 0 ? 0.5F : 1.0F);
  const float contrast = kFullLevels * LevelShare(traits) * (pixel::LevelGain(traits.levels.levels) - 1) / (pixel::kMaxLevelGain - 1);
  const float faces = error < kUnnoticeable ? 0.0F : std::min(kMostFaceRestoration, error / 8);
  return {Resolve(options.denoise, denoise), Resolve(options.sharpen, sharpen),
          Resolve(options.adaptive_contrast, contrast), Resolve(options.face_restoration, faces)};
}

TemporalDenoising ChooseTemporalDenoising(const EnhanceOptions& options, const SourceTraits& traits) {
  constexpr float kShare = 0.7F;  // of the compression error, that changes from picture to picture
  constexpr float kNoiseFrom = 1.5F;
  constexpr float kChangeFrom = 1;
  const float change = kShare * DamageToDescribe(traits).compression_error;
  const float automatic = std::clamp(0.4F * std::max(traits.noise_sigma - kNoiseFrom, change - kChangeFrom), 0.0F, 1.0F);
  const float asked = std::min(1.0F, 2 * Resolve(options.denoise, 0));
  const float strength = options.denoise.mode == Strength::Mode::kAuto ? automatic : asked;
  return {strength, strength > 0 ? std::hypot(traits.noise_sigma, change) : 0};
}

float ChooseDebanding(const EnhanceOptions& options, const SourceTraits& traits) {
  constexpr float kShare = 0.45F;
  constexpr float kLargest = 6;    // larger ones would take texture for bands
  const float error = DamageToDescribe(traits).compression_error;
  if (error < kCompressedFrom) return 0;
  return std::min(kLargest, kShare * error) * std::min(1.0F, 2 * Resolve(options.denoise, 1));
}

pixel::LevelLift ChooseLevelLift(const EnhanceOptions& options, const SourceTraits& traits, float strength) {
  pixel::LevelLift lift{0, traits.levels.levels, traits.levels.bars, false};
  if (strength <= 0 || pixel::LevelGain(lift.video) <= 1) return lift;
  lift.leads_local = options.adaptive_contrast.mode == Strength::Mode::kAuto;
  lift.amount = lift.leads_local ? LevelShare(traits) : std::min(1.0F, strength / kFullLevels);
  return lift;
}

float ChooseNetworkStrength(const EnhanceOptions& options, const SourceTraits& traits) {
  constexpr float kFullStrength = 50;  // RMS error, in 8-bit levels, of a source that gets strength 1
  constexpr float kHardlyRestorable = 1.2F;
  const float error = std::hypot(traits.noise_sigma, traits.compression_error);
  const float coding = traits.compression_error * traits.compression_error / (traits.compression_error + kHardlyRestorable);
  const float restorable = std::hypot(traits.noise_sigma, coding);
  return Resolve(options.denoise, error < kUnnoticeable ? 0.0F : std::min(1.0F, restorable / kFullStrength));
}

float ChooseBlindStrength(const EnhanceOptions& options, const RestorationChoice& restoration, const ModelFile& file) {
  constexpr float kAskedFor = 0.5F;
  if (!inference::TakesStrength(file.layout)) return Resolve(options.denoise, 1) > 0 ? 1 : 0;
  const float strength = options.model == "auto" ? restoration.strength : std::max(kAskedFor, restoration.strength);
  return Resolve(options.denoise, std::min(1.0F, file.strength_gain * strength));
}

}  // namespace reelmend::plan
