// Row kernels of the resize in int16 fixed point: 16-bit samples times 16-bit weights, two products per 32-bit lane
// (AVX-512 VNNI's vpdpwssd).
//
// Note [Int16 fixed point]
// Compared with float sums, each instruction does twice the multiply-adds, and half the bytes are moved.
// - Samples are made signed (− 32,768). Weights are multiples of 2⁻¹⁵ whose sum is exactly 1 (QuantiseWeights).
// - Between the passes sums have half their scale, as headroom for Lanczos overshoot: the upper half of the 32-bit
//   sum of products, rounded.
// - Two rows are interleaved, so that a lane holds one column's samples of both ("a row of pairs"). Vertical sums
//   multiply these.
// Results are within 5 of 65,535 of exact arithmetic, a fiftieth of an 8-bit level (float sums: within 1). Flat areas
// of an even sample, which includes every level of up to 15 bits, stay exact; those of an odd one may be 1 off.
#pragma once

#include <cstdint>

namespace reelmend::pixel {

/// Number of elements that int16 rows may be read and written past their end.
inline constexpr int kInt16Slack = 96;

/// A horizontal sum in blocks of 16 outputs. Output i of block b is Σ_j of the two inputs from first[b] − origin + rel + 2j
/// on, each times its weight. rel is lane i's offset within 33 inputs: index[set][i] = rel ÷ 2 + (rel odd ? 16 : 0).
/// Weights: [set][pair][16], the first input's in the lower half. set = (first_set + b) modulo `sets`.
struct Int16Blocks {
  int count = 0;
  int sets = 0;
  int first_set = 0;
  int origin = 0;
  int pairs = 0;
  const int* first = nullptr;
  const std::int32_t* index = nullptr;
  const std::int32_t* weights = nullptr;
};

/// Up to kOutputs sums over the same rows: weights[output][pair]; zero weights for rows that a sum does not use.
struct Int16Sums {
  static constexpr int kOutputs = 8;
  static constexpr int kMostPairs = 16;
  int pairs = 0;  ///< of rows
  const std::int32_t* weights[kOutputs] = {};
};

struct Int16Kernels {
  /// Working samples to signed int16; `ahead`: the next row to load, for prefetching.
  void (*load)(const std::uint16_t* in, const std::uint16_t* ahead, std::int16_t* out, int count);
  /// Four int16 rows to two rows of pairs.
  void (*columns)(const std::int16_t* const* rows, const Int16Blocks& blocks, std::int16_t* const* outs);
  /// The same for rows at half scale, to four rows of samples; an even number of blocks is written.
  void (*columns_out)(const std::int16_t* const* rows, const Int16Blocks& blocks, std::uint16_t* const* outs);
  /// Enlarges by two with six taps, from two int16 rows to one row of pairs. Output 2i + p is summed from row[i + p ×
  /// late] on (late: 0 or 1) with weights[p][pair]; `count` inputs.
  void (*twice)(const std::int16_t* const* rows, int late, const std::int32_t* weights, std::int16_t* out, int count);
  /// Enlarges by 3/2 with six taps, likewise. Output 3i + p is summed from row[2i + late[p]] on; late[0] = 0 ≤ late[1]
  /// ≤ late[2], one of (0, 0, 1), (0, 1, 1), (0, 1, 2); weights[p][pair]; `count` inputs, rounded up to an even number.
  void (*thirds)(const std::int16_t* const* rows, const int* late, const std::int32_t* weights, std::int16_t* out, int count);
  /// Halving of a row at half scale: out[x] = Σ of six pairs from row[2x] on; `count` outputs.
  void (*halve_out)(const std::int16_t* row, const std::int32_t* weights, std::uint16_t* out, int count);
  /// Two sums of rows of pairs, to samples; `ahead`: the rows that will be written next.
  void (*vertical)(const std::int16_t* const* rows, const Int16Sums& sums, std::uint16_t* const* outs,
                   std::uint16_t* const* ahead, int count);
  /// Eight sums of rows of samples, to int16 at half scale; rows: 2 × sums.pairs of them.
  void (*vertical_first)(const std::uint16_t* const* rows, const Int16Sums& sums, std::int16_t* const* outs, int count);
  /// Exact halving: eight sums with the same six pairs of weights, each two rows below the previous one; 26 rows.
  void (*halve_rows)(const std::uint16_t* const* rows, const std::int32_t* weights, std::int16_t* const* outs, int count);
};

/// Null if this machine has no such instructions, or if tests disabled them.
const Int16Kernels* GetInt16Kernels();

/// For tests: false makes GetInt16Kernels return null.
void AllowInt16Kernels(bool allow);

}  // namespace reelmend::pixel
