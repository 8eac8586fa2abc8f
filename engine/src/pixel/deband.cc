// Debander: removes what is left of blocks and bands where the picture is flat.
//
// Note [Method]
// A coarse quantiser keeps little more of a flat area than each block's mean, and that in steps; what was even becomes a
// patchwork, and a gradient becomes stairs. The method is that of the debanding filters of video players and editors
// (gradfun, f3kdb): a sample moves towards the mean of its surroundings where it differs by less than a threshold, and where
// the surroundings are flat, so that edges and texture stay:
//   v + (mean − v) · max(0, 1 − |mean − v| / T) · flatness, where flatness = clamp(2 − range / 3T, 0, 1)
// Mean and range (largest less smallest sample) are those of a window around each cell of 4×4 samples. Between the cells'
// centres flatness is interpolated, and so is the mean, weighted by flatness: a window that touches an edge says nothing. Two
// passes: the first smooths over 8×8 blocks, the second over macroblocks of 16×16.
#include <algorithm>
#include <array>
#include <vector>

#include "pixel/deband_kernel.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"
#include "reelmend/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/deband.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "pixel/samples-inl.h"

#ifndef REELMEND_PIXEL_DEBAND_TYPES
#define REELMEND_PIXEL_DEBAND_TYPES
namespace reelmend::pixel {

struct DebandRow {
  std::uint16_t* row;
  const float* flatness;  ///< of the surroundings, for each sample
  const float* product;   ///< their mean times their flatness
  int count;
  DebandLimits limits;
};

}  // namespace reelmend::pixel
#endif

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {

void Deband(const DebandRow& r) {
  const DF d;
  const VF zero = hn::Zero(d);
  const VF one = hn::Set(d, 1.0F);
  const VF least = hn::Set(d, 1e-6F);
  const VF by_threshold = hn::Set(d, r.limits.inverse_threshold);
  for (int x = 0; x < r.count; x += FloatLanes()) {
    const VF v = LoadSamples(r.row + x);
    const VF flatness = hn::LoadU(d, r.flatness + x);
    const VF change = hn::Sub(hn::Div(hn::LoadU(d, r.product + x), hn::Max(flatness, least)), v);
    const VF near = hn::Max(zero, hn::NegMulAdd(hn::Abs(change), by_threshold, one));
    StoreSamples(hn::MulAdd(change, hn::Mul(near, flatness), v), r.row + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(Deband);

constexpr int kGrainRows = 32;
constexpr int kGrainCells = 8;

/// Mean, smallest and largest sample, of cells or of the windows around them; rows of `width` cells.
struct CellPlanes {
  void SetSize(int columns, int rows) {
    width = columns;
    height = rows;
    const std::size_t count = static_cast<std::size_t>(columns) * rows;
    for (auto* plane : {&mean, &low, &high}) plane->resize(std::max(plane->size(), count));  // luma needs the most
  }
  std::size_t At(int x, int y) const { return static_cast<std::size_t>(y) * width + x; }

  int width = 0;
  int height = 0;
  std::vector<float> mean;
  std::vector<float> low;
  std::vector<float> high;
};

/// Samples behind the edges are those at the edges.
void MeasureCells(ConstPlane plane, int cell_y, CellPlanes& out) {
  for (int cell_x = 0; cell_x < out.width; ++cell_x) {
    int sum = 0;
    std::uint16_t low = 65535;
    std::uint16_t high = 0;
    for (int j = 0; j < kDebandCell; ++j) {
      const std::uint16_t* row = plane.Row(std::min(cell_y * kDebandCell + j, plane.height - 1));
      for (int i = 0; i < kDebandCell; ++i) {
        const std::uint16_t v = row[std::min(cell_x * kDebandCell + i, plane.width - 1)];
        sum += v;
        low = std::min(low, v);
        high = std::max(high, v);
      }
    }
    const std::size_t at = out.At(cell_x, cell_y);
    out.mean[at] = static_cast<float>(sum) / (kDebandCell * kDebandCell);
    out.low[at] = low;
    out.high[at] = high;
  }
}

/// Of a row of cells: all of `in` up to `reach` before and behind, along rows (`step_x` 1) or columns (`step_y` 1).
void Pool(const CellPlanes& in, int y, int reach, int step_x, int step_y, CellPlanes& out) {
  for (int x = 0; x < in.width; ++x) {
    float sum = 0;
    float low = 65535;
    float high = 0;
    for (int k = -reach; k <= reach; ++k) {
      const std::size_t from = in.At(std::clamp(x + k * step_x, 0, in.width - 1), std::clamp(y + k * step_y, 0, in.height - 1));
      sum += in.mean[from];
      low = std::min(low, in.low[from]);
      high = std::max(high, in.high[from]);
    }
    const std::size_t at = out.At(x, y);
    out.mean[at] = sum / static_cast<float>(2 * reach + 1);
    out.low[at] = low;
    out.high[at] = high;
  }
}

/// In a row of windows: `low` becomes their flatness, `mean` the mean times that.
void WeighByFlatness(CellPlanes& windows, int y, const DebandLimits& limits) {
  for (int x = 0; x < windows.width; ++x) {
    const std::size_t at = windows.At(x, y);
    windows.low[at] = Flatness(windows.high[at] - windows.low[at], limits);
    windows.mean[at] *= windows.low[at];
  }
}

/// Flatness, and mean times flatness, for the samples of one row and for the cells that they come from.
struct RowScratch {
  explicit RowScratch(int width)
      : cell_flatness(width / kDebandCell + 3), cell_product(width / kDebandCell + 3), flatness(width + 64), product(width + 64) {}
  std::vector<float> cell_flatness;  ///< with one more cell at either end
  std::vector<float> cell_product;
  AlignedArray<float> flatness;
  AlignedArray<float> product;
};

void InterpolateDown(const CellPlanes& cells, int y, RowScratch& row) {
  const int own = y / kDebandCell;
  const int place = y % kDebandCell;
  const int other = std::clamp(place < kDebandCell / 2 ? own - 1 : own + 1, 0, cells.height - 1);
  const float share = NeighbourShare(place);
  for (int x = 0; x < cells.width; ++x) {
    const std::size_t a = cells.At(x, own);
    const std::size_t b = cells.At(x, other);
    row.cell_flatness[x + 1] = cells.low[a] + (cells.low[b] - cells.low[a]) * share;
    row.cell_product[x + 1] = cells.mean[a] + (cells.mean[b] - cells.mean[a]) * share;
  }
  for (auto* values : {&row.cell_flatness, &row.cell_product}) {
    (*values)[0] = (*values)[1];
    (*values)[cells.width + 1] = (*values)[cells.width];
  }
}

void InterpolateAcross(const std::vector<float>& cells, int count, float* out) {
  for (int i = 1; i <= count; ++i) {
    for (int place = 0; place < kDebandCell; ++place) {
      const float other = place < kDebandCell / 2 ? cells[i - 1] : cells[i + 1];
      *out++ = cells[i] + (other - cells[i]) * NeighbourShare(place);
    }
  }
}

}  // namespace

struct Debander::Impl {
  CellPlanes cells;
  CellPlanes pooled;
  ScratchPool<RowScratch> rows;
  int width;
  int height;

  void Pass(Plane plane, int reach, const DebandLimits& limits, ThreadPool& pool) {
    const auto for_cells = [&](const auto& work) {
      pool.ParallelRows(cells.height, kGrainCells, [&](int first, int last) {
        for (int y = first; y < last; ++y) work(y);
      });
    };
    for_cells([&](int y) {
      MeasureCells(plane, y, cells);
      Pool(cells, y, reach, 1, 0, pooled);
    });
    for_cells([&](int y) {
      Pool(pooled, y, reach, 0, 1, cells);
      WeighByFlatness(cells, y, limits);
    });
    pool.ParallelRows(plane.height, kGrainRows, [&](int first, int last) {
      const auto row = rows.Borrow();
      for (int y = first; y < last; ++y) {
        InterpolateDown(cells, y, *row);
        InterpolateAcross(row->cell_flatness, cells.width, row->flatness.get());
        InterpolateAcross(row->cell_product, cells.width, row->product.get());
        HWY_DYNAMIC_DISPATCH(Deband)({plane.Row(y), row->flatness.get(), row->product.get(), plane.width, limits});
      }
    });
  }
};

Debander::Debander(int width, int height) : impl_(std::make_unique<Impl>()) {
  impl_->width = width;
  impl_->height = height;
}

Debander::~Debander() = default;

void Debander::Run(Image& image, float threshold, ThreadPool& pool) {
  Impl& impl = *impl_;
  if (image.width() != impl.width || image.height() != impl.height) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the debanding was planned for.");
  }
  if (threshold <= 0) return;
  impl.rows.Prepare(pool.threads(), [&] { return std::make_unique<RowScratch>(impl.width); });
  const DebandLimits limits = MakeDebandLimits(threshold * kUnitsPer8BitLevel);
  for (int p = 0; p < 3; ++p) {
    const Plane plane = image.plane(p);
    const int columns = (plane.width + kDebandCell - 1) / kDebandCell;
    const int rows = (plane.height + kDebandCell - 1) / kDebandCell;
    for (CellPlanes* cells : {&impl.cells, &impl.pooled}) cells->SetSize(columns, rows);
    for (const int reach : kDebandReach) impl.Pass(plane, reach, limits, pool);
  }
}

}  // namespace reelmend::pixel
#endif
