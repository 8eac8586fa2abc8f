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

std::string ErrorOf(const SourceTraits& traits) {
  return "noise of " + Figure(traits.noise_sigma) + " and a compression error of " + Figure(traits.compression_error) + " (RMS, 8-bit levels)";
}

std::string WhyDenoise(const EnhanceOptions& options, const Plan& plan) {
  const std::string by = (plan.restores_luma ? ", by the network " + plan.model : "") +
                         (plan.temporal.strength > 0 ? "; pictures are averaged along the motion" : "") +
                         (plan.accumulates() ? ", and what the network makes of them, too" : "") +
                         (plan.deband_threshold > 0 ? "; blocks and bands of flat areas are smoothed" : "") +
                         (plan.edges.strength > 0 ? "; contours are straightened, and colours follow them" : "");
  if (const std::string asked = Asked(options.denoise); !asked.empty()) return asked + by;
  return "the source has " + ErrorOf(plan.traits) + by;
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
    return "the source is " + DamageName(plan.restoration.cause) + ": " + plan.model + " at " + Figure(100 * plan.network_strength, 0) + " %" + ReducedTo(plan) + Pace(plan.speed);
  }
  if (plan.model != "none") {
    return (enlargement > 1 ? "the picture is enlarged " + Figure(enlargement, 2) + " times" : "the source has " + ErrorOf(plan.traits)) + ReducedTo(plan) + Pace(plan.speed);
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
  if (!asked.empty()) return asked + ", for the faces that are found";
  const std::string why = "the source has " + ErrorOf(plan.traits);
  if (!plan.face_model) return why;
  return why + (plan.is_blind && plan.network_strength > 0 ? ", and " + plan.model + " makes faces look painted" : "") + ", for the faces that are found";
}

std::string WhySharpen(const EnhanceOptions& options, const Plan& plan, float enlargement) {
  if (const std::string asked = Asked(options.sharpen); !asked.empty()) return asked;
  if (enlargement <= 1) return "the picture is not enlarged";
  return "the picture is enlarged " + Figure(enlargement, 2) + " times" + (plan.model == "none" ? "" : ", and the network sharpens");
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
