#include "plan/restoration_choice.h"

#include <algorithm>

#include "plan/damage.h"

namespace reelmend::plan {
namespace {

constexpr float kSurelyCompressed = 2.5F;  ///< both the stream and the pictures show it

/// Mean of the compression errors by the stream and by the pictures; 0 if one of them is small.
float AgreedCompression(const Damage& damage) {
  if (std::min(damage.compression_error, damage.seen_compression_error) < kSurelyCompressed) return 0;
  return (damage.compression_error + damage.seen_compression_error) / 2;
}

/// Remaining resolution of a compressed source; 1 if it is hardly compressed.
float CompressedScale(const Damage& damage) {
  return std::max(damage.compression_error, damage.seen_compression_error) < kSurelyCompressed ? 1 : damage.effective_scale;
}

/// What the stream or the pictures tell of an encode of a small source; 0 for any other.
float SmallCompression(const Damage& damage) {
  if (damage.lines <= 0 || damage.lines > kSmallLines) return 0;
  return std::max(damage.compression_error, damage.seen_compression_error);
}

/// Strength for one kind of damage: 0 before `from`, `least` there, rising linearly to `most` at `full` and beyond. `from`
/// may be larger than `full`. If several rules give the same strength, the first one names the cause.
struct DamageRule {
  DamageKind kind;
  float (*measure)(const Damage& damage);
  float from;
  float least;
  float full;
  float most;

  float StrengthOf(const Damage& damage) const {
    const float way = (measure(damage) - from) / (full - from);
    return way < 0 ? 0 : least + (most - least) * std::min(1.0F, way);
  }
};

template <float Damage::* kMember>
float Value(const Damage& damage) {
  return damage.*kMember;
}

constexpr DamageRule kRules[] = {
    {DamageKind::kCompression, Value<&Damage::compression_error>, 3.5F, 0.6F, 7.0F, 0.7F},
    {DamageKind::kCompression, Value<&Damage::seen_compression_error>, 4.9F, 0.6F, 7.0F, 0.7F},
    {DamageKind::kCompression, AgreedCompression, 3.4F, 0.6F, 7.0F, 0.7F},
    {DamageKind::kBlur, Value<&Damage::blur_sigma>, 0.6F, 0.5F, 1.3F, 0.9F},
    {DamageKind::kEnlargement, Value<&Damage::true_scale>, 0.8F, 0.5F, 0.55F, 0.9F},
    {DamageKind::kBlur, Value<&Damage::effective_scale>, 0.65F, 0.55F, 0.5F, 0.9F},
    {DamageKind::kBlur, CompressedScale, 0.8F, 0.5F, 0.65F, 0.6F},
    {DamageKind::kSmall, SmallCompression, kSmallCompressedFrom, 0.6F, 7.0F, 0.6F},
};

/// A source that has lost less than this is not reduced: two of three estimates are within a fifth, and too small a size
/// costs more than too large a one.
constexpr float kReducedBelow = 0.6F;
constexpr float kMargin = 1.1F;
constexpr float kLeastShare = 0.4F;

float WorkingShare(const Damage& damage) {
  const float left = std::min(damage.effective_scale, damage.true_scale);
  return left < kReducedBelow ? std::max(kLeastShare, kMargin * left) : 1.0F;
}

}  // namespace

RestorationChoice ChooseRestoration(const Damage& damage) {
  RestorationChoice choice;
  for (const DamageRule& rule : kRules) {
    if (damage.keeps_size && rule.kind == DamageKind::kCompression) continue;
    const float strength = rule.StrengthOf(damage);
    if (strength > choice.strength) choice = {strength, rule.kind};
  }
  if (choice.strength > 0) choice.working_share = WorkingShare(damage);
  return choice;
}

std::string DamageName(DamageKind kind) {
  switch (kind) {
    case DamageKind::kNone: return "";
    case DamageKind::kCompression: return "compressed";
    case DamageKind::kBlur: return "blurred";
    case DamageKind::kEnlargement: return "enlarged before";
    case DamageKind::kSmall: return "small and compressed";
  }
  return "";
}

}  // namespace reelmend::plan
