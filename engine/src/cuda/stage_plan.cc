#include "cuda/stage_plan.h"

#include <algorithm>
#include <utility>

#include "cuda/enqueue.h"
#include "cuda/motion_field.h"
#include "pixel/color_matrix.h"
#include "plan/network_choice.h"
#include "plan/orient.h"

namespace reelmend::cuda {
namespace {

/// Reads luma of a picture in the output's colour space.
LumaReader ReaderOf(const Picture& picture, const pixel::ColorSpec& to) {
  LumaReader reader;
  reader.in = picture;
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

}  // namespace

// Making: sizes, pictures and stages.

StagePlan::StagePlan(std::shared_ptr<Device> device, const StageOptions& options)
    : device_(device), options_(options), arena_(std::move(device)) {
  MakeSourcePictures();
  MakeTimeStages();
  if (options_.deband_threshold > 0) deband_.emplace(device_, first_, options_.deband_threshold);
  if (options_.contrast_strength > 0) {
    const ContrastOptions contrast{options_.contrast_strength, options_.level_lift, options_.output_color.range};
    contrast_.emplace(device_, options_.output_width, options_.output_height, contrast);
  }
  MakeReduction();
  MakeNetwork();
  MakeOutputStages();
  for (int i = 0; i < slots(); ++i) slots_.push_back(MakeSlot());
  for (ResizeStage* stage : {reduce_.get(), resize_.get(), widen_.get(), fit_.get()}) {
    if (stage != nullptr) stage->MakeRoom();  // last: it adapts to the remaining memory
  }
}

StagePlan::~StagePlan() = default;

void StagePlan::MakeSourcePictures() {
  int width = options_.stored_width;
  int height = options_.stored_height;
  pixel::Subsampling subsampling = options_.stored_subsampling;
  if (options_.transpose) {
    std::swap(width, height);
    std::swap(subsampling.log2_x, subsampling.log2_y);
  }
  const media::Orientation orientation{options_.transpose, options_.flip_x, options_.flip_y};
  working_color_ = plan::OrientedColor(options_.color, orientation, {width, height}, subsampling);
  first_ = arena_.MakePicture(width, height, subsampling, working_color_);
  if (options_.tone) {
    working_color_.matrix = pixel::Matrix::kBt709;
    working_color_.range = pixel::Range::kLimited;
    auto tables = std::make_unique<pixel::ToneTables>();
    pixel::FillToneTables(*options_.tone, *tables);
    tone_tables_ = arena_.SendOne(*tables);
  }
  if (options_.tone || denoises_temporally() || denoises()) second_ = arena_.MakePicture(width, height, subsampling, working_color_);
}

/// Stages that look back in time.
void StagePlan::MakeTimeStages() {
  if (!denoises_temporally() && options_.contrast_strength <= 0 && !options_.faces) return;
  scenes_.emplace(device_, first_.width(), first_.height());
  if (!denoises_temporally()) return;
  const pixel::TemporalOptions temporal{options_.temporal_strength, options_.temporal_sigma, options_.noise_sigma};
  temporal_.emplace(device_, first_, temporal, scenes_->state());
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

/// The network, and the resizes around it.
void StagePlan::MakeNetwork() {
  const pixel::ColorSpec color = working_color_.LeftSited();
  output_ = ShapeOf(options_.output_width, options_.output_height, {}, color);
  if (!options_.network) {
    resize_ = std::make_unique<ResizeStage>(device_, source_, output_, 3);
    return;
  }
  const Picture& upright = options_.network_is_last ? output_ : source_;
  Picture in = upright;
  if (makes_chroma()) {
    in = ShapeOf(upright.width(), upright.height(), {0, 0}, source_.color);
    widen_ = std::make_unique<ResizeStage>(device_, upright, in, 2);
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

/// Stages at the output's size, without the contrast.
void StagePlan::MakeOutputStages() {
  const int width = output_.width();
  const int height = output_.height();
  if (options_.accumulation_strength > 0 && temporal_ && std::min(width, height) >= pixel::kMotionMinSide) {
    accumulation_.emplace(device_, width, height, options_.accumulation_strength);
  }
  if (options_.edge_strength > 0) edges_.emplace(device_, output_, options_.edge_enlargement, options_.edge_strength);
  if (options_.faces) faces_.emplace(device_, *options_.faces, output_);
}

StagePlan::Slot StagePlan::MakeSlot() {
  Slot slot;
  slot.current = output_;
  slot.resized = output_;
  const bool needs_resized = network_ || !resize_->is_identity();
  if (needs_resized) slot.resized = arena_.MakePicture(output_.width(), output_.height(), {}, output_.color);
  if (makes_chroma()) {
    const Picture& from = options_.network_is_last ? output_ : source_;
    slot.full = arena_.MakePicture(from.width(), from.height(), {0, 0}, source_.color);
  }
  if (accumulation_) {
    // Contours read it at once and write another plane; else it is kept until Finish.
    const bool is_shared = edges_ && !slots_.empty();
    slot.steady = is_shared ? slots_.front().steady : arena_.MakePlane(output_.width(), output_.height());
    slot.motion = static_cast<pixel::MotionVector*>(arena_.MakeCleared(VectorCount(temporal_->motion()) * sizeof(pixel::MotionVector)));
  }
  if (edges_) slot.steep = arena_.MakePlane(output_.width(), output_.height());
  if (faces_) {
    const Picture& shape = options_.network_is_last ? output_ : source_;
    slot.source = arena_.MakePicture(shape.width(), shape.height(), shape.subsampling(), shape.color);
  }
  if (scenes_) slot.state = network_ ? arena_.MakeValues<TemporalState>(1) : scenes_->state();
  return slot;
}

// Process: from the decoded surface into the network; without one, to the output's size.

void StagePlan::Process(Surface surface, int index, bool needs_picture, StreamHandle stream) {
  Picture working = Import(surface, stream);
  if (scenes_) scenes_->Run(working.planes[0], stream);
  if (temporal_) working = DenoiseTemporally(working, stream);
  if (denoises()) working = Denoise(working, stream);
  working.color = working_color_;
  if (!needs_picture) return;
  Slot& slot = slots_[index];
  KeepForComplete(slot, stream);
  if (deband_) deband_->Run(working, stream);
  if (reduce_) {
    reduce_->Run(working, reduced_, stream);
    working = reduced_;
  }
  if (resize_) Resize(working, slot, stream);
  const Picture& enlarged = options_.network_is_last ? slot.current : working;
  if (faces_) KeepForFaces(enlarged, slot, stream);
  if (network_) network_->Submit(index, NetworkInput(enlarged, slot, stream), stream);
}

/// The displayed picture, tone-mapped if it is HDR.
Picture StagePlan::Import(Surface surface, StreamHandle stream) {
  surface.transpose = options_.transpose;
  surface.flip_x = options_.flip_x;
  surface.flip_y = options_.flip_y;
  const Extent groups{Blocks(first_.width(), ImportKernel::kSamplesPerThread), first_.height(), 3};
  Enqueue(*device_, ImportKernel{surface, first_}, groups, stream);
  if (!options_.tone) return first_;
  const ToneKernelCall tone{first_, second_, pixel::MakeToneKernel(*options_.tone, options_.color, tone_tables_),
                            options_.tone->transfer == pixel::HdrTransfer::kHlg};
  Enqueue(*device_, tone, {first_.width(), first_.height(), 2}, stream);
  return second_;
}

Picture StagePlan::DenoiseTemporally(const Picture& picture, StreamHandle stream) {
  const Picture& denoised = OtherThan(picture);
  temporal_->Run(picture, denoised, stream);
  return denoised;
}

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
  const int planes = 3 - denoise.first_plane;
  Enqueue(*device_, denoise, {Blocks(largest.width, DenoiseKernel::kWidth), Blocks(largest.height, DenoiseKernel::kRows), planes}, stream);
  return denoised;
}

void StagePlan::KeepForComplete(const Slot& slot, StreamHandle stream) {
  const auto copy = [&](void* to, const void* from, std::size_t bytes) { CopyBytes(*device_, to, from, bytes, stream); };
  if (accumulation_) {
    const MotionField& motion = temporal_->motion();
    copy(slot.motion, motion.vectors, VectorCount(motion) * sizeof(pixel::MotionVector));
  }
  if (scenes_ && slot.state != scenes_->state()) copy(slot.state, scenes_->state(), sizeof(TemporalState));
}

/// The next picture overwrites the source's own planes; where nothing is resized, the first restored face does.
void StagePlan::KeepForFaces(const Picture& source, const Slot& slot, StreamHandle stream) {
  for (int p = 0; p < 3; ++p) CopyPlane(source.planes[p], slot.source.planes[p], stream);
}

void StagePlan::CopyPlane(const Plane& from, const Plane& to, StreamHandle stream) {
  device_->CopyAsync({to.data, to.stride * 2, from.data, from.stride * 2, static_cast<std::size_t>(from.width) * 2,
                      static_cast<std::size_t>(from.height)}, stream);
}

void StagePlan::Resize(const Picture& working, Slot& slot, StreamHandle stream) {
  const bool resizes_luma = !network_ || options_.network_is_last;
  resize_->Run(working, slot.resized, stream);
  for (int p = resizes_luma ? 0 : 1; p < 3; ++p) {
    slot.current.planes[p] = resize_->Result(working, slot.resized, p);
    // Until Complete, because the next picture overwrites the source's own planes.
    if (!network_ || !resize_->is_identity(p)) continue;
    CopyPlane(working.planes[p], slot.resized.planes[p], stream);
    slot.current.planes[p] = slot.resized.planes[p];
  }
}

/// `upright`, with chroma of luma's resolution if the network makes chroma.
Picture StagePlan::NetworkInput(const Picture& upright, const Slot& slot, StreamHandle stream) {
  if (!makes_chroma()) return upright;
  Picture in = slot.full;
  in.planes[0] = upright.planes[0];
  widen_->Run(upright, in, stream);
  for (int p = 1; p < 3; ++p) in.planes[p] = widen_->Result(upright, slot.full, p);
  return in;
}

// Complete: from the network's output to the curves of the contrast.

void StagePlan::Complete(int index, StreamHandle stream) {
  Slot& slot = slots_[index];
  if (network_) TakeFromNetwork(index, stream);
  if (accumulation_) Accumulate(slot, stream);
  if (edges_) RestoreEdges(slot, stream);
  if (contrast_) contrast_->Run(ReaderOf(slot.current, options_.output_color), slot.state, stream);
}

void StagePlan::TakeFromNetwork(int index, StreamHandle stream) {
  Slot& slot = slots_[index];
  network_->Wait(index, stream);
  const Picture& made = network_->made(index);
  fit_->Run(made, slot.resized, stream);
  for (int p = 0; p < (makes_chroma() ? 3 : 1); ++p) slot.current.planes[p] = fit_->Result(made, slot.resized, p);
}

void StagePlan::Accumulate(Slot& slot, StreamHandle stream) {
  const SourceVectors motion{slot.motion, temporal_->motion().columns, first_.width(), first_.height()};
  accumulation_->Run(slot.current.planes[0], slot.steady, motion, slot.state, stream);
  slot.current.planes[0] = slot.steady;
}

void StagePlan::RestoreEdges(Slot& slot, StreamHandle stream) {
  edges_->SmoothContours(slot.current.planes[0], slot.steep, stream);
  slot.current.planes[0] = slot.steep;
  edges_->GuideChroma(slot.current, stream);
}

void StagePlan::RestoreFaces(int index, std::int64_t number, bool is_warm_up, StreamHandle stream) {
  const Slot& slot = slots_[index];
  faces_->Run(slot.current, slot.source, slot.state, number, is_warm_up, stream);
}

// Finish: colour, contrast, sharpening, and the encoder's 8 bits.

void StagePlan::Finish(const EncoderPicture& out, int index, StreamHandle stream) {
  const Picture& finished = slots_[index].current;
  const pixel::ColorSpec& to = options_.output_color;
  FinishLumaKernel luma;
  luma.luma = ReaderOf(finished, to);
  if (contrast_) luma.contrast = contrast_->map();
  luma.out = out;
  luma.lobe = options_.sharpen_strength > 0 ? -4.0F * (options_.sharpen_strength / 5) : 0.0F;
  const bool is_limited = to.range == pixel::Range::kLimited;
  luma.black = is_limited ? 16 * pixel::kUnitsPer8BitLevel : 0;
  luma.white = (is_limited ? 235 : 255) * pixel::kUnitsPer8BitLevel;
  const Extent tiles{Blocks(out.width, FinishLumaKernel::kWidth), Blocks(out.height, FinishLumaKernel::kRows), 1};
  Enqueue(*device_, luma, tiles, stream);
  FinishChromaKernel chroma;
  chroma.in = finished;
  chroma.out = out;
  chroma.converts = luma.luma.converts;
  chroma.gain = contrast_ ? contrast_->chroma_gain() : nullptr;
  chroma.limit = pixel::ChromaLimit(is_limited);
  const auto c = pixel::MakeColorCoefficients(finished.color.matrix, finished.color.range, to.matrix, to.range);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) chroma.matrix[i][j] = static_cast<float>(c.chroma[i][j]);
  }
  Enqueue(*device_, chroma, {finished.planes[1].width, finished.planes[1].height, 1}, stream);
}

}  // namespace reelmend::cuda
