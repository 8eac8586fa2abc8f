// ConvertColor: matrix and range in place.
#include <algorithm>
#include <functional>

#include "pixel/color_matrix.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/color.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_COLOR_TYPES
#define REELMEND_PIXEL_COLOR_TYPES
namespace reelmend::pixel {

/// Chroma's part in luma is computed for pieces of a row that fit on the stack.
inline constexpr int kPiece = 256;
inline constexpr int kPieceMargin = 32;
inline constexpr float kChromaCentre = 32768.0F;

struct AffineRow {
  float scale;
  float offset;
};

/// Two chroma rows around a luma row, with their weights times the luma coefficients.
struct ChromaRows {
  const std::uint16_t* cb[2];
  const std::uint16_t* cr[2];
  float cb_weight[2];
  float cr_weight[2];
};

struct ChromaMatrix {
  float m[2][2];
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void ScaleLuma(uint16_t* row, int count, const AffineRow& luma) {
  const DF d;
  const VF scale = hn::Set(d, luma.scale);
  const VF offset = hn::Set(d, luma.offset);
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes)
    StoreSamples(hn::MulAdd(LoadSamples(row + x), scale, offset), row + x);
}

void AddToLuma(uint16_t* row, int count, const AffineRow& luma, const float* part) {
  const DF d;
  const VF scale = hn::Set(d, luma.scale);
  const VF offset = hn::Set(d, luma.offset);
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    StoreSamples(hn::MulAdd(LoadSamples(row + x), scale, hn::Add(offset, hn::LoadU(d, part + x))), row + x);
  }
}

/// Computes chroma's part in luma for chroma columns first … first + count − 1.
void ChromaPart(const ChromaRows& rows, int first, int count, float* out) {
  const DF d;
  const VF centre = hn::Set(d, kChromaCentre);
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    VF sum = hn::Zero(d);
    for (int r = 0; r < 2; ++r) {
      const VF cb = hn::Sub(LoadSamples(rows.cb[r] + first + x), centre);
      const VF cr = hn::Sub(LoadSamples(rows.cr[r] + first + x), centre);
      sum = hn::MulAdd(cb, hn::Set(d, rows.cb_weight[r]), sum);
      sum = hn::MulAdd(cr, hn::Set(d, rows.cr_weight[r]), sum);
    }
    hn::StoreU(sum, d, out + x);
  }
}

void ConvertChroma(uint16_t* cb_row, uint16_t* cr_row, int count, const ChromaMatrix& matrix) {
  const DF d;
  const VF centre = hn::Set(d, kChromaCentre);
  const int lanes = FloatLanes();
  for (int x = 0; x < count; x += lanes) {
    const VF cb = hn::Sub(LoadSamples(cb_row + x), centre);
    const VF cr = hn::Sub(LoadSamples(cr_row + x), centre);
    const VF cb_part = hn::MulAdd(cb, hn::Set(d, matrix.m[0][0]), centre);
    const VF cr_part = hn::MulAdd(cb, hn::Set(d, matrix.m[1][0]), centre);
    StoreSamples(hn::MulAdd(cr, hn::Set(d, matrix.m[0][1]), cb_part), cb_row + x);
    StoreSamples(hn::MulAdd(cr, hn::Set(d, matrix.m[1][1]), cr_part), cr_row + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(ScaleLuma);
HWY_EXPORT(AddToLuma);
HWY_EXPORT(ChromaPart);
HWY_EXPORT(DoubleRow);
HWY_EXPORT(ConvertChroma);

constexpr int kGrainRows = 16;

/// The chroma rows around luma row `y`: at most two have weight.
struct RowPosition {
  int row[2];
  double weight[2];
};

RowPosition ChromaRowsOf(int y, Subsampling subsampling, ChromaSite site, int chroma_height) {
  if (subsampling.log2_y == 0) return {{y, y}, {1, 0}};
  const int i = y / 2;
  const bool odd = y % 2 != 0;
  const int neighbour = std::clamp(odd ? i + 1 : i - 1, 0, chroma_height - 1);
  if (site == ChromaSite::kTopLeft)
    return odd ? RowPosition{{i, neighbour}, {0.5, 0.5}} : RowPosition{{i, i}, {1, 0}};
  return {{i, neighbour}, {0.75, 0.25}};
}


/// One luma row with the part of chroma, piece by piece.
class LumaRow {
 public:
  LumaRow(Image& image, const ColorCoefficients& c)
      : luma_(image.plane(0)),
        cb_(image.plane(1)),
        cr_(image.plane(2)),
        subsampling_(image.subsampling()),
        site_(image.color().site),
        c_(c) {}

  void Run(int y) {
    const RowPosition position = ChromaRowsOf(y, subsampling_, site_, cb_.height);
    ChromaRows rows;
    for (int r = 0; r < 2; ++r) {
      rows.cb[r] = cb_.Row(position.row[r]);
      rows.cr[r] = cr_.Row(position.row[r]);
      rows.cb_weight[r] = static_cast<float>(position.weight[r] * c_.cb);
      rows.cr_weight[r] = static_cast<float>(position.weight[r] * c_.cr);
    }
    for (int first = 0; first < cb_.width; first += kPiece) Piece(rows, luma_.Row(y), first);
  }

 private:
  void Piece(const ChromaRows& rows, std::uint16_t* luma, int first) {
    alignas(64) float part[kPiece + 2 * kPieceMargin];
    alignas(64) float doubled[2 * kPiece + kPieceMargin];
    const int count = std::min(kPiece, cb_.width - first);
    const AffineRow affine{static_cast<float>(c_.luma), static_cast<float>(c_.offset)};
    float* middle = part + kPieceMargin;
    HWY_DYNAMIC_DISPATCH(ChromaPart)(rows, first, count, middle);
    if (subsampling_.log2_x == 0) {
      HWY_DYNAMIC_DISPATCH(AddToLuma)(luma + first, count, affine, middle);
      return;
    }
    middle[-1] = PartAt(rows, first - 1);
    middle[count] = PartAt(rows, first + count);
    HWY_DYNAMIC_DISPATCH(DoubleRow)
    (middle, count, site_ == ChromaSite::kCentre ? kCentredWeights : kCositedWeights, doubled);
    const int luma_count = std::min(2 * count, luma_.width - 2 * first);
    HWY_DYNAMIC_DISPATCH(AddToLuma)(luma + 2 * first, luma_count, affine, doubled);
  }

  /// One column's part, edges replicated.
  float PartAt(const ChromaRows& rows, int column) const {
    const int x = std::clamp(column, 0, cb_.width - 1);
    float sum = 0;
    for (int r = 0; r < 2; ++r) {
      sum += (static_cast<float>(rows.cb[r][x]) - kChromaCentre) * rows.cb_weight[r];
      sum += (static_cast<float>(rows.cr[r][x]) - kChromaCentre) * rows.cr_weight[r];
    }
    return sum;
  }

  Plane luma_;
  Plane cb_;
  Plane cr_;
  Subsampling subsampling_;
  ChromaSite site_;
  const ColorCoefficients& c_;
};

void ConvertLuma(Image& image, const ColorCoefficients& c, ThreadPool& pool) {
  const bool matrix_changes = c.cb != 0 || c.cr != 0;
  const AffineRow affine{static_cast<float>(c.luma), static_cast<float>(c.offset)};
  const auto rows = [&](int first, int last) {
    const Plane luma = image.plane(0);
    LumaRow row(image, c);
    for (int y = first; y < last; ++y) {
      if (matrix_changes) {
        row.Run(y);
      } else {
        HWY_DYNAMIC_DISPATCH(ScaleLuma)(luma.Row(y), luma.width, affine);
      }
    }
  };
  pool.ParallelRows(image.height(), kGrainRows, std::ref(rows));
}

void ConvertChroma(Image& image, const ColorCoefficients& c, ThreadPool& pool) {
  ChromaMatrix matrix;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) matrix.m[i][j] = static_cast<float>(c.chroma[i][j]);
  }
  const Plane cb = image.plane(1);
  const Plane cr = image.plane(2);
  const auto rows = [&](int first, int last) {
    for (int y = first; y < last; ++y)
      HWY_DYNAMIC_DISPATCH(ConvertChroma)(cb.Row(y), cr.Row(y), cb.width, matrix);
  };
  pool.ParallelRows(cb.height, kGrainRows, std::ref(rows));
}

}  // namespace

void ConvertColor(Image& image, ColorSpec to, ThreadPool& pool) {
  const ColorSpec from = image.color();
  if (from.matrix == to.matrix && from.range == to.range) return;
  const ColorCoefficients c = MakeColorCoefficients(from.matrix, from.range, to.matrix, to.range);
  ConvertLuma(image, c, pool);  // first: it reads the old chroma
  ConvertChroma(image, c, pool);
  to.site = from.site;
  to.shift_x = from.shift_x;
  to.shift_y = from.shift_y;
  image.set_color(to);
}

}  // namespace reelmend::pixel
#endif
