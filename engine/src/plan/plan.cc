#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "faces/detector.h"
#include "inference/backend.h"
#include "inference/model_loader.h"
#include "media/av_error.h"
#include "media/duration.h"
#include "media/first_frame.h"
#include "media/frame_import.h"
#include "media/scrambling.h"
#include "media/timestamps.h"
#include "media/video_decoder.h"
#include "media/video_encoder.h"
#include "pixel/stages.h"
#include "plan/compression_error.h"
#include "plan/damage.h"
#include "plan/device_name.h"
#include "plan/network_choice.h"
#include "plan/picture_stats.h"
#include "plan/plan_reasons.h"
#include "plan/plan_record.h"
#include "plan/speed_choice.h"

namespace reelmend::plan {
namespace {

constexpr float kUnnoticeable = 0.6F;  ///< error in 8-bit levels after rounding to 8 bits and a good encoder
constexpr float kFullLevels = 0.5F;    ///< from this strength of the adaptive contrast on, the levels are spread in full

float Resolve(const Strength& strength, float automatic) {
  switch (strength.mode) {
    case Strength::Mode::kAuto: return automatic;
    case Strength::Mode::kOff: return 0;
    case Strength::Mode::kFixed: return strength.value;
  }
  return 0;
}

/// Share of the full spreading of levels that suits a source: small if its error is large compared with its used range.
float LevelShare(const SourceTraits& traits) {
  constexpr float kLevels = 219;
  constexpr float kMostlyError = 6;
  constexpr float kHardlyError = 16;
  const float error = std::hypot(traits.noise_sigma, traits.compression_error);
  const float used = kLevels * traits.levels.levels.used();
  return std::clamp((used - kMostlyError * error) / ((kHardlyError - kMostlyError) * std::max(error, 1e-3F)), 0.0F, 1.0F);
}

void CheckStrength(const Strength& strength, const char* name) {
  if (strength.mode == Strength::Mode::kFixed && !(strength.value >= 0.0F && strength.value <= 1.0F)) {
    throw Error(ErrorCode::kInvalidArgument, std::string("The strength of ") + name + " must lie between 0 and 1.");
  }
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
    if (const auto error = CompressionErrorOf(frame)) coding_.push_back(*error);
    luma_.push_back(MeasureLuma(image));
    damage_.Add(image);
  }

  /// `rate_error` replaces the compression error if no frame had one.
  SourceTraits Traits(float rate_error) {
    if (noise_.empty()) return {};
    return {Median(noise_), LevelsOfVideo(luma_), coding_.empty() ? rate_error : Median(coding_), damage_.Estimate()};
  }

 private:
  static float Median(std::vector<float>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  AVCodecID codec_;
  double peak_nits_;
  pixel::ThreadPool pool_;
  std::vector<float> noise_;
  std::vector<float> coding_;
  std::vector<LumaFacts> luma_;
  DamageMeter damage_;
};

/// Measures the first frame and one near each of a few positions (the same for every segment of the video), because the
/// first frame is often black or a title.
SourceTraits LookAround(media::Demuxer& demuxer, const AVFrame& first, double duration_s, double peak_nits,
                        const SourceLimits& limits, int threads, float rate_error) {
  TraitMeter meter(demuxer.video()->codecpar->codec_id, peak_nits, threads);
  meter.Add(first);
  demuxer.ReadVideoOnly();
  const std::int64_t start = first.best_effort_timestamp == AV_NOPTS_VALUE ? 0 : first.best_effort_timestamp;
  for (const double fraction : {0.25, 0.5, 0.75}) {
    const std::int64_t offset = media::ToTicks(fraction * duration_s, demuxer.video()->time_base);
    if (!demuxer.SeekBefore(start + offset)) break;
    try {
      media::SpanMeter span(*demuxer.video());
      meter.Add(*media::DecodeFirstFrame(demuxer, limits, span));
    } catch (const Error& error) {
      // The decoder of the job handles a damaged stretch in the middle.
      if (error.code() != ErrorCode::kUnreadableVideo) throw;
    }
  }
  return meter.Traits(rate_error);
}

/// The error expected at the stream's bit rate, or at the file's if the container does not state the video's.
float RateError(const media::Demuxer& demuxer, const AVFrame& first, const ProbeResult& source, AVRational frame_rate) {
  const AVCodecParameters& codec = *demuxer.video()->codecpar;
  const double file_rate = source.duration_s > 0 ? static_cast<double>(source.size_bytes) * 8 / source.duration_s : 0;
  const std::int64_t rate = codec.bit_rate > 0 ? codec.bit_rate : static_cast<std::int64_t>(std::min(file_rate, 1e12));
  return CompressionErrorOfRate(codec.codec_id, rate, first.width, first.height, av_q2d(frame_rate));
}

AVRational UsableRate(const Rational& rate) {
  if (rate.num <= 0 || rate.den <= 0) return {25, 1};
  AVRational usable = {25, 1};
  av_reduce(&usable.num, &usable.den, rate.num, rate.den, 1'000'000);
  return usable;
}

/// Whether a network for damaged sources would serve this size, however long it takes.
bool IsServedBlind(const EnhanceOptions& options, Size in, const Plan& plan) {
  if (options.model != "auto") return false;
  const auto best = FitNetwork(options.models, NamesByQuality(options.models, in, plan.output, plan.restoration).front(), in, plan.output);
  return best && best->file.is_blind;
}

/// The size that the network gets, Note [Working size]; `size` is that of the upright source.
Size PlanWorkingSize(const EnhanceOptions& options, Size size, float strength, NetworkDevice device, Plan& plan) {
  if (plan.restoration.working_share >= 1 || Resolve(options.denoise, 1) <= 0) return size;
  const auto fit = [&](Size in) {
    const std::string model = ChooseModel(options, in, plan.output, strength, device, plan.restoration, av_q2d(plan.frame_rate));
    return FitNetwork(options.models, model, in, plan.output, device);  // nothing for "none"
  };
  const auto for_nominal_size = fit(size);
  if (for_nominal_size && for_nominal_size->file.is_blind) return size;
  const Size working = WorkingSize(size, plan.restoration.working_share);
  // At this size the floor of speed has ruled that one out. It would keep the floor at the smaller size, which it is not made for.
  if (IsServedBlind(options, size, plan)) plan.restoration.strength = 0;
  if (!fit(working)) return size;
  plan.working_share = plan.restoration.working_share;
  return working;
}

/// Expected speed of the chosen network here; `in` is the size that it gets.
SpeedChoice ExpectedSpeed(const EnhanceOptions& options, Size in, const Plan& plan) {
  const double rate = av_q2d(plan.frame_rate);
  SpeedChoice expected{plan.model, 0, FloorOf(options.machine, rate), "", 0};
  const auto fit = FitNetwork(plan.models, plan.model, in, plan.output);
  const auto time_ms = fit ? FrameTime_ms(*fit, in, plan.output, options.machine) : std::nullopt;
  if (time_ms) expected.frames_per_second = 1000 / *time_ms;
  if (options.model != "auto") return expected;
  const RestorationChoice wanted = Resolve(options.denoise, 1) > 0 ? plan.restoration : RestorationChoice{};
  const auto names = NamesByQuality(options.models, in, plan.output, wanted);
  const auto chosen = ChooseBySpeed(options.models, names, in, plan.output, options.machine, rate);
  return chosen && chosen->model == plan.model ? *chosen : expected;
}

/// `stored` is the picture's size before rotation.
void PlanNetwork(const EnhanceOptions& options, Size stored, NetworkDevice device, Plan& plan) {
  constexpr float kSharpenAfterNetwork = 0.4F;  // the network's output is sharp already
  if (plan.orientation.transpose) std::swap(stored.width, stored.height);
  float strength = ChooseNetworkStrength(options, plan.traits);
  Damage damage = DamageOf(plan.traits);
  damage.lines = std::min(stored.width, stored.height);
  damage.keeps_size = !IsEnlarged(stored, plan.output);
  plan.restoration = ChooseRestoration(damage);
  stored = PlanWorkingSize(options, stored, strength, device, plan);
  plan.model = ChooseModel(options, stored, plan.output, strength, device, plan.restoration, av_q2d(plan.frame_rate));
  if (plan.model == "none") return;
  plan.models = BestOfEachScale(options.models, plan.model, device);
  if (device == NetworkDevice::kCpu) plan.speed = ExpectedSpeed(options, stored, plan);
  plan.engine_folder = options.engine_folder;
  plan.may_write_engines = options.may_write_engines;
  const ModelFile file = FitNetwork(options.models, plan.model, stored, plan.output, device)->file;
  plan.restores_luma = file.max_strength > 0 && (inference::TakesStrength(file.layout) || file.is_blind);
  plan.is_blind = file.is_blind;
  if (file.is_blind) strength = ChooseBlindStrength(options, plan.restoration, file);
  plan.network_strength = std::min(strength, file.max_strength);
  plan.edges = ChooseEdges(plan);
  if (options.sharpen.mode != Strength::Mode::kAuto) return;
  plan.strengths.sharpen *= kSharpenAfterNetwork * (file.is_blind ? 1 - plan.network_strength : 1.0F);
}

void CheckSides(Size output) {
  if (std::max(output.width, output.height) <= media::kLongestSide) return;
  throw Error(ErrorCode::kLimitExceeded, "The output of " + std::to_string(output.width) + "×" + std::to_string(output.height) +
                                             " pixels cannot be encoded: a side has at most " + std::to_string(media::kLongestSide) + ".");
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
  plan.why_no_faces = WhyNoFaces(options, plan.device_restores_faces);
  // Asked here and not in WhyNoFaces, because it loads OpenVINO.
  if (plan.why_no_faces.empty() && !CanRunNetworksOnCpu()) plan.why_no_faces = "OpenVINO cannot be loaded here";
  if (!plan.why_no_faces.empty()) {
    plan.strengths.face_restoration = 0;
    return;
  }
  plan.face_model = *FindFaceModel(options.models);
}

}  // namespace

std::string WhyNoFaces(const EnhanceOptions& options, bool device_restores_faces) {
  if (!device_restores_faces) return "faces are restored on the CPU only";
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

std::unique_ptr<pixel::ToneMapper> MakeToneMapper(const media::SourceColor& color, double peak_nits) {
  if (!color.hdr) return nullptr;
  return std::make_unique<pixel::ToneMapper>(pixel::ToneMapOptions{*color.hdr, color.gamut, peak_nits});
}

Strengths ChooseStrengths(const EnhanceOptions& options, const SourceTraits& traits, double scale) {
  const float error = std::hypot(traits.noise_sigma, traits.compression_error);
  const float denoise = std::clamp((traits.noise_sigma - 1.5F) * 0.1F, 0.0F, 0.6F);
  const float enlargement = static_cast<float>(std::clamp(scale - 1.0, 0.0, 1.0));
  const float sharpen = 0.25F * enlargement * (denoise > 0 ? 0.5F : 1.0F);
  const float contrast = kFullLevels * LevelShare(traits) * (pixel::LevelGain(traits.levels.levels) - 1) / (pixel::kMaxLevelGain - 1);
  const float faces = error < kUnnoticeable ? 0.0F : std::min(0.8F, error / 8);
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

EdgeRestoration ChooseEdges(const Plan& plan) {
  constexpr float kLeastEnlargement = 1.5F;
  const float enlargement = static_cast<float>(plan.output.width) / (static_cast<float>(plan.source.width) * plan.working_share);
  if (!plan.is_blind || plan.network_strength <= 0 || enlargement < kLeastEnlargement) return {};
  return {1, enlargement};
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

DamageEstimate DamageToDescribe(const SourceTraits& traits) {
  DamageEstimate damage = traits.damage;
  damage.compression_error = damage.known ? std::max(damage.compression_error, traits.compression_error) : traits.compression_error;
  return damage;
}

Damage DamageOf(const SourceTraits& traits) {
  Damage damage;
  damage.compression_error = traits.compression_error;
  damage.noise_sigma = traits.noise_sigma;
  if (!traits.damage.known) return damage;
  damage.seen_compression_error = traits.damage.compression_error;
  damage.blur_sigma = traits.damage.blur_sigma;
  damage.true_scale = traits.damage.true_scale;
  damage.effective_scale = traits.damage.effective_scale;
  return damage;
}

float ChooseBlindStrength(const EnhanceOptions& options, const RestorationChoice& restoration, const ModelFile& file) {
  constexpr float kAskedFor = 0.5F;
  if (!inference::TakesStrength(file.layout)) return Resolve(options.denoise, 1) > 0 ? 1 : 0;
  const float strength = options.model == "auto" ? restoration.strength : std::max(kAskedFor, restoration.strength);
  return Resolve(options.denoise, std::min(1.0F, file.strength_gain * strength));
}

std::string AutomaticModel(const std::vector<ModelFile>& models, Size in, Size out, NetworkDevice device,
                           const RestorationChoice& restoration, const MachineSpeed& machine, double frame_rate) {
  if (device == NetworkDevice::kCpu) {
    const auto chosen = ChooseBySpeed(models, NamesByQuality(models, in, out, restoration), in, out, machine, frame_rate);
    if (chosen) return chosen->model;
  }
  const bool has_time = device == NetworkDevice::kGpu;
  for (const char* name : kNetworksForDamage) {
    if (restoration.strength <= 0 || (std::string(name) != "detail" && !has_time)) continue;
    const auto fit = FitNetwork(models, name, in, out, device);
    if (fit && fit->file.is_blind) return name;
  }
  return has_time && FitNetwork(models, "quality", in, out, device) ? "quality" : "fast";
}

std::string ChooseModel(const EnhanceOptions& options, Size in, Size out, float network_strength, NetworkDevice device,
                        const RestorationChoice& restoration, double frame_rate) {
  constexpr float kWorthIt = 0.08F;
  if (options.model == "none") return "none";
  const bool is_automatic = options.model == "auto";
  const RestorationChoice wanted = Resolve(options.denoise, 1) > 0 ? restoration : RestorationChoice{};
  const std::string name =
      is_automatic ? AutomaticModel(options.models, in, out, device, wanted, options.machine, frame_rate) : options.model;
  const auto fit = FitNetwork(options.models, name, in, out, device);
  if (!fit) return "none";
  const bool enlarges = out.width > in.width || out.height > in.height;
  if (is_automatic && !enlarges && !fit->file.is_blind && std::min(network_strength, fit->file.max_strength) < kWorthIt) return "none";
  const std::string own_name = OwnName(options.models, fit->file);
  if (device == NetworkDevice::kGpu) return own_name;  // only its processor knows whether it runs networks
  try {
    inference::CreateBackend("openvino");
  } catch (const Error&) {
    if (is_automatic) return "none";
    throw;
  }
  return own_name;
}

Plan MakePlan(const std::string& input_path, const EnhanceOptions& options, int threads,
              const std::function<bool()>& is_cancelled, bool device_restores_faces, NetworkDevice device) {
  media::FileSource source(input_path);
  return MakePlan(source, options, threads, is_cancelled, device_restores_faces, device);
}

Plan MakePlan(ByteSource& source, const EnhanceOptions& options, int threads,
              const std::function<bool()>& is_cancelled, bool device_restores_faces, NetworkDevice device,
              const PlanRecord* record) {
  media::Demuxer demuxer(source, {options.limits, is_cancelled});
  media::CheckComplete(demuxer, source);
  media::CheckUnscrambled(demuxer, source);
  media::SpanMeter meter(*demuxer.video());
  const media::UniqueFrame first = media::DecodeFirstFrame(demuxer, options.limits, meter);
  Plan plan;
  plan.source = media::DescribeSource(demuxer, *first);
  // Taken from the record, if there is one: finding it again may read far into the source.
  if (record == nullptr) plan.source.duration_s = media::DeclaredDuration(demuxer, meter, source).seconds;
  plan.orientation = media::FindOrientation(*demuxer.video(), *first);
  plan.output = FitTarget({plan.source.width, plan.source.height}, options.target);
  media::CheckPixelLimit(plan.output.width, plan.output.height, options.limits);  // square pixels can be many more
  CheckSides(plan.output);
  plan.time_base = media::OutputTimeBase(demuxer.video()->time_base);
  plan.frame_rate = UsableRate(plan.source.frame_rate);
  plan.color = media::DescribeColor(*first, demuxer.video()->codecpar->codec_id);
  plan.peak_nits = media::FindPeakNits(*demuxer.video(), *first);
  plan.first_timestamp = first->best_effort_timestamp;
  plan.device_restores_faces = device_restores_faces;
  if (record != nullptr) {
    Decide(*record, options, device, plan);
    return plan;
  }
  plan.traits = LookAround(demuxer, *first, plan.source.duration_s, plan.peak_nits, options.limits, threads,
                           RateError(demuxer, *first, plan.source, plan.frame_rate));
  const double scale = static_cast<double>(plan.output.width) / plan.source.width;
  plan.strengths = ChooseStrengths(options, plan.traits, scale);
  plan.temporal = ChooseTemporalDenoising(options, plan.traits);
  plan.deband_threshold = ChooseDebanding(options, plan.traits);
  plan.level_lift = ChooseLevelLift(options, plan.traits, plan.strengths.adaptive_contrast);
  PlanNetwork(options, {first->width, first->height}, device, plan);
  PlanFaces(options, plan);
  plan.stages = DescribeStages(options, plan);
  plan.condition = DescribeDamage(DamageToDescribe(plan.traits), {plan.source.width, plan.source.height});
  return plan;
}

}  // namespace reelmend::plan
