// Row kernels of the resize. Rows of floats are buffers of this engine, which may be read and written up to kRowSlack
// elements past their end; working samples are rows of an Image (padded to 64 bytes).
#pragma once

#include <cstdint>

namespace reelmend::pixel {

inline constexpr int kRowSlack = 64;

/// A horizontal sum in blocks of as many outputs as a vector has lanes. Output i of block b is Σ weights[s][k][i] ×
/// in[first[b] − origin + index[s][i] + k] with s = (first_set + b) modulo `sets`. All inputs of a block lie within
/// two vectors from its first on, or within one if `is_narrow`.
struct ColumnBlocks {
  int count = 0;
  int sets = 0;
  int first_set = 0;
  int origin = 0;
  int taps = 0;
  bool is_narrow = false;
  const int* first = nullptr;
  const std::int32_t* index = nullptr;
  const float* weights = nullptr;
};

/// Two sums of `taps` rows each: of rows[0] … and of rows[shift] ….
struct RowPair {
  const float* const* rows = nullptr;
  int taps = 0;
  int shift = 0;  ///< 0 or 1
  const float* weights[2] = {};
  std::uint16_t* outs[2] = {};
};

/// The first sums when reducing the height. Their windows overlap, so each row is converted to float once for all.
struct RowSums {
  static constexpr int kMost = 8;
  const std::uint16_t* const* rows = nullptr;
  int taps = 0;
  int start[kMost] = {};  ///< first row of each sum, never falling; unused sums repeat the last one
  const float* weights[kMost] = {};
  float* outs[kMost] = {};
};

/// Sums for a ratio of small integers, which repeat every `inputs` inputs and `outputs` outputs. No start is negative.
struct RationalSums {
  int outputs = 0;
  int inputs = 0;
  int taps = 0;
  const int* start = nullptr;
  const float* weights = nullptr;
};

/// Chooses the instruction set of the running machine.
struct ResizeKernels {
  /// Working samples to floats.
  void (*load)(const std::uint16_t* in, float* out, int count);
  /// Floats to working samples, rounded and saturated.
  void (*store)(const float* in, std::uint16_t* out, int count);
  /// Weighted sum of `taps` rows, to working samples.
  void (*vertical)(const float* const* rows, const float* weights, int taps, std::uint16_t* out, int count);
  /// Two weighted sums whose rows differ only at either end; shared rows are read once.
  void (*vertical_pair)(const RowPair& pair, int count);
  /// Up to RowSums::kMost weighted sums of rows of working samples, to floats.
  void (*vertical_first)(const RowSums& sums, int count);
  /// Enlarging by a whole number, i in [0, count):
  /// out[phases × i + p] = Σ weights[p][k] × in[i + start[p] + k].
  void (*phases)(const float* in, const int* start, const float* weights, int taps, int phases, float* out,
                 int count);
  /// outs[p][i] = in[ways × i + p], two to four ways.
  void (*split)(const float* in, int ways, float* const* outs, int count);
  /// Halving of a row that was split: out[i] = Σ weights[k] × in[2 × i + start + k]; reads up to
  /// count + taps + kRowSlack / 2 elements of each half from start / 2 on.
  void (*halve)(const float* even, const float* odd, int start, const float* weights, int taps, float* out, int count);
  /// Whether `rational` supports these sums.
  bool (*has_rational)(int outputs, int inputs, int taps, const int* start);
  /// A row that was split by sums.inputs; i in [0, count):
  /// out[outputs × i + p] = Σ weights[p][k] × in[inputs × i + start[p] + k].
  void (*rational)(const float* const* splits, const RationalSums& sums, float* out, int count);
  /// Outputs in a block of `columns`; 0 if the vectors are too short for it.
  int column_lanes;
  /// Four rows by the same blocks; reads up to kRowSlack / 2 elements from a block's first one on.
  void (*columns)(const float* const* rows, const ColumnBlocks& blocks, float* const* outs);
  /// Four rows into one buffer of 4 × count floats: column by column.
  void (*interleave4)(const float* const* rows, float* out, int count);
  void (*deinterleave4)(const float* in, float* const* rows, int count);
  /// Columns of four rows: out[4i + r] = Σ weights[i][k] × in[4 × (start[i] − origin + k) + r].
  void (*columns4)(const float* in, const int* start, int origin, const float* weights, int taps, float* out, int count);
};

const ResizeKernels& GetResizeKernels();

}  // namespace reelmend::pixel
