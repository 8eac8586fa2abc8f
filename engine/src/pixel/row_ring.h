// A few rows of a plane with replicated edges, for kernels that read neighbours.
#pragma once

#include <algorithm>
#include <cstring>

#include "pixel/image.h"
#include "pixel/scratch.h"

namespace reelmend::pixel {

/// Turns working samples into the ring's elements.
template <typename T>
using RowLoader = void (*)(const std::uint16_t* in, T* out, int count);

/// Copies of rows y − reach … y + reach of a plane, each with kMargin samples before and behind it, edge
/// samples replicated `reach` times on each side and the edge rows above and below. Every source row is read
/// once per band.
template <typename T>
class RowRing {
 public:
  static constexpr int kMargin = 32;

  RowRing(int max_width, int reach, RowLoader<T> load) : reach_(reach), load_(load) {
    stride_ = (max_width + 4 * kMargin + 31) / 32 * 32;
    while (rows_ < 2 * reach + 1) rows_ *= 2;
    data_ = AlignedArray<T>(static_cast<std::size_t>(stride_) * rows_);
  }

  /// Starts a band at row `first` of `plane`.
  void Start(ConstPlane plane, int first) {
    plane_ = plane;
    next_ = first - reach_;
  }

  /// Loads the neighbourhood of row `y`; y may only grow after Start.
  void Advance(int y) {
    for (; next_ <= y + reach_; ++next_) Fetch(next_);
  }

  const T* Row(int y) const { return Slot(y); }

 private:
  T* Slot(int y) const {
    return data_.get() + static_cast<std::ptrdiff_t>((y + 2 * rows_) & (rows_ - 1)) * stride_ + kMargin;
  }

  void Fetch(int y) {
    T* row = Slot(y);
    load_(plane_.Row(std::clamp(y, 0, plane_.height - 1)), row, plane_.width);
    for (int i = 1; i <= reach_; ++i) {
      row[-i] = row[0];
      row[plane_.width - 1 + i] = row[plane_.width - 1];
    }
  }

  int reach_;
  RowLoader<T> load_;
  int rows_ = 1;
  std::ptrdiff_t stride_ = 0;
  int next_ = 0;
  ConstPlane plane_;
  AlignedArray<T> data_;
};

inline void CopySamples(const std::uint16_t* in, std::uint16_t* out, int count) {
  std::memcpy(out, in, sizeof(*out) * static_cast<std::size_t>(count));
}

inline void CopyRows(ConstPlane from, Plane to, int first, int last) {
  for (int y = first; y < last; ++y) CopySamples(from.Row(y), to.Row(y), from.width);
}

}  // namespace reelmend::pixel
