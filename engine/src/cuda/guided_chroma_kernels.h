// Chroma fitted to luma: Note [Method] in pixel/guided_chroma.cc.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/guided_chroma_kernel.h"

namespace reelmend::cuda {

/// Planes of cells. First the guide, Cb, Cr; then the guide and its square, and for Cb and Cr: itself, its square, guide × chroma;
/// then pixel::ChromaFit of Cb and Cr.
struct GuidedPlanes {
  View<float> cells[8];
};

/// Luma at the chroma sample (x, y), in 8-bit levels.
REELMEND_HD inline float GuideAt(const Plane& luma, int x, int y) {
  int sum = 0;
  for (int j = 0; j < 2; ++j) {
    const int row = Min(2 * y + j, luma.height - 1);
    sum += luma.Near(2 * x - 1, row) + 2 * luma.Near(2 * x, row) + luma.Near(2 * x + 1, row);
  }
  return static_cast<float>(sum) * (1.0F / (8 * pixel::kUnitsPer8BitLevel));
}

/// Means of guide and chroma in each cell.
struct GuidedCellKernel {
  Picture in;
  GuidedPlanes out;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= out.cells[0].width || y >= out.cells[0].height) return;
    const Plane& chroma = in.planes[1];
    float sums[3] = {};
    for (int j = 0; j < pixel::kGuidedCell; ++j) {
      for (int i = 0; i < pixel::kGuidedCell; ++i) {
        const int column = Min(x * pixel::kGuidedCell + i, chroma.width - 1);
        const int row = Min(y * pixel::kGuidedCell + j, chroma.height - 1);
        sums[0] += GuideAt(in.planes[0], column, row);
        for (int p = 1; p < 3; ++p) sums[p] += static_cast<float>(in.planes[p].At(column, row)) * (1.0F / pixel::kUnitsPer8BitLevel);
      }
    }
    for (int p = 0; p < 3; ++p) out.cells[p].At(x, y) = 0.25F * sums[p];
  }
};

/// Planes blurred along rows or columns; z: the plane.
struct GuidedBlurKernel {
  GuidedPlanes in;
  GuidedPlanes out;
  float weights[pixel::kGuidedReach + 1];
  bool is_across = true;

  REELMEND_HD void operator()(int x, int y, int z) const {
    const View<float>& from = in.cells[z];
    if (x >= from.width || y >= from.height) return;
    float sum = weights[0] * from.At(x, y);
    for (int k = 1; k <= pixel::kGuidedReach; ++k) {
      const float before = is_across ? from.Near(x - k, y) : from.Near(x, y - k);
      const float behind = is_across ? from.Near(x + k, y) : from.Near(x, y + k);
      sum = Fma(weights[k], before + behind, sum);
    }
    out.cells[z].At(x, y) = sum;
  }
};

/// Guide and chroma → the eight planes whose means the fit needs. In place.
struct GuidedProductKernel {
  GuidedPlanes planes;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= planes.cells[0].width || y >= planes.cells[0].height) return;
    const float guide = planes.cells[0].At(x, y);
    const float chroma[] = {planes.cells[1].At(x, y), planes.cells[2].At(x, y)};
    planes.cells[1].At(x, y) = guide * guide;
    for (int p = 0; p < 2; ++p) {
      planes.cells[3 * p + 2].At(x, y) = chroma[p];
      planes.cells[3 * p + 3].At(x, y) = chroma[p] * chroma[p];
      planes.cells[3 * p + 4].At(x, y) = guide * chroma[p];
    }
  }
};

/// Means → fits. In place.
struct GuidedFitKernel {
  GuidedPlanes planes;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= planes.cells[0].width || y >= planes.cells[0].height) return;
    float means[8];
    for (int i = 0; i < 8; ++i) means[i] = planes.cells[i].At(x, y);
    for (int p = 0; p < 2; ++p) {
      const float* own = means + 3 * p + 2;
      const pixel::ChromaFit fit = pixel::FitChroma({means[0], means[1], own[0], own[1], own[2]});
      planes.cells[3 * p].At(x, y) = fit.slope;
      planes.cells[3 * p + 1].At(x, y) = fit.offset;
      planes.cells[3 * p + 2].At(x, y) = fit.kept;
    }
  }
};

/// The fits applied to both chroma planes, in place.
struct GuidedChromaKernel {
  Picture picture;
  GuidedPlanes fits;
  float strength = 0;

  REELMEND_HD float Between(const View<float>& cells, int x, int y) const {
    const int columns[] = {x / pixel::kGuidedCell, x / pixel::kGuidedCell + (x % pixel::kGuidedCell == 0 ? -1 : 1)};
    const int rows[] = {y / pixel::kGuidedCell, y / pixel::kGuidedCell + (y % pixel::kGuidedCell == 0 ? -1 : 1)};
    const float own = Fma(0.75F, cells.Near(columns[0], rows[0]), 0.25F * cells.Near(columns[0], rows[1]));
    const float other = Fma(0.75F, cells.Near(columns[1], rows[0]), 0.25F * cells.Near(columns[1], rows[1]));
    return Fma(0.75F, own, 0.25F * other);
  }

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= picture.planes[1].width || y >= picture.planes[1].height) return;
    const float guide = GuideAt(picture.planes[0], x, y);
    for (int p = 0; p < 2; ++p) {
      std::uint16_t& sample = picture.planes[p + 1].At(x, y);
      const auto v = static_cast<float>(sample);
      const float fitted = Fma(Between(fits.cells[3 * p], x, y), guide, Between(fits.cells[3 * p + 1], x, y));
      const float changed = Fma(fitted, pixel::kUnitsPer8BitLevel, Between(fits.cells[3 * p + 2], x, y) * v);
      sample = ToSample(Fma(strength, changed - v, v));
    }
  }
};

}  // namespace reelmend::cuda
