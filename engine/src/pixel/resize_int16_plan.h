// Weights and layout of the int16 resize (resize_int16.h) for a plane's two axes.
#pragma once

#include <cstdint>
#include <vector>

#include "pixel/resize_plan.h"
#include "pixel/resize_int16.h"
#include "pixel/scratch.h"

namespace reelmend::pixel {

/// Rounds weights to multiples of 2⁻¹⁵ whose sum is exactly 1: each is rounded, and the remainder goes to the weights that
/// it brings nearer to their value. A weight of 1 does not fit into 16 bits: its last unit goes to its neighbour, an error
/// of at most two units of a sample. `weights` has `taps` elements; the result has at least two, padded with 0.
std::vector<std::int16_t> QuantiseWeights(const float* weights, int taps);

/// One axis: weights of every set of the AxisPlan, quantised; for rows also as blocks of 16 outputs.
struct Int16Axis {
  int taps = 0;   ///< at least 2
  int pairs = 0;  ///< of inputs in a horizontal sum
  std::vector<std::int16_t> weights;  ///< [set of the AxisPlan][taps]
  int block_sets = 0;                 ///< 0 if a block's inputs lie too far apart
  std::vector<int> block_first;
  AlignedArray<std::int32_t> block_index;
  AlignedArray<std::int32_t> block_weights;
  /// Pairs of weights for sums of rows: [set][whether the sum begins with a pair's second][pairs_padding zeros, the pairs,
  /// pairs_padding zeros].
  int pairs_padding = 0;
  std::vector<std::int32_t> row_pairs;

  /// Weights for pairs of rows from `first_row` on, for a sum that starts at `start`: first_row ≤ start, even.
  const std::int32_t* RowPairs(int set, int start, int first_row) const {
    const int late = (start - first_row) & 1;
    const int place = (2 * set + late) * (2 * pairs_padding + pairs + 1) + pairs_padding - (start - first_row) / 2;
    return row_pairs.data() + place;
  }
  /// Weights 2j and 2j + 1 of a set, the first in the lower half; 0 stands for those outside.
  std::int32_t Pair(int set, int first_tap) const;
};

struct Int16Plan {
  bool fits = false;      ///< whether int16 fixed point can resize this plane
  bool twice = false;     ///< enlarging rows by two
  bool thirds = false;    ///< … by three halves
  int late[3] = {};       ///< of twice and thirds: where a phase's inputs begin behind the first one's
  bool halves_x = false;  ///< exact halving of rows, of columns
  bool halves_y = false;
  int ring_pairs = 0;
  Int16Axis x;
  Int16Axis y;
  std::vector<std::int32_t> x_pairs;  ///< twice, thirds: of all phases; halves_x: of the one set
  std::vector<std::int32_t> y_pairs;  ///< halves_y
  std::vector<Strip> strips;
};

Int16Plan MakeInt16Plan(const AxisPlan& x, const AxisPlan& y);

/// The blocks of outputs first … last − 1 for rows that begin with input `origin`; `first` is a multiple of 32.
Int16Blocks BlocksOf(const Int16Axis& axis, int first, int last, int origin);

}  // namespace reelmend::pixel
