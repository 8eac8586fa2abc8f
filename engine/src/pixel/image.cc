#include "pixel/image.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

constexpr std::ptrdiff_t kAlignBytes = 64;
constexpr std::ptrdiff_t kAlignSamples = kAlignBytes / static_cast<std::ptrdiff_t>(sizeof(std::uint16_t));
/// Vector loads may read this far beyond the last row.
constexpr std::ptrdiff_t kTailSamples = 2 * kAlignSamples;

/// Rows padded to whole 64-byte blocks. A stride of a multiple of 4096 bytes would put all rows of a
/// vertical filter into the same few cache sets, so those get one block more.
std::ptrdiff_t PaddedStride(int width) {
  std::ptrdiff_t stride = (width + kAlignSamples - 1) / kAlignSamples * kAlignSamples;
  if (stride % 2048 == 0) stride += kAlignSamples;
  return stride;
}

int ChromaSize(int size, int log2) { return (size + (1 << log2) - 1) >> log2; }

}  // namespace

void Image::AlignedFree::operator()(std::uint16_t* p) const noexcept { std::free(p); }

Image::Image(int width, int height, Subsampling subsampling, ColorSpec color)
    : width_(width), height_(height), subsampling_(subsampling), color_(color) {
  if (width < 1 || height < 1) {
    throw Error(ErrorCode::kInvalidArgument, "A picture needs a width and a height of at least 1.");
  }
  std::ptrdiff_t total = 0;
  for (int i = 0; i < 3; ++i) {
    const int w = i == 0 ? width : ChromaSize(width, subsampling.log2_x);
    const int h = i == 0 ? height : ChromaSize(height, subsampling.log2_y);
    stride_[i] = PaddedStride(w);
    offset_[i] = total;
    total += stride_[i] * h;
  }
  const auto bytes = static_cast<std::size_t>(total + kTailSamples) * sizeof(std::uint16_t);
  storage_.reset(static_cast<std::uint16_t*>(std::aligned_alloc(kAlignBytes, bytes)));
  if (!storage_) throw std::bad_alloc();
  std::memset(storage_.get(), 0, bytes);  // the padding is read by whole-vector loops
}

Plane Image::plane(int index) {
  const int w = index == 0 ? width_ : ChromaSize(width_, subsampling_.log2_x);
  const int h = index == 0 ? height_ : ChromaSize(height_, subsampling_.log2_y);
  return {storage_.get() + offset_[index], stride_[index], w, h};
}

ConstPlane Image::plane(int index) const { return const_cast<Image*>(this)->plane(index); }

}  // namespace reelmend::pixel
