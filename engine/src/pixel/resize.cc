// Resizer: one plan per plane, bands of rows, kernels of resize_kernels. If the machine has the instructions and the ratio
// fits, resize_int16_band processes a plane's bands in int16 fixed point instead.
//
// Note [Order of the passes]
// When enlarging, source rows are widened first and kept in a small ring of float rows, from which each
// output row is summed: every source row is walked once per band. When reducing in height, the vertical
// sum runs first, straight from the source rows, so that the costlier horizontal pass sees few rows.
//
// Note [Strips]
// A ring of whole rows of 1080p is larger than the nearest cache, and every output row is summed from all of it. So a band
// is processed in vertical strips, as wide as keeps the ring in the cache. The cost is small: two strips convert the few
// inputs that both need.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "reelmend/error.h"
#include "pixel/resize_kernels.h"
#include "pixel/resize_plan.h"
#include "pixel/resize_int16_band.h"
#include "pixel/row_ring.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"

namespace reelmend::pixel {
namespace {

constexpr int kGrainRows = 32;
constexpr int kAlign = 16;  // floats in 64 bytes
/// Floats of the ring and of the first rows when reducing, see Note [Strips].
constexpr int kRingFloats = 12288;

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }
int RoundDown(int value, int multiple) {
  return value >= 0 ? value / multiple * multiple : -RoundUp(-value, multiple);
}

struct PlanePlan {
  AxisPlan x;
  AxisPlan y;
  int ring_rows = 0;
  std::vector<Strip> strips;
  Int16Plan int16;
  bool identity() const { return x.identity && y.identity; }
  /// Rows that the horizontal pass takes at a time.
  int group() const { return x.IsByRow() ? 1 : 4; }
};

/// Outputs that a strip may begin at: a whole block of the kernels, and aligned rows of samples.
int StripUnit(const AxisPlan& x) {
  constexpr int kSamples = 32;  // in 64 bytes
  return std::lcm(kSamples, std::lcm(std::max(x.phases, 1), std::max(x.outputs_each, 1)));
}

void CutIntoStrips(PlanePlan& plan) {
  const AxisPlan& x = plan.x;
  plan.ring_rows = RowSums::kMost;
  while (!plan.y.reduces && plan.ring_rows < plan.y.taps + 1 + plan.group()) plan.ring_rows *= 2;
  const int unit = StripUnit(x);
  const double wider = std::max(1.0, static_cast<double>(x.src) / x.dst);
  const int wanted = plan.y.reduces ? x.dst : static_cast<int>(kRingFloats / (plan.ring_rows * wider));
  const int pieces = std::max(1, (x.dst + wanted / 2) / std::max(wanted, 1));
  const int width = std::max(unit, RoundUp((x.dst + pieces - 1) / pieces, unit));
  for (int first = 0; first < x.dst; first += width) {
    Strip strip{first, std::min(first + width, x.dst), 0, 0};
    // One more on either side: starts are extrapolated from the first period, and rounding may shift one sample, with a
    // weight of 0.
    strip.from = x.Start(first);
    strip.to = x.Start(strip.last - 1) + x.taps;
    for (int i = strip.first; i < std::min(strip.first + unit, strip.last); ++i) strip.from = std::min(strip.from, x.Start(i));
    for (int i = std::max(strip.first, strip.last - unit); i < strip.last; ++i) strip.to = std::max(strip.to, x.Start(i) + x.taps);
    strip.from = RoundDown(strip.from - 1, 2 * kAlign);
    strip.to += 1;
    plan.strips.push_back(strip);
  }
}

/// Rows of the scratch that the horizontal pass reads.
constexpr int kSourceRows = RowSums::kMost;

/// Buffers of one band, for its current strip.
struct BandScratch {
  int source_stride = 0;
  int ring_stride = 0;
  AlignedArray<float> source;   // kSourceRows rows
  AlignedArray<float> source4;  // four of them, column by column, or one of them split
  AlignedArray<float> ring4;    // 4 output rows, column by column
  AlignedArray<float> ring;     // output rows
  Int16Scratch int16;
  std::vector<const float*> taps;
  std::vector<const std::uint16_t*> sample_taps;

  float* SourceRow(int i) const { return source.get() + static_cast<std::ptrdiff_t>(i) * source_stride; }
  float* Ring(int row) const { return ring.get() + static_cast<std::ptrdiff_t>(row) * ring_stride; }
};

std::unique_ptr<BandScratch> MakeScratch(const std::array<PlanePlan, 3>& plans) {
  auto scratch = std::make_unique<BandScratch>();
  int source = 0;
  int output = 0;
  int ring_rows = 0;
  int taps = 0;
  int rows_of_sums = 0;
  for (const PlanePlan& plan : plans) {
    if (plan.int16.fits) {
      scratch->int16.Fit(plan.int16);
      continue;
    }
    for (int y = 0; y < plan.y.dst; ++y) {
      const int last = plan.y.Start(std::min(y + RowSums::kMost - 1, plan.y.dst - 1));
      rows_of_sums = std::max(rows_of_sums, last - plan.y.Start(y) + plan.y.taps);
    }
    for (const Strip& strip : plan.strips) {
      source = std::max(source, strip.to - strip.from);
      output = std::max(output, strip.count());
    }
    ring_rows = std::max(ring_rows, plan.ring_rows);
    taps = std::max(taps, plan.y.taps);
  }
  // A kernel that computes several outputs at a time may exceed the end by all of them for each lane.
  output = RoundUp(output, kRowSlack) + 3 * kRowSlack;
  scratch->source_stride = RoundUp(source + 2 * kRowSlack, kAlign);
  scratch->ring_stride = RoundUp(output, kAlign);
  scratch->source = AlignedArray<float>(kSourceRows * static_cast<std::size_t>(scratch->source_stride));
  scratch->source4 = AlignedArray<float>(4 * static_cast<std::size_t>(scratch->source_stride));
  scratch->ring4 = AlignedArray<float>(4 * static_cast<std::size_t>(scratch->ring_stride));
  scratch->ring = AlignedArray<float>(ring_rows * static_cast<std::size_t>(scratch->ring_stride));
  scratch->taps.resize(taps + 1);
  scratch->sample_taps.resize(rows_of_sums);
  return scratch;
}

/// One band of one plane.
class Band {
 public:
  Band(const PlanePlan& plan, ConstPlane in, Plane out, BandScratch& scratch, const ResizeKernels& kernels)
      : plan_(plan), in_(in), out_(out), s_(scratch), k_(kernels) {}

  void Run(int first, int last) {
    if (plan_.identity()) return CopyRows(in_, out_, first, last);
    for (const Strip& strip : plan_.strips) {
      strip_ = strip;
      inside_ = std::max(strip.from, 0);
      inside_end_ = std::min(strip.to, in_.width);
      if (plan_.y.reduces) {
        VerticalFirst(first, last);
      } else {
        HorizontalFirst(first, last);
      }
    }
  }

 private:
  int ClampRow(int y) const { return std::clamp(y, 0, in_.height - 1); }
  float* RingRow(int y) const { return s_.Ring(y & (plan_.ring_rows - 1)); }
  std::uint16_t* Out(int y) const { return out_.Row(y) + strip_.first; }

  /// Inputs of the strip beyond the plane's ends repeat its first and last one.
  void ReplicateEdges(float* row) const {
    std::fill(row, row + (inside_ - strip_.from), row[inside_ - strip_.from]);
    std::fill(row + (inside_end_ - strip_.from), row + (strip_.to - strip_.from), row[inside_end_ - 1 - strip_.from]);
  }

  /// Makes the ring rows first_row … first_row + group − 1 from the rows of the scratch from `first_source` on.
  void Horizontal(int first_row, int first_source = 0) {
    const AxisPlan& x = plan_.x;
    if (x.IsByRow()) return HorizontalRow(s_.SourceRow(first_source), RingRow(first_row));
    const float* rows[4];
    float* outs[4];
    for (int i = 0; i < 4; ++i) {
      rows[i] = s_.SourceRow(first_source + i);
      outs[i] = RingRow(first_row + i);
    }
    if (x.block_lanes > 0) return k_.columns(rows, x.Blocks(strip_.first, strip_.last, strip_.from), outs);
    k_.interleave4(rows, s_.source4.get(), strip_.to - strip_.from);
    k_.columns4(s_.source4.get(), x.start.data() + strip_.first, strip_.from,
                x.weights.data() + static_cast<std::ptrdiff_t>(strip_.first) * x.taps, x.taps, s_.ring4.get(), strip_.count());
    k_.deinterleave4(s_.ring4.get(), outs, strip_.count());
  }

  /// Resizes one row by whole phases, by halves or by a ratio of small numbers.
  void HorizontalRow(const float* row, float* out) {
    const AxisPlan& x = plan_.x;
    int start[AxisPlan::kMaxSets];
    for (int p = 0; p < AxisPlan::kMaxSets && p < static_cast<int>(x.start.size()); ++p) {
      start[p] = x.start[p] + strip_.first / x.outputs_each * x.inputs_each - strip_.from;
    }
    const int count = (strip_.count() + x.outputs_each - 1) / x.outputs_each;
    if (x.phases > 0) return k_.phases(row, start, x.weights.data(), x.taps, x.phases, out, count);
    float* splits[AxisPlan::kMaxSets];
    for (int i = 0; i < AxisPlan::kMaxSets; ++i) splits[i] = s_.source4.get() + static_cast<std::ptrdiff_t>(i) * s_.source_stride;
    k_.split(row, x.inputs_each, splits, (strip_.to - strip_.from + x.inputs_each - 1) / x.inputs_each);
    if (x.rational) {
      return k_.rational(splits, {x.outputs_each, x.inputs_each, x.taps, start, x.weights.data()}, out, count);
    }
    k_.halve(splits[0], splits[1], start[0], x.weights.data(), x.taps, out, count);
  }

  void ProduceRows(int first_row) {
    for (int i = 0; i < plan_.group(); ++i) {
      k_.load(in_.Row(ClampRow(first_row + i)) + inside_, s_.SourceRow(i) + (inside_ - strip_.from), inside_end_ - inside_);
      ReplicateEdges(s_.SourceRow(i));
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
      const int shift = y + 1 < last ? y_plan.Start(y + 1) - start : 2;
      const bool is_pair = shift <= 1;
      const int rows = y_plan.taps + (is_pair ? shift : 0);
      const int needed = ClampRow(start + rows - 1);
      for (; next <= needed; next += group) ProduceRows(next);
      for (int k = 0; k < rows; ++k) s_.taps[k] = RingRow(ClampRow(start + k));
      if (is_pair) {
        k_.vertical_pair({s_.taps.data(), y_plan.taps, shift, {y_plan.Weights(y), y_plan.Weights(y + 1)}, {Out(y), Out(y + 1)}},
                         strip_.count());
      } else {
        k_.vertical(s_.taps.data(), y_plan.Weights(y), y_plan.taps, Out(y), strip_.count());
      }
      y += is_pair ? 2 : 1;
    }
  }

  /// Sums of output rows y … y + 7 (none beyond the last) into the source rows of the scratch.
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
      sums.outs[i] = s_.SourceRow(i) + (inside_ - strip_.from);
    }
    const int rows = sums.start[RowSums::kMost - 1] + plan.taps;
    for (int k = 0; k < rows; ++k) s_.sample_taps[k] = in_.Row(ClampRow(first + k)) + inside_;
    k_.vertical_first(sums, inside_end_ - inside_);
    for (int i = 0; i < RowSums::kMost; ++i) ReplicateEdges(s_.SourceRow(i));
  }

  void VerticalFirst(int first, int last) {
    for (int y = first; y < last; y += RowSums::kMost) {
      SumRows(y, last);
      for (int i = 0; i < RowSums::kMost && y + i < last; i += plan_.group()) Horizontal(y + i, i);
      for (int i = 0; i < RowSums::kMost && y + i < last; ++i) k_.store(RingRow(y + i), Out(y + i), strip_.count());
    }
  }

  const PlanePlan& plan_;
  const ConstPlane in_;
  const Plane out_;
  BandScratch& s_;
  const ResizeKernels& k_;
  Strip strip_;
  int inside_ = 0;      ///< inputs of the strip that lie in the plane: first …
  int inside_end_ = 0;  ///< … and beyond the last
};

}  // namespace

struct Resizer::Impl {
  std::array<PlanePlan, 3> plans;
  int src_width = 0;
  int src_height = 0;
  int dst_width = 0;
  int dst_height = 0;
  Subsampling src_subsampling;
  Subsampling dst_subsampling;
  const ResizeKernels& kernels = GetResizeKernels();  // the blocks of the plans are as wide as its vectors
  const Int16Kernels* const int16_kernels = GetInt16Kernels();  // null if the machine has none
  ScratchPool<BandScratch> scratch;
};

Resizer::Resizer(int src_width, int src_height, Subsampling src_subsampling, ColorSpec src_color,
                 int dst_width, int dst_height, Subsampling dst_subsampling)
    : impl_(std::make_unique<Impl>()) {
  if (src_width < 1 || src_height < 1 || dst_width < 1 || dst_height < 1) {
    throw Error(ErrorCode::kInvalidArgument, "A picture needs a width and a height of at least 1.");
  }
  impl_->src_width = src_width;
  impl_->src_height = src_height;
  impl_->dst_width = dst_width;
  impl_->dst_height = dst_height;
  impl_->src_subsampling = src_subsampling;
  impl_->dst_subsampling = dst_subsampling;
  const auto size = [](int luma, int plane, int log2) {
    return plane == 0 ? luma : (luma + (1 << log2) - 1) >> log2;
  };
  for (int p = 0; p < 3; ++p) {
    impl_->plans[p].x =
        MakeAxisPlan(src_width, size(src_width, p, src_subsampling.log2_x),
                     HorizontalGrid(p, src_subsampling, src_color), dst_width, size(dst_width, p, dst_subsampling.log2_x),
                     HorizontalGrid(p, dst_subsampling, src_color.LeftSited()));
    impl_->plans[p].y =
        MakeAxisPlan(src_height, size(src_height, p, src_subsampling.log2_y),
                     VerticalGrid(p, src_subsampling, src_color), dst_height, size(dst_height, p, dst_subsampling.log2_y),
                     VerticalGrid(p, dst_subsampling, src_color.LeftSited()));
    if (impl_->int16_kernels != nullptr) impl_->plans[p].int16 = MakeInt16Plan(impl_->plans[p].x, impl_->plans[p].y);
    if (impl_->plans[p].int16.fits) continue;
    AddShortWays(impl_->plans[p].x, impl_->kernels);
    CutIntoStrips(impl_->plans[p]);
  }
}

Resizer::~Resizer() = default;

void Resizer::Run(const Image& in, Image& out, ThreadPool& pool, Planes planes) {
  Impl& impl = *impl_;
  if (in.width() != impl.src_width || in.height() != impl.src_height ||
      in.subsampling() != impl.src_subsampling || out.width() != impl.dst_width ||
      out.height() != impl.dst_height || out.subsampling() != impl.dst_subsampling) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that the resize was planned for.");
  }
  impl.scratch.Prepare(pool.threads(), [&] { return MakeScratch(impl.plans); });
  const auto rows = [&](int plane, int first, int last) {
    const auto scratch = impl.scratch.Borrow();
    const PlanePlan& plan = impl.plans[plane];
    if (plan.int16.fits) {
      Int16Band(plan.x, plan.y, plan.int16, in.plane(plane), out.plane(plane), scratch->int16, *impl.int16_kernels).Run(first, last);
    } else {
      Band(plan, in.plane(plane), out.plane(plane), *scratch, impl.kernels).Run(first, last);
    }
  };
  ParallelPlaneRows(out, kGrainRows, pool, rows, planes);
  out.set_color(in.color().LeftSited());
}

}  // namespace reelmend::pixel
