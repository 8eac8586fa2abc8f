// HDR pictures (PQ, HLG), and SDR ones of wide primaries, to SDR BT.709.
//
// Note [Tone mapping]
// Per pixel, chroma interpolated to the place of luma and luma to the place of chroma:
// 1. Y′CbCr → R′G′B′ by the source's matrix and range.
// 2. R′G′B′ → light on a display, in nits. PQ: the EOTF of SMPTE ST 2084. HLG: the inverse OETF of ITU-R BT.2100
//    and its OOTF for a display of 1000 nits (gamma 1.2, on luminance).
// 3. One gain for all three channels, taken from the brightest of them, so that hue and saturation stay: the
//    EETF of ITU-R BT.2390-9 §5.4 (in PQ; knee at 1.5 × maxLum − 0.5; no lift of black: both blacks are 0), from
//    the source's peak to kSdrWhiteNits. What is brighter than the source's peak counts as its peak.
// 4. Gamut: linear RGB of the source's primaries → BT.709 primaries, clipped to 0…1 per channel.
// 5. Inverse EOTF of ITU-R BT.1886 for a display with black at 0: the power 1/2.4.
// 6. R′G′B′ → Y′CbCr BT.709, limited range.
//
// SDR of wide primaries takes the same way with BT.1886 (the power 2.4, 1 = white) for step 2 and no step 3.
//
// SDR white (code 235) stands for 203 nits, the reference white of ITU-R BT.2408: what is dark enough to be left
// alone by the EETF (up to 89 nits for a peak of 1000) shows in SDR with the brightness in relation to white that
// it had in HDR. Reference white itself becomes 78 % of SDR white, code 214, for a peak of 1000; the room above
// it holds the highlights.
#pragma once

#include <memory>

#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

enum class HdrTransfer { kPq, kHlg, kSdr };  ///< kSdr: not HDR, only its primaries are converted
enum class Primaries { kBt2020, kP3D65, kBt709 };

/// Light that SDR white stands for, in nits.
inline constexpr double kSdrWhiteNits = 203;
/// Peak of a PQ source that does not tell its own, and of HLG by its definition, in nits.
inline constexpr double kDefaultPeakNits = 1000;

struct ToneMapOptions {
  HdrTransfer transfer = HdrTransfer::kPq;
  Primaries primaries = Primaries::kBt2020;
  double peak_nits = kDefaultPeakNits;  ///< of a PQ source, 203…10000 (else the nearer of these); unused for HLG
};

/// Light of an SDR display (1 = white) for a neutral of `nits`: steps 3 and 4 of the Note. Not for loops.
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
