// Absolute differences of blocks of luma, and their textures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pixel/image.h"

namespace reelmend::pixel {

/// Sets sums[i] to Σ |a − b| of the i-th block of `block` columns of a block row, without its last `left_out` columns. Both planes have the
/// same size. Reads whole SIMD vectors, so beyond rows of fewer than 16 samples. `columns` is scratch: the width and 64 more.
void SumBlockDifferences(ConstPlane a, ConstPlane b, int block, int left_out, std::uint32_t* columns, std::vector<std::uint32_t>& sums);

/// Measures the textures of the blocks of a block row (TextureOf in temporal_limits.h). Made for the number of blocks of a row.
class BlockTextures {
 public:
  explicit BlockTextures(std::size_t blocks) : across_(blocks), down_(blocks) {}

  /// `columns`: see SumBlockDifferences.
  void Measure(ConstPlane block_row, int block, std::uint32_t* columns, std::vector<double>& textures);

 private:
  std::vector<std::uint32_t> across_;  ///< sums of the differences of neighbours
  std::vector<std::uint32_t> down_;
};

}  // namespace reelmend::pixel
