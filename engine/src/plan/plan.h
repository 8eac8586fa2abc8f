// What will be done to a video, decided before the first frame is processed.
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
#include "plan/network_choice.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// What a look at a few frames of the source tells.
struct SourceTraits {
  float noise_sigma = 0;  ///< of luma, in 8-bit codes; median over the frames looked at
  float luma_spread = 1;  ///< share of the legal range that the picture uses; largest over the frames
  float coding_error = 0; ///< of luma, in 8-bit codes (Note [Coding error]); median over the frames
};

/// Strengths as they are applied, each 0…1.
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
  Strengths strengths;
  AVRational time_base = {1, 90'000};  ///< of the output's video
  AVRational frame_rate = {25, 1};     ///< average; 25 when the source's is unknown or absurd
  media::SourceColor color;            ///< of the first frame
  double peak_nits = pixel::kDefaultPeakNits;  ///< of an HDR source, the same for every segment of it
  std::int64_t first_timestamp = 0;    ///< of the first displayed frame, in the source stream's time base
  std::string model = "none";          ///< name of the network that runs
  std::vector<ModelFile> models;       ///< installed files
  float network_strength = 0;          ///< of restoration that the network is asked for
  std::optional<ModelFile> face_model;  ///< the network that restores faces, where their strength is above 0
  std::vector<PlannedStage> stages;     ///< the same for people, with reasons
  bool device_restores_faces = true;
  std::string engine_folder;           ///< EnhanceOptions::engine_folder
  bool may_write_engines = true;
  bool restores_luma = false;          ///< the network takes a strength and was trained to follow it; if it makes chroma, that too
};

/// Note [Automatic strengths]
/// `auto` must do no harm: a clean, sharp, well exposed source that is not enlarged passes unchanged.
/// - denoise: 0 below a noise of 1.5 codes (compression residue and texture measure up to there), then rising
///   by 0.1 a code to at most 0.6. The part over time has twice that strength.
/// - sharpen: 0 without enlargement; 0.25 for ×2 and more, in proportion between; halved on a source noisy
///   enough to be denoised, since what is left of the noise would be sharpened too.
/// - adaptive contrast: 0 for a picture that uses 35 % of the legal luma range or more (photographs of soft or dark
///   scenes lie there, and they are to stay as they are), rising to 0.2 at a fifth (fog, a faded film); below that it
///   falls to 0 again at 5 %, since a blank or a title has nothing to bring out.
/// Measured on 152 photographs and 8 made pictures, each as it is, one stop lighter, 1.5 and 3 darker, at ×1 and ×2: on
/// the 980 that are clean and spread over 35 % or more, all three together differ from a plain resize by 49.1 dB or more;
/// on the flat ones denoising and sharpening still do (52 dB), while contrast does its work (35 dB at the most).
/// - face restoration: the source's error (noise and compression added as variances) over 8 codes, at most 0.8; 0 below
///   0.6 codes. 0 too where no face can be found or restored: a build without the detector, no network for faces, a GPU.
Strengths ChooseStrengths(const EnhanceOptions& options, const SourceTraits& traits, double scale);

/// Note [Restoration by a network]
/// A network of the layouts kLumaStrength and kYcbcrStrength is told how much to restore, as the source's error over 50
/// codes: noise and compression added as variances. It takes the place of the spatial denoising of the planes that it makes
/// (never both): luma, and chroma keeps its filter, or all of them. Averaging over time stays, which costs no detail. Below 0.6 codes nothing is restored: that is what
/// 8 bits and a good encoder leave. Of a small coding error e less is told, e² / (e + 1.2): it is detail left out, which
/// no network gets back. Measured with `npm run bench:networks -- --hr DIR --degrade h264:CRF --pan 4 --sweep` on six
/// validation photographs (estimate and truth in codes; the strengths that serve best lie in a range): CRF 20, QP 23–29,
/// truth 1.9–4.1, estimate 2.6–4.0, best 0.02–0.04; CRF 28, QP 28–36, truth 3.3–7.6, estimate 3.7–7.2, best 0.08–0.13; CRF
/// 36, QP 35–45, truth 5.7–14.3, estimate 6.2–12, best 0.2–0.3.
/// At ×1 the network is chosen by itself from a strength of 0.08 on: at 0.067 (QP 27) it gained nothing, at 0.12 (QP
/// 34) 0.15 dB. A fixed strength is given to the network as it is, up to what it was trained for; one
/// that was trained to enlarge only gets 0, and the filters do their work.
float ChooseNetworkStrength(const EnhanceOptions& options, const SourceTraits& traits);

/// Strength of the denoising over time for a strength of the spatial one, both 0…1. Twice as much: averaging over time costs
/// no detail, so it is used in full long before the spatial filter is.
inline float TemporalStrength(float denoise) { return std::min(1.0F, 2 * denoise); }

/// Why faces cannot be restored here; empty when they can.
std::string WhyNoFaces(const EnhanceOptions& options, bool device_restores_faces);

/// What `auto` stands for: the larger network on a GPU, which has the time for it, where one is installed for these
/// sizes; `fast` on a CPU.
std::string AutomaticModel(const std::vector<ModelFile>& models, Size in, Size out, NetworkPlace place);

/// The name of the network to run for a stored picture of `in` that becomes `out`; "none" for the plain filter.
/// Throws Error{kUnavailable} when a network was asked for by name and none can run.
std::string ChooseModel(const EnhanceOptions& options, Size in, Size out, float network_strength,
                        NetworkPlace place = NetworkPlace::kCpu);

/// The tone mapping that frames of this colour need; none for SDR of usual primaries.
std::unique_ptr<pixel::ToneMapper> MakeToneMapper(const media::SourceColor& color, double peak_nits);

/// Opens the source, looks at a few frames of it and decides. Throws what Probe throws, and
/// Error{kInvalidArgument, kUnavailable} for options that cannot be met.
Plan MakePlan(const std::string& input_path, const EnhanceOptions& options, int threads,
              const std::function<bool()>& is_cancelled, bool device_restores_faces = true,
              NetworkPlace place = NetworkPlace::kCpu);

/// Throws Error{kInvalidArgument, kUnavailable} for options out of their range or naming what is not there.
void CheckOptions(const EnhanceOptions& options);

}  // namespace reelmend::plan
