#include "cuda/resize_stage.h"

#include <algorithm>
#include <utility>

#include "pixel/resize_plan.h"

namespace reelmend::cuda {
namespace {

constexpr int kSmallestBand = 16;  // output rows

}  // namespace

ResizeStage::ResizeStage(std::shared_ptr<Device> device, const Picture& from, const Picture& to, int planes)
    : arena_(std::move(device)), from_(from), to_(to) {
  for (int p = 0; p < 2; ++p) {
    if ((planes & (1 << p)) == 0) continue;
    const pixel::AxisPlan x = pixel::MakeAxisPlan(
        from.width(), from.planes[p].width, pixel::HorizontalGrid(p, from.subsampling(), from.color), to.width(),
        to.planes[p].width, pixel::HorizontalGrid(p, to.subsampling(), from.color.LeftSited()));
    const pixel::AxisPlan y = pixel::MakeAxisPlan(
        from.height(), from.planes[p].height, pixel::VerticalGrid(p, from.subsampling(), from.color), to.height(),
        to.planes[p].height, pixel::VerticalGrid(p, to.subsampling(), from.color.LeftSited()));
    PlanePair& pair = resize_[p];
    pair.is_identity = x.identity && y.identity;
    if (pair.is_identity) continue;
    pair.reduces_height = y.reduces;
    pair.x = SendAxis(x);
    pair.y = SendAxis(y);
    for (int i = 0; i < y.dst; ++i) pair.y_starts.push_back(y.Start(i));
  }
}

DeviceAxis ResizeStage::SendAxis(const pixel::AxisPlan& plan) {
  std::vector<int> starts(static_cast<std::size_t>(plan.dst));
  for (int i = 0; i < plan.dst; ++i) starts[i] = plan.Start(i);
  DeviceAxis axis;
  axis.starts = arena_.Send(starts);
  axis.weights = arena_.Send(plan.weights);
  axis.taps = plan.taps;
  axis.sets = static_cast<int>(plan.weights.size()) / plan.taps;
  return axis;
}

/// Size of the intermediate rows of a band, the larger one of luma and both planes of chroma.
std::size_t ResizeStage::IntermediateBytes(int band_rows) const {
  std::size_t most = 0;
  for (int p = 0; p < 2; ++p) {
    const PlanePair& plan = resize_[p];
    if (plan.is_identity) continue;
    const Plane& from = from_.planes[p];
    const Plane& to = to_.planes[p];
    const int width = RoundUpTo(plan.reduces_height ? from.width : to.width, kPitchSamples);
    int rows = std::min(band_rows, to.height);
    if (!plan.reduces_height) {
      int longest = 0;
      for (int first = 0; first < to.height; first += band_rows) {
        const int last = std::min(first + band_rows, to.height) - 1;
        longest = std::max(longest, plan.y_starts[last] + plan.y.taps - plan.y_starts[first]);
      }
      rows = std::min(longest, from.height);
    }
    most = std::max(most, static_cast<std::size_t>(width) * rows * (p == 0 ? 1 : 2) * sizeof(float));
  }
  return most;
}

void ResizeStage::MakeRoom() {
  const int all = to_.height();
  band_rows_ = all;
  while (const std::size_t bytes = IntermediateBytes(band_rows_)) {
    try {
      intermediate_ = MakeDeviceMemory(arena_.device(), bytes);
      break;
    } catch (const OutOfDeviceMemory&) {
      if (band_rows_ <= kSmallestBand) throw;
      band_rows_ = std::max(kSmallestBand, (band_rows_ + 1) / 2);
    }
  }
  bands_ = (all + band_rows_ - 1) / band_rows_;
}

void ResizeStage::RunBand(const Picture& from, const Picture& to, int plane, int first, int rows, StreamHandle stream) {
  const int count = plane == 0 ? 1 : 2;
  const PlanePair& plan = resize_[plane];
  const Plane& source = from.planes[plane];
  const Plane& target = to.planes[plane];
  auto* memory = static_cast<float*>(intermediate_.get());
  const int width = plan.reduces_height ? source.width : target.width;
  const int stride = RoundUpTo(width, kPitchSamples);
  // Rows of the source or of the output that the band's columns reach.
  int top = first;
  int held = rows;
  if (!plan.reduces_height) {
    top = std::clamp(plan.y_starts[first], 0, source.height - 1);
    held = std::clamp(plan.y_starts[first + rows - 1] + plan.y.taps, 1, source.height) - top;
  }
  const auto in_between = [&](int i) {
    // Rows are counted as in the whole picture; the band has no others.
    float* data = memory + (static_cast<std::ptrdiff_t>(i) * held - top) * stride;
    return View<float>{data, stride, width, plan.reduces_height ? target.height : source.height};
  };
  const auto fill = [&](auto& kernel, auto ins, auto outs, const DeviceAxis& axis, int from_row, int row_count) {
    for (int i = 0; i < count; ++i) {
      const auto in = ins(i);
      kernel.in[i] = {in.data, in.stride, in.width, in.height};
      kernel.out[i] = outs(i);
    }
    kernel.axis = axis;
    kernel.first_row = from_row;
    kernel.rows = row_count;
    arena_.device()->Launch(MakeCall(kernel, {kernel.out[0].width, row_count, count}), stream);
  };
  const auto source_plane = [&](int i) { return from.planes[plane + i]; };
  const auto target_plane = [&](int i) { return to.planes[plane + i]; };
  if (plan.reduces_height) {
    VerticalFirstPass vertical;
    fill(vertical, source_plane, in_between, plan.y, first, rows);
    HorizontalSecondPass horizontal;
    fill(horizontal, in_between, target_plane, plan.x, first, rows);
  } else {
    HorizontalFirstPass horizontal;
    fill(horizontal, source_plane, in_between, plan.x, top, held);
    VerticalSecondPass vertical;
    fill(vertical, in_between, target_plane, plan.y, first, rows);
  }
}

void ResizeStage::Run(const Picture& from, const Picture& to, StreamHandle stream) {
  for (int p = 0; p < 2; ++p) {
    if (resize_[p].is_identity) continue;
    const int height = to.planes[p].height;
    for (int first = 0; first < height; first += band_rows_) {
      RunBand(from, to, p, first, std::min(band_rows_, height - first), stream);
    }
  }
}

}  // namespace reelmend::cuda
