#include "pixel/resize_int16.h"

#include <atomic>
#include <cstddef>
#include <cstring>

#include "pixel/simd.h"

#if defined(__x86_64__) && defined(__GNUC__)
// GCC 12 reports the deliberately undefined operands of its own header (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#define REELMEND_HAS_WORDS 1
#else
#define REELMEND_HAS_WORDS 0
#endif

namespace reelmend::pixel {
namespace {

std::atomic<bool> g_are_allowed = true;

#if REELMEND_HAS_WORDS
#define REELMEND_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prfchw")))
#define REELMEND_VNNI_INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prfchw"), always_inline)) inline

constexpr int kLanes = 16;        // of 32 bits
constexpr int kWords = 32;        // of 16 bits
constexpr int kHalfScale = 1 << 15;  // rounds the upper half of a sum
/// Converts sums at half scale (2¹⁴ per unit) to unsigned samples, rounded.
constexpr int kOutShift = 14;
constexpr int kOutScale = (1 << 29) + (1 << 13);

REELMEND_VNNI_INLINE __m512i LoadWords(const void* from) { return _mm512_loadu_si512(from); }
/// Adds the products of both pairs of int16 to each lane. In assembly: GCC 12 copies the sum back and forth around the
/// intrinsic.
REELMEND_VNNI_INLINE __m512i Dot(__m512i sum, __m512i v, __m512i weights) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(weights), "vm"(v));
  return sum;
}
REELMEND_VNNI_INLINE __m512i ToSigned(__m512i v) { return _mm512_xor_si512(v, _mm512_set1_epi16(-32768)); }

/// Sums of outputs 0 … 15 and 16 … 31 at half scale to 32 samples.
REELMEND_VNNI_INLINE void StoreOut(__m512i low, __m512i high, std::uint16_t* out) {
  const __m512i packed = _mm512_packus_epi32(_mm512_srai_epi32(low, kOutShift), _mm512_srai_epi32(high, kOutShift));
  const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);  // the pack goes by blocks of 128 bits
  _mm512_storeu_si512(out, _mm512_permutexvar_epi64(order, packed));
}

/// The upper halves of two rows' sums, one pair per lane.
REELMEND_VNNI_INLINE __m512i ToPairs(__m512i first, __m512i second) {
  return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(first, 16), second);
}

REELMEND_VNNI void Load(const std::uint16_t* in, const std::uint16_t* ahead, std::int16_t* out, int count) {
  for (int x = 0; x < count; x += kWords) {
    _mm_prefetch(reinterpret_cast<const char*>(ahead + x), _MM_HINT_T0);
    _mm512_storeu_si512(out + x, ToSigned(LoadWords(in + x)));
  }
}

/// kPairs > 0: known at compile time; 0: blocks.pairs.
template <int kPairs>
REELMEND_VNNI_INLINE void SumBlock(const std::int16_t* const* rows, const Int16Blocks& blocks, int b, int set, int init,
                                    __m512i* sums) {
  const int pairs = kPairs > 0 ? kPairs : blocks.pairs;
  const std::ptrdiff_t from = blocks.first[b] - blocks.origin;
  __m512i even[4];
  __m512i odd[4];
  for (int r = 0; r < 4; ++r) {
    even[r] = LoadWords(rows[r] + from);
    odd[r] = LoadWords(rows[r] + from + 1);
    sums[r] = _mm512_set1_epi32(init);
  }
  __m512i index = LoadWords(blocks.index + static_cast<std::ptrdiff_t>(set) * kLanes);
  const std::int32_t* weights = blocks.weights + static_cast<std::ptrdiff_t>(set) * pairs * kLanes;
#pragma GCC unroll 4
  for (int j = 0; j < pairs; ++j) {
    const __m512i w = LoadWords(weights + j * kLanes);
    for (int r = 0; r < 4; ++r) sums[r] = Dot(sums[r], _mm512_permutex2var_epi32(even[r], index, odd[r]), w);
    index = _mm512_add_epi32(index, _mm512_set1_epi32(1));
  }
}

template <int kPairs>
REELMEND_VNNI void ColumnsT(const std::int16_t* const* rows, const Int16Blocks& blocks, std::int16_t* const* outs) {
  int set = blocks.first_set;
  for (int b = 0; b < blocks.count; ++b) {
    __m512i sums[4];
    SumBlock<kPairs>(rows, blocks, b, set, kHalfScale, sums);
    set = set + 1 == blocks.sets ? 0 : set + 1;
    _mm512_storeu_si512(outs[0] + b * kWords, ToPairs(sums[0], sums[1]));
    _mm512_storeu_si512(outs[1] + b * kWords, ToPairs(sums[2], sums[3]));
  }
}

REELMEND_VNNI void Columns(const std::int16_t* const* rows, const Int16Blocks& blocks, std::int16_t* const* outs) {
  if (blocks.pairs == 3) return ColumnsT<3>(rows, blocks, outs);
  ColumnsT<0>(rows, blocks, outs);
}

template <int kPairs>
REELMEND_VNNI void ColumnsOutT(const std::int16_t* const* rows, const Int16Blocks& blocks, std::uint16_t* const* outs) {
  int set = blocks.first_set;
  for (int b = 0; b < blocks.count; b += 2) {
    __m512i low[4];
    __m512i high[4];
    SumBlock<kPairs>(rows, blocks, b, set, kOutScale, low);
    set = set + 1 == blocks.sets ? 0 : set + 1;
    SumBlock<kPairs>(rows, blocks, b + 1, set, kOutScale, high);
    set = set + 1 == blocks.sets ? 0 : set + 1;
    for (int r = 0; r < 4; ++r) StoreOut(low[r], high[r], outs[r] + b * kLanes);
  }
}

REELMEND_VNNI void ColumnsOut(const std::int16_t* const* rows, const Int16Blocks& blocks, std::uint16_t* const* outs) {
  if (blocks.pairs == 4) return ColumnsOutT<4>(rows, blocks, outs);
  if (blocks.pairs == 5) return ColumnsOutT<5>(rows, blocks, outs);
  ColumnsOutT<0>(rows, blocks, outs);
}

/// Lane t of output vector j of two interleaved ones.
struct InterleaveTables {
  alignas(64) std::int32_t lanes[2][kLanes];   // single lanes of the two
  alignas(64) std::int32_t pairs[4][kLanes];   // pairs of lanes, of v01 and v23
};

constexpr InterleaveTables MakeInterleaveTables() {
  InterleaveTables tables{};
  for (int t = 0; t < kLanes; ++t) {
    for (int j = 0; j < 2; ++j) tables.lanes[j][t] = (kLanes * j + t) / 2 + (t % 2) * kLanes;
    for (int j = 0; j < 4; ++j) {
      const int pair = (kLanes * j + t) / 2;
      tables.pairs[j][t] = 2 * (pair / 2 % 8) + t % 2 + (pair % 2) * kLanes;
    }
  }
  return tables;
}

constexpr InterleaveTables kInterleave = MakeInterleaveTables();

REELMEND_VNNI_INLINE __m512i Mix(__m512i a, __m512i b, const std::int32_t* indices) {
  return _mm512_permutex2var_epi32(a, _mm512_load_si512(indices), b);
}

/// A pair of inputs at an even position gives the outputs of even inputs, all lanes at once, without a permute.
/// sums: even inputs' first output, second; odd inputs' first, second.
template <int kLate>
REELMEND_VNNI_INLINE void SumTwice(const std::int16_t* row, const __m512i* w, __m512i* sums) {
  for (int i = 0; i < 4; ++i) sums[i] = _mm512_set1_epi32(kHalfScale);
#pragma GCC unroll 8
  for (int k = 0; k < 6 + kLate; ++k) {
    __m512i v = LoadWords(row + k);
    asm("" : "+v"(v));  // keeps GCC from loading it for every sum
    if (k % 2 == 0 && k < 6) sums[0] = Dot(sums[0], v, w[k / 2]);
    if (k % 2 == 1) sums[2] = Dot(sums[2], v, w[k / 2]);
    const int late = k - kLate;
    if (late >= 0 && late % 2 == 0 && late < 6) sums[1] = Dot(sums[1], v, w[3 + late / 2]);
    if (late >= 0 && late % 2 == 1) sums[3] = Dot(sums[3], v, w[3 + late / 2]);
  }
}

template <int kLate>
REELMEND_VNNI void TwiceT(const std::int16_t* const* rows, const std::int32_t* weights, std::int16_t* out, int count) {
  __m512i w[6];
  for (int i = 0; i < 6; ++i) w[i] = _mm512_set1_epi32(weights[i]);
  for (int x = 0; x < count; x += kWords) {
    __m512i first[4];
    __m512i second[4];
    SumTwice<kLate>(rows[0] + x, w, first);
    SumTwice<kLate>(rows[1] + x, w, second);
    __m512i v[4];
    for (int i = 0; i < 4; ++i) v[i] = ToPairs(first[i], second[i]);
    for (int j = 0; j < 4; ++j) {
      const __m512i v01 = Mix(v[0], v[1], kInterleave.lanes[j / 2]);
      const __m512i v23 = Mix(v[2], v[3], kInterleave.lanes[j / 2]);
      _mm512_storeu_si512(out + 4 * x + j * kWords, Mix(v01, v23, kInterleave.pairs[j]));
    }
  }
}

/// Three outputs for every two inputs: all lanes of a pair of inputs are the same output of consecutive threes, as in
/// SumTwice.
template <int kLate1, int kLate2>
REELMEND_VNNI_INLINE void SumThirds(const std::int16_t* row, const __m512i* w, __m512i* sums) {
  constexpr int kLates[3] = {0, kLate1, kLate2};
  for (int i = 0; i < 3; ++i) sums[i] = _mm512_set1_epi32(kHalfScale);
#pragma GCC unroll 8
  for (int k = 0; k < 5 + kLate2; ++k) {
    __m512i v = LoadWords(row + k);
    asm("" : "+v"(v));  // keeps GCC from loading it for every sum
#pragma GCC unroll 3
    for (int p = 0; p < 3; ++p) {
      const int tap = k - kLates[p];
      if (tap >= 0 && tap % 2 == 0 && tap < 6) sums[p] = Dot(sums[p], v, w[3 * p + tap / 2]);
    }
  }
}

struct ThirdsTables {
  alignas(64) std::int32_t a[3][kLanes];  // lanes of the first two phases, the places of the third open
  alignas(64) std::int32_t b[3][kLanes];  // that and the third
};

constexpr ThirdsTables MakeThirdsTables() {
  ThirdsTables tables{};
  for (int t = 0; t < kLanes; ++t) {
    for (int j = 0; j < 3; ++j) {
      const int phase = (kLanes * j + t) % 3;
      const int from = (kLanes * j + t) / 3;
      tables.a[j][t] = phase == 2 ? 0 : from + phase * kLanes;
      tables.b[j][t] = phase == 2 ? kLanes + from : t;
    }
  }
  return tables;
}

constexpr ThirdsTables kThirds = MakeThirdsTables();

template <int kLate1, int kLate2>
REELMEND_VNNI void ThirdsT(const std::int16_t* const* rows, const std::int32_t* weights, std::int16_t* out, int count) {
  __m512i w[9];
  for (int i = 0; i < 9; ++i) w[i] = _mm512_set1_epi32(weights[i]);
  for (int x = 0; x < count; x += kWords) {
    __m512i first[3];
    __m512i second[3];
    SumThirds<kLate1, kLate2>(rows[0] + x, w, first);
    SumThirds<kLate1, kLate2>(rows[1] + x, w, second);
    __m512i v[3];
    for (int i = 0; i < 3; ++i) v[i] = ToPairs(first[i], second[i]);
    for (int j = 0; j < 3; ++j) {
      _mm512_storeu_si512(out + 3 * x + j * kWords, Mix(Mix(v[0], v[1], kThirds.a[j]), v[2], kThirds.b[j]));
    }
  }
}

REELMEND_VNNI void Thirds(const std::int16_t* const* rows, const int* late, const std::int32_t* weights, std::int16_t* out,
                           int count) {
  if (late[1] == 0) return ThirdsT<0, 1>(rows, weights, out, count);
  if (late[2] == 1) return ThirdsT<1, 1>(rows, weights, out, count);
  ThirdsT<1, 2>(rows, weights, out, count);
}

REELMEND_VNNI void Twice(const std::int16_t* const* rows, int late, const std::int32_t* weights, std::int16_t* out, int count) {
  if (late == 0) return TwiceT<0>(rows, weights, out, count);
  TwiceT<1>(rows, weights, out, count);
}

/// Six pairs of sixteen outputs. Some of the shifted inputs are loaded, some are shifted out of two vectors, to balance the
/// load unit (loads straddle cache lines) with the shift unit.
REELMEND_VNNI_INLINE __m512i Halve6(const std::int16_t* row, __m512i low, __m512i high, const __m512i* w) {
  __m512i a = Dot(_mm512_set1_epi32(kOutScale), low, w[0]);
  __m512i b = Dot(_mm512_setzero_si512(), LoadWords(row + 2), w[1]);
  a = Dot(a, _mm512_alignr_epi32(high, low, 2), w[2]);
  b = Dot(b, LoadWords(row + 6), w[3]);
  a = Dot(a, _mm512_alignr_epi32(high, low, 4), w[4]);
  b = Dot(b, LoadWords(row + 10), w[5]);
  return _mm512_add_epi32(a, b);
}

REELMEND_VNNI void HalveOut(const std::int16_t* row, const std::int32_t* weights, std::uint16_t* out, int count) {
  constexpr int kPairs = 6;
  __m512i w[kPairs];
  for (int j = 0; j < kPairs; ++j) w[j] = _mm512_set1_epi32(weights[j]);
  __m512i first = LoadWords(row);
  for (int x = 0; x < count; x += kWords) {
    const std::int16_t* from = row + 2 * x;
    const __m512i second = LoadWords(from + kWords);
    const __m512i third = LoadWords(from + 2 * kWords);
    StoreOut(Halve6(from, first, second, w), Halve6(from + kWords, second, third, w), out + x);
    first = third;
  }
}

/// The first sum takes pairs 0 … kFirst − 1, the second kFrom … kTo − 1; with kFirst = 0 both take all of sums.pairs.
template <int kFirst, int kFrom, int kTo>
REELMEND_VNNI void VerticalT(const std::int16_t* const* rows, const Int16Sums& sums, std::uint16_t* const* outs,
                              std::uint16_t* const* ahead, int count) {
  const int n = kFirst == 0 ? sums.pairs : kFirst > kTo ? kFirst : kTo;
  for (int x = 0; x < count; x += kWords) {
    __m512i low0 = _mm512_set1_epi32(kOutScale);
    __m512i high0 = low0;
    __m512i low1 = low0;
    __m512i high1 = low0;
    __builtin_prefetch(ahead[0] + x, 1);
    __builtin_prefetch(ahead[1] + x, 1);
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) {
      const __m512i low = LoadWords(rows[k] + 2 * x);
      const __m512i high = LoadWords(rows[k] + 2 * x + kWords);
      if (kFirst == 0 || k < kFirst) {
        const __m512i w = _mm512_set1_epi32(sums.weights[0][k]);
        low0 = Dot(low0, low, w);
        high0 = Dot(high0, high, w);
      }
      if (kFirst == 0 || (k >= kFrom && k < kTo)) {
        const __m512i w = _mm512_set1_epi32(sums.weights[1][k]);
        low1 = Dot(low1, low, w);
        high1 = Dot(high1, high, w);
      }
    }
    StoreOut(low0, high0, outs[0] + x);
    StoreOut(low1, high1, outs[1] + x);
  }
}

REELMEND_VNNI void Vertical(const std::int16_t* const* rows, const Int16Sums& sums, std::uint16_t* const* outs,
                             std::uint16_t* const* ahead, int count) {
  const auto& w = sums.weights;
  if (sums.pairs == 3) return VerticalT<3, 0, 3>(rows, sums, outs, ahead, count);
  if (sums.pairs == 4 && w[0][3] == 0) return VerticalT<3, 0, 4>(rows, sums, outs, ahead, count);
  if (sums.pairs == 4 && w[1][0] == 0) return VerticalT<4, 1, 4>(rows, sums, outs, ahead, count);
  if (sums.pairs == 4) return VerticalT<4, 0, 4>(rows, sums, outs, ahead, count);
  VerticalT<0, 0, 0>(rows, sums, outs, ahead, count);
}

/// Columns 0 … 3, 8 … 11, … of two rows as pairs, and the others: the pack in StoreWords reverses this order.
REELMEND_VNNI_INLINE void LoadPairs(const std::uint16_t* first, const std::uint16_t* second, __m512i* pairs) {
  const __m512i a = ToSigned(LoadWords(first));
  const __m512i b = ToSigned(LoadWords(second));
  pairs[0] = _mm512_unpacklo_epi16(a, b);
  pairs[1] = _mm512_unpackhi_epi16(a, b);
}

REELMEND_VNNI_INLINE void StoreWords(const __m512i* sums, std::int16_t* out) {
  _mm512_storeu_si512(out, _mm512_packs_epi32(_mm512_srai_epi32(sums[0], 16), _mm512_srai_epi32(sums[1], 16)));
}

/// Samples to prefetch ahead of a sum of rows.
constexpr int kAhead = 512;

/// Sums `first` … `first` + 3 of pairs `from` … `to` − 1.
REELMEND_VNNI_INLINE void FourSums(const std::uint16_t* const* rows, const Int16Sums& s, int first, int from, int to,
                                    std::int16_t* const* outs, int x) {
  constexpr int kSums = 4;
  __m512i sums[kSums][2];
  for (auto& sum : sums) sum[0] = sum[1] = _mm512_set1_epi32(kHalfScale);
  for (int k = from; k < to; ++k) {
    __m512i v[2];
    LoadPairs(rows[2 * k] + x, rows[2 * k + 1] + x, v);
    _mm_prefetch(reinterpret_cast<const char*>(rows[2 * k] + x + kAhead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(rows[2 * k + 1] + x + kAhead), _MM_HINT_T0);
    for (int i = 0; i < kSums; ++i) {
      const __m512i w = _mm512_set1_epi32(s.weights[first + i][k]);
      sums[i][0] = Dot(sums[i][0], v[0], w);
      sums[i][1] = Dot(sums[i][1], v[1], w);
    }
  }
  for (int i = 0; i < kSums; ++i) StoreWords(sums[i], outs[first + i] + x);
}

/// Four sums at a time, over the pairs that they need; registers are left for what they share.
REELMEND_VNNI void VerticalFirst(const std::uint16_t* const* rows, const Int16Sums& s, std::int16_t* const* outs, int count) {
  for (int first = 0; first < Int16Sums::kOutputs; first += 4) {
    int from = 0;
    int to = s.pairs;
    while (s.weights[first][from] == 0) ++from;
    while (s.weights[first + 3][to - 1] == 0) --to;
    for (int x = 0; x < count; x += kWords) FourSums(rows, s, first, from, to, outs, x);
  }
}

REELMEND_VNNI void HalveRows(const std::uint16_t* const* rows, const std::int32_t* weights, std::int16_t* const* outs,
                              int count) {
  constexpr int kOutputs = 8;
  constexpr int kPairs = 6;
  constexpr int kRowPairs = kPairs + kOutputs - 1;
  __m512i w[kPairs];
  for (int j = 0; j < kPairs; ++j) w[j] = _mm512_set1_epi32(weights[j]);
  for (int x = 0; x < count; x += kWords) {
    __m512i sums[kOutputs][2];
    for (auto& sum : sums) sum[0] = sum[1] = _mm512_set1_epi32(kHalfScale);
#pragma GCC unroll 13
    for (int k = 0; k < kRowPairs; ++k) {
      __m512i v[2];
      LoadPairs(rows[2 * k] + x, rows[2 * k + 1] + x, v);
      if (k >= kPairs - 1) {  // the previous sums have read the others
        _mm_prefetch(reinterpret_cast<const char*>(rows[2 * k] + x + kAhead), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(rows[2 * k + 1] + x + kAhead), _MM_HINT_T0);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kOutputs; ++i) {
        const int j = k - i;
        if (j < 0 || j >= kPairs) continue;
        sums[i][0] = Dot(sums[i][0], v[0], w[j]);
        sums[i][1] = Dot(sums[i][1], v[1], w[j]);
      }
    }
    for (int i = 0; i < kOutputs; ++i) StoreWords(sums[i], outs[i] + x);
  }
}

constexpr Int16Kernels kKernels = {Load, Columns, ColumnsOut, Twice, Thirds, HalveOut, Vertical, VerticalFirst, HalveRows};

bool MachineHasThem() {
  static const bool has = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
}
#endif

}  // namespace

const Int16Kernels* GetInt16Kernels() {
#if REELMEND_HAS_WORDS
  if (g_are_allowed && MachineHasThem() && std::strncmp(SimdTarget(), "AVX3", 4) == 0) return &kKernels;
#endif
  return nullptr;
}

void AllowInt16Kernels(bool allow) { g_are_allowed = allow; }

}  // namespace reelmend::pixel
