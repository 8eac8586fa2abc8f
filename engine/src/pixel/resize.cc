// Resizer: plans per plane, bands over rows, kernels from resize_kernels.
//
// Note [Order of the passes]
// When enlarging, source rows are widened first and kept in a small ring of float rows, from which each
// output row is summed: every source row is walked once per band. When reducing in height, the vertical
// sum runs first, straight from the source rows, so that the costlier horizontal pass sees few rows.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "framelift/error.h"
#include "pixel/resize_kernels.h"
#include "pixel/resize_plan.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"

namespace framelift::pixel {
namespace {

constexpr int kGrainRows = 32;
constexpr int kAlign = 16;  // floats in 64 bytes

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

struct PlanePlan {
  AxisPlan x;
  AxisPlan y;
  bool identity() const { return x.identity && y.identity; }
  /// Rows that the horizontal pass takes at a time.
  int group() const { return x.phases > 0 || x.halves || x.three_halves ? 1 : 4; }
};

/// Rows of the scratch that the horizontal pass reads.
constexpr int kSourceRows = RowSums::kMost;

/// Buffers of one band. `source` rows have `pad` floats before their first sample.
struct BandScratch {
  int pad = 0;
  int source_stride = 0;
  int ring_stride = 0;
  int ring_mask = 0;
  AlignedArray<float> source;   // kSourceRows rows
  AlignedArray<float> source4;  // four of them, column by column
  AlignedArray<float> ring4;    // 4 output rows, column by column
  AlignedArray<float> ring;     // output-width rows
  std::vector<const float*> taps;
  std::vector<const std::uint16_t*> sample_taps;

  float* SourceRow(int i) const {
    return source.get() + static_cast<std::ptrdiff_t>(i) * source_stride + pad;
  }
  float* RingRow(int y) const {
    return ring.get() + static_cast<std::ptrdiff_t>(y & ring_mask) * ring_stride;
  }
};

std::unique_ptr<BandScratch> MakeScratch(const std::array<PlanePlan, 3>& plans) {
  auto scratch = std::make_unique<BandScratch>();
  int source = 0;
  int output = 0;
  int taps = 0;
  int rows_of_sums = 0;
  for (const PlanePlan& plan : plans) {
    for (int y = 0; y < plan.y.dst; ++y) {
      const int last = plan.y.Start(std::min(y + RowSums::kMost - 1, plan.y.dst - 1));
      rows_of_sums = std::max(rows_of_sums, last - plan.y.Start(y) + plan.y.taps);
    }
    scratch->pad = std::max(scratch->pad, RoundUp(plan.x.pad_before, kAlign));
    source = std::max(source, plan.x.src + std::max(plan.x.pad_after, 0));
    output = std::max(output, std::max(plan.x.dst, plan.x.phases * plan.x.src));
    taps = std::max(taps, plan.y.taps);
  }
  scratch->source_stride = RoundUp(scratch->pad + source + kRowSlack, kAlign);
  scratch->ring_stride = RoundUp(output + kRowSlack, kAlign);
  int ring_rows = RowSums::kMost;
  while (ring_rows < taps + 8) ring_rows *= 2;
  scratch->ring_mask = ring_rows - 1;
  scratch->source = AlignedArray<float>(kSourceRows * static_cast<std::size_t>(scratch->source_stride));
  scratch->source4 = AlignedArray<float>(4 * static_cast<std::size_t>(scratch->source_stride));
  scratch->ring4 = AlignedArray<float>(4 * static_cast<std::size_t>(scratch->ring_stride));
  scratch->ring = AlignedArray<float>(ring_rows * static_cast<std::size_t>(scratch->ring_stride));
  scratch->taps.resize(taps);
  scratch->sample_taps.resize(rows_of_sums);
  return scratch;
}

void ReplicateEdges(const AxisPlan& x, float* row) {
  for (int i = 1; i <= x.pad_before; ++i) row[-i] = row[0];
  for (int i = 0; i < x.pad_after; ++i) row[x.src + i] = row[x.src - 1];
}

/// One band of one plane.
class Band {
 public:
  Band(const PlanePlan& plan, ConstPlane in, Plane out, BandScratch& scratch, const ResizeKernels& kernels)
      : plan_(plan), in_(in), out_(out), s_(scratch), k_(kernels) {}

  void Run(int first, int last) {
    if (plan_.identity()) {
      Copy(first, last);
    } else if (plan_.y.reduces) {
      VerticalFirst(first, last);
    } else {
      HorizontalFirst(first, last);
    }
  }

 private:
  void Copy(int first, int last) {
    for (int y = first; y < last; ++y) {
      std::memcpy(out_.Row(y), in_.Row(y), sizeof(std::uint16_t) * static_cast<std::size_t>(out_.width));
    }
  }

  int ClampRow(int y) const { return std::clamp(y, 0, in_.height - 1); }

  /// Source rows from `first_source` on (already in the scratch, edges replicated) to ring rows first_row …
  /// first_row + group − 1.
  void Horizontal(int first_row, int first_source = 0) {
    if (plan_.group() == 1) return HorizontalRow(s_.SourceRow(first_source), s_.RingRow(first_row));
    const AxisPlan& x = plan_.x;
    const float* rows[4];
    float* outs[4];
    for (int i = 0; i < 4; ++i) {
      rows[i] = s_.SourceRow(first_source + i);
      outs[i] = s_.RingRow(first_row + i);
    }
    if (x.block_lanes > 0) {
      k_.columns(rows,
                 {static_cast<int>(x.block_first.size()), x.block_sets, x.taps, x.blocks_are_narrow,
                  x.block_first.data(), x.block_index.data(), x.block_weights.data()},
                 outs);
      return;
    }
    for (const float*& row : rows) row -= s_.pad;
    k_.interleave4(rows, s_.source4.get(), s_.pad + x.src + std::max(x.pad_after, 0));
    k_.columns4(s_.source4.get() + 4 * static_cast<std::ptrdiff_t>(s_.pad), x.start.data(), x.weights.data(),
                x.taps, s_.ring4.get(), x.dst);
    k_.deinterleave4(s_.ring4.get(), outs, x.dst);
  }

  /// One row by whole phases, by halves or by 3 : 2.
  void HorizontalRow(const float* row, float* out) {
    const AxisPlan& x = plan_.x;
    if (x.phases > 0) {
      k_.phases(row, x.start.data(), x.weights.data(), x.taps, x.phases, out, x.src);
      return;
    }
    float* even = s_.source4.get();
    float* odd = even + s_.source_stride;
    k_.split(row - s_.pad, even, odd, (s_.pad + x.src + std::max(x.pad_after, 0) + 1) / 2);
    if (x.three_halves) {
      k_.three_halves(even + s_.pad / 2, odd + s_.pad / 2, x.start.data(), x.weights.data(), out, (x.dst + 2) / 3);
      return;
    }
    k_.halve(even + s_.pad / 2, odd + s_.pad / 2, x.start[0], x.weights.data(), x.taps, out, x.dst);
  }

  void ProduceRows(int first_row) {
    for (int i = 0; i < plan_.group(); ++i) {
      k_.load(in_.Row(ClampRow(first_row + i)), s_.SourceRow(i), in_.width);
      ReplicateEdges(plan_.x, s_.SourceRow(i));
    }
    Horizontal(first_row);
  }

  void HorizontalFirst(int first, int last) {
    const AxisPlan& y_plan = plan_.y;
    const int group = plan_.group();
    int next = ClampRow(y_plan.Start(first)) / group * group;
    int y = first;
    while (y < last) {
      const int start = y_plan.Start(y);
      const int needed = ClampRow(start + y_plan.taps - 1);
      for (; next <= needed; next += group) ProduceRows(next);
      for (int k = 0; k < y_plan.taps; ++k) s_.taps[k] = s_.RingRow(ClampRow(start + k));
      if (y + 1 < last && y_plan.Start(y + 1) == start) {
        k_.vertical_pair(s_.taps.data(), y_plan.Weights(y), y_plan.Weights(y + 1), y_plan.taps, out_.Row(y),
                         out_.Row(y + 1), out_.width);
        y += 2;
      } else {
        k_.vertical(s_.taps.data(), y_plan.Weights(y), y_plan.taps, out_.Row(y), out_.width);
        y += 1;
      }
    }
  }

  /// Sums of output rows y … y + 7 (none behind the last) into the source rows of the scratch.
  void SumRows(int y, int last) {
    const AxisPlan& plan = plan_.y;
    RowSums sums;
    sums.rows = s_.sample_taps.data();
    sums.taps = plan.taps;
    const int first = plan.Start(y);
    for (int i = 0; i < RowSums::kMost; ++i) {
      const int row = std::min(y + i, last - 1);
      sums.start[i] = plan.Start(row) - first;
      sums.weights[i] = plan.Weights(row);
      sums.outs[i] = s_.SourceRow(i);
    }
    const int rows = sums.start[RowSums::kMost - 1] + plan.taps;
    for (int k = 0; k < rows; ++k) s_.sample_taps[k] = in_.Row(ClampRow(first + k));
    k_.vertical_first(sums, in_.width);
    for (int i = 0; i < RowSums::kMost; ++i) ReplicateEdges(plan_.x, s_.SourceRow(i));
  }

  void VerticalFirst(int first, int last) {
    for (int y = first; y < last; y += RowSums::kMost) {
      SumRows(y, last);
      for (int i = 0; i < RowSums::kMost && y + i < last; i += plan_.group()) Horizontal(y + i, i);
      for (int i = 0; i < RowSums::kMost && y + i < last; ++i) {
        k_.store(s_.RingRow(y + i), out_.Row(y + i), out_.width);
      }
    }
  }

  const PlanePlan& plan_;
  const ConstPlane in_;
  const Plane out_;
  BandScratch& s_;
  const ResizeKernels& k_;
};

}  // namespace

struct Resizer::Impl {
  std::array<PlanePlan, 3> plans;
  int src_width = 0;
  int src_height = 0;
  int dst_width = 0;
  int dst_height = 0;
  Subsampling src_subsampling;
  const ResizeKernels& kernels = GetResizeKernels();  // the blocks of the plans are as wide as its vectors
  ScratchPool<BandScratch> scratch;
};

Resizer::Resizer(int src_width, int src_height, Subsampling src_subsampling, ColorSpec src_color,
                 int dst_width, int dst_height)
    : impl_(std::make_unique<Impl>()) {
  if (src_width < 1 || src_height < 1 || dst_width < 1 || dst_height < 1) {
    throw Error(ErrorCode::kInvalidArgument, "A picture needs a width and a height of at least 1.");
  }
  impl_->src_width = src_width;
  impl_->src_height = src_height;
  impl_->dst_width = dst_width;
  impl_->dst_height = dst_height;
  impl_->src_subsampling = src_subsampling;
  const auto size = [](int luma, int plane, int log2) {
    return plane == 0 ? luma : (luma + (1 << log2) - 1) >> log2;
  };
  const Subsampling dst;
  for (int p = 0; p < 3; ++p) {
    impl_->plans[p].x =
        MakeAxisPlan(src_width, size(src_width, p, src_subsampling.log2_x),
                     HorizontalGrid(p, src_subsampling, src_color.site), dst_width,
                     size(dst_width, p, dst.log2_x), HorizontalGrid(p, dst, ChromaSite::kLeft));
    impl_->plans[p].y =
        MakeAxisPlan(src_height, size(src_height, p, src_subsampling.log2_y),
                     VerticalGrid(p, src_subsampling, src_color.site), dst_height,
                     size(dst_height, p, dst.log2_y), VerticalGrid(p, dst, ChromaSite::kLeft));
    AddColumnBlocks(impl_->plans[p].x, impl_->kernels.column_lanes);
  }
}

Resizer::~Resizer() = default;

void Resizer::Run(const Image& in, Image& out, ThreadPool& pool, Planes planes) {
  Impl& impl = *impl_;
  if (in.width() != impl.src_width || in.height() != impl.src_height ||
      in.subsampling() != impl.src_subsampling || out.width() != impl.dst_width ||
      out.height() != impl.dst_height || out.subsampling() != Subsampling{}) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the resize was planned for.");
  }
  impl.scratch.Prepare(pool.threads(), [&] { return MakeScratch(impl.plans); });
  const auto rows = [&](int plane, int first, int last) {
    const auto scratch = impl.scratch.Borrow();
    Band(impl.plans[plane], in.plane(plane), out.plane(plane), *scratch, impl.kernels).Run(first, last);
  };
  ParallelPlaneRows(out, kGrainRows, pool, rows, planes);
  ColorSpec color = in.color();
  color.site = ChromaSite::kLeft;
  out.set_color(color);
}

}  // namespace framelift::pixel
