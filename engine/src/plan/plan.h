// The plan of a job, made before its first frame is processed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "media/color_tags.h"
#include "media/geometry.h"
#include "pixel/tone_map.h"
#include "plan/network_choice.h"
#include "plan/restoration_choice.h"
#include "plan/segment_cuts.h"
#include "plan/source_traits.h"
#include "plan/speed_choice.h"
#include "plan/strengths.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

struct PlanRecord;

struct Plan {
  ProbeResult source;
  Size output;
  media::Orientation orientation;
  SourceTraits traits;
  RestorationChoice restoration;  ///< restoration for the source's damage
  float working_share = 1;        ///< working size ÷ source size, per axis; Note [Working size]
  Strengths strengths;
  float deband_threshold = 0;          ///< in 8-bit levels, Note [Debanding]
  pixel::LevelLift level_lift;         ///< spreading of the levels by the adaptive contrast
  AVRational time_base = {1, 90'000};  ///< of the output's video
  AVRational frame_rate = {25, 1};     ///< average; 25 if that of the source is unknown or implausible
  media::SourceColor color;            ///< of the first frame
  double peak_nits = pixel::kDefaultPeakNits;  ///< of an HDR source; the same for all its segments
  std::int64_t first_timestamp = 0;    ///< of the first displayed frame, in the source stream's time base
  std::string model = "none";          ///< name of the network that runs
  std::vector<ModelFile> models;       ///< its files, one for each scale; all segments use these
  SpeedChoice speed;                   ///< its expected speed on the machine that planned; only reported
  TemporalDenoising temporal;
  EdgeRestoration edges;               ///< Note [Edges of damaged sources]
  float network_strength = 0;          ///< strength of restoration given to the network
  bool is_blind = false;               ///< ModelFile::is_blind of the network
  std::optional<ModelFile> face_model;  ///< the network that restores faces, if strengths.face_restoration is above 0
  std::string why_no_faces;             ///< why faces are not restored, though they should be; otherwise empty
  std::vector<PlannedStage> stages;     ///< the stages with reasons; only reported
  std::string condition;               ///< damage of the source, in words (DescribeDamage)
  std::string engine_folder;           ///< EnhanceOptions::engine_folder
  bool may_write_engines = true;
  std::optional<SegmentCut> cut;       ///< the planned segment that this run enhances; none: the whole video
  /// Note [Steady detail]
  bool accumulates() const { return is_blind && edges.strength > 0 && temporal.strength > 0 && temporal.noise_sigma > 0; }
  bool restores_luma = false;          ///< the network restores luma, and chroma if it outputs that; so the spatial denoising leaves them out
};

/// Strength of the temporal accumulation (Plan::accumulates).
///
/// Note [Steady detail]
/// A network for damaged sources makes detail anew in each picture, and it flickers. So behind such a network luma is blended with older
/// pictures along the motion (pixel/temporal_accumulation.h), wherever pictures are averaged in front of it, too: their motion is known
/// then. As with edges, not without an enlargement of at least 1.5 times: grain that is not enlarged looks like texture that is steady
/// in part (pixel/accumulation_limits.h). A faithful network follows what the source shows, and is left alone.
inline constexpr float kSteadyStrength = 1;

/// Number of the frame with this timestamp, in the plan's time base: the same in every segment of the video.
std::int64_t FrameNumber(const Plan& plan, std::int64_t pts);

/// The reason why faces cannot be restored here; empty if they can.
std::string WhyNoFaces(const EnhanceOptions& options);

/// How the job that is planned runs.
struct PlanContext {
  int threads = 1;
  std::function<bool()> is_cancelled = {};
  NetworkDevice device = NetworkDevice::kCpu;  ///< where networks run
  const PlanRecord* record = nullptr;          ///< its decisions are taken, if there is one
};

/// Opens the source, measures a few frames and plans the job. Throws what Probe throws, and Error{kInvalidArgument,
/// kUnavailable} for options that cannot be met; Error{kSegmentMismatch} if the decisions of a record cannot be taken.
Plan MakePlan(ByteSource& source, const EnhanceOptions& options, const PlanContext& context);
/// The same for a file.
Plan MakePlan(const std::string& input_path, const EnhanceOptions& options, const PlanContext& context);

/// Throws Error{kInvalidArgument, kUnavailable} for options that are out of range, or name what is not installed.
void CheckOptions(const EnhanceOptions& options);

}  // namespace reelmend::plan
