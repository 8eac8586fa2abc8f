// Chooses the network and the strength of restoration by the damage of a source.
#pragma once

#include <string>

namespace reelmend::plan {

/// Damage of a source.
struct Damage {
  float compression_error = 0;  ///< of luma, RMS in 8-bit levels; estimated from the stream's quantiser
  float noise_sigma = 0;        ///< standard deviation of luma noise, in 8-bit levels
  float blur_sigma = 0;         ///< standard deviation of the blur, in pixels of the source
  float true_scale = 1;         ///< original size ÷ source size, per axis; below 1: the source was enlarged before
  float effective_scale = 1;    ///< remaining resolution ÷ source size, per axis: after earlier enlargement and blur together,
                                ///< which cannot always be told apart
  float seen_compression_error = 0;  ///< like compression_error, but estimated from the pictures
  int lines = 0;                ///< the shorter side of the source, in pixels; 0: unknown
  bool keeps_size = false;      ///< whether the network restores at the same size, at ×1
};

enum class DamageKind { kNone, kCompression, kBlur, kEnlargement, kSmall };

struct RestorationChoice {
  float strength = 0;  ///< of `detail`, the network for damaged sources, 0…1; 0: a faithful network is better
  DamageKind cause = DamageKind::kNone;  ///< the kind of damage that gives this strength
  float working_share = 1;  ///< working size ÷ source size, per axis; Note [Working size] in network_choice.h
};

/// Note [Faithful or detail]
/// Faithful networks (`fast`, `quality`) stay close to the source. `detail` restores more and changes more.
///
/// Measured with the scorer of engine/training on held-out pictures. Each cell is the gain over Lanczos-3 in VMAF-NEG and in
/// PSNR-Y (dB). It is a mean of four clips of six pictures (PSNR-Y: twelve pictures) that went through the damage of the
/// row. `fast` has the strength with the best PSNR, `detail` the strength in the header.
/// | damage             | fast       | detail 0.25 | 0.5         | 0.6         | 0.75        | 1           |
/// | clean              | 7.9, +1.42 | 6.7, +1.05  | 7.0, +0.25  | 6.9, −0.13  | 6.6, −0.67  | 6.2, −1.20  |
/// | web (x264)         | 6.5, +0.27 | 5.6, +0.32  | 6.7, +0.27  | 7.1, +0.17  | 7.5, −0.03  | 7.6, −0.30  |
/// | phone (MPEG-4)     | 5.4, +0.31 | 5.2, +0.25  | 6.8, +0.28  | 7.5, +0.21  | 8.4, +0.01  | 9.3, −0.22  |
/// | H.263              | 5.4, +0.39 | 5.0, +0.30  | 6.5, +0.30  | 7.0, +0.20  | 7.5, −0.04  | 7.6, −0.34  |
/// | Theora             | 5.2, +0.44 | 4.1, +0.30  | 5.3, +0.25  | 5.8, +0.14  | 6.2, −0.10  | 6.4, −0.37  |
/// | coded twice        | 5.5, +0.36 | 4.7, +0.18  | 5.9, +0.11  | 6.2, +0.01  | 6.6, −0.19  | 6.5, −0.44  |
/// | noise of 10        | 4.2, +0.39 | 4.2, +0.33  | 4.9, +0.31  | 5.1, +0.25  | 5.2, +0.10  | 5.2, −0.12  |
/// | enlarged before ×2 | 3.8, +0.19 | 2.5, +0.14  | 7.6, +0.23  | 9.9, +0.14  | 13.3, −0.12 | 15.7, −0.39 |
/// | blur of 1.5        | 1.1, +0.13 | 1.8, +0.16  | 10.4, +0.64 | 15.9, +0.68 | 23.0, +0.61 | 25.8, +0.51 |
/// This was measured with an older `fast` that computed at half the resolution. The current one, on less damaged sources
/// (five other photographs; error: RMS of luma; “soft”: blurred with a sigma of 0.6 before the encode):
/// | damage, error      | fast       | detail 0.5  | 0.6         | 0.7         |
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
/// The rules that follow from it:
/// - Clean and noisy sources get a faithful network, with the strength for the noise: `detail` gains little there.
/// - Compressed sources: from a true error of 4 on, `detail` has a higher VMAF-NEG than `fast`, and a lower PSNR-Y, which
///   stays above that of Lanczos-3. The estimate from the stream is below the true error (2.1 at x264's CRF 23, 3.9 at
///   MPEG-4's quantiser 6), so `detail` begins at an estimate of 3.5. The estimate from the pictures may be wrong by
///   as much (drawn pictures), so `detail` begins at 4.9. If both estimates indicate an encode, it begins at a mean of 3.4.
/// - Blurred and enlarged sources are the purpose of `detail`: it begins at a small loss of resolution, and gets 0.9 at half
///   the resolution. On a compressed and slightly soft source it gains about twice as much VMAF-NEG as `fast`, and more
///   PSNR-Y (“soft” above).
/// - Small compressed sources (at most 400 lines) get `detail`, even if little damage is measured. They come from old cameras
///   and phones, whose sensors skipped lines, firmware sharpened and encoders smeared. No estimate sees that: a camera's
///   Motion JPEG of 320×240 full of stair-steps has errors of 1.6 and 2.5. On three real clips (Motion JPEG, H.264, MPEG-1),
///   `detail` at 0.6 looked cleaner and sharper than `fast`. Small sources without an encode get a faithful network.
/// - At ×1, a source that is only compressed gets a faithful network. `detail` ×1 sharpens, and leaves noise and ringing as they are.
///   `ground.sh real-scores --strength 0.6 --count 6 --clips 6 TOLD=engine/models/fast-x1.onnx engine/models/detail-x1.onnx`, gains in
///   VMAF-NEG and PSNR-Y over the source, `fast` and `detail`: blurred 0.3, +0.03 and 24.7, +1.02; enlarged before 0.5, +0.09 and 6.9,
///   +0.36; phone 0.7, +0.28 and 2.7, +0.03; noise of 10 0.6, +1.05 and 0.4, −0.04.
/// - `detail` gets at least 0.5, because below that it restores no more than `fast`.
RestorationChoice ChooseRestoration(const Damage& damage);

/// "compressed", "blurred", "enlarged before"; empty for none.
std::string DamageName(DamageKind kind);

}  // namespace reelmend::plan
