// Black and white levels of a picture and the curve that spreads them: the global part of the adaptive contrast, shared
// by plan, CPU and GPU.
//
// Note [Levels]
// Flat footage (a faded film, haze, a camera's log curve) uses neither the dark nor the bright end of the range. Its used
// range reaches from the level that 0.5 % of the picture lie below to the level that 0.5 % lie above. It is spread to 72 %
// of the range, by at most 1.7 times. For example, a used range of 42 % becomes 66 to 71 % (the curve is linear between the
// edges of 11 or 16 segments, which rounds its corners off).
// - Only pictures with both ends unused are flat. A night scene, a white document, a title and a well exposed picture
//   have black at 0 or white at 1, and stay as they are. Below 20 % of use the lift falls, down to 0 at 5 %: a blank
//   picture has nothing to reveal.
// - The curve keeps 0 and 1 and rises everywhere. Nothing is clipped: levels outside the used range come closer
//   together, to half their distance at most.
// - The plan, which measures the whole video (plan/picture_stats.h), limits how far the levels move. A scene that uses more
//   than that is lifted less, or not at all. Its levels are the mean over the last kContrastWindow pictures since the cut.
//   So they move by a sixteenth of the difference per picture, and after so many pictures the result does not depend on
//   where processing began.
// - Both chroma planes are multiplied by one factor, half as far from 1 as luma's: saturation is kept about as it
//   looks, hue exactly. A colour that would leave the range gets less.
// - The local part (contrast.cc) is added, times the smallest slope of this curve, so that the sum never falls.
#pragma once

#include <cstdint>

#include "pixel/contrast_curve.h"

namespace reelmend::pixel {

inline constexpr float kLevelTail = 0.005F;    ///< share of the picture beyond a level
inline constexpr float kUseWanted = 0.72F;     ///< of the range
inline constexpr float kMaxLevelGain = 1.7F;
inline constexpr float kUnusedFrom = 0.06F;    ///< of the range, at each end; less is not flat …
inline constexpr float kUnusedTo = 0.12F;      ///< … and from here on the lift is full
inline constexpr float kBlankUse = 0.05F;
inline constexpr float kLittleUse = 0.2F;
inline constexpr float kChromaShare = 0.5F;    ///< as a share of luma's gain

/// Darkest and brightest level, as shares of the range from black (0) to white (1).
struct Levels {
  float black = 0;
  float white = 1;

  REELMEND_HD float used() const { return white - black; }
};

/// How far the levels of a video may move.
struct LevelLift {
  float amount = 0;         ///< 0: they stay … 1: Note [Levels]
  Levels video;             ///< of the whole video
  float bars = 0;           ///< share of the picture that black bars take
  bool leads_local = false; ///< the strength of the local part follows the lift of the scene
};

REELMEND_HD inline float ClampToUnit(float v) { return v < 0 ? 0.0F : v > 1 ? 1.0F : v; }

/// Levels of a picture by its histogram (layout.bins numbers), without the darkest `bars` of it.
REELMEND_HD inline Levels MeasureLevels(const std::uint32_t* histogram, const RangeLayout& layout, float bars) {
  double total = 0;
  for (int i = 0; i < layout.bins; ++i) total += histogram[i];
  if (total == 0) return {};
  const double skipped = total * bars;
  const double tail = (total - skipped) * kLevelTail;
  const auto share_of = [&](double bin) {
    const double level = layout.base + bin * (1 << kBinBits);
    return ClampToUnit(static_cast<float>((level - layout.domain.black) / (layout.domain.white - layout.domain.black)));
  };
  int low = 0;
  double below = 0;  // of bin `low`
  while (low + 1 < layout.bins && below + histogram[low] <= skipped + tail) below += histogram[low++];
  int high = layout.bins - 1;
  double above = 0;
  while (high > 0 && above + histogram[high] <= tail) above += histogram[high--];
  const double within_low = histogram[low] > 0 ? (skipped + tail - below) / histogram[low] : 0;
  const double within_high = histogram[high] > 0 ? (tail - above) / histogram[high] : 0;
  const Levels found{share_of(low + within_low), share_of(high + 1 - within_high)};
  return found.white > found.black ? found : Levels{found.black, found.black};
}

/// How many times wider the used range becomes at amount 1.
REELMEND_HD inline float LevelGain(const Levels& levels) {
  const float used = levels.used();
  const float unused = levels.black < 1 - levels.white ? levels.black : 1 - levels.white;
  const float flat = ClampToUnit((unused - kUnusedFrom) / (kUnusedTo - kUnusedFrom));
  const float content = ClampToUnit((used - kBlankUse) / (kLittleUse - kBlankUse));
  if (flat == 0 || content == 0) return 1;
  const float gain = kUseWanted / used;
  return 1 + flat * content * ((gain < 1 ? 1 : gain > kMaxLevelGain ? kMaxLevelGain : gain) - 1);
}

/// How one picture is changed.
struct LevelCurve {
  Levels from;
  float gain = 1;    ///< slope between the levels
  float margin = 1;  ///< slope outside of them, the smallest
  float local = 1;   ///< factor of the local part's strength

  /// `scene`: the levels of the scene around this picture.
  REELMEND_HD static LevelCurve Of(const LevelLift& lift, const Levels& scene) {
    LevelCurve curve;
    curve.from.black = scene.black < lift.video.black ? scene.black : lift.video.black;
    curve.from.white = scene.white > lift.video.white ? scene.white : lift.video.white;
    const float used = curve.from.used();
    const float wanted = LevelGain(curve.from) - 1;
    curve.gain = 1 + lift.amount * wanted;
    if (curve.gain > 1) curve.margin = (1 - used * curve.gain) / (1 - used);
    const float of_video = LevelGain(lift.video) - 1;
    curve.local = curve.margin * (lift.leads_local && of_video > 0 ? ClampToUnit(wanted / of_video) : 1.0F);
    return curve;
  }

  /// Distance from the identity at v, both as shares of the range.
  REELMEND_HD float Change(float v) const {
    if (gain <= 1) return 0;
    if (v <= from.black) return v * (margin - 1);
    if (v >= from.white) return (1 - v) * (1 - margin);
    return from.black * (margin - 1) + (v - from.black) * (gain - 1);
  }

  /// The same at the left edge of a segment (0 … segments), in working units.
  REELMEND_HD float ChangeAt(int segment, const CurveDomain& domain) const {
    const float range = domain.white - domain.black;
    const float edge = domain.base + domain.segment_width * static_cast<float>(segment);
    return range * Change(ClampToUnit((edge - domain.black) / range));
  }

  REELMEND_HD float chroma() const { return 1 + kChromaShare * (gain - 1); }
};

/// The mean of the levels of the last pictures: `count` entries of a ring of kContrastWindow, the newest at `newest`.
REELMEND_HD inline Levels MeanLevels(const Levels* ring, int newest, int count) {
  float black = 0;
  float white = 0;
  for (int i = 0; i < count; ++i) {
    const Levels& levels = ring[(newest + kContrastWindow - i) % kContrastWindow];
    black += levels.black;
    white += levels.white;
  }
  return {black / static_cast<float>(count), white / static_cast<float>(count)};
}

/// Factor of a colour's distance from neutral (Cb, Cr in working units) that keeps it within the range.
REELMEND_HD inline float ChromaFactor(float cb, float cr, float gain, float limit) {
  const float b = cb < 0 ? -cb : cb;
  const float r = cr < 0 ? -cr : cr;
  const float largest = b > r ? b : r;
  if (largest * gain <= limit) return gain;
  return largest < limit ? limit / largest : 1.0F;
}

/// Largest distance from neutral in a range of chroma.
REELMEND_HD inline float ChromaLimit(bool is_limited) { return (is_limited ? 112.0F : 127.0F) * kUnitsPer8BitLevel; }

}  // namespace reelmend::pixel
