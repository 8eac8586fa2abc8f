// Sums of rows: samples in and out, one row or two, and the rows that a horizontal pass reads.
#if defined(REELMEND_PIXEL_RESIZE_VERTICAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REELMEND_PIXEL_RESIZE_VERTICAL_INL_H_
#undef REELMEND_PIXEL_RESIZE_VERTICAL_INL_H_
#else
#define REELMEND_PIXEL_RESIZE_VERTICAL_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "pixel/resize_lanes-inl.h"
#include "pixel/resize_plan.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void Load(const uint16_t* in, float* out, int count) {
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) hn::StoreU(LoadSamples(in + x), DF(), out + x);
}

void Store(const float* in, uint16_t* out, int count) {
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += 2 * lanes) {
    StoreSamplePair(hn::LoadU(DF(), in + x), hn::LoadU(DF(), in + x + lanes), out + x);
  }
}

/// kTaps > 0: known at compile time; 0: `taps`.
template <int kTaps>
HWY_INLINE void VerticalT(const float* const* rows, const float* weights, int taps, uint16_t* out,
                          int count) {
  const DF d;
  const int n = kTaps > 0 ? kTaps : taps;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += 2 * lanes) {
    VF a = hn::Zero(d);
    VF b = hn::Zero(d);
    for (int k = 0; k < n; ++k) {
      const VF w = hn::Set(d, weights[k]);
      a = hn::MulAdd(w, hn::LoadU(d, rows[k] + x), a);
      b = hn::MulAdd(w, hn::LoadU(d, rows[k] + x + lanes), b);
    }
    StoreSamplePair(a, b, out + x);
  }
}

void Vertical(const float* const* rows, const float* weights, int taps, uint16_t* out, int count) {
  if (taps == kLanczosTaps) return VerticalT<kLanczosTaps>(rows, weights, taps, out, count);
  VerticalT<0>(rows, weights, taps, out, count);
}

/// The second sum begins kShift rows below the first.
template <int kTaps, int kShift>
HWY_INLINE void VerticalPairT(const RowPair& p, int count) {
  const DF d;
  const int n = kTaps > 0 ? kTaps : p.taps;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += 2 * lanes) {
    VF a0 = hn::Zero(d);
    VF b0 = hn::Zero(d);
    VF a1 = hn::Zero(d);
    VF b1 = hn::Zero(d);
#pragma GCC unroll 7
    for (int k = 0; k < n + kShift; ++k) {
      const VF a = LoadOnce(p.rows[k] + x);
      const VF b = LoadOnce(p.rows[k] + x + lanes);
      if (k < n) {
        const VF w = hn::Set(d, p.weights[0][k]);
        a0 = hn::MulAdd(w, a, a0);
        b0 = hn::MulAdd(w, b, b0);
      }
      if (k >= kShift) {
        const VF w = hn::Set(d, p.weights[1][k - kShift]);
        a1 = hn::MulAdd(w, a, a1);
        b1 = hn::MulAdd(w, b, b1);
      }
    }
    StoreSamplePair(a0, b0, p.outs[0] + x);
    StoreSamplePair(a1, b1, p.outs[1] + x);
  }
}

void VerticalPair(const RowPair& p, int count) {
  if (p.taps == kLanczosTaps) {
    return p.shift == 0 ? VerticalPairT<kLanczosTaps, 0>(p, count) : VerticalPairT<kLanczosTaps, 1>(p, count);
  }
  if (p.shift == 0) return VerticalPairT<0, 0>(p, count);
  VerticalPairT<0, 1>(p, count);
}

/// Exact halving: every sum has the same twelve weights and begins two rows below the previous one. All of it is known at
/// compile time, and the weights stay in registers.
HWY_INLINE void HalveRows(const RowSums& s, int count) {
  constexpr int kTaps = 2 * kLanczosTaps;
  constexpr int kRows = kTaps + 2 * (RowSums::kMost - 1);
  const DF d;
  const int lanes = FloatLanes();
  VF w[kTaps];
  for (int k = 0; k < kTaps; ++k) w[k] = hn::Set(d, s.weights[0][k]);
  for (int x = 0; x < count; x += lanes) {
    VF sums[RowSums::kMost];
    for (VF& sum : sums) sum = hn::Zero(d);
#pragma GCC unroll 26
    for (int row = 0; row < kRows; ++row) {
      const VF v = LoadSamples(s.rows[row] + x);
#pragma GCC unroll 8
      for (int i = 0; i < RowSums::kMost; ++i) {
        const int tap = row - 2 * i;
        if (tap >= 0 && tap < kTaps) sums[i] = hn::MulAdd(w[tap], v, sums[i]);
      }
    }
    for (int i = 0; i < RowSums::kMost; ++i) hn::StoreU(sums[i], d, s.outs[i] + x);
  }
}

HWY_INLINE bool IsHalving(const RowSums& s) {
  if (s.taps != 2 * kLanczosTaps) return false;
  for (int i = 0; i < RowSums::kMost; ++i) {
    if (s.start[i] != 2 * i || s.weights[i] != s.weights[0]) return false;
  }
  return true;
}

/// Sums i and i + 1: rows of the first alone, of both, of the second alone.
HWY_INLINE void SumPair(const RowSums& s, int i, int count) {
  const DF d;
  const int lanes = FloatLanes();
  const int shift = std::min(s.start[i + 1] - s.start[i], s.taps);
  const std::uint16_t* const* rows0 = s.rows + s.start[i];
  const std::uint16_t* const* rows1 = s.rows + s.start[i + 1];
  for (int x = 0; x < count; x += 2 * lanes) {
    const int y = x + lanes < count ? x + lanes : x;  // a row's padding holds one vector, not two
    VF a0 = hn::Zero(d);
    VF b0 = hn::Zero(d);
    VF a1 = hn::Zero(d);
    VF b1 = hn::Zero(d);
    for (int k = 0; k < shift; ++k) {
      const VF w0 = hn::Set(d, s.weights[i][k]);
      a0 = hn::MulAdd(w0, LoadSamples(rows0[k] + x), a0);
      b0 = hn::MulAdd(w0, LoadSamples(rows0[k] + y), b0);
    }
    for (int k = shift; k < s.taps; ++k) {
      const VF w0 = hn::Set(d, s.weights[i][k]);
      const VF w1 = hn::Set(d, s.weights[i + 1][k - shift]);
      const VF a = LoadSamples(rows0[k] + x);
      const VF b = LoadSamples(rows0[k] + y);
      a0 = hn::MulAdd(w0, a, a0);
      b0 = hn::MulAdd(w0, b, b0);
      a1 = hn::MulAdd(w1, a, a1);
      b1 = hn::MulAdd(w1, b, b1);
    }
    for (int k = s.taps - shift; k < s.taps; ++k) {
      const VF w1 = hn::Set(d, s.weights[i + 1][k]);
      a1 = hn::MulAdd(w1, LoadSamples(rows1[k] + x), a1);
      b1 = hn::MulAdd(w1, LoadSamples(rows1[k] + y), b1);
    }
    hn::StoreU(a0, d, s.outs[i] + x);
    hn::StoreU(b0, d, s.outs[i] + y);
    hn::StoreU(a1, d, s.outs[i + 1] + x);
    hn::StoreU(b1, d, s.outs[i + 1] + y);
  }
}

void VerticalFirst(const RowSums& s, int count) {
  if (IsHalving(s)) return HalveRows(s, count);
  for (int i = 0; i < RowSums::kMost; i += 2) SumPair(s, i, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
