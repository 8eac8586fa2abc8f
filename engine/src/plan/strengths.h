// Strengths of the stages: as requested, or by the damage of the source.
#pragma once

#include "pixel/contrast_levels.h"
#include "plan/restoration_choice.h"
#include "plan/source_traits.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// The most that the automatic strength of face restoration reaches.
inline constexpr float kMostFaceRestoration = 0.8F;

/// Applied strengths, each 0…1.
struct Strengths {
  float denoise = 0;
  float sharpen = 0;
  float adaptive_contrast = 0;
  float face_restoration = 0;
};

/// What pixel::TemporalDenoiser is called with, besides the noise of SourceTraits as the grain.
struct TemporalDenoising {
  float strength = 0;     ///< 0…1
  float noise_sigma = 0;  ///< change from picture to picture, standard deviation in 8-bit levels
};

/// What pixel::ContourSmoother and pixel::GuidedChroma are called with.
struct EdgeRestoration {
  float strength = 0;     ///< 0…1
  float enlargement = 1;  ///< output ÷ working size, per axis
};

/// A fixed strength as it is, 0 for an option that is off, otherwise `automatic`.
float Resolve(const Strength& strength, float automatic);

/// Note [Automatic strengths]
/// `auto` must do no harm: a clean, sharp, well exposed source that is not enlarged passes unchanged. “Error” is noise and
/// compression error together, added as variances.
/// - denoise: 0 below a noise of 1.5 levels, which compression residue and texture reach. From there it rises by 0.1 per
///   level, up to 0.6.
/// - sharpen: 0 without enlargement, 0.25 from ×2 on, linear in between. It is halved if the source is denoised.
/// - adaptive contrast: 0 unless the video is flat: it uses less than 72 % of the range, and neither black nor white (Note
///   [Levels] in pixel/contrast_levels.h). It rises with the factor by which the levels can be spread, up to 0.5 at a
///   factor of 1.7, at which 42 % of the range become at least 66 %. It falls if the error dominates the picture: full if
///   the used range is 16 times the error or more, 0 at 6 times. A fixed strength also spreads the levels, fully from 0.5
///   on, and equalises locally at that strength.
/// - face restoration: error ÷ 8 levels, at most 0.8; up to twice as much behind a network for damaged sources (network_plan.cc). It is 0
///   below an error of 0.6 levels, and if faces cannot be found or restored: a build without the detector, no network for faces.
///
/// Measured on 152 photographs and 8 synthetic pictures at ×1 and ×2, unchanged, one stop lighter, 1.5 and 3 stops darker:
/// on the clean ones, denoising and sharpening together differ from a plain resize by a PSNR of at least 49.1 dB. The levels
/// are spread in 7 % of 634 photographs, mostly by less than a fifth of the maximum; in 0.5 % of them one stop lighter; in
/// 19 % 1.5 stops darker.
Strengths ChooseStrengths(const EnhanceOptions& options, const SourceTraits& traits, double scale);

/// Note [Temporal denoising of compressed sources]
/// An encode changes each picture differently, so its error flickers like noise, and the mean along the motion lowers it
/// (pixel/temporal_denoise.h). A network behind it then finds less to invent, and its result is steadier. 0.7 times the compression
/// error, by the stream or by the pictures, counts as noise, as far as a block's texture proves the motion (pixel's Note [Texture limit]).
/// Strength: 0 below a noise of 1.5 levels and a compression error of 1.4, 1 from 4 levels or an error of 5. A fixed `denoise` gives
/// twice its strength.
///
/// Measured with `npm run bench:real` on eleven chains of damage, eight pictures of each clip, `auto` without → with it: VMAF-NEG +0.7,
/// PSNR-Y +0.1 dB, flicker 1.62 → 1.46 times that of Lanczos-3 (1.64 with the six pictures of the published tables: the mean along the
/// motion takes some pictures to build up). On one core of a Xeon with AVX-512: 12 ms for a picture of 960×540 that moves, 1 ms for one that
/// stands still. Both without the global motion and the texture limit, whose figures are in engine/training/README.md.
TemporalDenoising ChooseTemporalDenoising(const EnhanceOptions& options, const SourceTraits& traits);

/// Note [Debanding]
/// A coarse quantiser leaves blocks and bands in flat areas, where they are most visible. Networks keep them, because they
/// see only a few neighbouring samples. Returns the threshold of the debanding in 8-bit levels; 0: none. It is 0.45 times
/// the compression error by the stream or by the pictures, whichever is larger, at most 6; 0 below kCompressedFrom. It is
/// part of the denoising: `denoise` off turns it off, and a fixed strength below 0.5 reduces it in proportion.
float ChooseDebanding(const EnhanceOptions& options, const SourceTraits& traits);

/// Spreading of the levels for the chosen strength of the adaptive contrast.
pixel::LevelLift ChooseLevelLift(const EnhanceOptions& options, const SourceTraits& traits, float strength);

/// Note [Restoration by a network]
/// A network of the layouts kLumaStrength and kYcbcrStrength gets a strength of restoration: error ÷ 50 levels, with noise
/// and compression error added as variances. A compression error e counts as e² / (e + 1.2), because a small one is missing
/// detail that no network recovers. Below an error of 0.6 levels nothing is restored: that much remains after 8 bits and a
/// good encoder.
///
/// Restoration replaces the spatial denoising of the planes that the network outputs: luma only (chroma keeps its filter),
/// or all planes. Temporal denoising stays, because it costs no detail.
///
/// Measured with `npm run bench:networks -- --hr DIR --degrade h264:CRF --pan 4 --sweep` on six validation photographs:
/// | CRF | QP    | true error | estimate | best strength |
/// | 20  | 23–29 | 1.9–4.1    | 2.6–4.0  | 0.02–0.04     |
/// | 28  | 28–36 | 3.3–7.6    | 3.7–7.2  | 0.08–0.13     |
/// | 36  | 35–45 | 5.7–14.3   | 6.2–12   | 0.2–0.3       |
///
/// At ×1 `auto` uses the network from a strength of 0.08 on: at 0.067 (QP 27) it gained nothing, at 0.12 (QP 34) 0.15
/// dB. A fixed strength is passed unchanged, up to the maximum that the network was trained for. A network that was trained
/// only to enlarge gets 0, and the filters do the rest.
float ChooseNetworkStrength(const EnhanceOptions& options, const SourceTraits& traits);

/// Strength of a network for damaged sources. A network that was requested by name gets at least 0.5, whatever was measured.
/// A network that takes no strength restores fully: 1, or 0 if restoration is off.
float ChooseBlindStrength(const EnhanceOptions& options, const RestorationChoice& restoration, const ModelFile& file);

}  // namespace reelmend::plan
