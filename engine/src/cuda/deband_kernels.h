// Debanding: Note [Method] in pixel/deband.cc.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "pixel/deband_kernel.h"

namespace reelmend::cuda {

/// Mean, smallest and largest sample of the cells of a plane, or of the windows around them.
struct CellPlanes {
  View<float> mean;
  View<float> low;
  View<float> high;
};

/// Statistics of each cell's samples; z: the plane.
struct CellKernel {
  Picture in;
  CellPlanes out[3];

  REELMEND_HD void operator()(int x, int y, int z) const {
    const CellPlanes& cells = out[z];
    if (x >= cells.mean.width || y >= cells.mean.height) return;
    int sum = 0;
    int low = 65535;
    int high = 0;
    for (int j = 0; j < pixel::kDebandCell; ++j) {
      for (int i = 0; i < pixel::kDebandCell; ++i) {
        const int v = in.planes[z].Near(x * pixel::kDebandCell + i, y * pixel::kDebandCell + j);
        sum += v;
        low = Min(low, v);
        high = Max(high, v);
      }
    }
    cells.mean.At(x, y) = static_cast<float>(sum) / (pixel::kDebandCell * pixel::kDebandCell);
    cells.low.At(x, y) = static_cast<float>(low);
    cells.high.At(x, y) = static_cast<float>(high);
  }
};

/// Cells together with `reach` of their neighbours on either side, along rows or columns; z: the plane.
struct PoolKernel {
  CellPlanes in[3];
  CellPlanes out[3];
  int reach = 0;
  bool is_across = true;

  REELMEND_HD void operator()(int x, int y, int z) const {
    const CellPlanes& from = in[z];
    if (x >= from.mean.width || y >= from.mean.height) return;
    float sum = 0;
    float low = 65535;
    float high = 0;
    for (int k = -reach; k <= reach; ++k) {
      const int column = is_across ? Clamp(x + k, 0, from.mean.width - 1) : x;
      const int row = is_across ? y : Clamp(y + k, 0, from.mean.height - 1);
      sum += from.mean.At(column, row);
      low = Min(low, from.low.At(column, row));
      high = Max(high, from.high.At(column, row));
    }
    out[z].mean.At(x, y) = sum / static_cast<float>(2 * reach + 1);
    out[z].low.At(x, y) = low;
    out[z].high.At(x, y) = high;
  }
};

/// Moves flat samples towards the mean around them, in place; z: the plane.
struct DebandKernel {
  Picture picture;
  CellPlanes around[3];
  pixel::DebandLimits limits;

  REELMEND_HD float FlatnessAt(const CellPlanes& cells, int x, int y) const {
    return pixel::Flatness(cells.high.At(x, y) - cells.low.At(x, y), limits);
  }
  REELMEND_HD static float Between(float own, float other, float share) { return Fma(other - own, share, own); }

  REELMEND_HD void operator()(int x, int y, int z) const {
    const Plane& plane = picture.planes[z];
    if (x >= plane.width || y >= plane.height) return;
    constexpr int kCell = pixel::kDebandCell;
    const CellPlanes& cells = around[z];
    const int columns[] = {x / kCell, Clamp(x / kCell + (x % kCell < kCell / 2 ? -1 : 1), 0, cells.mean.width - 1)};
    const int rows[] = {y / kCell, Clamp(y / kCell + (y % kCell < kCell / 2 ? -1 : 1), 0, cells.mean.height - 1)};
    const float across = pixel::NeighbourShare(x % kCell);
    const float down = pixel::NeighbourShare(y % kCell);
    float flatness[2];
    float product[2];
    for (int i = 0; i < 2; ++i) {
      const float own = FlatnessAt(cells, columns[i], rows[0]);
      const float other = FlatnessAt(cells, columns[i], rows[1]);
      flatness[i] = Between(own, other, down);
      product[i] = Between(cells.mean.At(columns[i], rows[0]) * own, cells.mean.At(columns[i], rows[1]) * other, down);
    }
    const auto v = static_cast<float>(plane.At(x, y));
    const float flat = Between(flatness[0], flatness[1], across);
    const float change = Between(product[0], product[1], across) / Max(flat, 1e-6F) - v;
    const float size = change < 0 ? -change : change;
    const float near = Max(0.0F, Fma(-size, limits.inverse_threshold, 1.0F));
    plane.At(x, y) = ToSample(Fma(change, near * flat, v));
  }
};

}  // namespace reelmend::cuda
