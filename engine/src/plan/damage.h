// Estimates the damage of a video from a few of its pictures.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pixel/damage_features.h"
#include "pixel/enlargement_lines.h"
#include "pixel/image.h"
#include "reelmend/enhance.h"

namespace reelmend::plan {

/// Damage that a source suffered before it was submitted, estimated from its pictures alone: earlier, worse encodes are
/// included. The defaults below are those of a clean, sharp source. Luma in 8-bit levels of limited range (black 16, white
/// 235), HDR after tone mapping; lengths in pixels of the source.
struct DamageEstimate {
  bool known = false;           ///< false for tiny, blank or unreadable pictures, which show too little
  float compression_error = 0;  ///< change by all encodes together, RMS in levels, 0…20
  float true_scale = 1;         ///< resolution of the recording as a share of the nominal one (per axis), 0.2…1
  float effective_scale = 1;    ///< remaining resolution after `true_scale` and `blur_sigma`, 0.15…1
  float blur_sigma = 0;         ///< standard deviation of lens and motion blur, pixels, 0…4
  float noise_sigma = 0;        ///< remaining sensor noise, standard deviation in levels, 0…20
  float error = 0;              ///< RMS of luma against the clean picture: all damage together, 0…40
  float black_level = 16;       ///< darkest level in use, 0…255; median over the pictures
  float white_level = 235;      ///< brightest level in use, 0…255; median over the pictures
};

/// Compression error, in levels, of a source that just counts as compressed. Below it, the source is called clean and not debanded.
inline constexpr float kCompressedFrom = 2.5F;

/// A small source counts as compressed earlier: most of its damage is not seen (restoration_choice.h, Note [Faithful or detail]).
inline constexpr int kSmallLines = 400;
inline constexpr float kSmallCompressedFrom = 1.2F;

/// Note [Damage]
/// A quantiser only tells about the last encode, and a noise estimate takes a smeared picture for a clean one. So windows of
/// 96 to 256 pixels are cut out of the pictures. pixel/damage_features.h turns each into numbers, and a small network
/// (weights in plan/damage_weights.inc, made by `ground.sh damage`) estimates how likely each value is. The likelihoods of
/// windows are averaged as logarithms, sharper the more there are; the estimate is the median of the result. A window that
/// shows nothing (sky) makes all values equally likely, and so changes little. Blur and a smaller recording both remove fine
/// detail, and after an encode they often cannot be told apart. `effective_scale` covers both; `true_scale` is below 1 only
/// if the picture indicates an enlargement. If whole pictures have the lines of one (Note [Lines of an enlargement]), it is theirs.
/// engine/training/README.md states the errors.
class DamageMeter {
 public:
  void Add(const pixel::Image& image);
  DamageEstimate Estimate() const;

  static constexpr int kTargets = 6;
  static constexpr int kBins = 16;  ///< of each target's scale
  using Likelihoods = std::array<std::array<double, kBins>, kTargets>;  ///< logarithms

  /// The network's estimate for one window.
  static Likelihoods LikelihoodsOf(const pixel::DamageFeatures& features);
  /// The median of each distribution; does not set the levels.
  static DamageEstimate Read(const Likelihoods& logs);

 private:
  Likelihoods sums_ = {};
  pixel::EnlargementLines lines_;
  int windows_ = 0;
  std::vector<float> blacks_;
  std::vector<float> whites_;
};

/// The estimate in words: “heavily compressed, enlarged before from about 240p”; “clean” without damage. If the pictures could not
/// be measured, only the compression by the stream counts, and the text is empty without it. `size` is that of the source.
std::string DescribeDamage(const DamageEstimate& damage, Size size);

}  // namespace reelmend::plan
