#include "plan/plan_reasons.h"

#include <cmath>
#include <cstdio>
#include <string>

namespace reelmend::plan {
namespace {

std::string Figure(float value, int digits = 1) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, static_cast<double>(value));
  return text;
}

/// Reason given by the option itself; empty if the option leaves the choice to the engine.
std::string Asked(const Strength& strength) {
  switch (strength.mode) {
    case Strength::Mode::kOff: return "turned off";
    case Strength::Mode::kFixed: return "requested";
    case Strength::Mode::kAuto: return "";
  }
  return "";
}

/// At most two decimals: 2, 1.5, 1.33.
std::string Times(float factor) {
  std::string text = Figure(factor, 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + " times";
}

std::string SourceHas(const SourceTraits& traits) {
  const std::string noise = Figure(traits.noise_sigma);
  const std::string compression = Figure(traits.compression_error);
  const std::string none = Figure(0);
  if (noise == none && compression == none) return "the source has no noise and no compression error";
  const std::string both = compression == none ? "noise of " + noise + " and no compression error"
                           : noise == none     ? "a compression error of " + compression + " and no noise"
                                               : "noise of " + noise + " and a compression error of " + compression;
  return "the source has " + both + " (RMS, 8-bit levels)";
}

std::string WhyDenoise(const EnhanceOptions& options, const Plan& plan) {
  const std::string asked = Asked(options.denoise);
  return (asked.empty() ? SourceHas(plan.traits) : asked) + (plan.restores_luma ? "; the network " + plan.model + " restores it" : "") +
         (plan.temporal.strength > 0 ? "; pictures are averaged along the motion" : "") + (plan.accumulates() ? ", before and after the network" : "") +
         (plan.deband_threshold > 0 ? "; blocks and banding of flat areas are smoothed" : "") +
         (plan.edges.strength > 0 ? "; contours are straightened, and colours follow them" : "");
}

/// Reason of a source that is reduced first (Note [Working size]); else empty.
std::string ReducedTo(const Plan& plan) {
  if (plan.working_share >= 1) return "";
  const Size size = WorkingSize({plan.source.width, plan.source.height}, plan.working_share);
  return ", from " + std::to_string(size.width) + "×" + std::to_string(size.height) + ", which keeps its remaining detail";
}

/// Two significant digits, or all digits of a whole number.
std::string Rate(double frames_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, frames_per_second < 10 ? "%.2g" : "%.0f", frames_per_second);
  return text;
}

/// Expected speed of the network on this machine; empty if nothing was measured.
std::string Pace(const SpeedChoice& speed) {
  if (speed.frames_per_second <= 0) return "";
  const std::string pace = "; about " + Rate(speed.frames_per_second) + " frames a second on this machine";
  if (speed.floor <= 0) return pace;
  const std::string better = speed.better.empty() ? "" : " (" + speed.better + ": about " + Rate(speed.better_frames_per_second) + ")";
  return pace + better + ", at least " + Rate(speed.floor) + " are wanted" + (speed.keeps_floor() ? "" : ", which no network reaches");
}

std::string WhyModel(const EnhanceOptions& options, const Plan& plan, float enlargement) {
  if (options.model == "none") return "turned off";
  if (options.model != "auto") return plan.model == "none" ? "does not serve this size" : "requested" + ReducedTo(plan);
  if (plan.is_blind) {
    return (plan.restoration.cause == DamageKind::kEnlargement ? "the source was " : "the source is ") + DamageName(plan.restoration.cause) + ": " + plan.model + " at " + Figure(100 * plan.network_strength, 0) + " %" + ReducedTo(plan) + Pace(plan.speed);
  }
  if (plan.model != "none") {
    return (enlargement > 1 ? "the picture is enlarged " + Times(enlargement) : SourceHas(plan.traits)) + ReducedTo(plan) + Pace(plan.speed);
  }
  if (options.models.empty()) return "no network is installed, or none runs on this device";
  if (enlargement > 1) return "no installed network can run here";
  return "nothing to enlarge, and little to restore";
}

std::string WhyFaces(const EnhanceOptions& options, const Plan& plan) {
  const std::string asked = Asked(options.face_restoration);
  if (options.face_restoration.mode == Strength::Mode::kOff) return asked;
  if (!plan.why_no_faces.empty()) return plan.why_no_faces;
  if (const std::string obstacle = WhyNoFaces(options); !obstacle.empty()) return obstacle;
  const bool is_painted = plan.is_blind && plan.network_strength > 0;
  const std::string why = !asked.empty() ? asked : SourceHas(plan.traits) + (is_painted ? ", and " + plan.model + " makes faces look painted" : "");
  return plan.face_model ? why + "; only faces that are found are restored" : why;
}

std::string WhySharpen(const EnhanceOptions& options, const Plan& plan, float enlargement) {
  if (const std::string asked = Asked(options.sharpen); !asked.empty()) return asked;
  if (enlargement <= 1) return "the picture is not enlarged";
  return "the picture is enlarged " + Times(enlargement) + (plan.model == "none" ? "" : ", and the network sharpens");
}

std::string WhyContrast(const EnhanceOptions& options, const Plan& plan) {
  if (const std::string asked = Asked(options.adaptive_contrast); !asked.empty()) return asked;
  const pixel::Levels& levels = plan.traits.levels.levels;
  const std::string use = "the picture uses " + Figure(100 * levels.used(), 0) + " % of the range";
  if (plan.strengths.adaptive_contrast <= 0) return use;
  return use + ", from " + Figure(100 * levels.black, 0) + " to " + Figure(100 * levels.white, 0) + " %";
}

}  // namespace

std::vector<PlannedStage> DescribeStages(const EnhanceOptions& options, const Plan& plan) {
  const float enlargement = static_cast<float>(plan.output.width) / static_cast<float>(plan.source.width);
  const Strengths& s = plan.strengths;
  return {{"denoise", plan.restores_luma ? plan.network_strength : s.denoise, WhyDenoise(options, plan)},
          {"model", plan.model == "none" ? 0.0F : 1.0F, WhyModel(options, plan, enlargement)},
          {"face_restoration", s.face_restoration, WhyFaces(options, plan)},
          {"sharpen", s.sharpen, WhySharpen(options, plan, enlargement)},
          {"adaptive_contrast", s.adaptive_contrast, WhyContrast(options, plan)}};
}

}  // namespace reelmend::plan
