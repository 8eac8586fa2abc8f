// Measures each resize kernel against the limits of the machine. Prints one JSON object.
//   bench_kernels [seconds per measurement, default 0.2] [text that a kernel's name must contain]
//
// Note [Share of the binding bound]
// The roofline model (Williams, Waterman, Patterson 2009) bounds a kernel's time from below: max(F ÷ peak, B ÷ bandwidth)
// for F operations and B bytes moved. A multiply-add is 2 operations; conversions and shuffles count as none. The share is
// this bound divided by the measured time. Both limits are measured on one core, right before each kernel:
// - Peak: independent multiply-adds on registers. Kernels named "int16", and whole resizes that run in int16, are compared
//   with 16-bit multiply-adds (twice as many per second), all others with floats.
// - Bandwidth: a loop like STREAM's (McCalpin 1995) with about the kernel's ratio of rows read to rows written, through as
//   much memory. A band's rows fit the cache: the source row stays the same, and the output rows rotate through a ring. A
//   whole resize goes through the pictures.
// Times are CPU times of the thread, the best of many short repetitions, so other work on the machine hardly disturbs them.
#include <time.h>
#if defined(__x86_64__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarm in a header of GCC 12, GCC bug 105593
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernel_int16.h"
#include "pixel/resize_kernels.h"
#include "pixel/resize_plan.h"
#include "pixel/scratch.h"
#include "pixel/simd.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../bench/bench_kernels.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::CappedTag<float, 16>;

constexpr int kChains = 12;  // independent sums: enough to hide the latency of two units

/// Multiply-adds on registers: rounds × PeakOperations() floating-point operations. The returned number depends on all of
/// them, so the compiler keeps them.
float PeakLoop(long long rounds) {
  const Float d;
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 0.001F);
  const auto start = [&](int chain) { return hn::Set(d, 0.01F * static_cast<float>(chain + rounds % 7)); };
  auto a0 = start(0), a1 = start(1), a2 = start(2), a3 = start(3), a4 = start(4), a5 = start(5);
  auto a6 = start(6), a7 = start(7), a8 = start(8), a9 = start(9), a10 = start(10), a11 = start(11);
  for (long long i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, factor, term);
    a1 = hn::MulAdd(a1, factor, term);
    a2 = hn::MulAdd(a2, factor, term);
    a3 = hn::MulAdd(a3, factor, term);
    a4 = hn::MulAdd(a4, factor, term);
    a5 = hn::MulAdd(a5, factor, term);
    a6 = hn::MulAdd(a6, factor, term);
    a7 = hn::MulAdd(a7, factor, term);
    a8 = hn::MulAdd(a8, factor, term);
    a9 = hn::MulAdd(a9, factor, term);
    a10 = hn::MulAdd(a10, factor, term);
    a11 = hn::MulAdd(a11, factor, term);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(hn::Add(a4, a5), hn::Add(a6, a7)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, hn::Add(hn::Add(a8, a9), hn::Add(a10, a11)))));
}

double PeakOperations() { return 2.0 * kChains * static_cast<double>(hn::Lanes(Float())); }

/// Adds up `streams` consecutive arrays of `count` floats at `from` and writes the sum to `copies` consecutive arrays at `to`.
/// One stream and one copy are STREAM's copy; two streams are STREAM's add.
void StreamLoop(const float* from, int streams, float* to, int copies, std::size_t count) {
  const Float d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    auto sum = hn::LoadU(d, from + i);
    for (int s = 1; s < streams; ++s) sum = hn::Add(sum, hn::LoadU(d, from + static_cast<std::size_t>(s) * count + i));
    for (int c = 0; c < copies; ++c) hn::StoreU(sum, d, to + static_cast<std::size_t>(c) * count + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {

HWY_EXPORT(PeakLoop);
HWY_EXPORT(PeakOperations);
HWY_EXPORT(StreamLoop);

namespace {

constexpr int kInt16Chains = 12;  // see kChains
double g_seconds = 0.2;
volatile float g_sink = 0;

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// CPU seconds of one call: the best of many repetitions, each of about 2 ms.
double Best(const std::function<void()>& call) {
  const auto seconds = [&](int calls) {
    const double start = ThreadSeconds();
    for (int i = 0; i < calls; ++i) call();
    return ThreadSeconds() - start;
  };
  seconds(1);
  const int calls = std::max(1, static_cast<int>(2e-3 / std::max(seconds(1), 1e-9)));
  double best = seconds(calls);
  for (double spent = best; spent < g_seconds;) {
    const double time = seconds(calls);
    best = std::min(best, time);
    spent += time;
  }
  return best / calls;
}

double PeakFlops() {
  constexpr long long kRounds = 20'000;
  return kRounds * HWY_DYNAMIC_DISPATCH(PeakOperations)() / Best([] { g_sink = HWY_DYNAMIC_DISPATCH(PeakLoop)(kRounds); });
}

#if defined(__x86_64__)
/// 16-bit multiply-adds on registers: kInt16Chains × 32 per round.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) int Int16PeakLoop(long long rounds) {
  __m512i sums[kInt16Chains];
  const __m512i factor = _mm512_set1_epi16(static_cast<short>(rounds));
#pragma GCC unroll 12
  for (int i = 0; i < kInt16Chains; ++i) sums[i] = _mm512_set1_epi32(i);
  for (long long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kInt16Chains; ++i) {
      sums[i] = _mm512_dpwssd_epi32(sums[i], factor, factor);
      asm("" : "+v"(sums[i]));
    }
  }
  __m512i sum = sums[0];
#pragma GCC unroll 12
  for (int i = 1; i < kInt16Chains; ++i) sum = _mm512_add_epi32(sum, sums[i]);
  return _mm512_reduce_add_epi32(sum);
}
#else
int Int16PeakLoop(long long) { return 0; }
#endif

/// Operations per second of 16-bit multiply-adds; the int16 kernels do two per 32-bit lane.
double PeakInt16() {
  constexpr long long kRounds = 20'000;
  return kRounds * 2.0 * kInt16Chains * 32 * (1.0 / Best([] { g_sink = static_cast<float>(Int16PeakLoop(kRounds)); }));
}

/// Bytes per second that a loop reads and writes with this mix; its working set is `bytes`.
double Bandwidth(std::size_t bytes, Mix mix) {
  const auto parts = static_cast<std::size_t>(mix.reads + mix.writes);
  const std::size_t count = std::max<std::size_t>(bytes / parts / sizeof(float), 256) / 64 * 64;
  const std::size_t reads = count * static_cast<std::size_t>(mix.reads);
  const std::size_t writes = count * static_cast<std::size_t>(mix.writes);
  AlignedArray<float> from(reads);
  AlignedArray<float> to(writes);
  std::fill_n(from.get(), reads, 1.0F);
  std::fill_n(to.get(), writes, 1.0F);
  return static_cast<double>(parts * count * sizeof(float)) /
         Best([&] { HWY_DYNAMIC_DISPATCH(StreamLoop)(from.get(), mix.reads, to.get(), mix.writes, count); });
}

bool g_is_first = true;
std::string g_wanted;

void Print(const Case& c) {
  if (c.name.find(g_wanted) == std::string::npos) return;
  const double peak = c.is_int16 ? PeakInt16() : PeakFlops();
  const double bandwidth = Bandwidth(c.working_set, c.mix);
  const double time = Best(c.call);
  const double by_memory = c.bytes / bandwidth;
  const double by_arithmetic = c.flops / peak;
  std::printf("%s\n  {\"kernel\": \"%s\", \"us\": %.2f, \"gflops\": %.1f, \"peak_gflops\": %.1f, \"gb_per_s\": %.1f, "
              "\"stream_gb_per_s\": %.1f, \"working_set_kb\": %zu, \"binds\": \"%s\", \"share\": %.2f}",
              g_is_first ? "" : ",", c.name.c_str(), time * 1e6, c.flops / time / 1e9, peak / 1e9, c.bytes / time / 1e9,
              bandwidth / 1e9, c.working_set >> 10, by_memory > by_arithmetic ? "memory" : "arithmetic",
              std::max(by_memory, by_arithmetic) / time);
  std::fflush(stdout);
  g_is_first = false;
}

/// Kernels whose input or output rows are as wide as the output picture.
void VerticalCases(int width, const ResizeKernels& k) {
  Rows rows(width);
  int turn = 0;
  const double w = width;
  Print({"load", 0, 6 * w, rows.Bytes(6), [&] { k.load(rows.Sample(turn), rows.Float(turn), width), ++turn; }});
  Print({"store", 0, 6 * w, rows.Bytes(6), [&] { k.store(rows.Float(turn), rows.Output(turn), width), ++turn; }});
  const AxisPlan twice = PlanOf(540, 1080);
  const auto taps = [&] {
    std::array<const float*, 6> list{};
    for (int i = 0; i < 6; ++i) list[i] = rows.Float(turn + i);
    return list;
  };
  Print({"vertical, 6 taps", 12 * w, (6 * 4 + 2) * w, rows.Bytes(6), [&] {
           k.vertical(taps().data(), twice.Weights(0), 6, rows.Output(turn), width), ++turn;
         }, {6, 1}});
  Print({"vertical_pair, 6 taps", 24 * w, (6 * 4 + 4) * w, rows.Bytes(6), [&] {
           k.vertical_pair({taps().data(), 6, 0, {twice.Weights(0), twice.Weights(1)},
                            {rows.Output(2 * turn), rows.Output(2 * turn + 1)}}, width);
           ++turn;
         }, {3, 1}});
  const AxisPlan half = PlanOf(2160, 1080);
  // As in halving: eight output rows whose source rows start two rows apart.
  const int walked = half.taps + 2 * (RowSums::kMost - 1);
  std::array<const std::uint16_t*, 32> list{};
  RowSums sums;
  sums.rows = list.data();
  sums.taps = half.taps;
  for (int i = 0; i < RowSums::kMost; ++i) {
    sums.start[i] = 2 * i;
    sums.weights[i] = half.Weights(0);
  }
  Print({"vertical_first, eight times " + std::to_string(half.taps) + " taps", 2.0 * RowSums::kMost * half.taps * w,
         (2.0 * walked + 4 * RowSums::kMost) * w, rows.Bytes(6), [&] {
           for (int i = 0; i < walked; ++i) list[i] = rows.Sample(turn + i);
           for (int i = 0; i < RowSums::kMost; ++i) sums.outs[i] = rows.More(RowSums::kMost * turn + i);
           k.vertical_first(sums, width);
           ++turn;
         }, {6, 1}});
}

/// A ratio of small integers; the split of the source row is included.
void RationalCase(Rows& rows, const ResizeKernels& k, int from, int to) {
  AxisPlan plan = PlanOf(from, to);
  AddShortWays(plan, k);
  if (!plan.rational) return;
  const int inputs = plan.inputs_each;
  std::vector<AlignedArray<float>> buffers;
  std::array<float*, AxisPlan::kMaxSets> splits{};
  for (int i = 0; i < inputs; ++i) splits[i] = buffers.emplace_back(4096).get();
  // The margin is that of a strip: no start is negative, and the split begins at an aligned address.
  const int margin = 48;
  const int steps = (from + 2 * plan.taps + inputs - 1) / inputs;
  std::array<int, AxisPlan::kMaxSets> start{};
  for (int p = 0; p < plan.outputs_each; ++p) start[p] = plan.start[p] + margin;
  int turn = 0;
  Print({"split and " + std::to_string(inputs) + " to " + std::to_string(plan.outputs_each) + ", " + std::to_string(plan.taps) +
             " taps",
         2.0 * plan.taps * to, 4.0 * (from + to), static_cast<std::size_t>(4 * (from + kRows * to)), [&] {
           k.split(rows.Float(0) - margin, inputs, splits.data(), margin / inputs + steps);
           k.rational(splits.data(), {plan.outputs_each, inputs, plan.taps, start.data(), plan.weights.data()}, rows.More(turn),
                      to / plan.outputs_each);
           ++turn;
         }});
}

/// Any ratio, four rows at a time as in a band. Skips ratios without a plan for this machine's vector size. The tables of
/// weights and indices are read once for all four rows.
void ColumnCase(Rows& rows, const ResizeKernels& k, int from, int to) {
  AxisPlan plan = PlanOf(from, to);
  AddShortWays(plan, k);
  if (plan.block_lanes == 0) return;
  int turn = 0;
  const ColumnBlocks blocks = plan.Blocks(0, to, 0);
  const double tables = 4.0 * static_cast<double>(plan.block_first.size() + plan.block_index.size() + plan.block_weights.size());
  Print({"columns, " + std::to_string(from) + " to " + std::to_string(to) + ", " + std::to_string(plan.taps) + " taps",
         4 * 2.0 * plan.taps * to, 4 * 4.0 * (from + to) + tables,
         static_cast<std::size_t>(4 * (4 * from + kRows * to) + tables), [&] {
           const float* in[4];
           float* out[4];
           for (int r = 0; r < 4; ++r) {
             in[r] = rows.Float(r);
             out[r] = rows.More(turn + r);
           }
           k.columns(in, blocks, out);
           turn += 4;
         }});
}

void HorizontalCases(const ResizeKernels& k) {
  Rows rows(3840);
  int turn = 0;
  for (const int factor : {2, 3, 4}) {
    const int width = 960;
    Rows out(width * factor);
    const AxisPlan plan = PlanOf(width, width * factor);
    Print({"phases, factor " + std::to_string(factor), 2.0 * plan.taps * width * factor, 4.0 * width * (1 + factor),
           static_cast<std::size_t>(4 * width * (1 + kRows * factor)), [&] {
             k.phases(rows.Float(0), plan.start.data(), plan.weights.data(), plan.taps, factor, out.More(turn), width);
             ++turn;
           }});
  }
  const AxisPlan half = PlanOf(3840, 1920);
  AlignedArray<float> even(4096);
  AlignedArray<float> odd(4096);
  const std::array<float*, 2> halves = {even.get(), odd.get()};
  Print({"split and halve, " + std::to_string(half.taps) + " taps", 2.0 * half.taps * 1920, 4.0 * 1920 * 3,
         std::size_t{4 * (3840 + kRows * 1920)}, [&] {
           k.split(rows.Float(0) - kPad, 2, halves.data(), (3840 + 2 * kPad) / 2);
           k.halve(even.get() + kPad / 2, odd.get() + kPad / 2, half.start[0], half.weights.data(), half.taps,
                   rows.More(turn), 1920);
           ++turn;
         }});
  RationalCase(rows, k, 1280, 1920);
  RationalCase(rows, k, 1440, 1920);
  RationalCase(rows, k, 2560, 1920);
  RationalCase(rows, k, 2880, 1920);
  ColumnCase(rows, k, 854, 1920);
  ColumnCase(rows, k, 1600, 1920);
  ColumnCase(rows, k, 2048, 1920);
}

/// The complete resize of one picture on one core.
void WholeCase(int from_width, int from_height, int to_width, int to_height) {
  Image in(from_width, from_height, {1, 1}, {});
  Image out(to_width, to_height, {1, 1}, {});
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < in.plane(p).height; ++y) {
      for (int x = 0; x < in.plane(p).width; ++x) in.plane(p).Row(y)[x] = static_cast<std::uint16_t>(x * 7919 + y * 104729);
    }
  }
  Resizer resizer(from_width, from_height, {1, 1}, {}, to_width, to_height);
  ThreadPool pool(1);
  const AxisPlan x = PlanOf(from_width, to_width);
  const AxisPlan y = PlanOf(from_height, to_height);
  const double horizontal_rows = y.reduces ? to_height : from_height;  // rows that the horizontal pass processes
  const double vertical_columns = y.reduces ? from_width : to_width;
  const double flops = 1.5 * 2 * (x.taps * horizontal_rows * to_width + y.taps * vertical_columns * to_height);
  const double bytes = 1.5 * 2 * (1.0 * from_width * from_height + 1.0 * to_width * to_height);
  const double ratio = (1.0 * from_width * from_height) / (1.0 * to_width * to_height);
  const auto whole = [](double number) { return std::max(1, static_cast<int>(std::lround(number))); };
  const Mix mix = {whole(ratio), whole(1 / ratio)};
  char name[64];
  std::snprintf(name, sizeof name, "resize %dx%d to %dx%d", from_width, from_height, to_width, to_height);
  Print({name, flops, bytes, static_cast<std::size_t>(bytes), [&] { resizer.Run(in, out, pool); }, mix,
         GetInt16Kernels() != nullptr});
}

}  // namespace

int RunBench(int argc, char** argv) {
  if (argc > 1) g_seconds = std::max(0.01, std::atof(argv[1]));
  if (argc > 2) g_wanted = argv[2];
  std::printf("{\"simd\": \"%s\", \"cores\": 1, \"kernels\": [", SimdTarget());
  VerticalCases(1920, GetResizeKernels());
  HorizontalCases(GetResizeKernels());
  if (GetInt16Kernels() != nullptr) Int16Cases(*GetInt16Kernels(), Print);
  WholeCase(960, 540, 1920, 1080);
  WholeCase(1920, 1080, 3840, 2160);
  WholeCase(1280, 720, 1920, 1080);
  WholeCase(854, 480, 1920, 1080);
  WholeCase(3840, 2160, 1920, 1080);
  WholeCase(2560, 1440, 1920, 1080);
  std::printf("]}\n");
  return 0;
}

}  // namespace reelmend::pixel

int main(int argc, char** argv) { return reelmend::pixel::RunBench(argc, argv); }
#endif
