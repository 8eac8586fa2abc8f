// Tone mapping of HDR (PQ, HLG), and conversion of wide-gamut SDR, to SDR BT.709.
//
// Note [Tone mapping]
// Per pixel, with chroma interpolated to luma's position and luma to chroma's:
// 1. Y′CbCr → R′G′B′ with the source's matrix and range.
// 2. R′G′B′ → display light in nits. PQ: the EOTF of SMPTE ST 2084. HLG: the inverse OETF of ITU-R BT.2100
//    and its OOTF for a display of 1000 nits (gamma 1.2, on luminance).
// 3. One gain for all three channels, from the brightest of them, so that hue and saturation stay: the
//    EETF of ITU-R BT.2390-9 §5.4 (in PQ; knee at 1.5 × maxLum − 0.5; no lift of black: both blacks are
//    0), from the source's peak to kSdrWhiteNits. Values above the source's peak count as its peak.
// 4. Gamut: linear RGB of the source's primaries → BT.709 primaries, clipped to 0…1 per channel.
// 5. Inverse EOTF of ITU-R BT.1886 for a display with black at 0: the power 1/2.4.
// 6. R′G′B′ → Y′CbCr BT.709, limited range.
//
// Wide-gamut SDR uses BT.1886 (the power 2.4, 1 = white) in step 2 and skips step 3.
//
// SDR white (level 235) stands for 203 nits, the reference white of ITU-R BT.2408. Light that the EETF
// leaves unchanged (up to 89 nits for a peak of 1000) keeps its brightness in relation to white. For a
// peak of 1000, reference white becomes 78 % of SDR white, level 214; the range above it holds the
// highlights.
#pragma once

#include <memory>

#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

enum class HdrTransfer { kPq, kHlg, kSdr };  ///< kSdr: not HDR, only its primaries are converted
enum class Primaries { kBt2020, kP3D65, kBt709 };

/// Luminance that SDR white represents, in nits.
inline constexpr double kSdrWhiteNits = 203;
/// Peak of a PQ source that does not state its own, and of HLG by its definition, in nits.
inline constexpr double kDefaultPeakNits = 1000;

struct ToneMapOptions {
  HdrTransfer transfer = HdrTransfer::kPq;
  Primaries primaries = Primaries::kBt2020;
  double peak_nits = kDefaultPeakNits;  ///< of a PQ source, 203…10000 (else the nearer of these); unused for HLG
};

/// Light of an SDR display (1 = white) for a neutral of `nits`: steps 3 and 4 of the Note. Too slow for loops.
double ToneCurve(double nits, double peak_nits);

/// Tone mapping as the Note defines it. Pictures of any size and subsampling; `out` has those of `in` and must be
/// another picture. Its colour becomes BT.709, limited range, with the chroma siting of `in`.
class ToneMapper {
 public:
  explicit ToneMapper(const ToneMapOptions& options);
  ~ToneMapper();
  void Run(const Image& in, Image& out, ThreadPool& pool);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reelmend::pixel
