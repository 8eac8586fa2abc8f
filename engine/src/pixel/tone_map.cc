// ToneMapper.
//
// Note [Tables of the tone mapping]
// Transfer functions come from tables, interpolated linearly: the gamut matrix takes differences of their values, and a
// stepped gain would shift the whole curve. Only the last one, into R′G′B′, is read at the nearest entry, spaced by the root
// of its argument so that an entry is never wider than a fifth of an 8-bit step. Compared with double precision, the error
// is within half an 8-bit level for colours that BT.709 can hold.
#include "pixel/tone_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "reelmend/error.h"
#include "pixel/color_matrix.h"
#include "pixel/scratch.h"
#include "pixel/tone_tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/tone_map.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_TONE_MAP_TYPES
#define REELMEND_PIXEL_TONE_MAP_TYPES
namespace reelmend::pixel {

inline constexpr int kRowMargin = 32;  // samples before a row of scratch

/// Rows of one plane mixed into one.
struct RowMix {
  const std::uint16_t* rows[3];
  float weights[3];
};

/// Weights of the samples before, at and after a position.
using Taps = std::array<float, 3>;

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void MixRows(const RowMix& mix, int count, float* out) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF sum = hn::Mul(LoadSamples(mix.rows[0] + x), hn::Set(d, mix.weights[0]));
    for (int i = 1; i < 3; ++i) {
      sum = hn::MulAdd(LoadSamples(mix.rows[i] + x), hn::Set(d, mix.weights[i]), sum);
    }
    hn::StoreU(sum, d, out + x);
  }
}

/// out[i] from in[2i − 1 … 2i + 1].
void HalveRow(const float* in, int count, const Taps& taps, float* out) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF even;
    VF odd;
    VF unused;
    VF before;
    hn::LoadInterleaved2(d, in + 2 * x, even, odd);
    hn::LoadInterleaved2(d, in + 2 * x - 2, unused, before);
    const VF sides = hn::MulAdd(before, hn::Set(d, taps[0]), hn::Mul(odd, hn::Set(d, taps[2])));
    hn::StoreU(hn::MulAdd(even, hn::Set(d, taps[1]), sides), d, out + x);
  }
}

HWY_INLINE VF Clip01(VF v) { return hn::Min(hn::Max(v, hn::Zero(DF())), hn::Set(DF(), 1.0F)); }

/// Table entry nearest to v in 0…1.
HWY_INLINE VF Nearest(const float* table, VF v) {
  const DF d;
  const auto index = hn::ConvertTo(DI(), hn::MulAdd(v, hn::Set(d, float{kTableSteps}), hn::Set(d, 0.5F)));
  return hn::GatherIndex(d, table, index);
}

HWY_INLINE VF Interpolated(const float* table, VF v) {
  const DF d;
  const VF place = hn::Mul(Clip01(v), hn::Set(d, float{kTableSteps}));
  const auto index = hn::ConvertTo(DI(), place);
  const VF below = hn::GatherIndex(d, table, index);
  const VF above = hn::GatherIndex(d, table + 1, index);
  return hn::MulAdd(hn::Sub(place, hn::ConvertTo(d, index)), hn::Sub(above, below), below);
}

struct Rgb {
  VF r;
  VF g;
  VF b;
};

HWY_INLINE VF Dot(const float* weights, const Rgb& v) {
  const DF d;
  const VF two = hn::MulAdd(v.g, hn::Set(d, weights[1]), hn::Mul(v.r, hn::Set(d, weights[0])));
  return hn::MulAdd(v.b, hn::Set(d, weights[2]), two);
}

/// Samples of the source → R′G′B′ of SDR.
template <bool kIsHlg>
HWY_INLINE Rgb ToneMapPixels(VF y, VF cb, VF cr, const ToneKernel& k) {
  const DF d;
  const ToneTables& tables = *k.tables;
  const VF centre = hn::Set(d, 32768.0F);
  const VF luma = hn::Mul(hn::Sub(y, hn::Set(d, k.luma_offset)), hn::Set(d, k.luma_scale));
  cb = hn::Sub(cb, centre);
  cr = hn::Sub(cr, centre);
  const VF green = hn::MulAdd(cb, hn::Set(d, k.green_cb), hn::MulAdd(cr, hn::Set(d, k.green_cr), luma));
  Rgb light = {Interpolated(tables.light, hn::MulAdd(cr, hn::Set(d, k.red_cr), luma)),
               Interpolated(tables.light, green),
               Interpolated(tables.light, hn::MulAdd(cb, hn::Set(d, k.blue_cb), luma))};
  VF brightest = hn::Max(hn::Max(light.r, light.g), light.b);
  VF gain = hn::Set(d, 1.0F);
  if constexpr (kIsHlg) {
    gain = Interpolated(tables.system, hn::Sqrt(Dot(k.luminance, light)));
    brightest = hn::Mul(brightest, gain);
  }
  gain = hn::Mul(gain, Interpolated(tables.gain, hn::Sqrt(hn::Sqrt(brightest))));
  light = {hn::Mul(light.r, gain), hn::Mul(light.g, gain), hn::Mul(light.b, gain)};
  const auto signal = [&](const float* row) { return Nearest(tables.signal, hn::Sqrt(Clip01(Dot(row, light)))); };
  return {signal(k.gamut[0]), signal(k.gamut[1]), signal(k.gamut[2])};
}

constexpr float kLumaWeights[3] = {0.2126F, 0.7152F, 0.0722F};

template <bool kIsHlg>
HWY_INLINE void ToneMapLumaT(const uint16_t* y, const float* cb, const float* cr, int count, const ToneKernel& k,
                             uint16_t* out) {
  const DF d;
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    const Rgb sdr = ToneMapPixels<kIsHlg>(LoadSamples(y + x), hn::LoadU(d, cb + x), hn::LoadU(d, cr + x), k);
    const VF luma = Dot(kLumaWeights, sdr);
    StoreSamples(hn::MulAdd(luma, hn::Set(d, 219.0F * 256), hn::Set(d, 16.0F * 256)), out + x);
  }
}

template <bool kIsHlg>
HWY_INLINE void ToneMapChromaT(const float* y, const float* cb, const float* cr, int count, const ToneKernel& k,
                               uint16_t* cb_out, uint16_t* cr_out) {
  const DF d;
  const VF centre = hn::Set(d, 32768.0F);
  const VF blue_scale = hn::Set(d, 224.0F * 256 / 1.8556F);
  const VF red_scale = hn::Set(d, 224.0F * 256 / 1.5748F);
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    const Rgb sdr =
        ToneMapPixels<kIsHlg>(hn::LoadU(d, y + x), hn::LoadU(d, cb + x), hn::LoadU(d, cr + x), k);
    const VF luma = Dot(kLumaWeights, sdr);
    StoreSamples(hn::MulAdd(hn::Sub(sdr.b, luma), blue_scale, centre), cb_out + x);
    StoreSamples(hn::MulAdd(hn::Sub(sdr.r, luma), red_scale, centre), cr_out + x);
  }
}

void LumaPq(const uint16_t* y, const float* cb, const float* cr, int count, const ToneKernel& k, uint16_t* out) {
  ToneMapLumaT<false>(y, cb, cr, count, k, out);
}
void LumaHlg(const uint16_t* y, const float* cb, const float* cr, int count, const ToneKernel& k, uint16_t* out) {
  ToneMapLumaT<true>(y, cb, cr, count, k, out);
}
void ChromaPq(const float* y, const float* cb, const float* cr, int count, const ToneKernel& k, uint16_t* cb_out,
              uint16_t* cr_out) {
  ToneMapChromaT<false>(y, cb, cr, count, k, cb_out, cr_out);
}
void ChromaHlg(const float* y, const float* cb, const float* cr, int count, const ToneKernel& k, uint16_t* cb_out,
               uint16_t* cr_out) {
  ToneMapChromaT<true>(y, cb, cr, count, k, cb_out, cr_out);
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(MixRows);
HWY_EXPORT(DoubleRow);
HWY_EXPORT(HalveRow);
HWY_EXPORT(LumaPq);
HWY_EXPORT(LumaHlg);
HWY_EXPORT(ChromaPq);
HWY_EXPORT(ChromaHlg);

constexpr int kGrainRows = 16;
constexpr double kPqPeakNits = 10'000;
constexpr double kHlgPeakNits = 1000;
constexpr double kHlgGamma = 1.2;

// SMPTE ST 2084.
constexpr double kM1 = 2610.0 / 16384;
constexpr double kM2 = 2523.0 / 4096 * 128;
constexpr double kC1 = 3424.0 / 4096;
constexpr double kC2 = 2413.0 / 4096 * 32;
constexpr double kC3 = 2392.0 / 4096 * 32;

/// Signal 0…1 → light, 1 = 10,000 nits.
double PqToLight(double signal) {
  const double p = std::pow(signal, 1 / kM2);
  return std::pow(std::max(p - kC1, 0.0) / (kC2 - kC3 * p), 1 / kM1);
}

double LightToPq(double light) {
  const double p = std::pow(light, kM1);
  return std::pow((kC1 + kC2 * p) / (1 + kC3 * p), kM2);
}

/// Signal 0…1 → light of the scene, 1 = nominal peak (ITU-R BT.2100, inverse OETF).
double HlgToScene(double signal) {
  constexpr double kA = 0.17883277;
  constexpr double kB = 1 - 4 * kA;
  const double c = 0.5 - kA * std::log(4 * kA);
  return signal <= 0.5 ? signal * signal / 3 : (std::exp((signal - c) / kA) + kB) / 12;
}

/// EETF of BT.2390 in PQ signals; `source` and `target` are the peaks.
double Eetf(double signal, double source, double target) {
  const double e = std::min(signal / source, 1.0);
  const double peak = target / source;
  const double knee = 1.5 * peak - 0.5;
  if (peak >= 1 || e < knee) return e * source;
  const double t = (e - knee) / (1 - knee);
  const double t2 = t * t;
  const double t3 = t2 * t;
  const double bent =
      (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (3 * t2 - 2 * t3) * peak;
  return bent * source;
}

double UsablePeak(double nits) { return std::clamp(nits, kSdrWhiteNits, kPqPeakNits); }

/// Rows of linear RGB of the primaries → linear RGB of BT.709; white D65 throughout.
void GamutMatrix(Primaries primaries, float (&out)[3][3], float (&luminance)[3]) {
  struct Gamut {
    float matrix[3][3];
    float luminance[3];
  };
  static constexpr Gamut kGamuts[] = {
      // The inverse of ITU-R BT.2087-0.
      {{{1.660491F, -0.587641F, -0.072850F}, {-0.124550F, 1.132900F, -0.008349F}, {-0.018151F, -0.100579F, 1.118730F}},
       {0.2627F, 0.6780F, 0.0593F}},
      {{{1.224940F, -0.224940F, 0.0F}, {-0.042057F, 1.042057F, 0.0F}, {-0.019638F, -0.078636F, 1.098274F}},
       {0.228975F, 0.691739F, 0.079287F}},
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0.2126F, 0.7152F, 0.0722F}}};
  const Gamut& gamut = kGamuts[static_cast<int>(primaries)];
  std::copy(&gamut.matrix[0][0], &gamut.matrix[0][0] + 9, &out[0][0]);
  std::copy(gamut.luminance, gamut.luminance + 3, luminance);
}

constexpr double kSdrGamma = 2.4;  // ITU-R BT.1886 with black at 0

/// Tables that do not change the brightness.
void FillGamutTables(ToneTables& tables) {
  for (int i = 0; i < kTableSteps + 2; ++i) {
    const double v = std::min(1.0, static_cast<double>(i) / kTableSteps);
    tables.light[i] = static_cast<float>(std::pow(v, kSdrGamma));
    tables.system[i] = tables.gain[i] = 1;
    tables.signal[i] = static_cast<float>(std::pow(v * v, 1 / kSdrGamma));
  }
}

}  // namespace

void FillToneTables(const ToneMapOptions& options, ToneTables& tables) {
  if (options.transfer == HdrTransfer::kSdr) return FillGamutTables(tables);
  const bool is_hlg = options.transfer == HdrTransfer::kHlg;
  const double nominal = is_hlg ? kHlgPeakNits : kPqPeakNits;
  const double peak = is_hlg ? kHlgPeakNits : options.peak_nits;
  for (int i = 0; i < kTableSteps + 2; ++i) {
    const double v = std::min(1.0, static_cast<double>(i) / kTableSteps);
    tables.light[i] = static_cast<float>(is_hlg ? HlgToScene(v) : PqToLight(v));
    tables.system[i] = static_cast<float>(std::pow(v * v, kHlgGamma - 1));
    const double light = std::pow(v, 4);
    // Below a millionth of the peak the curve is a straight line, which avoids the division by 0.
    const double nits = std::max(light, 1e-6) * nominal;
    tables.gain[i] = static_cast<float>(ToneCurve(nits, peak) / nits * nominal);
    tables.signal[i] = static_cast<float>(std::pow(v * v, 1 / kSdrGamma));
  }
}

ToneKernel MakeToneKernel(const ToneMapOptions& options, ColorSpec color, const ToneTables* tables) {
  const YcbcrToRgb c = MakeYcbcrToRgb(color.matrix, color.range);
  ToneKernel kernel{};
  kernel.tables = tables;
  kernel.luma_offset = static_cast<float>(c.luma_offset);
  kernel.luma_scale = static_cast<float>(c.luma_scale);
  kernel.red_cr = static_cast<float>(c.red_cr);
  kernel.green_cb = static_cast<float>(c.green_cb);
  kernel.green_cr = static_cast<float>(c.green_cr);
  kernel.blue_cb = static_cast<float>(c.blue_cb);
  GamutMatrix(options.primaries, kernel.gamut, kernel.luminance);
  return kernel;
}

namespace {

struct ToneScratch {
  explicit ToneScratch(int width)
      : mixed(Size(width)), cb(Size(width)), cr(Size(width)), luma(Size(width)) {}
  static std::size_t Size(int width) { return static_cast<std::size_t>(width) + 4 * kRowMargin; }
  static float* Row(const AlignedArray<float>& row) { return row.get() + kRowMargin; }

  AlignedArray<float> mixed;
  AlignedArray<float> cb;
  AlignedArray<float> cr;
  AlignedArray<float> luma;
};

void ReplicateEdges(float* row, int count) {
  row[-1] = row[0];
  row[count] = row[count - 1];
}

/// The work of one band on a picture.
class ToneBand {
 public:
  ToneBand(const Image& in, const ToneKernel& kernel, bool is_hlg, ToneScratch& scratch)
      : luma_(in.plane(0)),
        chroma_{in.plane(1), in.plane(2)},
        subsampling_(in.subsampling()),
        site_(in.color().site),
        kernel_(kernel),
        is_hlg_(is_hlg),
        scratch_(scratch) {}

  void Luma(int y, std::uint16_t* out) {
    float* cb = ToneScratch::Row(scratch_.cb);
    float* cr = ToneScratch::Row(scratch_.cr);
    ChromaAtLuma(chroma_[0], y, cb);
    ChromaAtLuma(chroma_[1], y, cr);
    if (is_hlg_) {
      HWY_DYNAMIC_DISPATCH(LumaHlg)(luma_.Row(y), cb, cr, luma_.width, kernel_, out);
    } else {
      HWY_DYNAMIC_DISPATCH(LumaPq)(luma_.Row(y), cb, cr, luma_.width, kernel_, out);
    }
  }

  void Chroma(int y, std::uint16_t* cb_out, std::uint16_t* cr_out) {
    const int width = chroma_[0].width;
    float* luma = ToneScratch::Row(scratch_.luma);
    float* cb = ToneScratch::Row(scratch_.cb);
    float* cr = ToneScratch::Row(scratch_.cr);
    LumaAtChroma(y, luma);
    HWY_DYNAMIC_DISPATCH(MixRows)(OneRow(chroma_[0].Row(y)), width, cb);
    HWY_DYNAMIC_DISPATCH(MixRows)(OneRow(chroma_[1].Row(y)), width, cr);
    if (is_hlg_) {
      HWY_DYNAMIC_DISPATCH(ChromaHlg)(luma, cb, cr, width, kernel_, cb_out, cr_out);
    } else {
      HWY_DYNAMIC_DISPATCH(ChromaPq)(luma, cb, cr, width, kernel_, cb_out, cr_out);
    }
  }

 private:
  static RowMix OneRow(const std::uint16_t* row) { return {{row, row, row}, {1, 0, 0}}; }

  bool IsCositedAcross() const { return site_ != ChromaSite::kCentre && site_ != ChromaSite::kTop && site_ != ChromaSite::kBottom; }
  bool IsCositedAbove() const { return site_ == ChromaSite::kTopLeft || site_ == ChromaSite::kTop; }
  bool IsCositedBelow() const { return site_ == ChromaSite::kBottomLeft || site_ == ChromaSite::kBottom; }

  void ChromaAtLuma(ConstPlane plane, int y, float* out) const {
    const bool is_halved = subsampling_.log2_x != 0;
    float* mixed = is_halved ? ToneScratch::Row(scratch_.mixed) : out;
    HWY_DYNAMIC_DISPATCH(MixRows)(ChromaRows(plane, y), plane.width, mixed);
    if (!is_halved) return;
    ReplicateEdges(mixed, plane.width);
    HWY_DYNAMIC_DISPATCH(DoubleRow)(mixed, plane.width, IsCositedAcross() ? kCositedWeights : kCentredWeights, out);
  }

  RowMix ChromaRows(ConstPlane plane, int y) const {
    if (subsampling_.log2_y == 0) return OneRow(plane.Row(y));
    const std::uint16_t* at = plane.Row(y / 2);
    const bool odd = y % 2 != 0;
    if (odd ? IsCositedBelow() : IsCositedAbove()) return OneRow(at);
    const int other = std::clamp(odd ? y / 2 + 1 : y / 2 - 1, 0, plane.height - 1);
    const float weight = IsCositedAbove() || IsCositedBelow() ? 0.5F : 0.25F;
    return {{at, plane.Row(other), at}, {1 - weight, weight, 0}};
  }

  void LumaAtChroma(int y, float* out) const {
    const bool is_halved = subsampling_.log2_x != 0;
    float* mixed = is_halved ? ToneScratch::Row(scratch_.mixed) : out;
    HWY_DYNAMIC_DISPATCH(MixRows)(LumaRows(y), luma_.width, mixed);
    if (!is_halved) return;
    static constexpr Taps kCosited = {0.25F, 0.5F, 0.25F};
    static constexpr Taps kCentred = {0, 0.5F, 0.5F};
    ReplicateEdges(mixed, luma_.width);
    HWY_DYNAMIC_DISPATCH(HalveRow)(mixed, chroma_[0].width, IsCositedAcross() ? kCosited : kCentred, out);
  }

  RowMix LumaRows(int y) const {
    if (subsampling_.log2_y == 0) return OneRow(luma_.Row(y));
    const std::uint16_t* at = luma_.Row(2 * y);
    const std::uint16_t* below = luma_.Row(std::min(2 * y + 1, luma_.height - 1));
    if (IsCositedAbove()) return {{luma_.Row(std::max(2 * y - 1, 0)), at, below}, {0.25F, 0.5F, 0.25F}};
    if (IsCositedBelow()) return {{at, below, luma_.Row(std::min(2 * y + 2, luma_.height - 1))}, {0.25F, 0.5F, 0.25F}};
    return {{at, below, at}, {0.5F, 0.5F, 0}};
  }

  ConstPlane luma_;
  ConstPlane chroma_[2];
  Subsampling subsampling_;
  ChromaSite site_;
  const ToneKernel& kernel_;
  bool is_hlg_;
  ToneScratch& scratch_;
};

}  // namespace

double ToneCurve(double nits, double peak_nits) {
  const double source = LightToPq(UsablePeak(peak_nits) / kPqPeakNits);
  const double target = LightToPq(kSdrWhiteNits / kPqPeakNits);
  const double signal = LightToPq(std::clamp(nits / kPqPeakNits, 0.0, 1.0));
  return PqToLight(Eetf(signal, source, target)) * kPqPeakNits / kSdrWhiteNits;
}

struct ToneMapper::Impl {
  ToneMapOptions options;
  ToneTables tables;
  int scratch_width = 0;
  ScratchPool<ToneScratch> scratch;
};

ToneMapper::ToneMapper(const ToneMapOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  FillToneTables(options, impl_->tables);
}

ToneMapper::~ToneMapper() = default;

void ToneMapper::Run(const Image& in, Image& out, ThreadPool& pool) {
  if (in.width() != out.width() || in.height() != out.height() || in.subsampling() != out.subsampling()) {
    throw Error(ErrorCode::kInternal, "Tone mapping needs two pictures of the same size and layout.");
  }
  Impl& impl = *impl_;
  if (impl.scratch_width == 0) impl.scratch_width = in.width();
  if (in.width() > impl.scratch_width) {
    throw Error(ErrorCode::kInternal, "A picture is wider than the tone mapping was planned for.");
  }
  impl.scratch.Prepare(pool.threads(), [&] { return std::make_unique<ToneScratch>(impl.scratch_width); });
  const bool is_hlg = impl.options.transfer == HdrTransfer::kHlg;
  const ToneKernel kernel = MakeToneKernel(impl.options, in.color(), &impl.tables);
  const Plane planes[3] = {out.plane(0), out.plane(1), out.plane(2)};
  const auto rows = [&](int plane, int first, int last) {
    if (plane == 2) return;  // done with plane 1
    const auto scratch = impl.scratch.Borrow();
    ToneBand band(in, kernel, is_hlg, *scratch);
    for (int y = first; y < last; ++y) {
      if (plane == 0) {
        band.Luma(y, planes[0].Row(y));
      } else {
        band.Chroma(y, planes[1].Row(y), planes[2].Row(y));
      }
    }
  };
  ParallelPlaneRows(out, kGrainRows, pool, rows);
  out.set_color({Matrix::kBt709, Range::kLimited, in.color().site});
}

}  // namespace reelmend::pixel
#endif
