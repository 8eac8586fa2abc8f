// MeasureDamageFeatures. Change it together with engine/training/ground/damage_features.py, which computes the same.
#include "pixel/damage_features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "pixel/damage_grid.h"
#include "pixel/damage_spectra.h"

namespace reelmend::pixel {
namespace {

constexpr int kClip = 24;  // levels; larger gradients count as this in a profile

Grid Across(const Grid& p) {
  Grid out(p.width - 1, p.height);
  for (int y = 0; y < p.height; ++y) {
    const std::int16_t* row = p.Row(y);
    for (int x = 0; x < out.width; ++x) out.Row(y)[x] = static_cast<std::int16_t>(std::abs(row[x + 1] - row[x]));
  }
  return out;
}

Grid Transposed(const Grid& p) {
  Grid out(p.height, p.width);
  for (int y = 0; y < p.height; ++y) {
    for (int x = 0; x < p.width; ++x) out.Row(x)[y] = p.Row(y)[x];
  }
  return out;
}

/// |difference of Laplacians|; element (x, y) is centred on pixel (x + 1, y + 1).
Grid Residue(const Grid& p) {
  Grid out(p.width - 2, p.height - 2);
  for (int y = 0; y < out.height; ++y) {
    const std::int16_t* a = p.Row(y);
    const std::int16_t* b = p.Row(y + 1);
    const std::int16_t* c = p.Row(y + 2);
    std::int16_t* to = out.Row(y);
    for (int x = 0; x < out.width; ++x) {
      const int above = a[x] - 2 * a[x + 1] + a[x + 2];
      const int here = b[x] - 2 * b[x + 1] + b[x + 2];
      const int below = c[x] - 2 * c[x + 1] + c[x + 2];
      to[x] = static_cast<std::int16_t>(std::min(std::abs(above - 2 * here + below), 32767));
    }
  }
  return out;
}

double MeanOf(const std::vector<std::int16_t>& values) {
  return static_cast<double>(std::accumulate(values.begin(), values.end(), std::int64_t{0})) / static_cast<double>(values.size());
}

template <typename Counts>
double QuantileOf(const Counts& counts, double share) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  const double target = share * total;
  double before = 0;
  std::size_t at = 0;
  while (at + 1 < counts.size() && before + static_cast<double>(counts[at]) < target) before += static_cast<double>(counts[at++]);
  return static_cast<double>(at) + (target - before) / static_cast<double>(std::max<std::int64_t>(1, counts[at]));
}

// Profiles.

struct Profiles {
  std::vector<double> first;   ///< mean gradient by column
  std::vector<double> second;  ///< mean second difference
  std::vector<double> peaks;   ///< share of rows whose gradient is above that of both sides
};

Profiles ProfilesOf(const Grid& p, const Grid& across) {
  const auto width = static_cast<std::size_t>(p.width);
  std::vector<int> first(width - 1);
  std::vector<int> second(width - 2);
  std::vector<int> peaks(width - 3);
  for (int y = 0; y < p.height; ++y) {
    const std::int16_t* row = p.Row(y);
    const std::int16_t* d = across.Row(y);
    for (std::size_t x = 0; x < first.size(); ++x) first[x] += std::min<int>(d[x], kClip);
    for (std::size_t x = 0; x < second.size(); ++x) second[x] += std::min(std::abs(row[x] - 2 * row[x + 1] + row[x + 2]), kClip);
    for (std::size_t x = 0; x < peaks.size(); ++x) peaks[x] += d[x + 1] > std::max(d[x], d[x + 2]) ? 1 : 0;
  }
  const auto mean = [&](const std::vector<int>& sums) {
    std::vector<double> means(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) means[i] = static_cast<double>(sums[i]) / p.height;
    return means;
  };
  return {mean(first), mean(second), mean(peaks)};
}

/// How far a profile exceeds its surroundings: at the position of encoders' grid of 8, and at the strongest other position.
void AddGrid(const std::vector<double>& profile, double scale, Features& features) {
  constexpr std::size_t kOfEncoders = 6;  // element i lies between pixels i + 1 and i + 2
  double elsewhere = -1e9;
  double at_grid = 0;
  for (std::size_t phase = 0; phase < 8; ++phase) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = phase; i < profile.size(); i += 8, ++count) sum += profile[i];
    const double height = sum / count / scale;
    if (phase == kOfEncoders) {
      at_grid = height;
    } else {
      elsewhere = std::max(elsewhere, height);
    }
  }
  features.Add(at_grid);
  features.Add(elsewhere);
}

void AddGrids(const Profiles& profiles, Features& features) {
  const std::vector<double>& first = profiles.first;
  std::vector<double> raised(first.size() - 2);
  for (std::size_t i = 0; i < raised.size(); ++i) raised[i] = first[i + 1] - (first[i] + first[i + 2]) / 2;
  AddGrid(raised, Mean(first) + kSmall, features);
  std::vector<double> peaks = profiles.peaks;
  const double mean = Mean(peaks);
  for (double& value : peaks) value -= mean;
  AddGrid(peaks, 1, features);
}

// Gradients and residues by quantile.

using LevelCounts = std::array<std::int32_t, 256>;

LevelCounts GradientCounts(const Grid& p, int lag) {
  LevelCounts across = {};
  LevelCounts down = {};  // separate, so that consecutive equal numbers do not wait for each other
  for (int y = 0; y < p.height; y += 2) {
    const std::int16_t* row = p.Row(y);
    for (int x = 0; x + lag < p.width; ++x) ++across[static_cast<std::size_t>(std::abs(row[x + lag] - row[x]))];
    if (y + lag >= p.height) continue;
    const std::int16_t* below = p.Row(y + lag);
    for (int x = 0; x < p.width; ++x) ++down[static_cast<std::size_t>(std::abs(below[x] - row[x]))];
  }
  for (std::size_t i = 0; i < across.size(); ++i) across[i] += down[i];
  return across;
}

Grid Halved(const Grid& p) {
  Grid out(p.width / 2, p.height / 2);
  for (int y = 0; y < out.height; ++y) {
    const std::int16_t* a = p.Row(2 * y);
    const std::int16_t* b = p.Row(2 * y + 1);
    for (int x = 0; x < out.width; ++x) out.Row(y)[x] = static_cast<std::int16_t>(a[2 * x] + a[2 * x + 1] + b[2 * x] + b[2 * x + 1]);
  }
  return out;
}

void AddResidueQuantiles(const Grid& residue, int level, Features& features) {
  std::vector<std::int32_t> counts(16 * 256);
  for (int y = 0; y < residue.height; y += 2) {
    const std::int16_t* row = residue.Row(y);
    for (int x = 0; x < residue.width; ++x) ++counts[static_cast<std::size_t>(row[x] >> (2 * level))];
  }
  for (const double share : {0.1, 0.25, 0.5, 0.75, 0.9}) features.Add(Log(QuantileOf(counts, share)));
}

// Blocks and cells.

struct Block {
  double deviation;
  double rough;  ///< mean residue
};

Block BlockAt(const Grid& p, const Grid& residue, int x0, int y0) {
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  std::int64_t rough = 0;
  for (int y = y0; y < y0 + 8; ++y) {
    const std::int16_t* row = p.Row(y + 1) + x0 + 1;
    const std::int16_t* beside = residue.Row(y) + x0;
    for (int x = 0; x < 8; ++x) {
      sum += row[x];
      squares += row[x] * row[x];
      rough += beside[x];
    }
  }
  return {std::sqrt(static_cast<double>(64 * squares - sum * sum) / 4096), static_cast<double>(rough) / 64};
}

void AddBlocks(const Grid& p, const Grid& residue, Features& features) {
  const int rows = p.height / 8 - 1;
  const int columns = p.width / 8 - 1;
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) blocks.push_back(BlockAt(p, residue, 8 * x, 8 * y));
  }
  std::ranges::stable_sort(blocks, {}, &Block::deviation);
  const auto count = blocks.size();
  for (const double share : {0.05, 0.15, 0.3, 0.5, 0.8}) {
    const auto at = std::min(count - 1, static_cast<std::size_t>(share * static_cast<double>(count)));
    features.Add(Log(blocks[at].deviation + kSmall));
  }
  for (const std::size_t part : {std::max<std::size_t>(1, count / 10), std::max<std::size_t>(1, count / 4)}) {
    double sum = 0;
    for (std::size_t i = 0; i < part; ++i) sum += blocks[i].rough;
    features.Add(Log(sum / static_cast<double>(part) + kSmall));
  }
  const auto blank = std::ranges::count(blocks, 0.0, &Block::deviation);
  features.Add(static_cast<double>(blank) / static_cast<double>(count));
}

struct Cells {
  int columns;
  int rows;
  std::vector<int> steps;     ///< largest gradient in each cell of 4×4
  std::vector<double> rough;  ///< mean residue
};

Cells CellsOf(const Grid& p, const Grid& across, const Grid& down, const Grid& residue) {
  Cells cells{p.width / 4 - 1, p.height / 4 - 1, {}, {}};
  for (int cy = 0; cy < cells.rows; ++cy) {
    for (int cx = 0; cx < cells.columns; ++cx) {
      int step = 0;
      int sum = 0;
      for (int y = 4 * cy; y < 4 * cy + 4; ++y) {
        const std::int16_t* a = across.Row(y + 1) + 1;
        const std::int16_t* d = down.Row(y + 1) + 1;
        const std::int16_t* r = residue.Row(y);
        for (int x = 4 * cx; x < 4 * cx + 4; ++x) {
          step = std::max({step, int{a[x]}, int{d[x]}});
          sum += r[x];
        }
      }
      cells.steps.push_back(step);
      cells.rough.push_back(sum / 16.0);
    }
  }
  return cells;
}

bool IsBesideEdge(const Cells& cells, int cx, int cy, double threshold) {
  for (int y = std::max(0, cy - 1); y <= std::min(cells.rows - 1, cy + 1); ++y) {
    for (int x = std::max(0, cx - 1); x <= std::min(cells.columns - 1, cx + 1); ++x) {
      if (cells.steps[static_cast<std::size_t>(y * cells.columns + x)] >= threshold) return true;
    }
  }
  return false;
}

void AddRinging(const Cells& cells, double threshold, Features& features) {
  double near_sum = 0;
  double far_sum = 0;
  double all_sum = 0;
  int near_count = 0;
  int far_count = 0;
  for (int cy = 0; cy < cells.rows; ++cy) {
    for (int cx = 0; cx < cells.columns; ++cx) {
      const auto i = static_cast<std::size_t>(cy * cells.columns + cx);
      all_sum += cells.rough[i];
      if (cells.steps[i] >= threshold / 2) continue;
      const bool beside = IsBesideEdge(cells, cx, cy, threshold);
      (beside ? near_sum : far_sum) += cells.rough[i];
      ++(beside ? near_count : far_count);
    }
  }
  const double count = static_cast<double>(cells.rough.size());
  const double near = (near_count > 0 ? near_sum / near_count : all_sum / count) + kSmall;
  const double far = (far_count > 0 ? far_sum / far_count : all_sum / count) + kSmall;
  features.Add(Log(near));
  features.Add(Log(far));
  features.Add(Log(near / far));
  features.Add(near_count / count);
}

// Lines and levels.

double MeanGradient(const Grid& p, int right, int below) {
  std::int64_t sum = 0;
  for (int y = 0; y + below < p.height; ++y) {
    const std::int16_t* a = p.Row(y);
    const std::int16_t* b = p.Row(y + below) + right;
    int row = 0;
    for (int x = 0; x + right < p.width; ++x) row += std::abs(b[x] - a[x]);
    sum += row;
  }
  return static_cast<double>(sum) / (static_cast<double>(p.width - right) * (p.height - below));
}

/// Mean vertical second difference of every second row from `first` on.
double MeanCurvature(const Grid& p, int first) {
  std::int64_t sum = 0;
  int rows = 0;
  for (int y = first; y + 2 < p.height; y += 2, ++rows) {
    for (int x = 0; x < p.width; ++x) sum += std::abs(p.Row(y)[x] - 2 * p.Row(y + 1)[x] + p.Row(y + 2)[x]);
  }
  return static_cast<double>(sum) / (static_cast<double>(p.width) * rows);
}

double ShareOfNone(const Grid& grid) {
  return static_cast<double>(std::ranges::count(grid.values, std::int16_t{0})) / static_cast<double>(grid.values.size());
}

void AddLines(const Grid& p, const Grid& across, const Grid& down, Features& features) {
  features.Add(Log((MeanOf(across.values) + kSmall) / (MeanGradient(p, 2, 0) + kSmall)));
  features.Add(Log((MeanOf(down.values) + kSmall) / (MeanGradient(p, 0, 2) + kSmall)));
  features.Add(std::abs(Log((MeanCurvature(p, 0) + kSmall) / (MeanCurvature(p, 1) + kSmall))));
  features.Add(ShareOfNone(across));
  features.Add(ShareOfNone(down));
}

void AddLevels(const Grid& p, Features& features) {
  constexpr double kLegal = 219;
  std::array<std::int64_t, 256> counts = {};
  for (const std::int16_t value : p.values) ++counts[static_cast<std::size_t>(value)];
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += static_cast<double>(i) * static_cast<double>(counts[i]);
    squares += static_cast<double>(i * i) * static_cast<double>(counts[i]);
  }
  const auto count = static_cast<double>(p.values.size());
  features.Add(Log(std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count))) + kSmall));
  features.Add((QuantileOf(counts, 0.99) - QuantileOf(counts, 0.01)) / kLegal);
  features.Add(sum / count / kLegal);
}

}  // namespace

LumaWindow CutWindow(const Image& image, int x0, int y0, int width, int height) {
  LumaWindow window{width, height, {}};
  window.levels.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const bool is_full = image.color().range == Range::kFull;
  const ConstPlane luma = image.plane(0);
  for (int y = y0; y < y0 + height; ++y) {
    const std::uint16_t* row = luma.Row(y) + x0;
    for (int x = 0; x < width; ++x) {
      const int units = is_full ? 16 * kUnitsPer8BitLevel + row[x] * 219 / 255 : row[x];
      window.levels.push_back(static_cast<std::uint8_t>(std::min(255, (units + kUnitsPer8BitLevel / 2) / kUnitsPer8BitLevel)));
    }
  }
  return window;
}

DamageFeatures MeasureDamageFeatures(const LumaWindow& window) {
  Grid p(window.width, window.height);
  std::ranges::copy(window.levels, p.values.begin());
  const Grid transposed = Transposed(p);
  const Grid across = Across(p);
  const Grid across_transposed = Across(transposed);
  const Grid down = Transposed(across_transposed);
  const Grid residue = Residue(p);
  const Profiles by_column = ProfilesOf(p, across);
  const Profiles by_row = ProfilesOf(transposed, across_transposed);
  Features features;
  AddSpectra(p, across, down, features);
  AddGrids(by_column, features);
  AddGrids(by_row, features);
  AddPeriods(by_column.first, by_row.first, features);
  AddPeriods(by_column.second, by_row.second, features);
  for (const int lag : {1, 2, 4, 8}) {
    const LevelCounts counts = GradientCounts(p, lag);
    for (const double share : {0.5, 0.75, 0.9, 0.97, 0.995}) features.Add(Log(QuantileOf(counts, share)));
  }
  AddResidueQuantiles(residue, 0, features);
  const Grid half = Halved(p);
  AddResidueQuantiles(Residue(half), 1, features);
  AddResidueQuantiles(Residue(Halved(half)), 2, features);
  AddBlocks(p, residue, features);
  AddRinging(CellsOf(p, across, down, residue), std::max(10.0, QuantileOf(GradientCounts(p, 1), 0.97)), features);
  AddLines(p, across, down, features);
  AddLevels(p, features);
  return features.values();
}

}  // namespace reelmend::pixel
