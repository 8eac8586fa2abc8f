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
/// Measured with the training ground's scorer on held-out pictures: VMAF-NEG and PSNR-Y (dB) over Lanczos-3, means of four
/// clips of six pictures (PSNR-Y: twelve pictures) of each chain of damage. `fast` is told the strength that serves PSNR
/// best; `detail` has the strength of its column.
/// | chain              | fast       | detail 0.25 | 0.5         | 0.6         | 0.75        | 1           |
/// | clean              | 7.9, +1.42 | 6.7, +1.05  | 7.0, +0.25  | 6.9, −0.13  | 6.6, −0.67  | 6.2, −1.20  |
/// | web (x264)         | 6.5, +0.27 | 5.6, +0.32  | 6.7, +0.27  | 7.1, +0.17  | 7.5, −0.03  | 7.6, −0.30  |
/// | phone (MPEG-4)     | 5.4, +0.31 | 5.2, +0.25  | 6.8, +0.28  | 7.5, +0.21  | 8.4, +0.01  | 9.3, −0.22  |
/// | H.263              | 5.4, +0.39 | 5.0, +0.30  | 6.5, +0.30  | 7.0, +0.20  | 7.5, −0.04  | 7.6, −0.34  |
/// | Theora             | 5.2, +0.44 | 4.1, +0.30  | 5.3, +0.25  | 5.8, +0.14  | 6.2, −0.10  | 6.4, −0.37  |
/// | coded twice        | 5.5, +0.36 | 4.7, +0.18  | 5.9, +0.11  | 6.2, +0.01  | 6.6, −0.19  | 6.5, −0.44  |
/// | noise of 10        | 4.2, +0.39 | 4.2, +0.33  | 4.9, +0.31  | 5.1, +0.25  | 5.2, +0.10  | 5.2, −0.12  |
/// | enlarged before ×2 | 3.8, +0.19 | 2.5, +0.14  | 7.6, +0.23  | 9.9, +0.14  | 13.3, −0.12 | 15.7, −0.39 |
/// | blur of 1.5        | 1.1, +0.13 | 1.8, +0.16  | 10.4, +0.64 | 15.9, +0.68 | 23.0, +0.61 | 25.8, +0.51 |
/// - Clean and noisy sources stay with the faithful network: `detail` gains little there. `fast` is told the noise.
/// - Compression: at 0.5 to 0.7 `detail` has more NEG than `fast` and as much PSNR as Lanczos-3 or more. It is taken where
///   compression is heavy (errors of these chains: 5.1 to 7.4 levels).
/// - Blur and earlier enlargement are what `detail` is for. They get 0.9.
/// - Below 0.4 `detail` restores less than `fast`, so a smaller strength means the faithful network.
RestorationChoice ChooseRestoration(const Damage& damage);

/// "heavily compressed", "blurred", "enlarged before"; empty for none.
std::string DamageName(DamageKind kind);

}  // namespace reelmend::plan
