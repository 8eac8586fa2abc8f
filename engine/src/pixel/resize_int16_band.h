// Resizes one band of a plane in int16 fixed point.
#pragma once

#include "pixel/image.h"
#include "pixel/resize_int16_plan.h"

namespace reelmend::pixel {

/// Buffers of one band, for its current strip.
struct Int16Scratch {
  static constexpr int kRows = 8;
  int row_stride = 0;
  int ring_stride = 0;
  int ring_pairs = 0;
  AlignedArray<std::int16_t> rows;    // kRows int16 rows
  AlignedArray<std::int16_t> ring;    // rows of pairs
  AlignedArray<std::uint16_t> beyond;  // a row for unused samples

  std::int16_t* Row(int i) const { return rows.get() + static_cast<std::ptrdiff_t>(i) * row_stride; }
  std::int16_t* Ring(int pair) const { return ring.get() + static_cast<std::ptrdiff_t>(pair) * ring_stride; }
  /// Enlarges the buffers for another plan, too.
  void Fit(const Int16Plan& plan);
};

class Int16Band {
 public:
  /// `x` and `y` are the axes that `plan` was made from; plan.fits is true.
  Int16Band(const AxisPlan& x, const AxisPlan& y, const Int16Plan& plan, ConstPlane in, Plane out, Int16Scratch& scratch,
           const Int16Kernels& kernels)
      : x_(x), y_(y), plan_(plan), in_(in), out_(out), s_(scratch), k_(kernels) {}

  /// Makes output rows first … last − 1.
  void Run(int first, int last);

 private:
  int ClampRow(int y) const;
  std::uint16_t* Out(int y) const { return out_.Row(y) + strip_.first; }
  std::int16_t* RingRow(int pair) const { return s_.Ring(pair & (plan_.ring_pairs - 1)); }
  void ReplicateEdges(std::int16_t* row) const;
  void ProducePairs(int pair);
  void HorizontalFirst(int first, int last);
  Int16Sums SumsOf(int y, int last, int outputs, int first_row) const;
  void SumRows(int y, int last);
  void HorizontalOut(int y, int last);
  void VerticalFirst(int first, int last);

  const AxisPlan& x_;
  const AxisPlan& y_;
  const Int16Plan& plan_;
  const ConstPlane in_;
  const Plane out_;
  Int16Scratch& s_;
  const Int16Kernels& k_;
  Strip strip_;
  int inside_ = 0;      ///< inputs of the strip that lie in the plane: first …
  int inside_end_ = 0;  ///< … and beyond the last
};

}  // namespace reelmend::pixel
