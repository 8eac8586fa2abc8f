// Pictures as kernels see them: plain pointers and numbers, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/math.h"
#include "pixel/image.h"
#include "pixel/stages.h"

namespace reelmend::cuda {

/// One plane in device memory. `stride` counts elements.
template <typename T>
struct View {
  T* data = nullptr;
  std::ptrdiff_t stride = 0;
  int width = 0;
  int height = 0;

  REELMEND_HD T* Row(int y) const { return data + y * stride; }
  REELMEND_HD T& At(int x, int y) const { return data[y * stride + x]; }
  /// Edges replicated.
  REELMEND_HD T Near(int x, int y) const { return At(Clamp(x, 0, width - 1), Clamp(y, 0, height - 1)); }
};

using Plane = View<std::uint16_t>;

/// A working picture (Note [Working samples] in pixel/image.h) in device memory.
struct Picture {
  Plane planes[3];
  int log2_x = 1;
  int log2_y = 1;
  pixel::ColorSpec color;

  int width() const { return planes[0].width; }
  int height() const { return planes[0].height; }
  pixel::Subsampling subsampling() const { return {log2_x, log2_y}; }
};

/// A decoded surface from NVDEC or an upload, as the displayed picture: cropped by its pointers and size, rotated by its
/// flags (media::Orientation: transposed first, then mirrored).
struct Surface {
  const std::uint8_t* data[3] = {};
  std::ptrdiff_t stride[3] = {};  ///< bytes
  int width = 0;                  ///< as stored
  int height = 0;
  int bits = 8;
  int left_shift = 8;             ///< converts a stored sample to a working sample
  bool semi_planar = false;
  bool swap_chroma = false;
  bool gray = false;
  int log2_x = 1;                 ///< as stored
  int log2_y = 1;
  bool transpose = false;
  bool flip_x = false;
  bool flip_y = false;

  REELMEND_HD int PlaneWidth(int plane) const { return plane == 0 ? width : (width + (1 << log2_x) - 1) >> log2_x; }
  REELMEND_HD int PlaneHeight(int plane) const { return plane == 0 ? height : (height + (1 << log2_y) - 1) >> log2_y; }

  /// Working sample of the displayed picture's plane at (x, y), which must lie inside.
  REELMEND_HD std::uint16_t Sample(int plane, int x, int y) const {
    if (plane > 0 && gray) return 0x8000;
    const int stored_width = PlaneWidth(plane);
    const int stored_height = PlaneHeight(plane);
    int column = x;
    int row = y;
    if (transpose) {
      // flip_x mirrors what was transposed: displayed columns are stored rows.
      row = flip_x ? stored_height - 1 - x : x;
      column = flip_y ? stored_width - 1 - y : y;
    } else {
      if (flip_x) column = stored_width - 1 - x;
      if (flip_y) row = stored_height - 1 - y;
    }
    int source = plane;
    int step = 1;
    int offset = 0;
    if (plane > 0 && semi_planar) {
      source = 1;
      step = 2;
      offset = (plane == 2) != swap_chroma ? 1 : 0;
    } else if (plane > 0 && swap_chroma) {
      source = 3 - plane;
    }
    const std::uint8_t* line = data[source] + row * stride[source];
    const int index = column * step + offset;
    const unsigned stored = bits == 8 ? line[index] : reinterpret_cast<const std::uint16_t*>(line)[index];
    return static_cast<std::uint16_t>(stored << left_shift);
  }
};

/// The encoder's picture: NV12 (chroma[0] holds pairs, step 2) or planar 8-bit 4:2:0 (step 1).
struct EncoderPicture {
  std::uint8_t* luma = nullptr;
  std::uint8_t* chroma[2] = {};  ///< first Cb, first Cr
  std::ptrdiff_t luma_stride = 0;
  std::ptrdiff_t chroma_stride = 0;
  int chroma_step = 2;
  int width = 0;
  int height = 0;
};

/// A network's tensor [channels, height, width] in fp16: planes of R′G′B′ or of Y′ (and Cb, Cr) as in
/// ModelFile::Layout. Sides may be padded to the model's multiple.
struct Tensor {
  Half* data = nullptr;
  int channels = 3;
  int width = 0;   ///< of a plane in memory; the picture is in its upper left corner, edges replicated behind
  int height = 0;
  REELMEND_HD std::ptrdiff_t plane_samples() const { return static_cast<std::ptrdiff_t>(width) * height; }
  REELMEND_HD Half* PlaneAt(int channel) const { return data + channel * plane_samples(); }
};

/// Position of a chroma sample along one axis of the luma samples that it covers.
enum class ChromaPhase { kFirst, kMiddle, kLast };

REELMEND_HD inline ChromaPhase PhaseAcross(pixel::ChromaSite site) {
  using Site = pixel::ChromaSite;
  if (site == Site::kLeft || site == Site::kTopLeft || site == Site::kBottomLeft) return ChromaPhase::kFirst;
  if (site == Site::kRight || site == Site::kTopRight || site == Site::kBottomRight) return ChromaPhase::kLast;
  return ChromaPhase::kMiddle;
}

REELMEND_HD inline ChromaPhase PhaseDown(pixel::ChromaSite site) {
  using Site = pixel::ChromaSite;
  if (site == Site::kTop || site == Site::kTopLeft || site == Site::kTopRight) return ChromaPhase::kFirst;
  if (site == Site::kBottom || site == Site::kBottomLeft || site == Site::kBottomRight) return ChromaPhase::kLast;
  return ChromaPhase::kMiddle;
}

/// Weighted sum of the chroma samples around a luma sample.
///
/// Note [Chroma at luma]
/// Along each axis: luma at the position of a chroma sample takes it as it is; luma between two of them takes their mean;
/// around chroma that is centred between two luma samples, luma takes ¾ of the nearer and ¼ of the farther chroma sample.
/// Edges are replicated. The CPU's stages do exactly this (pixel/color.cc, pixel/tone_map.cc) before the picture is rotated.
/// Here the rotation comes first, so the sitings that only a rotation creates are supported, too.
struct ChromaTaps {
  int column[2];
  float across[2];
  int row[2];
  float down[2];

  REELMEND_HD float Of(const Plane& plane) const {
    const std::uint16_t* first = plane.Row(row[0]);
    const std::uint16_t* second = plane.Row(row[1]);
    const float left = Fma(first[column[0]], down[0], static_cast<float>(second[column[0]]) * down[1]);
    const float right = Fma(first[column[1]], down[0], static_cast<float>(second[column[1]]) * down[1]);
    return Fma(left, across[0], right * across[1]);
  }
};

REELMEND_HD inline void AxisTaps(int at, int log2, int shift, ChromaPhase phase, int size, int (&index)[2],
                                  float (&weight)[2]) {
  const int own = log2 != 0 ? (at + shift) / 2 : at;
  index[0] = index[1] = Clamp(own, 0, size - 1);
  weight[0] = 1;
  weight[1] = 0;
  if (log2 == 0) return;
  const bool is_second = (at + shift) % 2 != 0;
  if (phase == (is_second ? ChromaPhase::kLast : ChromaPhase::kFirst)) return;
  index[1] = Clamp(is_second ? own + 1 : own - 1, 0, size - 1);
  weight[1] = phase == ChromaPhase::kMiddle ? 0.25F : 0.5F;
  weight[0] = 1 - weight[1];
}

REELMEND_HD inline ChromaTaps TapsAt(int x, int y, const Picture& picture) {
  ChromaTaps taps;
  const Plane& chroma = picture.planes[1];
  AxisTaps(x, picture.log2_x, picture.color.shift_x, PhaseAcross(picture.color.site), chroma.width, taps.column, taps.across);
  AxisTaps(y, picture.log2_y, picture.color.shift_y, PhaseDown(picture.color.site), chroma.height, taps.row, taps.down);
  return taps;
}

}  // namespace reelmend::cuda
