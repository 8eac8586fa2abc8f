// Spectra and periods. Change them together with engine/training/ground/damage_features.py, which computes the same.
#include "pixel/damage_spectra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

namespace reelmend::pixel {
namespace {

constexpr int kTile = 32;
constexpr int kBands = 16;
constexpr int kAxisBands = 7;
constexpr int kSegment = 128;
constexpr int kHop = 64;
constexpr double kRounded = 0.05;  // power of the rounding to whole levels, in every coefficient

using DctMatrix = std::array<std::array<float, kTile>, kTile>;

const DctMatrix& Dct() {
  static const DctMatrix matrix = [] {
    DctMatrix made = {};
    for (int k = 0; k < kTile; ++k) {
      const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / kTile);
      for (int n = 0; n < kTile; ++n) {
        made[k][n] = static_cast<float>(scale * std::cos(std::numbers::pi * (2 * n + 1) * k / (2.0 * kTile)));
      }
    }
    return made;
  }();
  return matrix;
}

using TilePower = std::array<std::array<float, kTile>, kTile>;  // [down][across]

TilePower PowerOf(const Grid& p, int x0, int y0) {
  const DctMatrix& dct = Dct();
  float mean = 0;
  for (int y = 0; y < kTile; ++y) {
    for (int x = 0; x < kTile; ++x) mean += static_cast<float>(p.Row(y0 + y)[x0 + x]);
  }
  mean /= kTile * kTile;
  TilePower half = {};  // transformed vertically
  for (int n = 0; n < kTile; ++n) {
    std::array<float, kTile> row;
    for (int x = 0; x < kTile; ++x) row[x] = static_cast<float>(p.Row(y0 + n)[x0 + x]) - mean;
    for (int k = 0; k < kTile; ++k) {
      const float weight = dct[k][n];
      for (int x = 0; x < kTile; ++x) half[k][x] += weight * row[x];
    }
  }
  static const DctMatrix transposed = [] {
    DctMatrix made = {};
    for (int k = 0; k < kTile; ++k) {
      for (int n = 0; n < kTile; ++n) made[n][k] = Dct()[k][n];
    }
    return made;
  }();
  TilePower power = {};
  for (int k = 0; k < kTile; ++k) {
    std::array<float, kTile> sums = {};
    for (int n = 0; n < kTile; ++n) {
      const float value = half[k][n];
      for (int u = 0; u < kTile; ++u) sums[u] += value * transposed[n][u];
    }
    for (int u = 0; u < kTile; ++u) power[k][u] = sums[u] * sums[u];
  }
  return power;
}

/// ln of the mean power of the coefficients whose larger index lies in each band.
template <std::size_t Bands>
std::array<double, Bands> BandLogs(const TilePower& power) {
  std::array<double, Bands> sums = {};
  std::array<int, Bands> counts = {};
  for (int k = 0; k < kTile; ++k) {
    for (int u = 0; u < kTile; ++u) {
      const std::size_t band = static_cast<std::size_t>(std::max(k, u)) * Bands / kTile;
      sums[band] += static_cast<double>(power[k][u]);
      ++counts[band];
    }
  }
  for (std::size_t b = 0; b < Bands; ++b) sums[b] = Log(sums[b] / counts[b] + kRounded);
  return sums;
}

/// Adds the logarithms of power by bands of four along an axis.
void AddAxisLogs(const TilePower& power, bool by_rows, std::array<double, kAxisBands>& sums) {
  for (int band = 0; band < kAxisBands; ++band) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      const int at = 4 + 4 * band + i;
      for (int other = 0; other < kTile; ++other) sum += static_cast<double>(by_rows ? power[at][other] : power[other][at]);
    }
    sums[band] += Log(sum / (4 * kTile) + kRounded);
  }
}

int BusyOf(const Grid& across, const Grid& down, int x0, int y0) {
  int sum = 0;
  for (int y = y0; y < y0 + kTile; ++y) {
    const int right = std::min(x0 + kTile, across.width);
    for (int x = x0; x < right; ++x) sum += across.Row(y)[x];
    if (y >= down.height) continue;
    for (int x = x0; x < x0 + kTile; ++x) sum += down.Row(y)[x];
  }
  return sum;
}

constexpr int kBins = kSegment / 2;
using Spectrum = std::array<double, kBins>;

struct Fourier {
  std::array<double, kSegment> window;
  std::array<Spectrum, kSegment> cosines;  ///< [sample][bin], so that bins are summed side by side
  std::array<Spectrum, kSegment> sines;
};

const Fourier& FourierTable() {
  static const Fourier table = [] {
    Fourier made;
    const double turn = 2 * std::numbers::pi / kSegment;
    for (int n = 0; n < kSegment; ++n) {
      made.window[n] = 0.5 - 0.5 * std::cos(turn * (n + 0.5));
      for (int bin = 0; bin < kBins; ++bin) {
        made.cosines[n][bin] = std::cos(turn * (n * (bin + 1) % kSegment));
        made.sines[n][bin] = std::sin(turn * (n * (bin + 1) % kSegment));
      }
    }
    return made;
  }();
  return table;
}

/// Adds to `power` the power of each bin of a profile, after subtracting its mean and relative to it.
void AddPeriodogram(const std::vector<double>& profile, Spectrum& power) {
  const Fourier& table = FourierTable();
  const double mean = Mean(profile);
  std::vector<double> values(std::max<std::size_t>(profile.size(), kSegment));
  for (std::size_t i = 0; i < profile.size(); ++i) values[i] = (profile[i] - mean) / (mean + kSmall);
  const int segments = (static_cast<int>(values.size()) - kSegment) / kHop + 1;
  for (int s = 0; s < segments; ++s) {
    Spectrum real = {};
    Spectrum imaginary = {};
    for (int n = 0; n < kSegment; ++n) {
      const double value = values[s * kHop + n] * table.window[n];
      for (int bin = 0; bin < kBins; ++bin) real[bin] += value * table.cosines[n][bin];
      for (int bin = 0; bin < kBins; ++bin) imaginary[bin] += value * table.sines[n][bin];
    }
    for (int bin = 0; bin < kBins; ++bin) power[bin] += (real[bin] * real[bin] + imaginary[bin] * imaginary[bin]) / segments;
  }
}

}  // namespace

void AddSpectra(const Grid& p, const Grid& across, const Grid& down, Features& features) {
  const int columns = p.width / kTile;
  const int count = columns * (p.height / kTile);
  std::vector<int> busy(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) busy[i] = BusyOf(across, down, i % columns * kTile, i / columns * kTile);
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return busy[i]; });
  const int part = std::max(1, count / 4);
  const auto power_at = [&](int place) { return PowerOf(p, order[place] % columns * kTile, order[place] / columns * kTile); };
  std::array<double, kBands> mean = {};
  std::array<double, kBands> greatest;
  greatest.fill(-1e9);
  std::array<double, kAxisBands> by_rows = {};
  std::array<double, kAxisBands> by_columns = {};
  for (int i = count - part; i < count; ++i) {
    const TilePower power = power_at(i);
    const auto logs = BandLogs<kBands>(power);
    for (int b = 0; b < kBands; ++b) {
      mean[b] += logs[b] / part;
      greatest[b] = std::max(greatest[b], logs[b]);
    }
    AddAxisLogs(power, true, by_rows);
    AddAxisLogs(power, false, by_columns);
  }
  std::array<double, kBands / 2> flat = {};
  for (int i = 0; i < part; ++i) {
    const auto logs = BandLogs<kBands / 2>(power_at(i));
    for (int b = 0; b < kBands / 2; ++b) flat[b] += logs[b] / part;
  }
  for (const double value : mean) features.Add(value);
  for (const double value : greatest) features.Add(value);
  for (const double value : flat) features.Add(value);
  for (const double value : by_columns) features.Add(value / part);
  for (const double value : by_rows) features.Add(value / part);
}

void AddPeriods(const std::vector<double>& across, const std::vector<double>& down, Features& features) {
  constexpr int kReach = 6;
  Spectrum power = {};
  AddPeriodogram(across, power);
  AddPeriodogram(down, power);
  Spectrum logs;
  for (int bin = 0; bin < kBins; ++bin) logs[bin] = Log(power[bin] + 1e-6);
  Spectrum lines;
  for (int bin = 0; bin < kBins; ++bin) {
    const int low = std::max(bin - kReach, 0);
    const int high = std::min(bin + kReach + 1, kBins);
    lines[bin] = logs[bin] - std::accumulate(logs.begin() + low, logs.begin() + high, 0.0) / (high - low);
  }
  for (int bin = 0; bin < kBins; bin += 2) features.Add(std::max(lines[bin], lines[bin + 1]));
}

}  // namespace reelmend::pixel
