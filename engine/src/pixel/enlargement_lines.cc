#include "pixel/enlargement_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <numeric>

namespace reelmend::pixel {
namespace {

constexpr int kPeriod = 1024;  ///< bins of a whole turn
constexpr int kLongestSegment = 512;
constexpr double kSmallPower = 1e-5;

// Bins.
constexpr int kLobe = 2;          ///< the lines of columns and rows may lie so far apart
constexpr int kNeighboursFrom = 11;
constexpr int kNeighboursTo = 44;
constexpr int kLowest = 70;       ///< below, pictures have power of their own
constexpr int kGrid = kPeriod / 16;
constexpr int kGridReach = 7;
constexpr int kLineFrom = 195;    ///< a scale of 0.81: a smaller enlargement is of no interest

constexpr double kAboveLowLines = 1;  ///< logarithm of power

/// Mean second differences: of each column but the outer ones, and of each row but the outer ones.
struct Profiles {
  std::vector<double> columns;
  std::vector<double> rows;
};

Profiles ProfilesOf(const LumaWindow& p) {
  constexpr int kMost = 24;  // levels; one strong edge must not drown a weak line
  const auto second = [&](int a, int b, int c) { return std::min(std::abs(a - 2 * b + c), kMost); };
  std::vector<std::int32_t> columns(static_cast<std::size_t>(p.width) - 2);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(p.height) - 2);
  for (int y = 0; y < p.height; ++y) {
    const std::uint8_t* row = p.levels.data() + static_cast<std::ptrdiff_t>(y) * p.width;
    for (int x = 0; x + 2 < p.width; ++x) columns[static_cast<std::size_t>(x)] += second(row[x], row[x + 1], row[x + 2]);
    if (y + 2 == p.height) continue;
    if (y + 2 > p.height) break;
    std::int32_t sum = 0;
    for (int x = 0; x < p.width; ++x) sum += second(row[x], row[x + p.width], row[x + 2 * p.width]);
    rows[static_cast<std::size_t>(y)] = sum;
  }
  const auto means = [](const std::vector<std::int32_t>& sums, int count) {
    std::vector<double> found(sums.begin(), sums.end());
    for (double& value : found) value /= count;
    return found;
  };
  return {means(columns, p.height), means(rows, p.width)};
}

/// Each value less the mean of the nine around it, relative to the mean of all; edges are repeated.
std::vector<double> WithoutLocalMean(const std::vector<double>& profile) {
  constexpr int kReach = 4;
  constexpr double kSmall = 0.1;  // levels
  const int last = static_cast<int>(profile.size()) - 1;
  const double mean = std::accumulate(profile.begin(), profile.end(), 0.0) / static_cast<double>(profile.size());
  std::vector<double> made(profile.size());
  for (int i = 0; i <= last; ++i) {
    double sum = 0;
    for (int j = i - kReach; j <= i + kReach; ++j) sum += profile[static_cast<std::size_t>(std::clamp(j, 0, last))];
    made[static_cast<std::size_t>(i)] = (profile[static_cast<std::size_t>(i)] - sum / (2 * kReach + 1)) / (mean + kSmall);
  }
  return made;
}

const std::array<double, kPeriod>& Cosines() {
  static const auto table = [] {
    std::array<double, kPeriod> made;
    for (int i = 0; i < kPeriod; ++i) made[static_cast<std::size_t>(i)] = std::cos(2 * std::numbers::pi * i / kPeriod);
    return made;
  }();
  return table;
}

/// |Fourier transform|² of values at a bin.
double PowerAt(const std::vector<double>& values, int bin) {
  const auto& cosines = Cosines();
  double real = 0;
  double imaginary = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const std::size_t turn = n * static_cast<std::size_t>(bin) % kPeriod;
    real += values[n] * cosines[turn];
    imaginary += values[n] * cosines[(turn + 3 * kPeriod / 4) % kPeriod];
  }
  return real * real + imaginary * imaginary;
}

bool IsOnGrid(int bin) {
  const int past = bin % kGrid;
  return std::min(past, kGrid - past) <= kGridReach;
}

}  // namespace

/// Adds the logarithm of the mean power of segments that overlap by half.
void EnlargementLines::AddSpectrum(const std::vector<double>& profile, Spectrum& sum) {
  const std::vector<double> values = WithoutLocalMean(profile);
  const std::size_t length = std::min<std::size_t>(kLongestSegment, values.size());
  Spectrum power = {};
  double weight = 0;
  for (std::size_t start = 0; start + length <= values.size(); start += length / 2) {
    std::vector<double> segment(length);
    for (std::size_t i = 0; i < length; ++i) {
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length - 1));
      segment[i] = values[start + i] * hann;
      weight += hann * hann;
    }
    for (int bin = 0; bin < kBins; ++bin) power[static_cast<std::size_t>(bin)] += PowerAt(segment, bin);
  }
  for (std::size_t bin = 0; bin < power.size(); ++bin) sum[bin] += std::log(power[bin] / weight + kSmallPower);
}

void EnlargementLines::Add(const LumaWindow& picture) {
  if (std::min(picture.width, picture.height) < kSmallestSide) return;
  const Profiles profiles = ProfilesOf(picture);
  AddSpectrum(profiles.columns, columns_);
  AddSpectrum(profiles.rows, rows_);
  ++pictures_;
}

/// How far each bin, or one beside it, is above the median of its neighbours.
EnlargementLines::Spectrum EnlargementLines::Prominence(const Spectrum& logs) {
  Spectrum own = {};
  for (int bin = kLowest - kLobe; bin < kBins; ++bin) {
    std::vector<double> neighbours;
    for (int away = kNeighboursFrom; away <= kNeighboursTo; ++away) {
      for (const int at : {bin - away, bin + away}) {
        if (at >= 0 && at < kBins) neighbours.push_back(logs[static_cast<std::size_t>(at)]);
      }
    }
    const auto middle = neighbours.begin() + static_cast<std::ptrdiff_t>(neighbours.size() / 2);
    std::ranges::nth_element(neighbours, middle);
    own[static_cast<std::size_t>(bin)] = logs[static_cast<std::size_t>(bin)] - *middle;
  }
  Spectrum widened = {};
  for (int bin = kLowest; bin < kBins; ++bin) {
    const auto from = own.begin() + bin - kLobe;
    widened[static_cast<std::size_t>(bin)] = *std::max_element(from, own.begin() + std::min(bin + kLobe + 1, kBins));
  }
  return widened;
}

std::optional<float> EnlargementLines::Scale(float about, double least) const {
  if (pictures_ == 0) return std::nullopt;
  const auto mean = [&](Spectrum sums) {
    for (double& value : sums) value /= pictures_;
    return sums;
  };
  const Spectrum columns = Prominence(mean(columns_));
  const Spectrum rows = Prominence(mean(rows_));
  double low = 0;
  double best = 0;
  int line = 0;
  for (int bin = kLowest; bin < kBins; ++bin) {
    if (IsOnGrid(bin)) continue;
    const double both = std::min(columns[static_cast<std::size_t>(bin)], rows[static_cast<std::size_t>(bin)]);
    if (bin < kLineFrom) {
      low = std::max(low, both);
    } else if (both > best) {
      best = both;
      line = bin;
    }
  }
  if (best < std::max(least, low + kAboveLowLines)) return std::nullopt;
  const float frequency = static_cast<float>(line) / kPeriod;
  const auto distance = [&](float scale) { return std::abs(std::log(scale / about)); };
  return distance(frequency) < distance(1 - frequency) ? frequency : 1 - frequency;
}

}  // namespace reelmend::pixel
