// The int16 resize kernels, for bench_kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernel_case.h"
#include "pixel/resize_int16_plan.h"

namespace reelmend::pixel {

inline constexpr int kWidth = 1920;

/// The int16 rows of a band, and rows of interleaved pairs.
struct Int16Rows {
  explicit Int16Rows(int width)
      : stride(width + 4 * kPad), int16(kRows * static_cast<std::size_t>(stride)), pairs(2 * kRows * static_cast<std::size_t>(stride)) {
    for (int i = 0; i < kRows * stride; ++i) int16.get()[i] = static_cast<std::int16_t>(i * 7919);
    for (int i = 0; i < 2 * kRows * stride; ++i) pairs.get()[i] = static_cast<std::int16_t>(i * 7919);
  }
  std::int16_t* Row(int i) { return int16.get() + static_cast<std::ptrdiff_t>(i % kRows) * stride + kPad; }
  std::int16_t* Pair(int i) { return pairs.get() + static_cast<std::ptrdiff_t>(i % kRows) * 2 * stride; }
  int stride;
  AlignedArray<std::int16_t> int16;
  AlignedArray<std::int16_t> pairs;
};

/// Any ratio, four rows at a time. The tables of weights and indices are read once for all four rows.
template <typename Print>
void Int16ColumnCase(const Int16Kernels& k, int from, int to, const Print& print) {
  const AxisPlan plan = PlanOf(from, to);
  const Int16Plan int16 = MakeInt16Plan(plan, plan);
  if (!int16.fits || int16.x.block_sets == 0) return;
  Int16Rows rows(std::max(from, to));
  Rows samples(to);
  const Int16Blocks blocks = BlocksOf(int16.x, 0, to, 0);
  const double tables = 4.0 * (blocks.count + 16.0 * blocks.sets * (1 + blocks.pairs));
  const std::string name = ", " + std::to_string(from) + " to " + std::to_string(to) + ", " + std::to_string(plan.taps) + " taps";
  int turn = 0;
  const std::int16_t* in[4] = {rows.Row(0), rows.Row(1), rows.Row(2), rows.Row(3)};
  const double bytes = 4 * 2.0 * (from + to) + tables;
  const auto working_set = static_cast<std::size_t>(2 * (4 * from + kRows * to) + tables);
  if (!plan.reduces) {
    print(Case{"int16, columns" + name, 4 * 2.0 * plan.taps * to, bytes, working_set, [&] {
             std::int16_t* outs[2] = {rows.Pair(turn), rows.Pair(turn + 1)};
             k.columns(in, blocks, outs);
             turn += 2;
           }, {1, std::max(1, to / from)}, true});
    return;
  }
  print(Case{"int16, columns" + name, 4 * 2.0 * plan.taps * to, bytes, working_set, [&] {
           std::uint16_t* outs[4];
           for (int r = 0; r < 4; ++r) outs[r] = samples.Output(turn + r);
           k.columns_out(in, blocks, outs);
           turn += 4;
         }, {1, 1}, true});
}

template <typename Print>
void EnlargingInt16Cases(const Int16Kernels& k, const Print& print) {
  Rows samples(kWidth);
  Int16Rows rows(2 * kWidth);
  int turn = 0;
  const double w = kWidth;
  print(Case{"int16, load", 0, 4 * w, static_cast<std::size_t>(4 * kRows * w), [&] {
           k.load(samples.Sample(turn), samples.Sample(turn + 1), rows.Row(turn), kWidth), ++turn;
         }});
  const AxisPlan twice = PlanOf(kWidth / 2, kWidth);
  const Int16Plan plan = MakeInt16Plan(twice, twice);
  print(Case{"int16, twice, two rows", 2 * 12 * w, 2 * 3 * w, static_cast<std::size_t>(2 * w + 2 * kRows * w), [&] {
           const std::int16_t* in[2] = {rows.Row(0) + 1, rows.Row(1) + 1};
           k.twice(in, plan.late[1], plan.x_pairs.data(), rows.Pair(turn), kWidth / 2), ++turn;
         }, {1, 2}, true});
  const AxisPlan threes = PlanOf(1280, kWidth);
  const Int16Plan thirds = MakeInt16Plan(threes, threes);
  print(Case{"int16, thirds, two rows", 2 * 12 * w, 4 * (1280 + w), static_cast<std::size_t>(4 * 1280 + 2 * kRows * w), [&] {
           const std::int16_t* in[2] = {rows.Row(0) + 1, rows.Row(1) + 1};
           k.thirds(in, thirds.late, thirds.x_pairs.data(), rows.Pair(turn), 1280), ++turn;
         }, {1, 1}, true});
  Int16Sums sums;
  sums.pairs = 4;
  for (int i = 0; i < 2; ++i) sums.weights[i] = plan.y.RowPairs(i, i, 0);
  print(Case{"int16, vertical, twice 6 taps", 24 * w, (4 * 4 + 4) * w, static_cast<std::size_t>(6 * kRows * w), [&] {
           const std::int16_t* in[4] = {rows.Pair(turn), rows.Pair(turn + 1), rows.Pair(turn + 2), rows.Pair(turn + 3)};
           std::uint16_t* outs[2] = {samples.Output(2 * turn), samples.Output(2 * turn + 1)};
           std::uint16_t* ahead[2] = {samples.Output(2 * turn + 2), samples.Output(2 * turn + 3)};
           k.vertical(in, sums, outs, ahead, kWidth), ++turn;
         }, {4, 1}, true});
}

template <typename Print>
void ReducingInt16Cases(const Int16Kernels& k, const Print& print) {
  Rows samples(kWidth);
  Int16Rows rows(2 * kWidth);
  int turn = 0;
  const double w = kWidth;
  const AxisPlan half = PlanOf(2 * kWidth, kWidth);
  const Int16Plan halves = MakeInt16Plan(half, half);
  print(Case{"int16, halving rows, 12 taps", 24 * w, 2 * 3 * w, static_cast<std::size_t>(4 * w + 2 * kRows * w), [&] {
           k.halve_out(rows.Row(0) + 1, halves.x_pairs.data(), samples.Output(turn), kWidth), ++turn;
         }, {2, 1}, true});
  const std::uint16_t* list[32];
  print(Case{"int16, halving columns, eight times 12 taps", 8 * 24 * w, 2 * (26 + 8) * w, static_cast<std::size_t>(4 * kRows * w), [&] {
           std::int16_t* outs[8];
           for (int i = 0; i < 26; ++i) list[i] = samples.Sample(turn + i);
           for (int i = 0; i < 8; ++i) outs[i] = rows.Row(8 * turn + i);
           k.halve_rows(list, halves.y_pairs.data(), outs, kWidth), ++turn;
         }, {3, 1}, true});
  const AxisPlan three = PlanOf(2560, 1920);
  const Int16Plan quarters = MakeInt16Plan(three, three);
  Int16Sums eight;
  eight.pairs = (three.Start(7) + three.taps - three.Start(0) + 1) / 2;
  for (int i = 0; i < 8; ++i) eight.weights[i] = quarters.y.RowPairs(i, three.Start(i), three.Start(0));
  print(Case{"int16, sums of columns, eight times 8 taps", 8 * 16 * w, 2 * (2 * eight.pairs + 8) * w, static_cast<std::size_t>(4 * kRows * w), [&] {
           std::int16_t* outs[8];
           for (int i = 0; i < 2 * eight.pairs; ++i) list[i] = samples.Sample(turn + i);
           for (int i = 0; i < 8; ++i) outs[i] = rows.Row(8 * turn + i);
           k.vertical_first(list, eight, outs, kWidth), ++turn;
         }, {3, 1}, true});
}

/// Calls print(Case) for each kernel of resize_int16.h.
template <typename Print>
void Int16Cases(const Int16Kernels& k, const Print& print) {
  EnlargingInt16Cases(k, print);
  ReducingInt16Cases(k, print);
  for (const int from : {854, 1280, 1440, 1600, 2048, 2560, 2880}) Int16ColumnCase(k, from, kWidth, print);
}

}  // namespace reelmend::pixel
