#include "plan/restoration_choice.h"

#include <algorithm>

namespace reelmend::plan {
namespace {

/// One kind of damage: 0 up to `none`, `most` from `full` on, linear between. `none` may be the larger one. Of rules that
/// ask for the same, the first one names the cause.
struct DamageRule {
  DamageKind kind;
  float Damage::* measure;
  float none;
  float full;
  float most;
};

constexpr DamageRule kRules[] = {
    {DamageKind::kCompression, &Damage::compression_error, 2.0F, 7.0F, 0.7F},
    {DamageKind::kBlur, &Damage::blur_sigma, 0.4F, 1.3F, 0.9F},
    {DamageKind::kEnlargement, &Damage::true_scale, 0.95F, 0.55F, 0.9F},
    {DamageKind::kBlur, &Damage::effective_scale, 0.75F, 0.5F, 0.9F},
};
constexpr float kWorthIt = 0.4F;

/// A source that has lost less than this is not reduced: the estimate is within a fifth in two of three cases, and too
/// small a size costs more than too large a one.
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
    const float way = std::clamp((damage.*rule.measure - rule.none) / (rule.full - rule.none), 0.0F, 1.0F);
    if (rule.most * way > choice.strength) choice = {rule.most * way, rule.kind};
  }
  if (choice.strength < kWorthIt) return {};
  choice.working_share = WorkingShare(damage);
  return choice;
}

std::string DamageName(DamageKind kind) {
  switch (kind) {
    case DamageKind::kNone: return "";
    case DamageKind::kCompression: return "heavily compressed";
    case DamageKind::kBlur: return "blurred";
    case DamageKind::kEnlargement: return "enlarged before";
  }
  return "";
}

}  // namespace reelmend::plan
