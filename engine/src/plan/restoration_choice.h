// Chooses the network and the strength of restoration by the damage of a source.
#pragma once

#include <string>

namespace reelmend::plan {

/// Damage of a source.
struct Damage {
  float compression_error = 0;  ///< of luma, RMS in 8-bit levels, by the stream's quantiser
  float noise_sigma = 0;        ///< of luma, in 8-bit levels
  float blur_sigma = 0;         ///< standard deviation, in pixels of the source
  float true_scale = 1;         ///< size of the recording as a share of the source's; below 1 it was enlarged before
  float effective_scale = 1;    ///< remaining resolution after blur and enlargement, which cannot always be told apart
  float seen_compression_error = 0;  ///< like compression_error, from the pictures alone
  int lines = 0;                ///< the shorter side of the source, in pixels; 0: not known
};

enum class DamageKind { kNone, kCompression, kBlur, kEnlargement, kSmall };

struct RestorationChoice {
  float strength = 0;  ///< of the network for damaged sources, 0…1; 0: the faithful network serves better
  DamageKind cause = DamageKind::kNone;  ///< the damage that requires the most
  float working_share = 1;  ///< of the source's size per axis, network_choice.h's Note [Working size]
};

/// Note [Faithful or detail]
/// Measured with the training ground's scorer on held-out pictures: VMAF-NEG and PSNR-Y (dB) over Lanczos-3, means of four
/// clips of six pictures (PSNR-Y: twelve pictures) of each chain of damage. `fast` gets the strength with the best PSNR;
/// `detail` has the strength of its column.
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
/// That `fast` had half the resolution. Today's, where less was lost (five other photographs; “soft”: a blur of 0.6 before
/// the encode; error: RMS of luma):
/// | chain, error       | fast       | detail 0.5  | 0.6         | 0.7         |
/// | x264 CRF 23, 3.5   | 6.8, +1.19 | 6.5, +0.74  | 6.6, +0.70  | 6.6, +0.61  |
/// | x264 CRF 26, 4.7   | 6.2, +0.87 | 6.5, +0.55  | 6.7, +0.52  | 6.8, +0.45  |
/// | x264 CRF 28, 5.5   | 5.8, +0.66 | 6.2, +0.43  | 6.4, +0.41  | 6.5, +0.35  |
/// | MPEG-4 at 4, 3.1   | 7.9, +1.44 | 8.2, +0.94  | 8.7, +0.90  | 8.9, +0.80  |
/// | MPEG-4 at 6, 4.3   | 7.5, +1.05 | 8.0, +0.76  | 8.5, +0.74  | 8.8, +0.66  |
/// | MPEG-4 at 9, 5.9   | 6.5, +0.68 | 7.1, +0.50  | 7.7, +0.50  | 8.1, +0.45  |
/// | MJPEG at 6, 4.8    | 6.9, +0.91 | 7.2, +0.60  | 7.6, +0.59  | 7.8, +0.53  |
/// | Theora at 7, 3.2   | 6.9, +1.10 | 6.9, +0.69  | 7.1, +0.65  | 7.1, +0.56  |
/// | soft, CRF 26, 3.5  | 5.8, +0.44 | 8.9, +0.50  | 11.0, +0.56 | 13.2, +0.57 |
/// | soft, MPEG-4 at 6  | 5.9, +0.41 | 10.3, +0.52 | 13.1, +0.58 | 15.6, +0.60 |
/// - Clean and noisy sources stay with the faithful network: `detail` gains little there. `fast` gets the strength for the
///   noise.
/// - Compression: from an error of 4 on `detail` has more NEG than `fast`, at less PSNR, which stays above Lanczos-3's. The
///   error measured from a stream is below the true one (2.1 at x264's CRF 23, 3.9 at MPEG-4's quantiser 6), so it begins at
///   3.5. An estimate from pictures alone may be wrong by as much (drawn pictures), so it begins at 4.9. If both indicate an
///   encode, their mean begins at 3.4.
/// - Blur and earlier enlargement are the purpose of `detail`: it begins at a small loss, and half the resolution gets 0.9.
///   A compressed and slightly soft source gains twice as much NEG with it as with `fast`, and more PSNR-Y ("soft" above).
/// - Small sources of at most 400 lines come from old cameras and phones. Sensors skipped lines, firmware sharpened, encoders
///   smeared; neither the quantiser nor the estimate from pictures sees that. A camera's Motion JPEG of 320×240 full of
///   stair-steps is called clean, with errors of 1.6 and 2.5. So a small source that was encoded at all gets `detail`. On
///   three real clips that were looked at (Motion JPEG, H.264, MPEG-1), `detail` at 0.6 was cleaner and sharper than `fast`
///   each time. Small sources without an encode stay with `fast`.
/// - Below 0.5 `detail` restores no more than `fast`, so no smaller strength is used.
RestorationChoice ChooseRestoration(const Damage& damage);

/// "compressed", "blurred", "enlarged before"; empty for none.
std::string DamageName(DamageKind kind);

}  // namespace reelmend::plan
