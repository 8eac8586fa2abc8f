// The plan of a job, made before its first frame is processed.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/color_tags.h"
#include "media/demuxer.h"
#include "media/geometry.h"
#include "pixel/tone_map.h"
#include "plan/damage.h"
#include "plan/network_choice.h"
#include "plan/picture_stats.h"
#include "plan/restoration_choice.h"
#include "plan/segment_cuts.h"
#include "plan/speed_choice.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// Traits of the source, measured on a few frames.
struct SourceTraits {
  float noise_sigma = 0;  ///< noise of luma, standard deviation in 8-bit levels; median of the measured frames
  VideoLevels levels;     ///< of luma, over the measured frames
  float compression_error = 0; ///< of luma, RMS in 8-bit levels (Note [Compression error]); median
  DamageEstimate damage = {};  ///< from the pictures alone (Note [Damage])
};

struct PlanRecord;

/// Applied strengths, each 0…1.
struct Strengths {
  float denoise = 0;
  float sharpen = 0;
  float adaptive_contrast = 0;
  float face_restoration = 0;
};

struct Plan {
  ProbeResult source;
  Size output;
  media::Orientation orientation;
  SourceTraits traits;
  RestorationChoice restoration;  ///< restoration for the source's damage
  float working_share = 1;        ///< of the source's size per axis, Note [Working size]
  Strengths strengths;
  float deband_threshold = 0;          ///< of the debanding, in 8-bit levels
  pixel::LevelLift level_lift;         ///< of the adaptive contrast
  AVRational time_base = {1, 90'000};  ///< of the output's video
  AVRational frame_rate = {25, 1};     ///< average; 25 when the source's is unknown or absurd
  media::SourceColor color;            ///< of the first frame
  double peak_nits = pixel::kDefaultPeakNits;  ///< of an HDR source, the same for every segment of it
  std::int64_t first_timestamp = 0;    ///< of the first displayed frame, in the source stream's time base
  std::string model = "none";          ///< name of the network that runs
  std::vector<ModelFile> models;       ///< its files, one for each scale: the precision is decided for all segments
  SpeedChoice speed;                   ///< its expected speed on the machine that planned, for people
  float network_strength = 0;          ///< strength of restoration given to the network
  bool is_blind = false;               ///< ModelFile::is_blind of the network
  std::optional<ModelFile> face_model;  ///< the network that restores faces, where their strength is above 0
  std::vector<PlannedStage> stages;     ///< the stages with reasons, for people
  std::string condition;               ///< damage of the source, in words (DescribeDamage)
  bool device_restores_faces = true;
  std::string engine_folder;           ///< EnhanceOptions::engine_folder
  bool may_write_engines = true;
  std::optional<SegmentCut> cut;       ///< the planned segment that this run makes
  bool restores_luma = false;          ///< the network has a trained strength of restoration; includes chroma if it outputs that
};

/// Note [Automatic strengths]
/// `auto` must do no harm: a clean, sharp, well exposed source that is not enlarged passes unchanged.
/// - denoise: 0 below a noise of 1.5 levels (compression residue and texture reach that), then 0.1 per level up to
///   0.6. The temporal part has twice that strength.
/// - sharpen: 0 without enlargement; 0.25 from ×2 on, linear between; halved for a source noisy enough to be
/// - adaptive contrast: 0 unless the video is flat, which means that it uses less than 72 % of the range and neither black
///   nor white (Note [Levels] in pixel/contrast_levels.h); rises with the possible spread of its levels, up to 0.5 at 1.7
///   times, where 42 % of the range become 66 % at least. It falls if noise and compression dominate the picture: full if
///   the used range is 16 times the error or more, 0 at 6 times. A fixed strength spreads the levels too, in full from 0.5
///   on, and equalises locally at that strength.
/// - face restoration: the source's error (noise and compression, added as variances) over 8 levels, at most 0.8; 0 below
///   0.6 levels, and if faces cannot be found or restored: a build without the detector, no network for faces, a GPU.
/// Measured on 152 photographs and 8 synthetic pictures, each as it is, one stop lighter, 1.5 and 3 stops darker, at ×1 and
/// ×2: on the clean ones denoising and sharpening together differ from a plain resize by 49.1 dB or more. The levels of 7 %
/// of 634 photographs are spread at all, mostly by less than a fifth of the maximum; one stop lighter 0.5 %; 1.5 stops
/// darker 19 %.
Strengths ChooseStrengths(const EnhanceOptions& options, const SourceTraits& traits, double scale);

/// Note [Debanding]
/// Threshold of the debanding in 8-bit levels, 0: none. A coarse quantiser leaves blocks and bands in flat areas, where they
/// are most visible. Networks, which see only a few neighbouring samples, keep them. The threshold is 0.45 of the
/// compression error by the stream or by the pictures, whichever is larger; 0 below kCompressedFrom. A fixed strength of
/// `denoise` below 0.5 reduces it in proportion. It is part of the denoising: `denoise` off turns it off.
float ChooseDebanding(const EnhanceOptions& options, const SourceTraits& traits);

/// Spreading of the levels for the chosen strength of the adaptive contrast.
pixel::LevelLift ChooseLevelLift(const EnhanceOptions& options, const SourceTraits& traits, float strength);

/// Note [Restoration by a network]
/// A network of the layouts kLumaStrength and kYcbcrStrength gets a strength of restoration: the source's error over
/// 50 levels, with noise and compression added as variances. Restoration replaces spatial denoising of the planes
/// that the network makes: luma only (chroma keeps its filter), or all planes. Temporal denoising stays, since it
/// costs no detail. Below 0.6 levels nothing is restored: that much remains after 8 bits and a good encoder. A small
/// compression error e counts as e² / (e + 1.2), because it is missing detail that no network recovers.
/// Measured with `npm run bench:networks -- --hr DIR --degrade h264:CRF --pan 4 --sweep` on six validation
/// photographs (estimate and truth in levels; best strengths as a range): CRF 20, QP 23–29, truth 1.9–4.1, estimate
/// 2.6–4.0, best 0.02–0.04; CRF 28, QP 28–36, truth 3.3–7.6, estimate 3.7–7.2, best 0.08–0.13; CRF 36, QP 35–45,
/// truth 5.7–14.3, estimate 6.2–12, best 0.2–0.3.
/// At ×1 `auto` uses the network from a strength of 0.08 on: at 0.067 (QP 27) it gained nothing, at 0.12 (QP 34) 0.15
/// dB. A fixed strength is passed as it is, up to the largest that the network was trained for. A network trained to
/// enlarge only gets 0, and the filters do the rest.
float ChooseNetworkStrength(const EnhanceOptions& options, const SourceTraits& traits);

/// Strength of the temporal denoising for a strength of the spatial one, both 0…1. It is twice as strong: averaging over
/// time costs no detail, so it reaches its full strength earlier.
inline float TemporalStrength(float denoise) { return std::min(1.0F, 2 * denoise); }

/// Why faces cannot be restored here; empty if they can.
std::string WhyNoFaces(const EnhanceOptions& options, bool device_restores_faces);

/// The estimate from the pictures, with the compression error by the stream's quantiser if that is larger: the input of
/// DescribeDamage.
DamageEstimate DamageToDescribe(const SourceTraits& traits);

/// Known damage of a source.
Damage DamageOf(const SourceTraits& traits);

/// Strength of a network for damaged sources. One that was requested by name restores at least half, whatever was measured.
float ChooseBlindStrength(const EnhanceOptions& options, const RestorationChoice& restoration);

/// The model that `auto` means. A damaged source gets `detail` (on a GPU `detail-large`); otherwise a GPU gets the larger
/// network and a CPU `fast`. Each only if one is installed for these sizes; the last one in any case. On a CPU with a floor,
/// ChooseBySpeed decides. `frame_rate` is that of the video.
std::string AutomaticModel(const std::vector<ModelFile>& models, Size in, Size out, NetworkDevice device,
                           const RestorationChoice& restoration = {}, const MachineSpeed& machine = {}, double frame_rate = 0);

/// Name of the network for a stored picture of size `in` that becomes `out`; "none" for the plain filter. Throws
/// Error{kUnavailable} if a named network cannot run.
std::string ChooseModel(const EnhanceOptions& options, Size in, Size out, float network_strength,
                        NetworkDevice device = NetworkDevice::kCpu, const RestorationChoice& restoration = {},
                        double frame_rate = 0);

/// Tone mapping for frames of this colour; null for SDR with usual primaries.
std::unique_ptr<pixel::ToneMapper> MakeToneMapper(const media::SourceColor& color, double peak_nits);

/// Opens the source, measures a few frames and decides. Throws what Probe throws, and Error{kInvalidArgument,
/// kUnavailable} for options that cannot be met.
/// Takes the decisions of `record`, if there is one; throws Error{kSegmentMismatch} if that is impossible.
Plan MakePlan(ByteSource& source, const EnhanceOptions& options, int threads,
              const std::function<bool()>& is_cancelled, bool device_restores_faces = true,
              NetworkDevice device = NetworkDevice::kCpu, const PlanRecord* record = nullptr);
/// The same for a file.
Plan MakePlan(const std::string& input_path, const EnhanceOptions& options, int threads,
              const std::function<bool()>& is_cancelled, bool device_restores_faces = true,
              NetworkDevice device = NetworkDevice::kCpu);

/// Throws Error{kInvalidArgument, kUnavailable} for options outside their range, or that name something missing.
void CheckOptions(const EnhanceOptions& options);

}  // namespace reelmend::plan
