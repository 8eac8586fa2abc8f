#include "pixel/resize_int16_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reelmend::pixel {
namespace {

constexpr int kUnit = 1 << 15;
constexpr int kLanes = 16;
constexpr int kAlign = 32;       // samples in 64 bytes
constexpr int kRingBytes = 16384;  // leaves space for the rows that are read and written
constexpr int kLanczosTaps = 6;

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }
int RoundDown(int value, int multiple) { return value >= 0 ? value / multiple * multiple : -RoundUp(-value, multiple); }

Int16Axis MakeWordAxis(const AxisPlan& plan) {
  Int16Axis axis;
  axis.taps = std::max(plan.taps, 2);
  axis.pairs = (axis.taps + 1) / 2;
  for (std::size_t set = 0; set < plan.start.size(); ++set) {
    const auto weights = QuantiseWeights(plan.weights.data() + set * plan.taps, plan.taps);
    axis.weights.insert(axis.weights.end(), weights.begin(), weights.end());
  }
  return axis;
}

/// Blocks of 16 outputs, if the inputs of each lie within 33 from its first one on.
void AddBlocks(const AxisPlan& plan, Int16Axis& axis) {
  const auto start = [&](int i) { return plan.Start(std::min(i, plan.dst - 1)); };
  const int blocks = RoundUp(plan.dst, 2 * kLanes) / kLanes;
  int widest = 0;
  for (int i = 0; i < plan.dst; i += kLanes) widest = std::max(widest, start(i + kLanes - 1) - start(i) + 2 * axis.pairs);
  if (widest > 2 * kLanes + 1) return;
  axis.block_sets = std::min(blocks, plan.period / std::gcd(plan.period, kLanes));
  const int advance = axis.block_sets * kLanes / plan.period * plan.period_inputs;
  for (int b = 0; b < blocks; ++b) {
    axis.block_first.push_back(start(b % axis.block_sets * kLanes) + b / axis.block_sets * advance);
  }
  axis.block_index = AlignedArray<std::int32_t>(static_cast<std::size_t>(axis.block_sets) * kLanes);
  axis.block_weights = AlignedArray<std::int32_t>(static_cast<std::size_t>(axis.block_sets) * kLanes * axis.pairs);
  for (int b = 0; b < axis.block_sets; ++b) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int i = std::min(b * kLanes + lane, plan.dst - 1);
      const int offset = start(i) - start(b * kLanes);
      axis.block_index.get()[b * kLanes + lane] = offset / 2 + offset % 2 * kLanes;
      for (int j = 0; j < axis.pairs; ++j) {
        axis.block_weights.get()[(b * axis.pairs + j) * kLanes + lane] = axis.Pair(plan.Set(i), 2 * j);
      }
    }
  }
}

void AddRowPairs(int padding, int sets, Int16Axis& axis) {
  axis.pairs_padding = padding;
  for (int set = 0; set < sets; ++set) {
    for (const int late : {0, 1}) {
      axis.row_pairs.insert(axis.row_pairs.end(), padding, 0);
      for (int k = 0; k <= axis.pairs; ++k) axis.row_pairs.push_back(axis.Pair(set, 2 * k - late));
      axis.row_pairs.insert(axis.row_pairs.end(), padding, 0);
    }
  }
}

/// The pairs of a set's weights, one set after the other.
std::vector<std::int32_t> PairsOf(const Int16Axis& axis, int sets) {
  std::vector<std::int32_t> pairs;
  for (int set = 0; set < sets; ++set) {
    for (int j = 0; j < axis.pairs; ++j) pairs.push_back(axis.Pair(set, 2 * j));
  }
  return pairs;
}

/// As few strips as keep the ring of rows in the nearest cache; one when reducing, which has no ring.
void CutIntoStrips(const AxisPlan& x, const AxisPlan& y, Int16Plan& plan) {
  const int wanted = y.reduces ? x.dst : kRingBytes / (4 * plan.ring_pairs);
  const int pieces = std::max(1, (x.dst + wanted / 2) / wanted);
  const int width = RoundUp((x.dst + pieces - 1) / pieces, plan.thirds ? 96 : 64);
  for (int first = 0; first < x.dst; first += width) {
    Strip strip{first, std::min(first + width, x.dst), 0, 0};
    // One more on either side, see Note [Strips] in resize.cc; lanes beyond a row's end repeat its last output.
    strip.from = RoundDown(x.Start(first) - 2, kAlign);
    strip.to = x.Start(strip.last - 1) + 2 * plan.x.pairs + 1;
    for (int i = std::max(first, strip.last - 4); i < strip.last; ++i) strip.to = std::max(strip.to, x.Start(i) + 2 * plan.x.pairs + 1);
    plan.strips.push_back(strip);
  }
}

/// Ratios whose rows need no permutes when they are enlarged.
void FindShortWay(const AxisPlan& x, Int16Plan& plan) {
  const int phases = x.phases == 2 ? 2 : x.period == 3 && x.period_inputs == 2 && x.dst >= 3 ? 3 : 0;
  if (phases == 0 || x.taps != kLanczosTaps) return;
  for (int p = 1; p < phases; ++p) plan.late[p] = x.Start(p) - x.Start(0);
  const auto is = [&](int second, int third) { return plan.late[1] == second && plan.late[2] == third; };
  plan.twice = phases == 2 && (is(0, 0) || is(1, 0));
  plan.thirds = phases == 3 && (is(0, 1) || is(1, 1) || is(1, 2));
}

/// Most pairs of rows that one call of the vertical sums reads.
int MostRowPairs(const AxisPlan& y, int taps, int outputs) {
  int most = 0;
  for (int i = 0; i < y.dst; ++i) most = std::max(most, y.Start(std::min(i + outputs - 1, y.dst - 1)) + taps - y.Start(i));
  return most / 2 + 1;
}

}  // namespace

std::vector<std::int16_t> QuantiseWeights(const float* weights, int taps) {
  std::vector<int> units(static_cast<std::size_t>(std::max(taps, 2)), 0);
  std::vector<double> exact(units.size(), 0.0);
  for (int k = 0; k < taps; ++k) {
    exact[k] = static_cast<double>(weights[k]) * kUnit;
    units[k] = std::min(static_cast<int>(std::lround(exact[k])), kUnit - 1);
  }
  // Skips taps without weight unless there is no other: they may lie beyond what the sum needs.
  for (int lacks = kUnit - std::accumulate(units.begin(), units.end(), 0); lacks != 0;) {
    const int step = lacks > 0 ? 1 : -1;
    std::size_t best = units.size();
    double best_error = 0;
    for (std::size_t k = 0; k < units.size(); ++k) {
      if (units[k] + step >= kUnit) continue;
      const double error = std::abs(units[k] + step - exact[k]) - std::abs(units[k] - exact[k]) + (exact[k] == 0 ? 0.5 : 0);
      if (best == units.size() || error < best_error) best = k, best_error = error;
    }
    units[best] += step;
    lacks -= step;
  }
  return {units.begin(), units.end()};
}

std::int32_t Int16Axis::Pair(int set, int first_tap) const {
  const auto tap = [&](int k) -> std::uint32_t {
    if (k < 0 || k >= taps) return 0;
    return static_cast<std::uint16_t>(weights[static_cast<std::size_t>(set) * taps + k]);
  };
  return static_cast<std::int32_t>(tap(first_tap) | tap(first_tap + 1) << 16);
}

Int16Plan MakeInt16Plan(const AxisPlan& x, const AxisPlan& y) {
  Int16Plan plan;
  if (x.identity && y.identity) return plan;
  plan.x = MakeWordAxis(x);
  plan.y = MakeWordAxis(y);
  plan.halves_y = y.halves && y.taps == 2 * kLanczosTaps;
  plan.halves_x = x.halves && x.taps == 2 * kLanczosTaps && y.reduces;
  if (!y.reduces) FindShortWay(x, plan);
  if (!plan.halves_x && !plan.twice && !plan.thirds) {
    AddBlocks(x, plan.x);
    if (plan.x.block_sets == 0) return plan;
  }
  const int most = MostRowPairs(y, plan.y.taps, y.reduces ? Int16Sums::kOutputs : 2);
  if (most > Int16Sums::kMostPairs) return plan;
  plan.fits = true;
  AddRowPairs(most, static_cast<int>(y.start.size()), plan.y);
  if (plan.twice || plan.thirds) plan.x_pairs = PairsOf(plan.x, plan.twice ? 2 : 3);
  if (plan.halves_x) plan.x_pairs = PairsOf(plan.x, 1);
  if (plan.halves_y) plan.y_pairs = PairsOf(plan.y, 1);
  for (plan.ring_pairs = 1; plan.ring_pairs < most + 2;) plan.ring_pairs *= 2;
  CutIntoStrips(x, y, plan);
  return plan;
}

Int16Blocks BlocksOf(const Int16Axis& axis, int first, int last, int origin) {
  Int16Blocks blocks;
  blocks.count = RoundUp(last - first, 2 * kLanes) / kLanes;
  blocks.sets = axis.block_sets;
  blocks.first_set = first / kLanes % axis.block_sets;
  blocks.origin = origin;
  blocks.pairs = axis.pairs;
  blocks.first = axis.block_first.data() + first / kLanes;
  blocks.index = axis.block_index.get();
  blocks.weights = axis.block_weights.get();
  return blocks;
}

}  // namespace reelmend::pixel
