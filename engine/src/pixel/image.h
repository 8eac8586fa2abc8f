// Pictures between decoder and encoder: planar Y′CbCr, 16 bits per sample.
//
// Note [Working samples]
// A sample is an unsigned 16-bit number, left-aligned: the level of an n-bit format × 2^(16 − n). So 8-bit video is
// level × 256, 10-bit × 64, and P010/P016 surfaces already have this form. One 8-bit level is 256 units, so rounding
// errors of the stages stay far below what the 8-bit encoder can show, at half the memory traffic of float. Stages
// load to float, compute, and store with rounding and saturation. There is no alpha; RGB sources are converted on
// import.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace reelmend::pixel {

/// Working units in one 8-bit level (LSB).
inline constexpr int kUnitsPer8BitLevel = 256;

/// View of one plane. `stride` counts samples, not bytes. Rows start 64-byte aligned in images of this engine.
template <typename Sample>
struct PlaneView {
  Sample* data = nullptr;
  std::ptrdiff_t stride = 0;
  int width = 0;
  int height = 0;

  Sample* Row(int y) const { return data + static_cast<std::ptrdiff_t>(y) * stride; }
  operator PlaneView<const Sample>() const { return {data, stride, width, height}; }
};
using Plane = PlaneView<std::uint16_t>;
using ConstPlane = PlaneView<const std::uint16_t>;

/// `count` rows of a plane from the first on; fewer at its lower edge.
template <typename Sample>
PlaneView<Sample> Slice(PlaneView<Sample> plane, int first, int count) {
  return {plane.Row(first), plane.stride, plane.width, std::min(count, plane.height - first)};
}

enum class Matrix { kBt601, kBt709, kBt2020 };
enum class Range { kLimited, kFull };
/// Position of a chroma sample in its block of luma samples (2 × 2 for 4:2:0). Those at the right result from rotation and
/// mirroring. Only the resize supports them. It converts all to kLeft (ColorSpec::LeftSited).
enum class ChromaSite { kLeft, kCentre, kTopLeft, kTop, kRight, kBottom, kTopRight, kBottomLeft, kBottomRight };

struct ColorSpec {
  Matrix matrix = Matrix::kBt709;
  Range range = Range::kLimited;
  ChromaSite site = ChromaSite::kLeft;
  /// 1: chroma sample i belongs to luma samples 2i − 1 and 2i, because an axis of odd length was mirrored. 0: to 2i and 2i + 1.
  int shift_x = 0;
  int shift_y = 0;
  bool operator==(const ColorSpec&) const = default;
  /// The same colours with chroma where the resize leaves it.
  ColorSpec LeftSited() const { return {matrix, range, ChromaSite::kLeft}; }
};

/// log2 of the chroma subsampling: 4:2:0 = {1, 1}, 4:2:2 = {1, 0}, 4:4:4 = {0, 0}.
struct Subsampling {
  int log2_x = 1;
  int log2_y = 1;
  bool operator==(const Subsampling&) const = default;
};

/// Which planes a stage works on; it leaves the others of its output as they are.
enum class Planes { kAll, kLuma, kChroma };

/// Owning picture: planes Y, Cb, Cr in one aligned allocation. Chroma sizes are rounded up. Move-only.
class Image {
 public:
  Image() = default;
  Image(int width, int height, Subsampling subsampling, ColorSpec color);

  int width() const { return width_; }
  int height() const { return height_; }
  Subsampling subsampling() const { return subsampling_; }
  ColorSpec color() const { return color_; }
  void set_color(ColorSpec color) { color_ = color; }
  bool empty() const { return storage_ == nullptr; }

  /// 0 = Y, 1 = Cb, 2 = Cr.
  Plane plane(int index);
  ConstPlane plane(int index) const;

 private:
  struct AlignedFree {
    void operator()(std::uint16_t* p) const noexcept;
  };
  std::unique_ptr<std::uint16_t[], AlignedFree> storage_;
  int width_ = 0;
  int height_ = 0;
  Subsampling subsampling_;
  ColorSpec color_;
  std::ptrdiff_t stride_[3] = {};
  std::ptrdiff_t offset_[3] = {};
};

}  // namespace reelmend::pixel
