#include "pipeline/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "media/av_error.h"
#include "media/duration.h"
#include "media/first_frame.h"
#include "media/frame_import.h"
#include "media/timestamps.h"
#include "media/video_decoder.h"
#include "pipeline/picture_stats.h"
#include "pixel/stages.h"

namespace framelift::pipeline {
namespace {

float Resolve(const Strength& strength, float automatic) {
  switch (strength.mode) {
    case Strength::Mode::kAuto: return automatic;
    case Strength::Mode::kOff: return 0;
    case Strength::Mode::kFixed: return strength.value;
  }
  return 0;
}

void CheckStrength(const Strength& strength, const char* name) {
  if (strength.mode == Strength::Mode::kFixed && !(strength.value >= 0.0F && strength.value <= 1.0F)) {
    throw Error(ErrorCode::kInvalidArgument, std::string("The strength of ") + name + " must lie between 0 and 1.");
  }
}

void CheckDevice(const std::string& device) {
  if (device == "auto" || device == "cpu") return;
  if (device.rfind("cuda:", 0) == 0) {
    throw Error(ErrorCode::kUnavailable, "The device “" + device + "” is not available: this build has no CUDA stages.");
  }
  throw Error(ErrorCode::kInvalidArgument, "There is no device named “" + device + "”.");
}

/// Gathers traits frame by frame.
class TraitMeter {
 public:
  TraitMeter(AVCodecID codec, double peak_nits, int threads)
      : codec_(codec), peak_nits_(peak_nits), pool_(threads) {}

  void Add(const AVFrame& frame) {
    media::FrameImporter importer(frame, codec_);
    pixel::Image image(importer.width(), importer.height(), importer.subsampling(), importer.color().spec);
    importer.Run(frame, image, pool_);
    if (const auto tone_mapper = MakeToneMapper(importer.color(), peak_nits_)) {
      pixel::Image toned(image.width(), image.height(), image.subsampling(), {});
      tone_mapper->Run(image, toned, pool_);
      image = std::move(toned);
    }
    noise_.push_back(pixel::EstimateNoise(image, pool_));
    spread_ = std::max(spread_, LumaSpread(MeasureLuma(image), image.color().range));
  }

  SourceTraits Traits() {
    if (noise_.empty()) return {};
    const auto middle = noise_.begin() + static_cast<std::ptrdiff_t>(noise_.size() / 2);
    std::nth_element(noise_.begin(), middle, noise_.end());
    return {*middle, spread_};
  }

 private:
  AVCodecID codec_;
  double peak_nits_;
  pixel::ThreadPool pool_;
  std::vector<float> noise_;
  float spread_ = 0;
};

/// Looks at one frame each near a few places of the video (the same for every segment of it), since the first
/// frame alone is often a black or a title.
SourceTraits LookAround(media::Demuxer& demuxer, const AVFrame& first, double duration_s, double peak_nits,
                        const SourceLimits& limits, int threads) {
  TraitMeter meter(demuxer.video()->codecpar->codec_id, peak_nits, threads);
  meter.Add(first);
  demuxer.ReadVideoOnly();
  const std::int64_t start = first.best_effort_timestamp == AV_NOPTS_VALUE ? 0 : first.best_effort_timestamp;
  for (const double place : {0.25, 0.5, 0.75}) {
    const std::int64_t offset = media::ToTicks(place * duration_s, demuxer.video()->time_base);
    if (!demuxer.SeekBefore(start + offset)) break;
    try {
      media::SpanMeter span(*demuxer.video());
      meter.Add(*media::DecodeFirstFrame(demuxer, limits, span));
    } catch (const Error& error) {
      // A damaged stretch in the middle is the decoder's affair later on.
      if (error.code() != ErrorCode::kUnreadableVideo) throw;
    }
  }
  return meter.Traits();
}

AVRational UsableRate(const Rational& rate) {
  if (rate.num <= 0 || rate.den <= 0) return {25, 1};
  AVRational usable = {25, 1};
  av_reduce(&usable.num, &usable.den, rate.num, rate.den, 1'000'000);
  return usable;
}

}  // namespace

void CheckOptions(const EnhanceOptions& options) {
  CheckStrength(options.denoise, "denoise");
  CheckStrength(options.sharpen, "sharpen");
  CheckStrength(options.adaptive_contrast, "adaptive contrast");
  CheckStrength(options.face_restoration, "face restoration");
  CheckDevice(options.device);
  if (options.model != "auto" && options.model != "none") {
    throw Error(ErrorCode::kInvalidArgument, "There is no model named “" + options.model + "”.");
  }
  if (options.threads < 0) throw Error(ErrorCode::kInvalidArgument, "The number of threads must not be negative.");
  if (!options.segment) return;
  const Segment& segment = *options.segment;
  if (!(segment.start_s >= 0 && segment.end_s > segment.start_s) || segment.warm_up_frames < 0) {
    throw Error(ErrorCode::kInvalidArgument, "The segment must have 0 ≤ start < end and no negative warm-up.");
  }
}

std::unique_ptr<pixel::ToneMapper> MakeToneMapper(const media::SourceColor& color, double peak_nits) {
  if (!color.hdr) return nullptr;
  return std::make_unique<pixel::ToneMapper>(pixel::ToneMapOptions{*color.hdr, color.gamut, peak_nits});
}

Strengths ChooseStrengths(const EnhanceOptions& options, const SourceTraits& traits, double scale) {
  const float denoise = std::clamp((traits.noise_sigma - 1.5F) * 0.1F, 0.0F, 0.6F);
  const float enlargement = static_cast<float>(std::clamp(scale - 1.0, 0.0, 1.0));
  const float sharpen = 0.25F * enlargement * (denoise > 0 ? 0.5F : 1.0F);
  const float flatness = std::clamp((0.5F - traits.luma_spread) / 0.25F, 0.0F, 1.0F);
  const float content = std::clamp((traits.luma_spread - 0.05F) / 0.2F, 0.0F, 1.0F);
  const float contrast = 0.2F * std::min(flatness, content);
  return {Resolve(options.denoise, denoise), Resolve(options.sharpen, sharpen),
          Resolve(options.adaptive_contrast, contrast), 0.0F};
}

Plan MakePlan(const std::string& input_path, const EnhanceOptions& options, int threads,
              const std::function<bool()>& is_cancelled) {
  media::FileSource source(input_path);
  media::Demuxer demuxer(source, {options.limits, is_cancelled});
  media::CheckComplete(demuxer, source);
  media::SpanMeter meter(*demuxer.video());
  const media::UniqueFrame first = media::DecodeFirstFrame(demuxer, options.limits, meter);
  Plan plan;
  plan.source = media::DescribeSource(demuxer, *first);
  plan.source.duration_s = media::DeclaredDuration(demuxer, meter, source).seconds;
  plan.orientation = media::FindOrientation(*demuxer.video(), *first);
  plan.output = FitTarget({plan.source.width, plan.source.height}, options.target);
  media::CheckPixelLimit(plan.output.width, plan.output.height, options.limits);  // squared pixels can be many more
  plan.time_base = media::OutputTimeBase(demuxer.video()->time_base);
  plan.frame_rate = UsableRate(plan.source.frame_rate);
  plan.color = media::DescribeColor(*first, demuxer.video()->codecpar->codec_id);
  plan.peak_nits = media::FindPeakNits(*demuxer.video(), *first);
  plan.first_timestamp = first->best_effort_timestamp;
  plan.traits = LookAround(demuxer, *first, plan.source.duration_s, plan.peak_nits, options.limits, threads);
  const double scale = static_cast<double>(plan.output.width) / plan.source.width;
  plan.strengths = ChooseStrengths(options, plan.traits, scale);
  return plan;
}

}  // namespace framelift::pipeline
