// Debander: removes the blocks and bands that compression leaves in flat areas.
//
// Note [Method]
// A coarse quantiser keeps little more of a flat area than each block's mean, in steps: an even area becomes a patchwork,
// and a gradient becomes stairs. The method is that of the debanding filters of video players and editors (gradfun, f3kdb):
// a sample moves towards the mean of its surroundings if it differs by less than a threshold and the surroundings are flat,
// so that edges and texture stay:
//   v + (mean − v) · max(0, 1 − |mean − v| / T) · flatness, where flatness = clamp(2 − range / 3T, 0, 1)
// Mean and range (largest less smallest sample) are those of a window around each cell of 4×4 samples. Between the cells'
// centres flatness is interpolated, and so is the mean, weighted by flatness: a window that touches an edge says nothing. Two
// passes: the first smooths over 8×8 blocks, the second over macroblocks of 16×16.
#include <algorithm>
#include <array>
#include <functional>
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

/// `count` cells and, for each, the values of the `windows` cells that are pooled.
struct PoolRow {
  const float* mean;
  const float* low;
  const float* high;
  float* out_mean;
  float* out_low;
  float* out_high;
  const std::size_t* places;
  int windows;
  int count;
};

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

void PoolCells(const PoolRow& r) {
  const DF d;
  const VF size = hn::Set(d, static_cast<float>(r.windows));
  for (int x = 0; x < r.count; x += FloatLanes()) {
    VF sum = hn::Zero(d);
    VF low = hn::Set(d, 65535.0F);
    VF high = sum;
    for (int k = 0; k < r.windows; ++k) {
      const std::size_t at = r.places[k] + static_cast<std::size_t>(x);
      sum = hn::Add(sum, hn::LoadU(d, r.mean + at));
      low = hn::Min(low, hn::LoadU(d, r.low + at));
      high = hn::Max(high, hn::LoadU(d, r.high + at));
    }
    hn::StoreU(hn::Div(sum, size), d, r.out_mean + x);
    hn::StoreU(low, d, r.out_low + x);
    hn::StoreU(high, d, r.out_high + x);
  }
}

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

HWY_EXPORT(PoolCells);
HWY_EXPORT(Deband);

constexpr int kGrainRows = 32;
constexpr int kGrainCells = 8;

/// Mean, smallest and largest sample, of cells or of the windows around them; rows of `width` cells. Copies of its ends
/// surround each row, as many as a window reaches, and space for vectors that exceed it.
struct CellPlanes {
  static constexpr int kEnds = 4;
  static constexpr int kLanes = 16;
  static_assert(kEnds >= std::max(kDebandReach[0], kDebandReach[1]));

  void SetSize(int columns, int rows) {
    width = columns;
    height = rows;
    const std::size_t count = At(0, rows) + kLanes;
    for (auto* plane : {&mean, &low, &high}) plane->resize(std::max(plane->size(), count));  // luma has the largest
  }
  std::size_t At(int x, int y) const { return static_cast<std::size_t>(y) * (width + 2 * kEnds + kLanes) + kEnds + x; }
  void CopyEnds(int y) {
    for (auto* plane : {&mean, &low, &high}) {
      float* row = plane->data() + At(0, y);
      std::fill_n(row - kEnds, kEnds, row[0]);
      std::fill_n(row + width, kEnds, row[width - 1]);
    }
  }

  int width = 0;
  int height = 0;
  std::vector<float> mean;
  std::vector<float> low;
  std::vector<float> high;
};

/// A row of cells. Edges are replicated.
void MeasureCells(ConstPlane plane, int cell_y, CellPlanes& out) {
  std::array<const std::uint16_t*, kDebandCell> rows;
  for (int j = 0; j < kDebandCell; ++j) rows[j] = plane.Row(std::min(cell_y * kDebandCell + j, plane.height - 1));
  const auto measure = [&](int cell_x, const auto& column_of) {
    int sum = 0;
    int low = 65535;
    int high = 0;
    for (const std::uint16_t* row : rows) {
      for (int i = 0; i < kDebandCell; ++i) {
        const int v = row[column_of(cell_x * kDebandCell + i)];
        sum += v;
        low = std::min(low, v);
        high = std::max(high, v);
      }
    }
    const std::size_t at = out.At(cell_x, cell_y);
    out.mean[at] = static_cast<float>(sum) / (kDebandCell * kDebandCell);
    out.low[at] = static_cast<float>(low);
    out.high[at] = static_cast<float>(high);
  };
  const int whole = plane.width / kDebandCell;
  for (int x = 0; x < whole; ++x) measure(x, [](int column) { return column; });
  if (whole < out.width) measure(whole, [&](int column) { return std::min(column, plane.width - 1); });
  out.CopyEnds(cell_y);
}

/// Computes a row of `out`: pools each cell of `in` with up to `reach` cells on both sides, along its row or its column.
void Pool(const CellPlanes& in, int y, int reach, bool is_across, CellPlanes& out) {
  std::array<std::size_t, 2 * CellPlanes::kEnds + 1> places;
  for (int k = -reach; k <= reach; ++k) {
    places[k + reach] = is_across ? in.At(k, y) : in.At(0, std::clamp(y + k, 0, in.height - 1));
  }
  const std::size_t at = out.At(0, y);
  const float* const from[] = {in.mean.data(), in.low.data(), in.high.data()};
  float* const to[] = {out.mean.data() + at, out.low.data() + at, out.high.data() + at};
  HWY_DYNAMIC_DISPATCH(PoolCells)({from[0], from[1], from[2], to[0], to[1], to[2], places.data(), 2 * reach + 1, in.width});
}

/// In a row of windows: replaces `low` by the flatness, and `mean` by the mean times the flatness.
void WeighByFlatness(CellPlanes& windows, int y, const DebandLimits& limits) {
  for (int x = 0; x < windows.width; ++x) {
    const std::size_t at = windows.At(x, y);
    windows.low[at] = Flatness(windows.high[at] - windows.low[at], limits);
    windows.mean[at] *= windows.low[at];
  }
}

/// Flatness, and mean times flatness, for the samples of one row and for their cells.
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

void InterpolateAcross(const std::vector<float>& cells, int count, float* __restrict out) {
  static_assert(kDebandCell == 4);
  const float far = NeighbourShare(0);
  const float near = NeighbourShare(1);
  const float* const cell = cells.data() + 1;
  for (int i = 0; i < count; ++i, out += kDebandCell) {
    const float before = cell[i - 1] - cell[i];
    const float behind = cell[i + 1] - cell[i];
    out[0] = cell[i] + before * far;
    out[1] = cell[i] + before * near;
    out[2] = cell[i] + behind * near;
    out[3] = cell[i] + behind * far;
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
      const auto band = [&](int first, int last) {
        for (int y = first; y < last; ++y) work(y);
      };
      pool.ParallelRows(cells.height, kGrainCells, std::ref(band));  // a copy would be allocated
    };
    for_cells([&](int y) {
      MeasureCells(plane, y, cells);
      Pool(cells, y, reach, true, pooled);
    });
    for_cells([&](int y) {
      Pool(pooled, y, reach, false, cells);
      WeighByFlatness(cells, y, limits);
    });
    const auto band = [&](int first, int last) {
      const auto row = rows.Borrow();
      for (int y = first; y < last; ++y) {
        InterpolateDown(cells, y, *row);
        InterpolateAcross(row->cell_flatness, cells.width, row->flatness.get());
        InterpolateAcross(row->cell_product, cells.width, row->product.get());
        HWY_DYNAMIC_DISPATCH(Deband)({plane.Row(y), row->flatness.get(), row->product.get(), plane.width, limits});
      }
    };
    pool.ParallelRows(plane.height, kGrainRows, std::ref(band));
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
