#include "cuda/stage_plan.h"

#include <algorithm>
#include <utility>

#include "pixel/color_matrix.h"
#include "pixel/resize_plan.h"
#include "pixel/scene_detector.h"
#include "plan/network_choice.h"
#include "plan/orient.h"

namespace reelmend::cuda {
namespace {

int Blocks(int count, int size) { return (count + size - 1) / size; }

std::size_t BytesOfMotion(const MotionField& field) {
  return static_cast<std::size_t>(field.columns) * field.rows * pixel::kTemporalSteps * sizeof(pixel::MotionVector);
}

}  // namespace

StagePlan::StagePlan(std::shared_ptr<Device> device, const StageOptions& options)
    : device_(device), options_(options), arena_(std::move(device)) {
  int width = options.stored_width;
  int height = options.stored_height;
  pixel::Subsampling subsampling = options.stored_subsampling;
  if (options.transpose) {
    std::swap(width, height);
    std::swap(subsampling.log2_x, subsampling.log2_y);
  }
  denoises_temporally_ = options.temporal_strength > 0 && options.temporal_sigma > 0;
  denoises_ = options.denoise_strength > 0 && options.noise_sigma > 0;
  const media::Orientation orientation{options.transpose, options.flip_x, options.flip_y};
  working_color_ = plan::OrientedColor(options.color, orientation, {width, height}, subsampling);
  first_ = arena_.MakePicture(width, height, subsampling, working_color_);
  if (options.tone) {
    working_color_.matrix = pixel::Matrix::kBt709;
    working_color_.range = pixel::Range::kLimited;
    auto tables = std::make_unique<pixel::ToneTables>();
    pixel::FillToneTables(*options.tone, *tables);
    tone_tables_ = arena_.SendOne(*tables);
  }
  if (options.tone || denoises_temporally_ || denoises_) second_ = arena_.MakePicture(width, height, subsampling, working_color_);
  MakeTimeStages();
  MakeDebanding();
  MakeContrast();
  MakeReduction();
  MakeNetwork();
  MakeAccumulation();
  MakeEdges();
  MakeSlots();
  for (ResizeStage* stage : {reduce_.get(), resize_.get(), widen_.get(), fit_.get()}) {
    if (stage != nullptr) stage->MakeRoom();  // last: it adapts to the remaining memory
  }
}

StagePlan::~StagePlan() = default;

void StagePlan::MakeTimeStages() {
  if (!denoises_temporally_ && options_.contrast_strength <= 0) return;
  const TemporalState fresh{};
  state_ = const_cast<TemporalState*>(arena_.SendOne(fresh));
  const Plane& luma = first_.planes[0];
  // pixel::SceneDetector's cells.
  shrink_.cell = std::clamp(std::min(luma.width / 32, luma.height / 18), 1, 8);
  shrink_.columns = std::max(1, luma.width / shrink_.cell);
  shrink_.rows = std::max(1, luma.height / shrink_.cell);
  shrink_.state = state_;
  const std::vector<float> empty(static_cast<std::size_t>(3) * shrink_.columns * shrink_.rows);
  thumbnails_ = const_cast<float*>(arena_.Send(empty));
  shrink_.thumbnails = thumbnails_;
  if (denoises_temporally_) MakeTemporalHistory();
}

void StagePlan::MakeTemporalHistory() {
  const Plane& luma = first_.planes[0];
  for (int i = 0; i < TemporalHistory::kPictures; ++i) {
    const Picture picture = arena_.MakePicture(luma.width, luma.height, first_.subsampling(), working_color_);
    for (int p = 0; p < 3; ++p) {
      TemporalHistory& history = history_[p];
      const int once = i - TemporalHistory::kInputs;
      const int twice = once - TemporalHistory::kOnce;
      Plane& slot = once < 0 ? history.inputs[i] : twice < 0 ? history.once[once] : history.twice[twice];
      slot = picture.planes[p];
    }
  }
  field_ = MakeField(Blocks(luma.width, pixel::kMotionBlock), Blocks(luma.height, pixel::kMotionBlock));
  for (int i = 0; i < MotionHistory::kPictures; ++i) {
    motion_.luma[i] = history_[0].inputs[i];
    motion_.means[i] = arena_.MakePlane(std::max(1, luma.width / pixel::kMotionCell), std::max(1, luma.height / pixel::kMotionCell));
  }
}

MotionField StagePlan::MakeField(int columns, int rows) {
  MotionField field;
  field.columns = columns;
  field.rows = rows;
  const std::size_t vectors = static_cast<std::size_t>(columns) * rows * pixel::kTemporalSteps;
  field.vectors = static_cast<pixel::MotionVector*>(arena_.MakeCleared(vectors * sizeof(pixel::MotionVector)));
  field.errors = static_cast<pixel::MotionErrors*>(arena_.MakeCleared(vectors * sizeof(pixel::MotionErrors)));
  field.global = static_cast<pixel::MotionVector*>(arena_.MakeCleared(pixel::kTemporalSteps * sizeof(pixel::MotionVector)));
  return field;
}

void StagePlan::MakeAccumulation() {
  const int width = output_.width();
  const int height = output_.height();
  accumulates_ = options_.accumulation_strength > 0 && denoises_temporally_ && std::min(width, height) >= pixel::kMotionMinSide;
  if (!accumulates_) return;
  for (Plane& plane : accumulation_.inputs) plane = arena_.MakePlane(width, height);
  for (Plane& plane : accumulation_.once) plane = arena_.MakePlane(width, height);
  refined_ = MakeField(Blocks(width, pixel::kRefinedCell), Blocks(height, pixel::kRefinedCell));
}

void StagePlan::MakeDebanding() {
  if (options_.deband_threshold <= 0) return;
  for (int p = 0; p < 3; ++p) {
    const int columns = Blocks(first_.planes[p].width, pixel::kDebandCell);
    const int rows = Blocks(first_.planes[p].height, pixel::kDebandCell);
    const std::vector<float> empty(static_cast<std::size_t>(columns) * rows);
    for (CellPlanes* cells : {&cells_[p], &pooled_[p]}) {
      for (View<float>* view : {&cells->mean, &cells->low, &cells->high}) {
        *view = {const_cast<float*>(arena_.Send(empty)), columns, columns, rows};
      }
    }
  }
}

/// plan's Note [Working size].
void StagePlan::MakeReduction() {
  source_ = first_;
  source_.color = working_color_;
  if (options_.working_share >= 1) return;
  const Size working = plan::WorkingSize({first_.width(), first_.height()}, options_.working_share);
  reduced_ = arena_.MakePicture(working.width, working.height, {}, working_color_.LeftSited());
  reduce_ = std::make_unique<ResizeStage>(device_, source_, reduced_, 3);
  source_ = reduced_;
}

/// Pictures of the network: its input, and whether chroma bypasses it.
void StagePlan::MakeNetwork() {
  const pixel::ColorSpec color = working_color_.LeftSited();
  output_ = ShapeOf(options_.output_width, options_.output_height, {}, color);
  if (!options_.network) {
    resize_ = std::make_unique<ResizeStage>(device_, source_, output_, 3);
    return;
  }
  Picture in = source_;
  if (options_.network_is_last) in = output_;
  if (makes_chroma()) {
    in = ShapeOf(in.width(), in.height(), {0, 0}, source_.color);
    widen_ = std::make_unique<ResizeStage>(device_, options_.network_is_last ? output_ : source_, in, 2);
  }
  if (options_.network_is_last) {
    resize_ = std::make_unique<ResizeStage>(device_, source_, output_, 3);
  } else if (!makes_chroma()) {
    resize_ = std::make_unique<ResizeStage>(device_, source_, output_, 2);
  }
  network_ = std::make_unique<NetworkRunner>(device_, *options_.network, in);
  Picture made = network_->made(0);
  made.color = makes_chroma() ? source_.color : color;
  fit_ = std::make_unique<ResizeStage>(device_, made, output_, makes_chroma() ? 3 : 1);
}

void StagePlan::MakeSlots() {
  for (int i = 0; i < slots(); ++i) {
    Slot slot;
    slot.finished = output_;
    slot.resized = output_;
    const bool needs_resized = network_ || !resize_->is_identity();
    if (needs_resized) slot.resized = arena_.MakePicture(output_.width(), output_.height(), {}, output_.color);
    if (makes_chroma()) {
      const Picture& from = options_.network_is_last ? output_ : source_;
      slot.full = arena_.MakePicture(from.width(), from.height(), {0, 0}, source_.color);
    }
    if (accumulates_) {
      // Contours read it at once and write another plane; else it is kept until Finish.
      const bool is_shared = options_.edge_strength > 0 && i > 0;
      slot.steady = is_shared ? slots_.front().steady : arena_.MakePlane(output_.width(), output_.height());
      slot.motion = static_cast<pixel::MotionVector*>(arena_.MakeCleared(BytesOfMotion(field_)));
    }
    if (options_.edge_strength > 0) slot.steep = arena_.MakePlane(output_.width(), output_.height());
    slot.state = network_ && state_ != nullptr ? const_cast<TemporalState*>(arena_.SendOne(TemporalState{})) : state_;
    slots_.push_back(slot);
  }
}

void StagePlan::MakeEdges() {
  if (options_.edge_strength <= 0) return;
  contour_weights_ = pixel::MakeContourWeights(options_.edge_enlargement, options_.edge_strength);
  guided_weights_ = pixel::MakeGuidedWeights(options_.edge_enlargement, options_.edge_strength);
  smooth_ = arena_.MakePlane(output_.width(), output_.height());
  const auto make = [&](const Plane& plane, int cell) {
    const int columns = Blocks(plane.width, cell);
    const int rows = Blocks(plane.height, cell);
    const std::vector<float> empty(static_cast<std::size_t>(columns) * rows);
    return View<float>{const_cast<float*>(arena_.Send(empty)), columns, columns, rows};
  };
  for (ContourCells& cells : contours_) {
    for (View<float>* view : {&cells.difference, &cells.mixed, &cells.trace}) *view = make(output_.planes[0], pixel::kContourCell);
  }
  for (GuidedPlanes& planes : guided_) {
    for (View<float>& view : planes.cells) view = make(output_.planes[1], pixel::kGuidedCell);
  }
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
      const_cast<std::uint32_t*>(arena_.Send(std::vector<std::uint32_t>(pixel::kContrastWindow * tiles * pixel::kMaxBins)));
  curves.sums = const_cast<std::uint32_t*>(arena_.Send(std::vector<std::uint32_t>(tiles * pixel::kMaxBins)));
  curves.pieces = const_cast<CurvePiece*>(arena_.Send(std::vector<CurvePiece>(tiles * pixel::kMaxSegments)));
  curves_ = curves;
  contrast_.pieces = curves.pieces;
  contrast_.domain = curves.layout.domain;
  contrast_.across = across.count;
  contrast_.down = down.count;
  contrast_.strength = std::min(options_.contrast_strength, 1.0F);
  for (int i = 0; i < across.count; ++i) contrast_.centre_x[i] = across.Centre(i, pixel::kCentreAlignment);
  for (int i = 0; i < down.count; ++i) contrast_.centre_y[i] = down.Centre(i, 1);
  if (options_.level_lift.amount > 0) MakeLevels(tiles);
}

void StagePlan::MakeLevels(std::size_t tiles) {
  LevelKernel levels;
  levels.layout = curves_->layout;
  levels.lift = options_.level_lift;
  levels.tiles = static_cast<int>(tiles);
  levels.strength = contrast_.strength;
  levels.history = curves_->history;
  levels.pieces = curves_->pieces;
  levels.recent = const_cast<pixel::Levels*>(arena_.Send(std::vector<pixel::Levels>(pixel::kContrastWindow)));
  levels.chroma_gain = const_cast<float*>(arena_.SendOne(1.0F));
  levels_ = levels;
  contrast_.strength = 1;  // the pieces contain it
}

void StagePlan::FindCuts(const Picture& picture, StreamHandle stream) {
  ShrinkKernel shrink = shrink_;
  shrink.luma = picture.planes[0];
  Put(MakeCall(shrink, {shrink.columns, shrink.rows, 1}), stream);
  using Scenes = pixel::SceneDetector;
  const SceneLimits limits{Scenes::kMinDifference, Scenes::kMinHistogram, Scenes::kMinStructure, Scenes::kMinDeviation};
  Put(MakeCall(SceneKernel{thumbnails_, state_, shrink.columns * shrink.rows, limits}, {}), stream);
}

void StagePlan::FindMotion(const Picture& picture, StreamHandle stream) {
  const Plane& luma = picture.planes[0];
  if (std::min(luma.width, luma.height) < pixel::kMotionMinSide) return;  // the vectors stay 0
  Put(MakeCall(MeanKernel{luma, motion_, state_}, {motion_.means[0].width, motion_.means[0].height, 1}), stream);
  MotionKernel search;
  search.state = state_;
  search.now = luma;
  search.history = motion_;
  search.field = field_;
  std::copy(std::begin(pixel::kTemporalLags), std::end(pixel::kTemporalLags), std::begin(search.lags));
  search.still_sad = pixel::StillSad(options_.noise_sigma);
  Put(MakeCall(search, {field_.columns, field_.rows, 1}), stream);
  FollowGlobalMotion(search, stream);
}

template <typename Search>
void StagePlan::FollowGlobalMotion(const Search& search, StreamHandle stream) {
  const MotionField& field = search.field;
  Put(MakeCall(GlobalMotionKernel{field}, {pixel::kTemporalSteps, 1, 1}), stream);
  Put(MakeCall(GlobalErrorKernel<Search>{search}, {field.columns, field.rows, 1}), stream);
  Put(MakeCall(FollowGlobalKernel{field}, {pixel::kTemporalSteps, 1, 1}), stream);
}

/// Until Complete, because the next picture overwrites the field.
void StagePlan::KeepMotion(const Slot& slot, StreamHandle stream) {
  if (!accumulates_) return;
  const std::size_t bytes = BytesOfMotion(field_);
  const auto row = static_cast<std::ptrdiff_t>(bytes);
  device_->CopyAsync({slot.motion, row, field_.vectors, row, bytes, 1}, stream);
}

void StagePlan::Accumulate(Slot& slot, StreamHandle stream) {
  if (!accumulates_) return;
  const Plane& luma = slot.finished.planes[0];
  RefineKernel refine;
  refine.now = luma;
  refine.cell = pixel::kRefinedCell;
  refine.state = slot.state;
  refine.history = accumulation_;
  refine.field = refined_;
  refine.source = {slot.motion, field_.columns, first_.width(), first_.height()};
  AccumulateKernel blend;
  for (int i = 0; i < pixel::kAccumulationSteps; ++i) refine.lags[i] = blend.lags[i] = pixel::kAccumulationLags[i];
  Put(MakeCall(refine, {refined_.columns, refined_.rows, 1}), stream);
  FollowGlobalMotion(refine, stream);
  blend.state = slot.state;
  blend.in = luma;
  blend.out = slot.steady;
  blend.history = accumulation_;
  blend.field = refined_;
  blend.strength = std::min(options_.accumulation_strength, 1.0F);
  Put(MakeCall(blend, {Blocks(luma.width, BlockTile::kTileWidth), Blocks(luma.height, pixel::kTemporalBlock), 1}), stream);
  slot.finished.planes[0] = slot.steady;
}

/// The picture denoised over time, in the other one of first_ and second_.
Picture StagePlan::DenoiseTemporally(const Picture& picture, StreamHandle stream) {
  FindMotion(picture, stream);
  TemporalKernel temporal;
  temporal.state = state_;
  temporal.in = picture;
  temporal.out = OtherThan(picture);
  std::copy(std::begin(history_), std::end(history_), std::begin(temporal.history));
  temporal.field = field_;
  const auto limits = pixel::MakeStepLimits(options_.temporal_sigma, options_.noise_sigma);
  for (int i = 0; i < pixel::kTemporalSteps; ++i) {
    temporal.steps[i] = {pixel::kTemporalLags[i], limits[i].falloff, limits[i].mean_difference, limits[i].grain_difference};
  }
  temporal.strength = std::min(options_.temporal_strength, 1.0F);
  Put(MakeCall(temporal, {Blocks(picture.width(), TemporalKernel::kTileWidth),
                          Blocks(picture.height(), pixel::kTemporalBlock), 1}), stream);
  return temporal.out;
}

/// The picture denoised in space: planes of first_ and second_.
Picture StagePlan::Denoise(const Picture& picture, StreamHandle stream) {
  if (restores_all()) return picture;  // the network does it
  Picture denoised = OtherThan(picture);
  DenoiseKernel denoise{picture, denoised, pixel::MakeRangeKernel(options_.noise_sigma),
                        std::min(options_.denoise_strength, 1.0F), 0};
  if (network_ && options_.restores_luma) {  // the network replaces the spatial filter of luma
    denoise.first_plane = 1;
    denoised.planes[0] = picture.planes[0];
  }
  const Plane& largest = picture.planes[denoise.first_plane];
  Put(MakeCall(denoise, {Blocks(largest.width, DenoiseKernel::kWidth), Blocks(largest.height, DenoiseKernel::kRows),
                         3 - denoise.first_plane}),
      stream);
  return denoised;
}

/// In place.
void StagePlan::Deband(const Picture& picture, StreamHandle stream) {
  const Extent cells{cells_[0].mean.width, cells_[0].mean.height, 3};
  const auto pool = [&](const CellPlanes (&in)[3], const CellPlanes (&out)[3], int reach, bool is_across) {
    PoolKernel kernel;
    std::copy(std::begin(in), std::end(in), std::begin(kernel.in));
    std::copy(std::begin(out), std::end(out), std::begin(kernel.out));
    kernel.reach = reach;
    kernel.is_across = is_across;
    Put(MakeCall(kernel, cells), stream);
  };
  for (const int reach : pixel::kDebandReach) {
    CellKernel measure;
    measure.in = picture;
    std::copy(std::begin(cells_), std::end(cells_), std::begin(measure.out));
    Put(MakeCall(measure, cells), stream);
    pool(cells_, pooled_, reach, true);
    pool(pooled_, cells_, reach, false);
    DebandKernel deband;
    deband.picture = picture;
    std::copy(std::begin(cells_), std::end(cells_), std::begin(deband.around));
    deband.limits = pixel::MakeDebandLimits(options_.deband_threshold * pixel::kUnitsPer8BitLevel);
    Put(MakeCall(deband, {picture.width(), picture.height(), 3}), stream);
  }
}

/// Runs the stages from the denoised source into the network; without one, to the output's size.
void StagePlan::Enlarge(const Picture& working, int index, StreamHandle stream) {
  Slot& slot = slots_[index];
  const bool resizes_luma = !network_ || options_.network_is_last;
  if (resize_) {
    resize_->Run(working, slot.resized, stream);
    for (int p = resizes_luma ? 0 : 1; p < 3; ++p) {
      slot.finished.planes[p] = resize_->is_identity(p) ? working.planes[p] : slot.resized.planes[p];
      // Until Complete, because the next picture overwrites the source's own planes.
      if (!network_ || !resize_->is_identity(p)) continue;
      const Plane& from = working.planes[p];
      const Plane& to = slot.resized.planes[p];
      device_->CopyAsync({to.data, to.stride * 2, from.data, from.stride * 2, static_cast<std::size_t>(from.width) * 2,
                          static_cast<std::size_t>(from.height)}, stream);
      slot.finished.planes[p] = to;
    }
  }
  if (!network_) return;
  Picture in = options_.network_is_last ? slot.finished : working;
  if (makes_chroma()) {
    const Picture upright = in;
    in = slot.full;
    in.planes[0] = upright.planes[0];
    widen_->Run(upright, in, stream);
    for (int p = 1; p < 3; ++p) {
      if (widen_->is_identity(p)) in.planes[p] = upright.planes[p];
    }
  }
  network_->Submit(index, in, stream);
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

void StagePlan::Process(Surface surface, int slot, bool needs_picture, StreamHandle stream) {
  surface.transpose = options_.transpose;
  surface.flip_x = options_.flip_x;
  surface.flip_y = options_.flip_y;
  Put(MakeCall(ImportKernel{surface, first_}, {Blocks(first_.width(), ImportKernel::kSamplesPerThread), first_.height(), 3}),
      stream);
  const Picture* picture = &first_;
  if (options_.tone) {
    const ToneKernelCall tone{*picture, second_, pixel::MakeToneKernel(*options_.tone, options_.color, tone_tables_),
                              options_.tone->transfer == pixel::HdrTransfer::kHlg};
    Put(MakeCall(tone, {picture->width(), picture->height(), 2}), stream);
    picture = &second_;
  }
  if (state_ != nullptr) FindCuts(*picture, stream);
  Picture working = denoises_temporally_ ? DenoiseTemporally(*picture, stream) : *picture;
  if (denoises_) working = Denoise(working, stream);
  working.color = working_color_;
  if (!needs_picture) return;
  KeepMotion(slots_[slot], stream);
  if (TemporalState* kept = slots_[slot].state; kept != state_) {
    constexpr std::size_t kBytes = sizeof(TemporalState);
    device_->CopyAsync({kept, kBytes, state_, kBytes, kBytes, 1}, stream);
  }
  if (options_.deband_threshold > 0) Deband(working, stream);
  if (reduce_) {
    reduce_->Run(working, reduced_, stream);
    working = reduced_;
  }
  Enlarge(working, slot, stream);
}

void StagePlan::Complete(int index, StreamHandle stream) {
  Slot& slot = slots_[index];
  if (network_) {
    network_->Wait(index, stream);
    const Picture& made = network_->made(index);
    fit_->Run(made, slot.resized, stream);
    for (int p = 0; p < (makes_chroma() ? 3 : 1); ++p)
      slot.finished.planes[p] = fit_->is_identity(p) ? made.planes[p] : slot.resized.planes[p];
  }
  Accumulate(slot, stream);
  if (options_.edge_strength > 0) {
    SmoothContours(slot, stream);
    GuideChroma(slot.finished, stream);
  }
  if (!curves_) return;
  CurveKernel curves = *curves_;
  curves.state = slot.state;
  curves.luma = ReaderOf(slot.finished);
  Put(MakeCall(curves, {curves.across, curves.down, 1}), stream);
  if (!levels_) return;
  LevelKernel levels = *levels_;
  levels.state = slot.state;
  Put(MakeCall(levels, {}), stream);
}

void StagePlan::SmoothContours(Slot& slot, StreamHandle stream) {
  const Plane& luma = slot.finished.planes[0];
  const Extent cells{contours_[0].trace.width, contours_[0].trace.height, 1};
  Put(MakeCall(ContourCellKernel{luma, contours_[0]}, cells), stream);
  Put(MakeCall(ContourBlurKernel{contours_[0], contours_[1], contour_weights_, true}, cells), stream);
  Put(MakeCall(ContourBlurKernel{contours_[1], contours_[0], contour_weights_, false}, cells), stream);
  const Extent samples{luma.width, luma.height, 1};
  Put(MakeCall(ContourKernel{{luma, contours_[0]}, smooth_, contour_weights_}, samples), stream);
  Put(MakeCall(ContourSharpenKernel{{smooth_, contours_[0]}, slot.steep, contour_weights_}, samples), stream);
  slot.finished.planes[0] = slot.steep;
}

/// In place.
void StagePlan::GuideChroma(const Picture& picture, StreamHandle stream) {
  const pixel::GuidedWeights& w = guided_weights_;
  const View<float>& cells = guided_[0].cells[0];
  const auto blur = [&](int planes, const float (&weights)[pixel::kGuidedReach + 1]) {
    GuidedBlurKernel kernel{guided_[0], guided_[1], {}, true};
    std::copy(std::begin(weights), std::end(weights), std::begin(kernel.weights));
    Put(MakeCall(kernel, {cells.width, cells.height, planes}), stream);
    std::swap(kernel.in, kernel.out);
    kernel.is_across = false;
    Put(MakeCall(kernel, {cells.width, cells.height, planes}), stream);
  };
  const Extent all{cells.width, cells.height, 1};
  Put(MakeCall(GuidedCellKernel{picture, guided_[0]}, all), stream);
  blur(1, w.guide);
  Put(MakeCall(GuidedProductKernel{guided_[0]}, all), stream);
  blur(8, w.window);
  Put(MakeCall(GuidedFitKernel{guided_[0]}, all), stream);
  blur(6, w.window);
  Put(MakeCall(GuidedChromaKernel{picture, guided_[0], w.strength}, {picture.planes[1].width, picture.planes[1].height, 1}), stream);
}

void StagePlan::Finish(const EncoderPicture& out, int index, StreamHandle stream) {
  const Picture& finished = slots_[index].finished;
  FinishLumaKernel luma;
  luma.luma = ReaderOf(finished);
  luma.contrast = contrast_;
  luma.out = out;
  luma.lobe = options_.sharpen_strength > 0 ? -4.0F * (options_.sharpen_strength / 5) : 0.0F;
  const bool is_limited = options_.output_color.range == pixel::Range::kLimited;
  luma.black = is_limited ? 16 * pixel::kUnitsPer8BitLevel : 0;
  luma.white = (is_limited ? 235 : 255) * pixel::kUnitsPer8BitLevel;
  Put(MakeCall(luma, {Blocks(out.width, FinishLumaKernel::kWidth), Blocks(out.height, FinishLumaKernel::kRows), 1}),
      stream);
  FinishChromaKernel chroma;
  chroma.in = finished;
  chroma.out = out;
  chroma.converts = luma.luma.converts;
  chroma.gain = levels_ ? levels_->chroma_gain : nullptr;
  chroma.limit = pixel::ChromaLimit(is_limited);
  const pixel::ColorSpec& to = options_.output_color;
  const auto c = pixel::MakeColorCoefficients(finished.color.matrix, finished.color.range, to.matrix, to.range);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) chroma.matrix[i][j] = static_cast<float>(c.chroma[i][j]);
  }
  Put(MakeCall(chroma, {finished.planes[1].width, finished.planes[1].height, 1}), stream);
}

}  // namespace reelmend::cuda
