// Weights of the separable resize along one axis.
#pragma once

#include <cstdint>
#include <vector>

#include "pixel/image.h"
#include "pixel/resize_kernels.h"

namespace reelmend::pixel {

/// Positions of one plane's samples along one axis, in luma samples from the picture's edge: sample i is at i × step
/// + offset.
struct SampleGrid {
  int step = 1;         ///< luma samples per sample: 1 or 2 (more for coarser subsampling)
  double offset = 0.5;  ///< position of sample 0
};

/// Grid of a plane along x or y.
SampleGrid HorizontalGrid(int plane, Subsampling subsampling, const ColorSpec& color);
SampleGrid VerticalGrid(int plane, Subsampling subsampling, const ColorSpec& color);

/// Weights that turn `src` samples into `dst` samples. Every output is the sum of `taps` weighted inputs
/// from Start(i) on; inputs outside [0, src) are the replicated edge samples.
struct AxisPlan {
  int src = 0;
  int dst = 0;
  int taps = 0;
  /// When enlarging by a whole number, output phases × i + p uses the weights of p from input i + start[p]
  /// on: only `phases` sets are stored. 0 for other ratios: one set per output.
  int phases = 0;
  /// When halving exactly, all outputs share one set, from input 2 × i + start[0] on.
  bool halves = false;
  /// A ratio of small integers that a kernel supports (AddShortWays): the weights of the first outputs_each outputs repeat, and
  /// output outputs_each × i + p uses those of p from input inputs_each × i + start[p] on. All weights are stored nevertheless.
  bool rational = false;
  std::vector<int> start;
  std::vector<float> weights;  ///< [set][taps]
  int period = 0;         ///< weights repeat after so many outputs …
  int period_inputs = 0;  ///< … and how much further the inputs are then
  /// Outputs of one step of a kernel for rows, and the inputs from one step to the next.
  int outputs_each = 1;
  int inputs_each = 1;
  static constexpr int kMaxSets = 4;  ///< of weights that such a kernel supports
  bool identity = false;
  bool reduces = false;
  /// The same sums in blocks of `block_lanes` outputs, see ColumnBlocks; empty if a block's inputs lie too far apart.
  /// For a ratio of small integers blocks repeat, which keeps their weights in the L1 cache.
  int block_lanes = 0;
  int block_sets = 0;
  bool blocks_are_narrow = false;
  std::vector<int> block_first;
  std::vector<std::int32_t> block_index;
  std::vector<float> block_weights;

  /// Whether a kernel processes single rows; otherwise four at a time.
  bool IsByRow() const { return phases > 0 || halves || rational; }
  int Start(int i) const {
    if (halves) return 2 * i + start[0];
    return phases > 0 ? i / phases + start[i % phases] : start[i];
  }
  int Set(int i) const { return halves ? 0 : phases > 0 ? i % phases : i; }
  const float* Weights(int i) const {
    return weights.data() + static_cast<std::ptrdiff_t>(Set(i)) * taps;
  }
  /// The blocks of outputs first … last − 1 for rows that begin with input `origin`; `first` is a multiple of
  /// block_lanes.
  ColumnBlocks Blocks(int first, int last, int origin) const;
};

/// Part of a plane's width: outputs `first` … `last` − 1, summed from inputs `from` … `to` − 1 (which may lie outside of
/// the plane). `from` is where the rows of the scratch begin.
struct Strip {
  int first = 0;
  int last = 0;
  int from = 0;
  int to = 0;
  int count() const { return last - first; }
};

/// Lanczos-3 (Duchon 1979), its kernel widened by the ratio when reducing so that it antialiases, weights
/// normalised to a sum of 1. `src_luma` and `dst_luma` are the pictures' sizes in luma samples, `src` and
/// `dst` the plane's.
AxisPlan MakeAxisPlan(int src_luma, int src, SampleGrid src_grid, int dst_luma, int dst, SampleGrid dst_grid);

/// Selects the fastest kernel for the plan's ratio, if there is one.
void AddShortWays(AxisPlan& plan, const ResizeKernels& kernels);

}  // namespace reelmend::pixel
