// Sums of absolute differences of blocks of luma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pixel/image.h"

namespace reelmend::pixel {

/// Sets sums[i] to Σ |a − b| of the i-th block of `block` columns of a block row, without its last `left_out` columns. Both planes have the
/// same size. Reads whole SIMD vectors, so up to 16 samples beyond a row. `columns` is scratch: the width and 64 more.
void SumBlockDifferences(ConstPlane a, ConstPlane b, int block, int left_out, std::uint32_t* columns, std::vector<std::uint32_t>& sums);

}  // namespace reelmend::pixel
