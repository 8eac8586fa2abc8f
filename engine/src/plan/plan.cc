#include "plan/plan.h"

#include <algorithm>

#include "faces/detector.h"
#include "inference/backend.h"
#include "media/completeness.h"
#include "media/duration.h"
#include "media/first_frame.h"
#include "media/scrambling.h"
#include "media/timestamps.h"
#include "media/video_encoder.h"
#include "plan/damage.h"
#include "plan/device_name.h"
#include "plan/network_choice.h"
#include "plan/network_plan.h"
#include "plan/plan_reasons.h"
#include "plan/plan_record.h"
#include "reelmend/error.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::plan {
namespace {

void CheckStrength(const Strength& strength, const char* name) {
  if (strength.mode == Strength::Mode::kFixed && !(strength.value >= 0.0F && strength.value <= 1.0F)) {
    throw Error(ErrorCode::kInvalidArgument, std::string("The strength of ") + name + " must lie between 0 and 1.");
  }
}

AVRational UsableRate(const Rational& rate) {
  if (rate.num <= 0 || rate.den <= 0) return {25, 1};
  AVRational usable = {25, 1};
  av_reduce(&usable.num, &usable.den, rate.num, rate.den, 1'000'000);
  return usable;
}

void CheckSides(Size output) {
  if (std::max(output.width, output.height) <= media::kLongestSide) return;
  throw Error(ErrorCode::kLimitExceeded, "The output of " + std::to_string(output.width) + "×" + std::to_string(output.height) +
                                             " pixels cannot be encoded: a side has at most " + std::to_string(media::kLongestSide) + ".");
}

/// Sets what the first frame and its stream tell of the pictures.
void DescribePictures(const AVStream& video, const AVFrame& first, const EnhanceOptions& options, Plan& plan) {
  plan.orientation = media::FindOrientation(video, first);
  plan.output = FitTarget({plan.source.width, plan.source.height}, options.target);
  media::CheckPixelLimit(plan.output.width, plan.output.height, options.limits);  // square pixels can be many more
  CheckSides(plan.output);
  plan.time_base = media::OutputTimeBase(video.time_base);
  plan.frame_rate = UsableRate(plan.source.frame_rate);
  plan.color = media::DescribeColor(first, video.codecpar->codec_id);
  plan.peak_nits = media::FindPeakNits(video, first);
  plan.first_timestamp = first.best_effort_timestamp;
}

void PlanStrengths(const EnhanceOptions& options, Plan& plan) {
  const double scale = static_cast<double>(plan.output.width) / plan.source.width;
  plan.strengths = ChooseStrengths(options, plan.traits, scale);
  plan.temporal = ChooseTemporalDenoising(options, plan.traits);
  plan.deband_threshold = ChooseDebanding(options, plan.traits);
  plan.level_lift = ChooseLevelLift(options, plan.traits, plan.strengths.adaptive_contrast);
}

bool CanRunNetworksOnCpu() {
  try {
    inference::CreateBackend("openvino");
    return true;
  } catch (const Error&) {
    return false;
  }
}

void PlanFaces(const EnhanceOptions& options, Plan& plan) {
  if (plan.strengths.face_restoration <= 0) return;
  plan.why_no_faces = WhyNoFaces(options);
  // Asked here and not in WhyNoFaces, because it loads OpenVINO.
  if (plan.why_no_faces.empty() && !CanRunNetworksOnCpu()) plan.why_no_faces = "OpenVINO cannot be loaded here";
  if (!plan.why_no_faces.empty()) {
    plan.strengths.face_restoration = 0;
    return;
  }
  plan.face_model = *FindFaceModel(options.models);
}

}  // namespace

std::int64_t FrameNumber(const Plan& plan, std::int64_t pts) {
  return av_rescale_q_rnd(pts, plan.time_base, av_inv_q(plan.frame_rate), AV_ROUND_NEAR_INF);
}

std::string WhyNoFaces(const EnhanceOptions& options) {
  if (!FindFaceModel(options.models)) return "no network for faces is installed";
  if (!faces::CanDetectFaces()) return "this build has no face detector";
  return "";
}

void CheckOptions(const EnhanceOptions& options) {
  media::CheckQuality(options.encoder);
  CheckStrength(options.denoise, "denoise");
  CheckStrength(options.sharpen, "sharpen");
  CheckStrength(options.adaptive_contrast, "adaptive contrast");
  CheckStrength(options.face_restoration, "face restoration");
  CheckDeviceName(options.device);
  if (options.model != "auto" && options.model != "none" && !IsInstalled(options.models, options.model)) {
    throw Error(ErrorCode::kInvalidArgument, "There is no model named “" + options.model + "”.");
  }
  if (options.threads < 0) throw Error(ErrorCode::kInvalidArgument, "The number of threads must not be negative.");
  if (!options.segment_plan.empty() && options.segment) {
    throw Error(ErrorCode::kInvalidArgument, "A segment is given by its times or by a plan, not by both.");
  }
  if (!options.segment) return;
  const Segment& segment = *options.segment;
  if (!(segment.start_s >= 0 && segment.end_s > segment.start_s) || segment.warm_up_frames < 0) {
    throw Error(ErrorCode::kInvalidArgument, "The segment must have 0 ≤ start < end and no negative warm-up.");
  }
}

Plan MakePlan(const std::string& input_path, const EnhanceOptions& options, const PlanContext& context) {
  media::FileSource source(input_path);
  return MakePlan(source, options, context);
}

Plan MakePlan(ByteSource& source, const EnhanceOptions& options, const PlanContext& context) {
  media::Demuxer demuxer(source, {options.limits, context.is_cancelled});
  media::CheckComplete(demuxer, source);
  media::CheckUnscrambled(demuxer, source);
  media::SpanMeter meter(*demuxer.video());
  const media::UniqueFrame first = media::DecodeFirstFrame(demuxer, options.limits, meter);
  Plan plan;
  plan.source = media::DescribeSource(demuxer, *first);
  // Taken from the record, if there is one: finding it again may read far into the source.
  if (context.record == nullptr) plan.source.duration_s = media::DeclaredDuration(demuxer, meter, source).seconds;
  DescribePictures(*demuxer.video(), *first, options, plan);
  plan.engine_folder = options.engine_folder;
  plan.may_write_engines = options.may_write_engines;
  if (context.record != nullptr) {
    Decide(*context.record, options, context.device, plan);
    return plan;
  }
  plan.traits = MeasureTraits(demuxer, *first, {plan.source, plan.frame_rate, plan.peak_nits}, options.limits, context.threads);
  PlanStrengths(options, plan);
  PlanNetwork(options, {first->width, first->height}, context.device, plan);
  PlanFaces(options, plan);
  plan.stages = DescribeStages(options, plan);
  plan.condition = DescribeDamage(DamageToDescribe(plan.traits), {plan.source.width, plan.source.height});
  return plan;
}

}  // namespace reelmend::plan
