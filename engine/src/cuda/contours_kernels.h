// Smoothing along contours and sharpening across them: Note [Method] in pixel/contours.cc.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/contour_kernel.h"

namespace reelmend::cuda {

/// pixel::ContourTensor of the cells of a plane.
struct ContourCells {
  View<float> difference;
  View<float> mixed;
  View<float> trace;

  REELMEND_HD pixel::ContourTensor At(int x, int y) const { return {difference.At(x, y), mixed.At(x, y), trace.At(x, y)}; }
  REELMEND_HD void Set(int x, int y, const pixel::ContourTensor& t) const {
    difference.At(x, y) = t.difference;
    mixed.At(x, y) = t.mixed;
    trace.At(x, y) = t.trace;
  }
};

/// a × t + sum
REELMEND_HD inline pixel::ContourTensor Added(const pixel::ContourTensor& t, float a, const pixel::ContourTensor& sum) {
  return {Fma(t.difference, a, sum.difference), Fma(t.mixed, a, sum.mixed), Fma(t.trace, a, sum.trace)};
}

/// The mean tensor of each cell's samples.
struct ContourCellKernel {
  Plane luma;
  ContourCells out;

  REELMEND_HD pixel::ContourTensor TensorAt(int x, int y) const {
    float across = 0;
    float down = 0;
    for (int i = -1; i <= 1; ++i) {
      const float weight = i == 0 ? 2 : 1;
      across += weight * static_cast<float>(luma.Near(x + 1, y + i) - luma.Near(x - 1, y + i));
      down += weight * static_cast<float>(luma.Near(x + i, y + 1) - luma.Near(x + i, y - 1));
    }
    constexpr float kScale = 1.0F / (8 * pixel::kUnitsPer8BitLevel);  // of Sobel's kernel
    across *= kScale;
    down *= kScale;
    return {across * across - down * down, 2 * across * down, across * across + down * down};
  }

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= out.trace.width || y >= out.trace.height) return;
    constexpr int kCell = pixel::kContourCell;
    pixel::ContourTensor sum;
    for (int i = 0; i < kCell; ++i) {
      for (int j = 0; j < kCell; ++j) sum = Added(TensorAt(x * kCell + i, y * kCell + j), 1.0F / (kCell * kCell), sum);
    }
    out.Set(x, y, sum);
  }
};

/// The cells blurred along rows or columns.
struct ContourBlurKernel {
  ContourCells in;
  ContourCells out;
  pixel::ContourWeights weights;
  bool is_across = true;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= in.trace.width || y >= in.trace.height) return;
    pixel::ContourTensor sum;
    for (int k = -pixel::kContourBlurReach; k <= pixel::kContourBlurReach; ++k) {
      const int column = is_across ? Clamp(x + k, 0, in.trace.width - 1) : x;
      const int row = is_across ? y : Clamp(y + k, 0, in.trace.height - 1);
      sum = Added(in.At(column, row), weights.blur[k < 0 ? -k : k], sum);
    }
    out.Set(x, y, sum);
  }
};

/// Luma along and across its contours.
struct ContourLines {
  Plane in;
  ContourCells cells;

  /// Direction across the contour at a sample, and how much it is changed.
  struct Contour {
    float normal_x = 0;
    float normal_y = 0;
    float share = 0;
  };

  /// Index of the other cell that a sample lies between, and its weight.
  REELMEND_HD static int Other(int at, int cells, float& share) {
    constexpr int kCell = pixel::kContourCell;
    const float from_centre = (static_cast<float>(at % kCell) - 1.5F) / kCell;
    share = from_centre < 0 ? -from_centre : from_centre;
    return Clamp(at / kCell + (from_centre < 0 ? -1 : 1), 0, cells - 1);
  }

  REELMEND_HD pixel::ContourTensor TensorAt(int x, int y) const {
    float across;
    float down;
    const int columns[] = {x / pixel::kContourCell, Other(x, cells.trace.width, across)};
    const int rows[] = {y / pixel::kContourCell, Other(y, cells.trace.height, down)};
    pixel::ContourTensor between[2];
    for (int i = 0; i < 2; ++i) between[i] = Added(cells.At(columns[i], rows[1]), down, Added(cells.At(columns[i], rows[0]), 1 - down, {}));
    return Added(between[1], across, Added(between[0], 1 - across, {}));
  }

  REELMEND_HD Contour Find(int x, int y) const {
    const pixel::ContourTensor t = TensorAt(x, y);
    const float spread = SquareRoot(Fma(t.difference, t.difference, t.mixed * t.mixed));
    Contour contour;
    contour.share = pixel::Rise(spread / (t.trace + 1e-3F), pixel::kCoherenceFrom, pixel::kCoherenceTo) *
                    pixel::Rise(SquareRoot(Max(t.trace, 0.0F)), pixel::kGradientFrom, pixel::kGradientTo);
    const float cosine = t.difference / Max(spread, 1e-6F);
    const float size_y = SquareRoot(Max(0.0F, 0.5F * (1 - cosine)));
    contour.normal_x = SquareRoot(Max(0.0F, 0.5F * (1 + cosine)));
    contour.normal_y = t.mixed < 0 ? -size_y : size_y;
    return contour;
  }

  REELMEND_HD float At(float x, float y) const {
    const int left = static_cast<int>(floorf(x));
    const int top = static_cast<int>(floorf(y));
    const float right = x - static_cast<float>(left);
    const auto line = [&](int row) {
      const auto first = static_cast<float>(in.Near(left, row));
      return Fma(static_cast<float>(in.Near(left + 1, row)) - first, right, first);
    };
    const float upper = line(top);
    return Fma(line(top + 1) - upper, y - static_cast<float>(top), upper);
  }

  /// Writes a sample of `out`: beside a contour what `changed` makes of it, else a copy.
  template <typename Changed>
  REELMEND_HD void Change(const Plane& out, int x, int y, const Changed& changed) const {
    if (x >= out.width || y >= out.height) return;
    const std::uint16_t sample = in.At(x, y);
    const Contour contour = Find(x, y);
    out.At(x, y) = contour.share > 0 ? ToSample(changed(contour, static_cast<float>(x), static_cast<float>(y), static_cast<float>(sample))) : sample;
  }
};

/// Luma smoothed along its contours.
struct ContourKernel {
  ContourLines lines;
  Plane out;
  pixel::ContourWeights weights;

  REELMEND_HD float Smoothed(const ContourLines::Contour& contour, float x, float y, float v) const {
    float mean = v * weights.line[0];
    for (int i = 1; i <= pixel::kContourSteps; ++i) {
      const float across = static_cast<float>(i) * weights.step * contour.normal_y;
      const float down = static_cast<float>(i) * weights.step * contour.normal_x;
      mean = Fma(lines.At(x - across, y + down) + lines.At(x + across, y - down), weights.line[i], mean);
    }
    return Fma(mean - v, contour.share * weights.strength, v);
  }

  REELMEND_HD void operator()(int x, int y, int) const { 
    lines.Change(out, x, y, [this](const ContourLines::Contour& contour, float column, float row, float v) { return Smoothed(contour, column, row, v); });
   }
};

/// Luma sharpened across its contours; the cells are those of the luma before it was smoothed.
struct ContourSharpenKernel {
  ContourLines lines;
  Plane out;
  pixel::ContourWeights weights;

  REELMEND_HD float Sharpened(const ContourLines::Contour& contour, float x, float y, float v) const {
    float low = v;
    float high = v;
    float sum = 2 * v;
    for (int i = 1; i <= 2; ++i) {
      const float far = weights.distance / static_cast<float>(i);
      const float across = far * contour.normal_x;
      const float down = far * contour.normal_y;
      const float before = lines.At(x - across, y - down);
      const float behind = lines.At(x + across, y + down);
      low = Min(low, Min(before, behind));
      high = Max(high, Max(before, behind));
      sum = Fma(static_cast<float>(i), before + behind, sum);
    }
    const float sharp = Fma(Fma(sum, -0.125F, v), contour.share * weights.sharpening, v);
    return Min(Max(sharp, low), high);
  }

  REELMEND_HD void operator()(int x, int y, int) const { 
    lines.Change(out, x, y, [this](const ContourLines::Contour& contour, float column, float row, float v) { return Sharpened(contour, column, row, v); });
   }
};

}  // namespace reelmend::cuda
