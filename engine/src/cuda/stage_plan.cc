#include "cuda/stage_plan.h"

#include <algorithm>
#include <utility>

#include "pipeline/orient.h"
#include "pixel/color_matrix.h"
#include "pixel/resize_plan.h"
#include "pixel/scene_detector.h"

namespace framelift::cuda {
namespace {

constexpr int kPitchSamples = 128;  // 256 bytes
constexpr int kSmallestBand = 16;   // output rows

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

int Blocks(int count, int size) { return (count + size - 1) / size; }

int ChromaSize(int size, int log2) { return (size + (1 << log2) - 1) >> log2; }

Picture Shape(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color) {
  Picture picture;
  picture.log2_x = subsampling.log2_x;
  picture.log2_y = subsampling.log2_y;
  picture.color = color;
  for (int p = 0; p < 3; ++p) {
    Plane& plane = picture.planes[p];
    plane.width = p == 0 ? width : ChromaSize(width, subsampling.log2_x);
    plane.height = p == 0 ? height : ChromaSize(height, subsampling.log2_y);
    plane.stride = RoundUp(plane.width, kPitchSamples);
  }
  return picture;
}

}  // namespace

StagePlan::StagePlan(std::shared_ptr<Device> device, const StageOptions& options)
    : device_(std::move(device)), options_(options) {
  int width = options.stored_width;
  int height = options.stored_height;
  pixel::Subsampling subsampling = options.stored_subsampling;
  if (options.transpose) {
    std::swap(width, height);
    std::swap(subsampling.log2_x, subsampling.log2_y);
  }
  denoises_ = options.denoise_strength > 0 && options.noise_sigma > 0;
  working_color_ = options.color;
  working_color_.site = pipeline::OrientedSite(options.color.site, {options.transpose, options.flip_x, options.flip_y});
  first_ = MakePicture(width, height, subsampling, working_color_);
  first_.shift_x = options.flip_x && subsampling.log2_x != 0 ? width % 2 : 0;
  first_.shift_y = options.flip_y && subsampling.log2_y != 0 ? height % 2 : 0;
  if (options.tone) {
    working_color_ = {pixel::Matrix::kBt709, pixel::Range::kLimited, working_color_.site};
    auto tables = std::make_unique<pixel::ToneTables>();
    pixel::FillToneTables(*options.tone, *tables);
    tone_tables_ = static_cast<const pixel::ToneTables*>(Keep(Upload(device_, tables.get(), sizeof *tables)).get());
  }
  if (options.tone || denoises_) second_ = MakePicture(width, height, subsampling, working_color_);
  MakeTimeStages();
  MakeResize();
  MakeContrast();
  MakeIntermediate();  // last: it makes do with what is left
}

StagePlan::~StagePlan() = default;

DeviceMemory& StagePlan::Keep(DeviceMemory memory) {
  memory_.push_back(std::move(memory));
  return memory_.back();
}

template <typename T>
const T* StagePlan::Send(const std::vector<T>& values) {
  return static_cast<const T*>(Keep(Upload(device_, values.data(), values.size() * sizeof(T))).get());
}

Picture StagePlan::MakePicture(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color) {
  Picture picture = Shape(width, height, subsampling, color);
  std::size_t samples = 0;
  for (const Plane& plane : picture.planes) samples += static_cast<std::size_t>(plane.stride) * plane.height;
  auto* data = static_cast<std::uint16_t*>(Keep(MakeDeviceMemory(device_, samples * sizeof(std::uint16_t))).get());
  for (Plane& plane : picture.planes) {
    plane.data = data;
    data += plane.stride * plane.height;
  }
  return picture;
}

void StagePlan::MakeTimeStages() {
  if (options_.denoise_strength <= 0 && options_.contrast_strength <= 0) return;
  const TimeState fresh{};
  state_ = static_cast<TimeState*>(Keep(Upload(device_, &fresh, sizeof fresh)).get());
  const Plane& luma = first_.planes[0];
  // pixel::SceneDetector's cells.
  shrink_.cell = std::clamp(std::min(luma.width / 32, luma.height / 18), 1, 8);
  shrink_.columns = std::max(1, luma.width / shrink_.cell);
  shrink_.rows = std::max(1, luma.height / shrink_.cell);
  shrink_.state = state_;
  const std::vector<float> empty(static_cast<std::size_t>(3) * shrink_.columns * shrink_.rows);
  thumbnails_ = const_cast<float*>(Send(empty));
  shrink_.thumbnails = thumbnails_;
  if (!denoises_) return;
  const auto older = [&] { return MakePicture(luma.width, luma.height, first_.subsampling(), working_color_); };
  for (int i = 0; i < 7; ++i) {
    const Picture picture = older();
    for (int p = 0; p < 3; ++p) {
      Plane& place = i == 0 ? history_[p].inputs[0] : i < 3 ? history_[p].once[i - 1] : history_[p].twice[i - 3];
      place = picture.planes[p];
    }
  }
}

DeviceAxis StagePlan::SendAxis(const pixel::AxisPlan& plan) {
  std::vector<int> starts(static_cast<std::size_t>(plan.dst));
  for (int i = 0; i < plan.dst; ++i) starts[i] = plan.Start(i);
  DeviceAxis axis;
  axis.starts = Send(starts);
  axis.weights = Send(plan.weights);
  axis.taps = plan.taps;
  axis.sets = static_cast<int>(plan.weights.size()) / plan.taps;
  return axis;
}

void StagePlan::MakeResize() {
  const int width = first_.width();
  const int height = first_.height();
  pixel::ColorSpec color = working_color_;
  color.site = pixel::ChromaSite::kLeft;
  const pixel::Subsampling to;
  bool all_identity = true;
  for (int p = 0; p < 2; ++p) {
    const Plane& from = first_.planes[p];
    const auto site = working_color_.site;
    const pixel::AxisPlan x = pixel::MakeAxisPlan(
        width, from.width, pixel::HorizontalGrid(p, first_.subsampling(), site), options_.output_width,
        p == 0 ? options_.output_width : ChromaSize(options_.output_width, 1),
        pixel::HorizontalGrid(p, to, pixel::ChromaSite::kLeft));
    const pixel::AxisPlan y = pixel::MakeAxisPlan(
        height, from.height, pixel::VerticalGrid(p, first_.subsampling(), site), options_.output_height,
        p == 0 ? options_.output_height : ChromaSize(options_.output_height, 1),
        pixel::VerticalGrid(p, to, pixel::ChromaSite::kLeft));
    resize_[p].is_identity = x.identity && y.identity;
    all_identity = all_identity && resize_[p].is_identity;
    if (resize_[p].is_identity) continue;
    resize_[p].reduces_height = y.reduces;
    resize_[p].x = SendAxis(x);
    resize_[p].y = SendAxis(y);
    for (int i = 0; i < y.dst; ++i) resize_[p].y_starts.push_back(y.Start(i));
  }
  finished_ = Shape(options_.output_width, options_.output_height, to, color);
  resized_ = all_identity ? finished_ : MakePicture(options_.output_width, options_.output_height, to, color);
}

/// Room for the intermediate rows of a band, the larger of luma and both planes of chroma.
std::size_t StagePlan::IntermediateBytes(int band_rows) const {
  std::size_t most = 0;
  for (int p = 0; p < 2; ++p) {
    const ResizePlane& plan = resize_[p];
    if (plan.is_identity) continue;
    const Plane& from = first_.planes[p];
    const Plane& to = resized_.planes[p];
    const int width = RoundUp(plan.reduces_height ? from.width : to.width, kPitchSamples);
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

void StagePlan::MakeIntermediate() {
  const int all = options_.output_height;
  band_rows_ = all;
  while (const std::size_t bytes = IntermediateBytes(band_rows_)) {
    try {
      intermediate_ = MakeDeviceMemory(device_, bytes);
      break;
    } catch (const OutOfDeviceMemory&) {
      if (band_rows_ <= kSmallestBand) throw;
      band_rows_ = std::max(kSmallestBand, (band_rows_ + 1) / 2);
    }
  }
  bands_ = Blocks(all, band_rows_);
}

void StagePlan::MakeContrast() {
  if (options_.contrast_strength <= 0) return;
  const pixel::TileAxis across(options_.output_width, pixel::TileCount(options_.output_width));
  const pixel::TileAxis down(options_.output_height, pixel::TileCount(options_.output_height));
  const std::size_t tiles = static_cast<std::size_t>(across.count) * down.count;
  CurveKernel curves;
  curves.layout = pixel::LayoutOf(options_.output_color.range);
  curves.across = across.count;
  curves.down = down.count;
  curves.state = state_;
  curves.history =
      const_cast<std::uint32_t*>(Send(std::vector<std::uint32_t>(pixel::kContrastWindow * tiles * pixel::kMaxBins)));
  curves.sums = const_cast<std::uint32_t*>(Send(std::vector<std::uint32_t>(tiles * pixel::kMaxBins)));
  curves.pieces = const_cast<CurvePiece*>(Send(std::vector<CurvePiece>(tiles * pixel::kMaxSegments)));
  curves_ = curves;
  contrast_.pieces = curves.pieces;
  contrast_.domain = curves.layout.domain;
  contrast_.across = across.count;
  contrast_.down = down.count;
  contrast_.strength = std::min(options_.contrast_strength, 1.0F);
  for (int i = 0; i < across.count; ++i) contrast_.centre_x[i] = across.Centre(i, pixel::kCentreAlignment);
  for (int i = 0; i < down.count; ++i) contrast_.centre_y[i] = down.Centre(i, 1);
}

void StagePlan::FindCuts(const Picture& picture, StreamHandle stream) {
  ShrinkKernel shrink = shrink_;
  shrink.luma = picture.planes[0];
  Put(MakeCall(shrink, {shrink.columns, shrink.rows, 1}), stream);
  using Scenes = pixel::SceneDetector;
  const SceneLimits limits{Scenes::kMinDifference, Scenes::kMinHistogram, Scenes::kMinStructure, Scenes::kMinDeviation};
  Put(MakeCall(SceneKernel{thumbnails_, state_, shrink.columns * shrink.rows, limits}, {}), stream);
}

const Picture* StagePlan::Denoise(const Picture* picture, StreamHandle stream) {
  const Picture* other = picture == &first_ ? &second_ : &first_;
  const auto limits = pixel::MakeStepLimits(options_.noise_sigma);
  TemporalKernel temporal;
  temporal.state = state_;
  temporal.in = *picture;
  temporal.out = *other;
  std::copy(std::begin(history_), std::end(history_), std::begin(temporal.history));
  for (int i = 0; i < pixel::kTemporalSteps; ++i) {
    temporal.steps[i] = {pixel::kTemporalLags[i], limits[i].falloff, limits[i].mean_difference};
  }
  temporal.strength = std::min(options_.temporal_strength, 1.0F);
  Put(MakeCall(temporal, {Blocks(picture->width(), TemporalKernel::kTileWidth),
                          Blocks(picture->height(), pixel::kTemporalBlock), 1}), stream);
  const DenoiseKernel denoise{*other, *picture, pixel::MakeRangeKernel(options_.noise_sigma),
                              std::min(options_.denoise_strength, 1.0F)};
  Put(MakeCall(denoise,
               {Blocks(picture->width(), DenoiseKernel::kWidth), Blocks(picture->height(), DenoiseKernel::kRows), 3}),
      stream);
  return picture;
}

void StagePlan::ResizeBand(const Picture& from, int plane, int count, int first, int rows, StreamHandle stream) {
  const ResizePlane& plan = resize_[plane];
  const Plane& source = from.planes[plane];
  const Plane& target = resized_.planes[plane];
  auto* memory = static_cast<float*>(intermediate_.get());
  const int width = plan.reduces_height ? source.width : target.width;
  const int stride = RoundUp(width, kPitchSamples);
  // Rows that the band's columns reach into, of the source or of the output.
  int top = first;
  int held = rows;
  if (!plan.reduces_height) {
    top = std::clamp(plan.y_starts[first], 0, source.height - 1);
    held = std::clamp(plan.y_starts[first + rows - 1] + plan.y.taps, 1, source.height) - top;
  }
  const auto in_between = [&](int i) {
    // Rows are counted as in the whole picture; those outside of the band do not exist.
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
    Put(MakeCall(kernel, {kernel.out[0].width, row_count, count}), stream);
  };
  const auto source_plane = [&](int i) { return from.planes[plane + i]; };
  const auto target_plane = [&](int i) { return resized_.planes[plane + i]; };
  if (plan.reduces_height) {
    GatherKernel gather;
    fill(gather, source_plane, in_between, plan.y, first, rows);
    NarrowKernel narrow;
    fill(narrow, in_between, target_plane, plan.x, first, rows);
  } else {
    WidenKernel widen;
    fill(widen, source_plane, in_between, plan.x, top, held);
    StackKernel stack;
    fill(stack, in_between, target_plane, plan.y, first, rows);
  }
}

void StagePlan::Resize(const Picture& from, StreamHandle stream) {
  for (int p = 0; p < 2; ++p) {
    const int count = p == 0 ? 1 : 2;
    for (int i = 0; i < count; ++i)
      finished_.planes[p + i] = resize_[p].is_identity ? from.planes[p + i] : resized_.planes[p + i];
    if (resize_[p].is_identity) continue;
    const int height = resized_.planes[p].height;
    for (int first = 0; first < height; first += band_rows_) {
      ResizeBand(from, p, count, first, std::min(band_rows_, height - first), stream);
    }
  }
}

LumaReader StagePlan::ReaderOf(const Picture& picture) const {
  LumaReader reader;
  reader.in = picture;
  const pixel::ColorSpec& to = options_.output_color;
  if (picture.color.matrix == to.matrix && picture.color.range == to.range) return reader;
  const auto c = pixel::MakeColorCoefficients(picture.color.matrix, picture.color.range, to.matrix, to.range);
  reader.converts = true;
  reader.mixes_chroma = c.cb != 0 || c.cr != 0;
  reader.scale = static_cast<float>(c.luma);
  reader.offset = static_cast<float>(c.offset);
  reader.cb = static_cast<float>(c.cb);
  reader.cr = static_cast<float>(c.cr);
  return reader;
}

void StagePlan::Process(Surface surface, StreamHandle stream) {
  surface.transpose = options_.transpose;
  surface.flip_x = options_.flip_x;
  surface.flip_y = options_.flip_y;
  Put(MakeCall(ImportKernel{surface, first_}, {Blocks(first_.width(), ImportKernel::kLanes), first_.height(), 3}),
      stream);
  const Picture* picture = &first_;
  if (options_.tone) {
    const ToneKernelCall tone{*picture, second_, pixel::MakeToneKernel(*options_.tone, options_.color, tone_tables_),
                              options_.tone->transfer == pixel::HdrTransfer::kHlg};
    Put(MakeCall(tone, {picture->width(), picture->height(), 2}), stream);
    picture = &second_;
  }
  if (state_ != nullptr) FindCuts(*picture, stream);
  Picture working = *picture;
  working.color = working_color_;
  if (denoises_) Denoise(picture, stream);
  Resize(working, stream);
  if (!curves_) return;
  CurveKernel curves = *curves_;
  curves.luma = ReaderOf(finished_);
  Put(MakeCall(curves, {curves.across, curves.down, 1}), stream);
}

void StagePlan::Finish(const EncoderPicture& out, StreamHandle stream) {
  FinishLumaKernel luma;
  luma.luma = ReaderOf(finished_);
  luma.contrast = contrast_;
  luma.out = out;
  luma.lobe = options_.sharpen_strength > 0 ? -4.0F * (options_.sharpen_strength / 5) : 0.0F;
  const bool is_limited = options_.output_color.range == pixel::Range::kLimited;
  luma.black = is_limited ? 16 * pixel::kUnitsPerCode8 : 0;
  luma.white = (is_limited ? 235 : 255) * pixel::kUnitsPerCode8;
  Put(MakeCall(luma, {Blocks(out.width, FinishLumaKernel::kWidth), Blocks(out.height, FinishLumaKernel::kRows), 1}),
      stream);
  FinishChromaKernel chroma;
  chroma.in = finished_;
  chroma.out = out;
  chroma.converts = luma.luma.converts;
  const pixel::ColorSpec& to = options_.output_color;
  const auto c = pixel::MakeColorCoefficients(finished_.color.matrix, finished_.color.range, to.matrix, to.range);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) chroma.matrix[i][j] = static_cast<float>(c.chroma[i][j]);
  }
  Put(MakeCall(chroma, {finished_.planes[1].width, finished_.planes[1].height, 1}), stream);
}

}  // namespace framelift::cuda
