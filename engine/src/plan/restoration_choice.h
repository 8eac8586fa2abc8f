// Decides from the damage of a source which network serves it, and how much of a restoration it needs.
#pragma once

#include <string>

namespace reelmend::plan {

/// What is wrong with a source.
struct Damage {
  float compression_error = 0;  ///< of luma, RMS in 8-bit levels
  float noise_sigma = 0;        ///< of luma, in 8-bit levels
  float blur_sigma = 0;         ///< standard deviation, in pixels of the source
  float true_scale = 1;         ///< size of the recording as a share of the source's; below 1 it was enlarged before
  float effective_scale = 1;    ///< resolution that blur and enlargement have left, where they cannot be told apart
};

enum class DamageKind { kNone, kCompression, kBlur, kEnlargement };

struct RestorationChoice {
  float strength = 0;  ///< of the network for damaged sources, 0…1; 0: the faithful network serves better
  DamageKind cause = DamageKind::kNone;  ///< what asked for most
  float working_share = 1;  ///< of the source's size per axis, network_choice.h's Note [Working size]
};

/// Note [Faithful or detail]
/// Measured with the training ground's scorer on held-out pictures: VMAF-NEG and PSNR-Y (dB) over Lanczos-3, means of
/// three clips and six pictures of each chain of damage (engine/training/README.md). `fast` is told the strength that
/// serves PSNR best; `detail` (a checkpoint with `structure_term` 0.3 and `steady_term` 1) has the strength of its
/// column.
/// | chain              | fast        | detail 0.25 | 0.5         | 0.75        | 1           |
/// | clean              | 7.9, +1.42  | 6.0, +0.82  | 5.4, +0.20  | 4.2, −0.67  | 3.7, −0.95  |
/// | web (x264)         | 5.0, +0.27  | 5.0, +0.15  | 5.3, +0.05  | 5.0, −0.19  | 4.8, −0.30  |
/// | phone (MPEG-4)     | 3.7, +0.31  | 4.0, +0.07  | 4.7, +0.01  | 4.8, −0.34  | 4.8, −0.44  |
/// | H.263              | 5.2, +0.39  | 4.6, +0.13  | 5.1, −0.01  | 4.8, −0.40  | 4.7, −0.52  |
/// | Theora             | 5.9, +0.44  | 5.3, +0.30  | 5.6, +0.17  | 5.3, −0.26  | 5.1, −0.40  |
/// | coded twice        | 4.8, +0.36  | 4.4, +0.14  | 4.7, +0.08  | 4.6, −0.21  | 4.4, −0.30  |
/// | noise of 10        | 3.9, +0.39  | 3.9, +0.04  | 4.1, +0.02  | 4.0, −0.04  | 3.9, −0.10  |
/// | enlarged before ×2 | 3.9, +0.19  | 2.2, +0.00  | 7.0, +0.02  | 11.5, −0.36 | 11.7, −0.45 |
/// | blur of 1.5        | 1.0, +0.13  | 0.5, +0.08  | 14.5, +0.57 | 26.1, +0.57 | 26.7, +0.55 |
/// - Clean and noisy sources stay with the faithful network: `detail` gains nothing there. `fast` is told the noise.
/// - Compression: `fast` has more PSNR, `detail` at 0.5 as much NEG, more VMAF (7 for 6) and no loss of PSNR. It is
///   taken where compression is heavy (errors of these chains: 5.1 to 7.4 levels).
/// - Blur and earlier enlargement are what `detail` is for. Beyond 0.75 nothing more is gained.
/// - Below 0.4 `detail` restores less than `fast`, so a smaller strength means the faithful network.
/// In the mean of the damaged chains that gains 8.4 NEG and 0.11 dB, `fast` alone 4.2 and 0.31.
RestorationChoice ChooseRestoration(const Damage& damage);

/// "heavily compressed", "blurred", "enlarged before"; empty for none.
std::string DamageName(DamageKind kind);

}  // namespace reelmend::plan
