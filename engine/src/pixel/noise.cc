// EstimateNoise.
//
// Note [Method]
// High-pass residue of J. Immerkær, "Fast noise variance estimation" (1996): a 3×3 difference of Laplacians
// that is blind to ramps and to straight structure along the axes. Its median absolute value (Donoho 1994)
// is taken over the flattest blocks only. Flatness is judged at another frequency, by second differences of
// 4×4 cell means, so that choosing quiet blocks does not bias the residue. White noise has the same density
// at both frequencies, texture has much more at the lower one: blocks that fail this test count as texture.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "pixel/stages.h"

namespace reelmend::pixel {
namespace {

constexpr int kBlock = 16;
constexpr int kCell = 4;
constexpr int kCells = kBlock / kCell;
constexpr int kMaxBlocks = 2048;
constexpr double kFlattestShare = 0.125;
constexpr int kMinBlocks = 4;

constexpr double kResidueNorm = 6;             // √ of the squared weights' sum of the 3×3 mask
constexpr double kMedianToSigma = 0.67448975;  // of the absolute value of a normal variable
constexpr double kMidNorm = 16.0 / 6;          // second difference of means of 16 samples: variance × 6/16

// Mid-frequency over high-frequency density: white noise gives about 0.8 in the flattest eighth.
constexpr double kWhiteUpTo = 1.8;
constexpr double kTextureFrom = 3.5;

constexpr int kResidueStep = 16;  // working units in a histogram bin: 1/16 level
constexpr int kResidueBins = 8192;

struct BlockGrid {
  int columns = 0;
  int rows = 0;
  int step = 1;  ///< every step-th block along both axes

  static BlockGrid Of(ConstPlane luma) {
    const int across = (luma.width - 2) / kBlock;
    const int down = (luma.height - 2) / kBlock;
    BlockGrid grid;
    if (across < 1 || down < 1) return grid;
    // A picture may be one block high and ten thousand wide, so each axis keeps at least one.
    for (;; ++grid.step) {
      grid.columns = std::max(1, across / grid.step);
      grid.rows = std::max(1, down / grid.step);
      if (static_cast<long long>(grid.columns) * grid.rows <= kMaxBlocks) return grid;
    }
  }
  int count() const { return columns * rows; }
  int X(int block) const { return 1 + block % columns * step * kBlock; }
  int Y(int block) const { return 1 + block / columns * step * kBlock; }
};

/// Second differences of the cells' means; < 0 for a block to leave out.
float Flatness(ConstPlane luma, int x0, int y0) {
  int cells[kCells][kCells];
  int low = 65535;
  int high = 0;
  for (int cy = 0; cy < kCells; ++cy) {
    for (int cx = 0; cx < kCells; ++cx) {
      int sum = 0;
      for (int y = 0; y < kCell; ++y) {
        const std::uint16_t* row = luma.Row(y0 + cy * kCell + y) + x0 + cx * kCell;
        for (int x = 0; x < kCell; ++x) {
          sum += row[x];
          low = std::min(low, int{row[x]});
          high = std::max(high, int{row[x]});
        }
      }
      cells[cy][cx] = sum;
    }
  }
  // A uniform block at black or white is a bar or a clipped area and contains no noise.
  if (low == high && (low <= 20 * kUnitsPer8BitLevel || low >= 235 * kUnitsPer8BitLevel)) return -1;
  double squares = 0;
  for (int i = 0; i < kCells; ++i) {
    for (int j = 1; j + 1 < kCells; ++j) {
      const double across = (cells[i][j - 1] - 2.0 * cells[i][j] + cells[i][j + 1]) / (kCell * kCell);
      const double down = (cells[j - 1][i] - 2.0 * cells[j][i] + cells[j + 1][i]) / (kCell * kCell);
      squares += across * across + down * down;
    }
  }
  return static_cast<float>(std::sqrt(squares / (2 * kCells * (kCells - 2)) * kMidNorm));
}

using Histogram = std::array<int, kResidueBins>;

void CountResidue(ConstPlane luma, int x0, int y0, Histogram& histogram) {
  for (int y = y0; y < y0 + kBlock; ++y) {
    const std::uint16_t* a = luma.Row(y - 1);
    const std::uint16_t* b = luma.Row(y);
    const std::uint16_t* c = luma.Row(y + 1);
    for (int x = x0; x < x0 + kBlock; ++x) {
      const int outer = a[x - 1] + a[x + 1] + c[x - 1] + c[x + 1];
      const int inner = a[x] + b[x - 1] + b[x + 1] + c[x];
      const int residue = std::abs(outer - 2 * inner + 4 * b[x]);
      ++histogram[std::min((residue + kResidueStep / 2) / kResidueStep, kResidueBins - 1)];
    }
  }
}

/// Median in working units.
double MedianOf(const Histogram& histogram, int total) {
  int below = 0;
  for (int bin = 0; bin < kResidueBins; ++bin) {
    below += histogram[bin];
    if (2 * below >= total) return static_cast<double>(bin) * kResidueStep;
  }
  return 0;
}

struct RatedBlock {
  float flatness;
  int block;
  bool operator<(const RatedBlock& other) const {
    return flatness != other.flatness ? flatness < other.flatness : block < other.block;
  }
};

}  // namespace

float EstimateNoise(const Image& image, ThreadPool& pool) {
  const ConstPlane luma = image.plane(0);
  const BlockGrid grid = BlockGrid::Of(luma);
  std::array<RatedBlock, kMaxBlocks> blocks;
  const auto rate = [&](int first, int last) {
    for (int i = first; i < last; ++i) blocks[i] = {Flatness(luma, grid.X(i), grid.Y(i)), i};
  };
  pool.ParallelRows(grid.count(), 64, std::ref(rate));
  const auto end = std::remove_if(blocks.begin(), blocks.begin() + grid.count(),
                                  [](const RatedBlock& block) { return block.flatness < 0; });
  const int usable = static_cast<int>(end - blocks.begin());
  if (usable == 0) return 0;
  const int chosen = std::min(usable, std::max(kMinBlocks, static_cast<int>(usable * kFlattestShare)));
  std::partial_sort(blocks.begin(), blocks.begin() + chosen, end);
  Histogram histogram{};
  for (int i = 0; i < chosen; ++i)
    CountResidue(luma, grid.X(blocks[i].block), grid.Y(blocks[i].block), histogram);
  const double residue = MedianOf(histogram, chosen * kBlock * kBlock) / kMedianToSigma / kResidueNorm;
  if (residue == 0) return 0;
  const double texture = blocks[chosen / 2].flatness / residue;
  const double trust = std::clamp((kTextureFrom - texture) / (kTextureFrom - kWhiteUpTo), 0.0, 1.0);
  return static_cast<float>(trust * residue / kUnitsPer8BitLevel);
}

}  // namespace reelmend::pixel
