// The pixel stages. Each is a class with a plan made once per job and a Run per picture. Every Run spreads rows over
// the thread pool and allocates nothing in steady state. Pictures are Image (Note [Working samples]); strengths are
// 0…1, 0 copies the input exactly.
#pragma once

#include <cstdint>
#include <memory>

#include "pixel/contrast_levels.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

// ---- import and export: between the decoder's/encoder's sample layouts and working samples -------------

/// How 8- to 16-bit planar or semi-planar samples lie in memory.
struct PackedLayout {
  int bits = 8;                ///< significant bits of a sample
  bool left_aligned = false;   ///< P010-like: the significant bits are the high ones
  bool semi_planar = false;    ///< NV12-like: Cb and Cr interleaved in plane 1
  bool swap_chroma = false;    ///< NV21-like: Cr first
  bool gray = false;           ///< no chroma planes; written as neutral
  Subsampling subsampling;
};

/// Raw planes as libav hands them out; strides in bytes, possibly negative.
struct RawPlanes {
  const std::uint8_t* data[3] = {};
  std::ptrdiff_t stride[3] = {};
};
struct MutableRawPlanes {
  std::uint8_t* data[3] = {};
  std::ptrdiff_t stride[3] = {};
};

/// Converts raw planes to working samples (same size and subsampling as `layout`).
void Import(const RawPlanes& raw, const PackedLayout& layout, Image& out, ThreadPool& pool);

/// Rounds to 8-bit planar 4:2:0 (`image` must be 4:2:0).
void ExportYuv420p8(const Image& image, const MutableRawPlanes& raw, ThreadPool& pool);

// ---- colour ---------------------------------------------------------------------------------------------

/// Converts matrix and range in place, between Y′CbCr spaces of equal primaries and transfer: coefficients of ITU-R
/// BT.601, BT.709 and BT.2020 (non-constant luminance). The chroma term in luma is interpolated according to the
/// siting. Identity if matrix and range are equal.
void ConvertColor(Image& image, ColorSpec to, ThreadPool& pool);

// ---- resize ---------------------------------------------------------------------------------------------

/// Separable Lanczos-3 resize, antialiased when reducing (kernel widened by the ratio), edges replicated. Luma and
/// chroma of any subsampling to 4:2:0 (or another one), left-sited. Sample positions follow the chroma siting of both
/// sides. Same size and siting copies exactly. Samples are within 1 of 65,535 of exact arithmetic, or within 5 with
/// int16 instructions (Note [Int16 fixed point] in resize_int16.h).
class Resizer {
 public:
  Resizer(int src_width, int src_height, Subsampling src_subsampling, ColorSpec src_color, int dst_width, int dst_height,
          Subsampling dst_subsampling = {});
  ~Resizer();
  /// `out` is dst_width × dst_height of the subsampling asked for, colour of the source with ChromaSite::kLeft.
  void Run(const Image& in, Image& out, ThreadPool& pool, Planes planes = Planes::kAll);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// ---- denoise, sharpen, contrast -----------------------------------------------------------------------

/// Standard deviation of the noise in luma, in 8-bit levels: median absolute deviation of a high-pass residue
/// over flat blocks (after Immerkær 1996 / Donoho 1994). 0 for a synthetic, noise-free picture.
float EstimateNoise(const Image& image, ThreadPool& pool);

/// Light spatial, edge-preserving denoise (bilateral-class 5×5 on luma, 3×3 on chroma).
class Denoiser {
 public:
  Denoiser(int width, int height, Subsampling subsampling);
  ~Denoiser();
  /// `strength` 0…1; `noise_sigma` in 8-bit levels scales the range kernel. In place is not allowed.
  void Run(const Image& in, Image& out, float strength, float noise_sigma, ThreadPool& pool,
           Planes planes = Planes::kAll);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Smooths the blocks and bands that a coarse quantiser leaves in flat areas; keeps edges and texture (Note [Method] in
/// deband.cc). In place on all planes.
class Debander {
 public:
  Debander(int width, int height);
  ~Debander();
  /// `threshold` in 8-bit levels: samples that differ by at least this from the mean around them are not changed. 0: no
  /// change.
  void Run(Image& image, float threshold, ThreadPool& pool);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Straightens and steepens the contours of an enlarged picture: smooths luma along them and sharpens it across them (Note
/// [Method] in contours.cc). In place; chroma is not changed.
class ContourSmoother {
 public:
  ContourSmoother(int width, int height);
  ~ContourSmoother();
  /// `enlargement`: size of the picture ÷ its size before it was enlarged, per axis.
  void Run(Image& image, float strength, float enlargement, ThreadPool& pool);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Gives enlarged 4:2:0 chroma the edges of luma, and removes its blotches (Note [Method] in guided_chroma.cc). In place; luma is
/// not changed.
class GuidedChroma {
 public:
  GuidedChroma(int width, int height);
  ~GuidedChroma();
  /// `enlargement`: as for ContourSmoother.
  void Run(Image& image, float strength, float enlargement, ThreadPool& pool);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Contrast-adaptive sharpening of luma (after AMD FidelityFX CAS): never leaves the range of the 3×3
/// neighbourhood, so edges get no halos. Chroma is copied.
class Sharpener {
 public:
  Sharpener(int width, int height);
  ~Sharpener();
  void Run(const Image& in, Image& out, float strength, ThreadPool& pool);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Contrast-limited adaptive equalisation of luma (after Zuiderveld 1994, 8×8 tiles, clip limit), blended by
/// strength, and the levels of flat footage spread over the range (contrast_levels.h); the curves are low-passed over
/// frames so that a still scene keeps its brightness; Reset() at scene cuts. In place on `image`. Chroma changes with
/// the levels only.
class AdaptiveContrast {
 public:
  AdaptiveContrast(int width, int height, const LevelLift& lift = {});
  ~AdaptiveContrast();
  /// Counts luma of the next picture. It stays as it is.
  void Observe(const Image& image, ThreadPool& pool);
  /// Changes a picture by the curves of the pictures that were observed so far.
  void Apply(Image& image, float strength, ThreadPool& pool);
  /// Both; nothing at strength 0.
  void Run(Image& image, float strength, ThreadPool& pool);
  void Reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reelmend::pixel
