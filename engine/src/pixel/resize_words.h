// Row kernels of the resize in words: 16-bit samples times 16-bit weights, two products a lane (AVX-512 VNNI's vpdpwssd).
//
// Note [Words]
// Beside sums of floats these do twice the multiply-adds an instruction and move half the bytes. What it takes:
// - Samples are made signed (− 32,768). Weights are multiples of 2⁻¹⁵ whose sum is 1 exactly (QuantiseWeights).
// - Between the passes a sum is kept at half of its scale, so that what Lanczos overshoots has room: the upper half of the
//   32-bit sum of products, rounded.
// - Two rows lie together, a lane holding a column's sample of either ("a row of pairs"): what the vertical sums multiply.
// Results lie within 5 of 65,535 of exact arithmetic, a fiftieth of an 8-bit code (sums of floats: within 1). Flat areas of
// an even sample, which every code of up to 15 bits is, stay exactly as they are; those of an odd one may be 1 off.
#pragma once

#include <cstdint>

namespace reelmend::pixel {

/// Elements that rows of words may be read and written past their end.
inline constexpr int kWordSlack = 96;

/// A horizontal sum in blocks of 16 outputs: output i of block b is Σ_j of the two inputs from first[b] − origin + rel + 2j on,
/// each times its weight; rel is lane i's place within 33 inputs, told by index[set][i] = rel ÷ 2 + (rel odd ? 16 : 0).
/// Weights: [set][pair][16], the first input's in the lower half. set = (first_set + b) modulo `sets`.
struct WordBlocks {
  int count = 0;
  int sets = 0;
  int first_set = 0;
  int origin = 0;
  int pairs = 0;
  const int* first = nullptr;
  const std::int32_t* index = nullptr;
  const std::int32_t* weights = nullptr;
};

/// Up to kOutputs sums over the same rows: weights[output][pair], zeros standing for rows that a sum leaves out.
struct WordSums {
  static constexpr int kOutputs = 8;
  static constexpr int kMostPairs = 16;
  int pairs = 0;  ///< of rows
  const std::int32_t* weights[kOutputs] = {};
};

struct WordKernels {
  /// Working samples to signed words; `ahead` is what will be loaded next.
  void (*load)(const std::uint16_t* in, const std::uint16_t* ahead, std::int16_t* out, int count);
  /// Four rows of words to two rows of pairs.
  void (*columns)(const std::int16_t* const* rows, const WordBlocks& blocks, std::int16_t* const* outs);
  /// The same for rows at half scale, to four rows of samples; an even number of blocks is written.
  void (*columns_out)(const std::int16_t* const* rows, const WordBlocks& blocks, std::uint16_t* const* outs);
  /// Doubling with six taps, two rows of words to one of pairs: output 2i + p is summed from row[i + p × late] on (late: 0
  /// or 1) with weights[p][pair]; `count` inputs.
  void (*twice)(const std::int16_t* const* rows, int late, const std::int32_t* weights, std::int16_t* out, int count);
  /// Three for two with six taps, alike: output 3i + p is summed from row[2i + late[p]] on; late[0] = 0 ≤ late[1] ≤ late[2],
  /// 0, 0 and 1, or 0, 1 and 1 or 2; weights[p][pair]; `count` inputs, an even number of them being done.
  void (*thirds)(const std::int16_t* const* rows, const int* late, const std::int32_t* weights, std::int16_t* out, int count);
  /// Halving of a row at half scale: out[x] = Σ of six pairs from row[2x] on; `count` outputs.
  void (*halve_out)(const std::int16_t* row, const std::int32_t* weights, std::uint16_t* out, int count);
  /// Two sums of rows of pairs, to samples; `ahead`: the rows that will be written next.
  void (*vertical)(const std::int16_t* const* rows, const WordSums& sums, std::uint16_t* const* outs,
                   std::uint16_t* const* ahead, int count);
  /// Eight sums of rows of samples, to words at half scale; rows: 2 × sums.pairs of them.
  void (*vertical_first)(const std::uint16_t* const* rows, const WordSums& sums, std::int16_t* const* outs, int count);
  /// Exact halving: eight sums with the same six pairs of weights, each two rows behind the one before; 26 rows.
  void (*halve_rows)(const std::uint16_t* const* rows, const std::int32_t* weights, std::int16_t* const* outs, int count);
};

/// Null where the running machine has no such instructions, or where tests chose another set.
const WordKernels* GetWordKernels();

/// For tests: whether GetWordKernels answers them where it can (it does).
void AllowWordKernels(bool allow);

}  // namespace reelmend::pixel
