#include "pixel/resize_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

namespace reelmend::pixel {
namespace {

constexpr double kLobes = 3;
constexpr int kMaxPhases = 4;  // Highway interleaves up to four vectors
constexpr double kNegligible = 1e-9;

double Lanczos(double x) {
  x = std::abs(x);
  if (x < 1e-12) return 1;
  if (x >= kLobes) return 0;
  const double a = std::numbers::pi * x;
  return kLobes * std::sin(a) * std::sin(a / kLobes) / (a * a);
}

struct Tap {
  int start = 0;
  std::vector<double> weights;
};

/// Weights of one output whose position among the inputs is `centre`. Starts grow with the centre.
Tap MakeTap(double centre, double widening) {
  const double support = kLobes * widening;
  const int first = static_cast<int>(std::floor(centre - support)) + 1;
  const int last = static_cast<int>(std::ceil(centre + support)) - 1;
  Tap tap{first, {}};
  double sum = 0;
  for (int i = first; i <= last; ++i) {
    tap.weights.push_back(Lanczos((i - centre) / widening));
    sum += tap.weights.back();
  }
  for (double& w : tap.weights) w /= sum;
  return tap;
}

/// Negligible weights before the first one that matters.
template <typename Iterator>
std::ptrdiff_t CountNegligible(Iterator begin, Iterator end) {
  return std::find_if(begin, end, [](double w) { return std::abs(w) >= kNegligible; }) - begin;
}

/// Drops the weights at the ends that are negligible in all sets: a plane whose positions do not change has one weight of 1.
/// The same number from every set, so that starts still grow from output to output.
void TrimTaps(std::vector<Tap>& sets) {
  std::ptrdiff_t before = PTRDIFF_MAX;
  for (const Tap& tap : sets)
    before = std::min(before, CountNegligible(tap.weights.begin(), tap.weights.end()));
  for (Tap& tap : sets) {
    tap.start += static_cast<int>(before);
    tap.weights.erase(tap.weights.begin(), tap.weights.begin() + before);
    const std::ptrdiff_t behind = CountNegligible(tap.weights.rbegin(), tap.weights.rend());
    tap.weights.resize(tap.weights.size() - static_cast<std::size_t>(behind));
  }
}

/// Position of a chroma sample along one axis of its block.
enum class ChromaPhase { kFirst, kMiddle, kLast };

SampleGrid ChromaGrid(int log2, ChromaPhase phase, int shift) {
  if (log2 == 0) return {};
  const int step = 1 << log2;
  switch (phase) {
    case ChromaPhase::kFirst: return {step, 0.5 - shift};
    case ChromaPhase::kMiddle: return {step, 0.5 * step - shift};
    case ChromaPhase::kLast: return {step, step - 0.5 - shift};
  }
  return {};
}

ChromaPhase PhaseAcross(ChromaSite site) {
  switch (site) {
    case ChromaSite::kLeft:
    case ChromaSite::kTopLeft:
    case ChromaSite::kBottomLeft: return ChromaPhase::kFirst;
    case ChromaSite::kRight:
    case ChromaSite::kTopRight:
    case ChromaSite::kBottomRight: return ChromaPhase::kLast;
    default: return ChromaPhase::kMiddle;
  }
}

ChromaPhase PhaseDown(ChromaSite site) {
  switch (site) {
    case ChromaSite::kTop:
    case ChromaSite::kTopLeft:
    case ChromaSite::kTopRight: return ChromaPhase::kFirst;
    case ChromaSite::kBottom:
    case ChromaSite::kBottomLeft:
    case ChromaSite::kBottomRight: return ChromaPhase::kLast;
    default: return ChromaPhase::kMiddle;
  }
}

/// Factor of the enlargement if it is a whole number, 0 if the kernels support none.
int WholeFactor(long long src_luma, const SampleGrid& src, long long dst_luma, const SampleGrid& dst) {
  const long long up = dst_luma * src.step;
  const long long down = src_luma * dst.step;
  if (up % down != 0 || up / down > kMaxPhases) return 0;
  return static_cast<int>(up / down);
}

void StoreTaps(const std::vector<Tap>& sets, AxisPlan& plan) {
  plan.taps = 0;
  for (const Tap& tap : sets) plan.taps = std::max(plan.taps, static_cast<int>(tap.weights.size()));
  plan.weights.assign(sets.size() * plan.taps, 0.0F);
  plan.start.clear();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    plan.start.push_back(sets[i].start);
    std::transform(sets[i].weights.begin(), sets[i].weights.end(), plan.weights.begin() + i * plan.taps,
                   [](double w) { return static_cast<float>(w); });
  }
}

/// Blocks for any ratio, unless their inputs lie too far apart.
void AddColumnBlocks(AxisPlan& plan, int lanes) {
  const auto start = [&](int i) { return plan.start[std::min(i, plan.dst - 1)]; };
  int widest = 0;
  for (int i = 0; i < plan.dst; i += lanes) widest = std::max(widest, start(i + lanes - 1) - start(i) + plan.taps);
  if (widest > 2 * lanes) return;
  plan.blocks_are_narrow = widest <= lanes;
  plan.block_lanes = lanes;
  const int blocks = (plan.dst + lanes - 1) / lanes;
  plan.block_sets = std::min(blocks, plan.period / std::gcd(plan.period, lanes));
  const int advance = plan.block_sets * lanes / plan.period * plan.period_inputs;
  for (int b = 0; b < blocks; ++b) {
    plan.block_first.push_back(start(b % plan.block_sets * lanes) + b / plan.block_sets * advance);
  }
  for (int i = 0; i < plan.block_sets * lanes; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) plan.block_index.push_back(start(i + lane) - start(i));
    for (int k = 0; k < plan.taps; ++k) {
      for (int lane = 0; lane < lanes; ++lane) {
        plan.block_weights.push_back(plan.Weights(std::min(i + lane, plan.dst - 1))[k]);
      }
    }
  }
}

}  // namespace

SampleGrid HorizontalGrid(int plane, Subsampling subsampling, const ColorSpec& color) {
  return plane == 0 ? SampleGrid{} : ChromaGrid(subsampling.log2_x, PhaseAcross(color.site), color.shift_x);
}

SampleGrid VerticalGrid(int plane, Subsampling subsampling, const ColorSpec& color) {
  return plane == 0 ? SampleGrid{} : ChromaGrid(subsampling.log2_y, PhaseDown(color.site), color.shift_y);
}

AxisPlan MakeAxisPlan(int src_luma, int src, SampleGrid src_grid, int dst_luma, int dst,
                      SampleGrid dst_grid) {
  const double ratio = static_cast<double>(src_luma) / dst_luma;
  const double step = ratio * dst_grid.step / src_grid.step;
  const double offset = (dst_grid.offset * ratio - src_grid.offset) / src_grid.step;
  AxisPlan plan;
  plan.src = src;
  plan.dst = dst;
  plan.phases = WholeFactor(src_luma, src_grid, dst_luma, dst_grid);
  plan.halves = static_cast<long long>(src_luma) * dst_grid.step == 2LL * dst_luma * src_grid.step;
  plan.reduces = step > 1;
  const long long inputs = static_cast<long long>(src_luma) * dst_grid.step;
  const long long outputs = static_cast<long long>(dst_luma) * src_grid.step;
  plan.period = static_cast<int>(outputs / std::gcd(inputs, outputs));
  plan.period_inputs = static_cast<int>(inputs / std::gcd(inputs, outputs));
  std::vector<Tap> sets;
  const int count = plan.halves ? 1 : plan.phases > 0 ? plan.phases : dst;
  sets.reserve(count);
  for (int i = 0; i < count; ++i) sets.push_back(MakeTap(step * i + offset, std::max(1.0, step)));
  TrimTaps(sets);
  StoreTaps(sets, plan);
  plan.identity = src == dst && plan.phases == 1 && plan.taps == 1 && plan.start[0] == 0;
  plan.outputs_each = std::max(plan.phases, 1);
  plan.inputs_each = plan.halves ? 2 : 1;
  return plan;
}

ColumnBlocks AxisPlan::Blocks(int first, int last, int origin) const {
  ColumnBlocks blocks;
  blocks.count = (last - first + block_lanes - 1) / block_lanes;
  blocks.sets = block_sets;
  blocks.first_set = first / block_lanes % block_sets;
  blocks.taps = taps;
  blocks.origin = origin;
  blocks.is_narrow = blocks_are_narrow;
  blocks.first = block_first.data() + first / block_lanes;
  blocks.index = block_index.data();
  blocks.weights = block_weights.data();
  return blocks;
}

void AddShortWays(AxisPlan& plan, const ResizeKernels& kernels) {
  if (plan.identity || plan.IsByRow()) return;
  const bool is_short = plan.period <= AxisPlan::kMaxSets && plan.dst >= plan.period;
  if (is_short && kernels.has_rational(plan.period, plan.period_inputs, plan.taps, plan.start.data())) {
    plan.rational = true;
    plan.outputs_each = plan.period;
    plan.inputs_each = plan.period_inputs;
  } else if (kernels.column_lanes > 0) {
    AddColumnBlocks(plan, kernels.column_lanes);
  }
}

}  // namespace reelmend::pixel
