// Sums within rows: fixed ratios by interleaving or splitting, any other by columns.
#if defined(REELMEND_PIXEL_RESIZE_HORIZONTAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REELMEND_PIXEL_RESIZE_HORIZONTAL_INL_H_
#undef REELMEND_PIXEL_RESIZE_HORIZONTAL_INL_H_
#else
#define REELMEND_PIXEL_RESIZE_HORIZONTAL_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "pixel/resize_lanes-inl.h"
#include "pixel/resize_plan.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

#if REELMEND_HAS_PERMUTE2
constexpr int kWide = 16;

/// Lane t of output vector j of `phases` interleaved vectors, by two permutes: `first` is the index of the first one.
struct InterleaveTables {
  alignas(64) int32_t two[2][kWide];     // v0 and v1
  alignas(64) int32_t three_a[3][kWide];  // v0 and v1, the places of v2 open
  alignas(64) int32_t three_b[3][kWide];  // that and v2
  alignas(64) int32_t four[4][kWide];     // halves of v0 with v1, halves of v2 with v3: pairs of lanes
};

constexpr InterleaveTables MakeInterleaveTables() {
  InterleaveTables tables{};
  for (int t = 0; t < kWide; ++t) {
    for (int j = 0; j < 2; ++j) tables.two[j][t] = (kWide * j + t) / 2 + (t % 2) * kWide;
    for (int j = 0; j < 3; ++j) {
      const int phase = (kWide * j + t) % 3;
      const int from = (kWide * j + t) / 3;
      tables.three_a[j][t] = phase == 2 ? 0 : from + phase * kWide;
      tables.three_b[j][t] = phase == 2 ? kWide + from : t;
    }
    for (int j = 0; j < 4; ++j) {
      const int pair = (kWide * j + t) / 2;  // of lanes, counted over all four output vectors
      const int from = pair / 2 % 8;         // pair of the vectors that hold v0 with v1 and v2 with v3
      tables.four[j][t] = 2 * from + t % 2 + (pair % 2) * kWide;
    }
  }
  return tables;
}

constexpr InterleaveTables kInterleave = MakeInterleaveTables();

struct SplitTables {
  alignas(64) int32_t even[kWide];
  alignas(64) int32_t odd[kWide];
  alignas(64) int32_t three_a[3][kWide];  // every third of two vectors, the places of the third vector's open
  alignas(64) int32_t three_b[3][kWide];  // that and the third
};

constexpr SplitTables MakeSplitTables() {
  SplitTables tables{};
  for (int t = 0; t < kWide; ++t) {
    tables.even[t] = 2 * t;
    tables.odd[t] = 2 * t + 1;
    for (int j = 0; j < 3; ++j) {
      const int from = 3 * t + j;
      tables.three_a[j][t] = from < 2 * kWide ? from : 0;
      tables.three_b[j][t] = from < 2 * kWide ? t : from - kWide;
    }
  }
  return tables;
}

constexpr SplitTables kSplit = MakeSplitTables();

HWY_INLINE VF Mix(VF a, VF b, const int32_t* indices) { return Permute2(a, b, hn::Load(DI(), indices)); }
#endif

template <int kPhases>
HWY_INLINE void StorePhases(const VF* v, float* out) {
  const DF d;
  if constexpr (kPhases == 1) hn::StoreU(v[0], d, out);
#if REELMEND_HAS_PERMUTE2
  if constexpr (kPhases == 2) {
    for (int j = 0; j < 2; ++j) hn::StoreU(Mix(v[0], v[1], kInterleave.two[j]), d, out + kWide * j);
  }
  if constexpr (kPhases == 3) {
    for (int j = 0; j < 3; ++j) {
      hn::StoreU(Mix(Mix(v[0], v[1], kInterleave.three_a[j]), v[2], kInterleave.three_b[j]), d, out + kWide * j);
    }
  }
  if constexpr (kPhases == 4) {
    for (int j = 0; j < 4; ++j) {
      const VF v01 = Mix(v[0], v[1], kInterleave.two[j / 2]);
      const VF v23 = Mix(v[2], v[3], kInterleave.two[j / 2]);
      hn::StoreU(Mix(v01, v23, kInterleave.four[j]), d, out + kWide * j);
    }
  }
#else
  if constexpr (kPhases == 2) hn::StoreInterleaved2(v[0], v[1], d, out);
  if constexpr (kPhases == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, out);
  if constexpr (kPhases == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, out);
#endif
}

template <int kPhases>
HWY_INLINE void PhasesT(const float* in, const int* start, const float* weights, int taps, float* out,
                        int count) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF sums[kPhases];
    for (int p = 0; p < kPhases; ++p) {
      sums[p] = hn::Zero(d);
      const float* from = in + x + start[p];
      for (int k = 0; k < taps; ++k)
        sums[p] = hn::MulAdd(hn::Set(d, weights[p * taps + k]), hn::LoadU(d, from + k), sums[p]);
    }
    StorePhases<kPhases>(sums, out + kPhases * x);
  }
}

/// Six taps; the windows of the first kEarly phases begin at `in`, those of the others one sample later. Every input is
/// loaded once for all phases, because loads that straddle cache lines limit this kernel.
template <int kPhases, int kEarly>
HWY_INLINE void SharedPhasesT(const float* in, const float* weights, float* out, int count) {
  constexpr int kWindow = kEarly == kPhases ? kLanczosTaps : kLanczosTaps + 1;
  const DF d;
  const int lanes = FloatLanes();
  VF w[kPhases * kLanczosTaps];
  for (int i = 0; i < kPhases * kLanczosTaps; ++i) w[i] = hn::Set(d, weights[i]);
  for (int x = 0; x < count; x += lanes) {
    VF sums[kPhases];
    for (int p = 0; p < kPhases; ++p) sums[p] = hn::Zero(d);
#pragma GCC unroll 8
    for (int k = 0; k < kWindow; ++k) {
      const VF v = LoadOnce(in + x + k);
#pragma GCC unroll 4
      for (int p = 0; p < kPhases; ++p) {
        const int tap = p < kEarly ? k : k - 1;
        if (tap >= 0 && tap < kLanczosTaps) sums[p] = hn::MulAdd(w[p * kLanczosTaps + tap], v, sums[p]);
      }
    }
    StorePhases<kPhases>(sums, out + kPhases * x);
  }
}

/// Chooses kEarly. Other windows and other numbers of taps take the general way.
template <int kPhases, int kEarly>
HWY_INLINE void PhasesFrom(const float* in, const int* start, const float* weights, int taps, float* out, int count) {
  if constexpr (kEarly == 0) {
    PhasesT<kPhases>(in, start, weights, taps, out, count);
  } else {
    bool fits = taps == kLanczosTaps;
    for (int p = 0; p < kPhases; ++p) fits = fits && start[p] == start[0] + (p < kEarly ? 0 : 1);
    if (fits) return SharedPhasesT<kPhases, kEarly>(in + start[0], weights, out, count);
    PhasesFrom<kPhases, kEarly - 1>(in, start, weights, taps, out, count);
  }
}

void Phases(const float* in, const int* start, const float* weights, int taps, int phases, float* out,
            int count) {
  switch (phases) {
    case 1:
      return PhasesFrom<1, 1>(in, start, weights, taps, out, count);
    case 2:
      return PhasesFrom<2, 2>(in, start, weights, taps, out, count);
    case 3:
      return PhasesFrom<3, 3>(in, start, weights, taps, out, count);
    default:
      return PhasesFrom<4, 4>(in, start, weights, taps, out, count);
  }
}

template <int kWays>
HWY_INLINE void LoadSplit(const float* in, VF* v) {
  const DF d;
#if REELMEND_HAS_PERMUTE2
  VF from[kWays];
  for (int i = 0; i < kWays; ++i) from[i] = hn::LoadU(d, in + kWide * i);
  if constexpr (kWays == 2) {
    v[0] = Mix(from[0], from[1], kSplit.even);
    v[1] = Mix(from[0], from[1], kSplit.odd);
  }
  if constexpr (kWays == 3) {
    for (int j = 0; j < 3; ++j) v[j] = Mix(Mix(from[0], from[1], kSplit.three_a[j]), from[2], kSplit.three_b[j]);
  }
  if constexpr (kWays == 4) {
    const VF even01 = Mix(from[0], from[1], kSplit.even);
    const VF even23 = Mix(from[2], from[3], kSplit.even);
    const VF odd01 = Mix(from[0], from[1], kSplit.odd);
    const VF odd23 = Mix(from[2], from[3], kSplit.odd);
    v[0] = Mix(even01, even23, kSplit.even);
    v[1] = Mix(odd01, odd23, kSplit.even);
    v[2] = Mix(even01, even23, kSplit.odd);
    v[3] = Mix(odd01, odd23, kSplit.odd);
  }
#else
  if constexpr (kWays == 2) hn::LoadInterleaved2(d, in, v[0], v[1]);
  if constexpr (kWays == 3) hn::LoadInterleaved3(d, in, v[0], v[1], v[2]);
  if constexpr (kWays == 4) hn::LoadInterleaved4(d, in, v[0], v[1], v[2], v[3]);
#endif
}

template <int kWays>
HWY_INLINE void SplitT(const float* in, float* const* outs, int count) {
  const int lanes = FloatLanes();
  float* to[kWays];
  for (int i = 0; i < kWays; ++i) to[i] = outs[i];
  for (int x = 0; x < count; x += lanes) {
    VF v[kWays];
    LoadSplit<kWays>(in + kWays * x, v);
    for (int i = 0; i < kWays; ++i) hn::StoreU(v[i], DF(), to[i] + x);
  }
}

void Split(const float* in, int ways, float* const* outs, int count) {
  switch (ways) {
    case 2:
      return SplitT<2>(in, outs, count);
    case 3:
      return SplitT<3>(in, outs, count);
    default:
      return SplitT<4>(in, outs, count);
  }
}

#if REELMEND_HAS_PERMUTE2
/// Twelve taps. Half of the shifted inputs are loaded, half are shifted out of two vectors, to balance the load unit (loads
/// straddle cache lines) with the shift unit.
HWY_INLINE void Halve12(const float* first, const float* second, const float* weights, float* out, int count) {
  const DF d;
  VF w[2 * kLanczosTaps];
  for (int k = 0; k < 2 * kLanczosTaps; ++k) w[k] = hn::Set(d, weights[k]);
  __m512i low = hn::BitCast(DI(), hn::LoadU(d, second)).raw;
  for (int x = 0; x < count; x += kWide) {
    const __m512i high = hn::BitCast(DI(), hn::LoadU(d, second + x + kWide)).raw;
    const auto shifted = [](__m512i v) { return VF{_mm512_castsi512_ps(v)}; };
    VF sum0 = hn::Mul(w[0], hn::LoadU(d, first + x));
    VF sum1 = hn::Mul(w[1], shifted(low));
    sum0 = hn::MulAdd(w[2], hn::LoadU(d, first + x + 1), sum0);
    sum1 = hn::MulAdd(w[3], shifted(_mm512_alignr_epi32(high, low, 1)), sum1);
    sum0 = hn::MulAdd(w[4], hn::LoadU(d, first + x + 2), sum0);
    sum1 = hn::MulAdd(w[5], shifted(_mm512_alignr_epi32(high, low, 2)), sum1);
    sum0 = hn::MulAdd(w[6], hn::LoadU(d, first + x + 3), sum0);
    sum1 = hn::MulAdd(w[7], shifted(_mm512_alignr_epi32(high, low, 3)), sum1);
    sum0 = hn::MulAdd(w[8], hn::LoadU(d, first + x + 4), sum0);
    sum1 = hn::MulAdd(w[9], shifted(_mm512_alignr_epi32(high, low, 4)), sum1);
    sum0 = hn::MulAdd(w[10], hn::LoadU(d, first + x + 5), sum0);
    sum1 = hn::MulAdd(w[11], shifted(_mm512_alignr_epi32(high, low, 5)), sum1);
    hn::StoreU(hn::Add(sum0, sum1), d, out + x);
    low = high;
  }
}
#endif

template <int kTaps>
HWY_INLINE void HalveT(const float* even, const float* odd, int start, const float* weights, int taps, float* out,
                       int count) {
  const DF d;
  const int n = kTaps > 0 ? kTaps : taps;
  const int lanes = FloatLanes();
  // Half of a tap's position, rounded down.
  const float* first = (start % 2 == 0 ? even : odd) + (start - (start & 1)) / 2;
  const float* second = start % 2 == 0 ? odd + start / 2 : even + (start + 1) / 2;
#if REELMEND_HAS_PERMUTE2
  if constexpr (kTaps == 2 * kLanczosTaps) return Halve12(first, second, weights, out, count);
#endif
  for (int x = 0; x < count; x += lanes) {
    VF sum0 = hn::Zero(d);
    VF sum1 = hn::Zero(d);
    int k = 0;
    for (; k + 1 < n; k += 2) {
      sum0 = hn::MulAdd(hn::Set(d, weights[k]), hn::LoadU(d, first + x + k / 2), sum0);
      sum1 = hn::MulAdd(hn::Set(d, weights[k + 1]), hn::LoadU(d, second + x + k / 2), sum1);
    }
    if (k < n) sum0 = hn::MulAdd(hn::Set(d, weights[k]), hn::LoadU(d, first + x + k / 2), sum0);
    hn::StoreU(hn::Add(sum0, sum1), d, out + x);
  }
}

void Halve(const float* even, const float* odd, int start, const float* weights, int taps, float* out, int count) {
  if (taps == 2 * kLanczosTaps) return HalveT<2 * kLanczosTaps>(even, odd, start, weights, taps, out, count);
  HalveT<0>(even, odd, start, weights, taps, out, count);
}

/// `streams`: every kIn-th input of the window, from its first, second … on. The windows of the second, third … output begin
/// kLate inputs after the first one's.
template <int kOut, int kIn, int kTaps, int... kLate>
HWY_INLINE void RationalT(const float* const* streams, const float* weights, float* out, int count) {
  constexpr int kLates[kOut] = {0, kLate...};
  const DF d;
  const int lanes = FloatLanes();
  const float* at[kIn];
  for (int i = 0; i < kIn; ++i) at[i] = streams[i];
  VF w[kOut * kTaps];
#pragma GCC unroll 24
  for (int i = 0; i < kOut * kTaps; ++i) w[i] = hn::Set(d, weights[i]);
  for (int x = 0; x < count; x += lanes) {
    VF sums[kOut];
    for (VF& sum : sums) sum = hn::Zero(d);
#pragma GCC unroll 12
    for (int k = 0; k < kTaps + kLates[kOut - 1]; ++k) {
      const VF v = LoadOnce(at[k % kIn] + x + k / kIn);
#pragma GCC unroll 4
      for (int p = 0; p < kOut; ++p) {
        const int tap = k - kLates[p];
        if (tap >= 0 && tap < kTaps) sums[p] = hn::MulAdd(w[p * kTaps + tap], v, sums[p]);
      }
    }
    StorePhases<kOut>(sums, out + kOut * x);
  }
}

struct RationalKernel {
  int outputs;
  int inputs;
  int taps;
  int late[AxisPlan::kMaxSets];
  void (*run)(const float* const* streams, const float* weights, float* out, int count);
};

/// All possible positions of the windows.
constexpr RationalKernel kRational[] = {
    {3, 2, 6, {0, 0, 1}, RationalT<3, 2, 6, 0, 1>},       {3, 2, 6, {0, 1, 1}, RationalT<3, 2, 6, 1, 1>},
    {3, 2, 6, {0, 1, 2}, RationalT<3, 2, 6, 1, 2>},       {4, 3, 6, {0, 0, 1, 2}, RationalT<4, 3, 6, 0, 1, 2>},
    {4, 3, 6, {0, 1, 1, 2}, RationalT<4, 3, 6, 1, 1, 2>}, {4, 3, 6, {0, 1, 2, 2}, RationalT<4, 3, 6, 1, 2, 2>},
    {4, 3, 6, {0, 1, 2, 3}, RationalT<4, 3, 6, 1, 2, 3>}, {3, 4, 8, {0, 1, 2}, RationalT<3, 4, 8, 1, 2>},
    {3, 4, 8, {0, 1, 3}, RationalT<3, 4, 8, 1, 3>},       {3, 4, 8, {0, 2, 3}, RationalT<3, 4, 8, 2, 3>},
    {2, 3, 9, {0, 1}, RationalT<2, 3, 9, 1>},             {2, 3, 9, {0, 2}, RationalT<2, 3, 9, 2>}};

const RationalKernel* FindRational(int outputs, int inputs, int taps, const int* start) {
  for (const RationalKernel& kernel : kRational) {
    bool fits = kernel.outputs == outputs && kernel.inputs == inputs && kernel.taps == taps;
    for (int p = 0; fits && p < outputs; ++p) fits = start[p] - start[0] == kernel.late[p];
    if (fits) return &kernel;
  }
  return nullptr;
}

bool HasRational(int outputs, int inputs, int taps, const int* start) {
  return FindRational(outputs, inputs, taps, start) != nullptr;
}

void Rational(const float* const* splits, const RationalSums& sums, float* out, int count) {
  const float* streams[AxisPlan::kMaxSets] = {};
  for (int k = 0; k < sums.inputs; ++k) {
    const int from = sums.start[0] + k;
    streams[k] = splits[from % sums.inputs] + from / sums.inputs;
  }
  FindRational(sums.outputs, sums.inputs, sums.taps, sums.start)->run(streams, sums.weights, out, count);
}

/// Lane i is lane indices[i] of `low` (followed by `high` unless kNarrow).
template <bool kNarrow>
HWY_INLINE VF Pick(VF low, VF high, hn::Vec<DI> indices) {
  if constexpr (kNarrow) return hn::TableLookupLanes(low, hn::IndicesFromVec(DF(), indices));
  return Permute2(low, high, indices);
}

template <int kTaps, bool kNarrow>
HWY_INLINE void ColumnsT(const float* const* rows, const ColumnBlocks& blocks, float* const* outs) {
  const DF d;
  const DI di;
  const int n = kTaps > 0 ? kTaps : blocks.taps;
  const int lanes = FloatLanes();
  int set = blocks.first_set;
  for (int b = 0; b < blocks.count; ++b) {
    const int from = blocks.first[b] - blocks.origin;
    VF low[4];
    VF high[4];
    VF sums[4];
    for (int r = 0; r < 4; ++r) {
      low[r] = hn::LoadU(d, rows[r] + from);
      high[r] = kNarrow ? low[r] : hn::LoadU(d, rows[r] + from + lanes);
      sums[r] = hn::Zero(d);
    }
    auto index = hn::LoadU(di, blocks.index + set * lanes);
    const float* weights = blocks.weights + static_cast<ptrdiff_t>(set) * n * lanes;
    set = set + 1 == blocks.sets ? 0 : set + 1;
    for (int k = 0; k < n; ++k) {
      const VF w = hn::LoadU(d, weights + k * lanes);
      for (int r = 0; r < 4; ++r) sums[r] = hn::MulAdd(w, Pick<kNarrow>(low[r], high[r], index), sums[r]);
      index = hn::Add(index, hn::Set(di, 1));
    }
    for (int r = 0; r < 4; ++r) hn::StoreU(sums[r], d, outs[r] + b * lanes);
  }
}

template <int kTaps>
HWY_INLINE void ColumnsOf(const float* const* rows, const ColumnBlocks& blocks, float* const* outs) {
  if (blocks.is_narrow) return ColumnsT<kTaps, true>(rows, blocks, outs);
  ColumnsT<kTaps, false>(rows, blocks, outs);
}

void Columns(const float* const* rows, const ColumnBlocks& blocks, float* const* outs) {
  if (blocks.taps == kLanczosTaps) return ColumnsOf<kLanczosTaps>(rows, blocks, outs);
  if (blocks.taps == 8) return ColumnsOf<8>(rows, blocks, outs);
  ColumnsOf<0>(rows, blocks, outs);
}

/// With fewer than eight lanes, two vectors are too small for the taps.
int ColumnLanes() { return FloatLanes() >= 8 ? FloatLanes() : 0; }

void Interleave4(const float* const* rows, float* out, int count) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    hn::StoreInterleaved4(hn::LoadU(d, rows[0] + x), hn::LoadU(d, rows[1] + x), hn::LoadU(d, rows[2] + x),
                          hn::LoadU(d, rows[3] + x), d, out + 4 * x);
  }
}

void Deinterleave4(const float* in, float* const* rows, int count) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF v[4];
    hn::LoadInterleaved4(d, in + 4 * x, v[0], v[1], v[2], v[3]);
    for (int r = 0; r < 4; ++r) hn::StoreU(v[r], d, rows[r] + x);
  }
}

template <int kTaps>
HWY_INLINE void Columns4T(const float* in, const int* start, int origin, const float* weights, int taps, float* out,
                          int count) {
  const hn::CappedTag<float, 4> d;
  const int n = kTaps > 0 ? kTaps : taps;
  for (int r = 0; r < 4; r += static_cast<int>(hn::Lanes(d))) {
    for (int i = 0; i < count; ++i) {
      const float* from = in + 4 * static_cast<ptrdiff_t>(start[i] - origin) + r;
      const float* w = weights + static_cast<ptrdiff_t>(i) * n;
      auto sum = hn::Zero(d);
      for (int k = 0; k < n; ++k) sum = hn::MulAdd(hn::Set(d, w[k]), hn::LoadU(d, from + 4 * k), sum);
      hn::StoreU(sum, d, out + 4 * static_cast<ptrdiff_t>(i) + r);
    }
  }
}

void Columns4(const float* in, const int* start, int origin, const float* weights, int taps, float* out, int count) {
  if (taps == kLanczosTaps) return Columns4T<kLanczosTaps>(in, start, origin, weights, taps, out, count);
  Columns4T<0>(in, start, origin, weights, taps, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
