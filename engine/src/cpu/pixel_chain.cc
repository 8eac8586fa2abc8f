#include "cpu/pixel_chain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "media/geometry.h"
#include "plan/orient.h"
#include "plan/tone_mapper.h"
#include "reelmend/error.h"

namespace reelmend::cpu {
namespace {

void CopyPlane(pixel::ConstPlane from, pixel::Plane to) {
  for (int y = 0; y < to.height; ++y) {
    std::memcpy(to.Row(y), from.Row(y), sizeof(std::uint16_t) * static_cast<std::size_t>(to.width));
  }
}

}  // namespace

PixelChain::PixelChain(const plan::Plan& plan, AVCodecID codec, int threads, device::StageClocks& clocks,
                       std::function<bool()> is_stopped, std::unique_ptr<PreparedNetworks> prepared)
    : plan_(plan),
      codec_(codec),
      clocks_(clocks),
      threads_(threads),
      is_stopped_(std::move(is_stopped)),
      pool_(threads),
      prepared_(std::move(prepared)) {
  const auto [width, height] = plan.output;
  if (plan.strengths.sharpen > 0) sharpener_ = std::make_unique<pixel::Sharpener>(width, height);
  if (plan.edges.strength > 0) {
    contours_ = std::make_unique<pixel::ContourSmoother>(width, height);
    guided_chroma_ = std::make_unique<pixel::GuidedChroma>(width, height);
  }
  if (plan.accumulates()) accumulator_ = std::make_unique<pixel::TemporalAccumulator>(width, height);
  if (plan.strengths.adaptive_contrast > 0) {
    contrast_ = std::make_unique<pixel::AdaptiveContrast>(width, height, plan.level_lift);
  }
}

template <typename Work>
void PixelChain::Timed(device::Stage stage, const Work& work) {
  const double helpers = pool_.WorkerCpuSeconds();
  {
    const device::StageScope scope(clocks_, stage);
    work();
  }
  clocks_.Add(stage, pool_.WorkerCpuSeconds() - helpers);
}

void PixelChain::Prepare(const AVFrame& frame) {
  if (CanSubmit(frame)) return;
  const double aspect = media::DisplayedShape(frame, {frame.width, frame.height});
  if (aspect_ && std::abs(aspect / *aspect_ - 1) > 0.02) {
    throw Error(ErrorCode::kUnreadableVideo, "The picture changes its shape in the middle of the video.");
  }
  aspect_ = aspect;
  importer_ = std::make_unique<media::FrameImporter>(frame, codec_);
  pixel::ColorSpec color = importer_->color().spec;
  const pixel::Subsampling subsampling = plan::OrientedSubsampling(importer_->subsampling(), plan_.orientation);
  int width = importer_->width();
  int height = importer_->height();
  imported_ = pixel::Image(width, height, importer_->subsampling(), color);
  tone_mapper_ = plan::MakeToneMapper(importer_->color(), plan_.peak_nits);
  if (tone_mapper_) {
    color = {pixel::Matrix::kBt709, pixel::Range::kLimited, color.site};
    toned_ = pixel::Image(width, height, importer_->subsampling(), color);
  }
  if (plan_.orientation.transpose) std::swap(width, height);
  color = plan::OrientedColor(color, plan_.orientation, {width, height}, subsampling);
  if (!plan_.orientation.is_identity()) oriented_ = pixel::Image(width, height, subsampling, color);
  scenes_ = std::make_unique<pixel::SceneDetector>(width, height);
  if (plan_.strengths.denoise > 0) {
    denoiser_ = std::make_unique<pixel::Denoiser>(width, height, subsampling);
    denoised_ = pixel::Image(width, height, subsampling, color);
  }
  if (plan_.temporal.strength > 0) {
    temporal_ = std::make_unique<pixel::TemporalDenoiser>(width, height, subsampling);
    temporally_denoised_ = pixel::Image(width, height, subsampling, color);
  }
  if (plan_.deband_threshold > 0) debander_ = std::make_unique<pixel::Debander>(width, height);
  const Shape in = PrepareReduction({{width, height}, subsampling, color});
  const auto [out_width, out_height] = plan_.output;
  resizer_ = std::make_unique<pixel::Resizer>(in.size.width, in.size.height, in.subsampling, in.color, out_width, out_height);
  resized_ = pixel::Image(out_width, out_height, {1, 1}, in.color.LeftSited());
  if (sharpener_) sharpened_ = pixel::Image(out_width, out_height, {1, 1}, importer_->color().output_spec);
  PrepareNetwork(in);
  PrepareFaces(in.size);
  ReleasePrepared();
}

/// Note [Working size]. Returns the shape of the picture that is enlarged.
PixelChain::Shape PixelChain::PrepareReduction(const Shape& source) {
  reducer_.reset();
  if (plan_.working_share >= 1) return source;
  const Shape working{plan::WorkingSize(source.size, plan_.working_share), {1, 1}, source.color.LeftSited()};
  const auto [width, height] = working.size;
  reducer_ = std::make_unique<pixel::Resizer>(source.size.width, source.size.height, source.subsampling, source.color, width, height);
  working_ = pixel::Image(width, height, working.subsampling, working.color);
  return working;
}

/// Releases the prepared networks that no stage took. Counts their threads as well: OpenVINO may reuse them for later networks.
void PixelChain::ReleasePrepared() {
  if (!prepared_) return;
  network_threads_.Add(prepared_->network_threads());
  face_threads_.Add(prepared_->face_threads());
  prepared_.reset();
}

void PixelChain::PrepareFaces(Size in) {
  if (!plan_.face_model) return;
  AddFaceTime();
  faces_before_ = faces();
  const faces::FaceStageOptions options{*plan_.face_model,
                                        faces::MakeFinderOptions(in, plan_.output, plan_.strengths.face_restoration, threads_)};
  faces_.reset();
  if (prepared_) faces_ = prepared_->TakeFaces(options);
  if (!faces_) faces_ = face_threads_.Watch([&] { return std::make_unique<faces::FaceStage>(options); });
}

void PixelChain::RestoreFaces(const Slot& slot, bool is_warm_up) {
  if (faces_) Timed(device::Stage::kFaces, [&] { faces_->Run(resized_, slot.picture, slot.number, slot.is_cut, is_warm_up, pool_); });
}

void PixelChain::PrepareNetwork(Shape in) {
  AddNetworkTime();
  network_.reset();
  network_resizer_.reset();
  idle_slots_.clear();
  const auto fit = plan::FitNetwork(plan_.models, plan_.model, in.size, plan_.output);
  network_is_last_ = fit && fit->after_resize;
  if (network_is_last_) {
    in = {plan_.output, {1, 1}, resized_.color()};
    reduced_ = pixel::Image(in.size.width, in.size.height, in.subsampling, in.color);
  }
  if (fit) {
    const NetworkStageOptions options{*fit, in.size, in.subsampling, in.color, plan_.network_strength, threads_, is_stopped_, prepared_.get()};
    network_ = network_threads_.Watch([&] { return std::make_unique<NetworkStage>(options); });
    const Size made = network_->output();
    const pixel::Subsampling made_subsampling = network_->output_subsampling();
    if (network_->makes_chroma() || made.width != plan_.output.width || made.height != plan_.output.height) {
      enlarged_ = pixel::Image(made.width, made.height, made_subsampling, in.color);
      network_resizer_ = std::make_unique<pixel::Resizer>(made.width, made.height, made_subsampling, in.color,
                                                          plan_.output.width, plan_.output.height);
    }
  }
  for (int i = 0; i < depth(); ++i) {
    idle_slots_.push_back({pixel::Image(in.size.width, in.size.height, in.subsampling, in.color), {}, false, 0});
  }
}

/// Decoded samples → upright SDR picture.
pixel::Image& PixelChain::Import(const AVFrame& frame) {
  pixel::Image* image = &imported_;
  Timed(device::Stage::kConvert, [&] {
    importer_->Run(frame, imported_, pool_);
    // Before the rotation: tone mapping expects chroma at the decoder's siting.
    if (tone_mapper_) {
      tone_mapper_->Run(imported_, toned_, pool_);
      image = &toned_;
    }
    if (plan_.orientation.is_identity()) return;
    plan::Orient(*image, oriented_, plan_.orientation, pool_);
    image = &oriented_;
  });
  return *image;
}

pixel::Image& PixelChain::Denoise(pixel::Image& image, bool is_cut) {
  pixel::Image* input = &image;
  if (temporal_) {
    Timed(device::Stage::kDenoise, [&] {
      if (is_cut) temporal_->Reset();
      temporal_->Run(image, temporally_denoised_, {plan_.temporal.strength, plan_.temporal.noise_sigma, plan_.traits.noise_sigma}, pool_);
    });
    input = &temporally_denoised_;
  }
  // Note [Restoration by a network]: the network replaces the spatial filter, of luma or of all planes.
  if (!denoiser_ || restores_all()) return *input;
  Timed(device::Stage::kDenoise, [&] {
    const pixel::Planes planes = restores_luma() ? pixel::Planes::kChroma : pixel::Planes::kAll;
    if (restores_luma()) CopyPlane(input->plane(0), denoised_.plane(0));
    denoiser_->Run(*input, denoised_, plan_.strengths.denoise, plan_.traits.noise_sigma, pool_, planes);
  });
  return denoised_;
}

void PixelChain::Deband(pixel::Image& image) {
  if (debander_) Timed(device::Stage::kDenoise, [&] { debander_->Run(image, plan_.deband_threshold, pool_); });
}

pixel::Image& PixelChain::Reduce(pixel::Image& image) {
  if (!reducer_) return image;
  Timed(device::Stage::kResize, [&] { reducer_->Run(image, working_, pool_); });
  return working_;
}

bool PixelChain::Submit(const AVFrame& frame, bool is_warm_up) {
  if (is_warm_up && !looks_back_at_the_end() && plan_.temporal.strength <= 0) return false;
  Prepare(frame);
  pixel::Image* image = &Import(frame);
  bool is_cut = false;
  Timed(device::Stage::kConvert, [&] { is_cut = scenes_->IsCut(*image, pool_); });
  image = &Denoise(*image, is_cut);
  if (is_warm_up && !looks_back_at_the_end()) return false;
  Deband(*image);
  image = &Reduce(*image);
  if (network_is_last_) {
    Timed(device::Stage::kResize, [&] { resizer_->Run(*image, reduced_, pool_); });
    image = &reduced_;
  }
  slots_.push_back(std::move(idle_slots_.back()));
  idle_slots_.pop_back();
  Slot& slot = slots_.back();
  slot.is_cut = is_cut;
  slot.number = plan::FrameNumber(plan_, frame.pts);
  if (accumulator_) temporal_->CopyMotion(slot.motion);
  // Swapping avoids a copy: both pictures have the same shape, and the previous stage overwrites the one that it gets back. That must
  // not be the previous picture, because the network still compares it with this one.
  std::swap(slot.picture, *image);
  if (!network_) return true;
  Timed(device::Stage::kConvert, [&] { network_->Submit(slot.picture, pool_); });
  if (network_->wants_tiles()) network_threads_.Watch([&] { network_->MakeTiles(); });
  return true;
}

void PixelChain::CopyChroma(const pixel::Image& from) {
  for (int plane = 1; plane < 3; ++plane) CopyPlane(from.plane(plane), resized_.plane(plane));
}

/// Brings the slot's picture to the output's size, in resized_.
void PixelChain::Enlarge(Slot& slot) {
  if (!network_) return Timed(device::Stage::kResize, [&] { resizer_->Run(slot.picture, resized_, pool_); });
  pixel::Image& made = network_resizer_ ? enlarged_ : resized_;
  Timed(device::Stage::kConvert, [&] { network_->Retrieve(made, pool_); });
  Timed(device::Stage::kResize, [&] {
    const pixel::Planes planes = makes_luma_only() ? pixel::Planes::kLuma : pixel::Planes::kAll;
    if (network_resizer_) network_resizer_->Run(enlarged_, resized_, pool_, planes);
    if (!makes_luma_only()) return;
    if (network_is_last_) return CopyChroma(slot.picture);
    resizer_->Run(slot.picture, resized_, pool_, pixel::Planes::kChroma);
  });
  resized_.set_color(slot.picture.color().LeftSited());
}

void PixelChain::Accumulate(const Slot& slot) {
  if (!accumulator_) return;
  Timed(device::Stage::kDenoise, [&] {
    if (slot.is_cut) accumulator_->Reset();
    accumulator_->Run(resized_, slot.motion, plan::kSteadyStrength, pool_);
  });
}

void PixelChain::RestoreEdges() {
  if (!contours_) return;
  const auto& [strength, enlargement] = plan_.edges;
  Timed(device::Stage::kDenoise, [&] {
    contours_->Run(resized_, strength, enlargement, pool_);
    guided_chroma_->Run(resized_, strength, enlargement, pool_);
  });
}

void PixelChain::Retrieve(AVFrame* out) {
  Slot& slot = slots_.front();
  const bool is_cut = slot.is_cut;
  Enlarge(slot);
  Accumulate(slot);
  RestoreEdges();
  Timed(device::Stage::kConvert, [&] { pixel::ConvertColor(resized_, importer_->color().output_spec, pool_); });
  // Before the faces, which are not restored in the warm-up: the curves of a segment equal those of the whole video.
  if (contrast_) {
    Timed(device::Stage::kContrast, [&] {
      if (is_cut) contrast_->Reset();
      contrast_->Observe(resized_, pool_);
    });
  }
  RestoreFaces(slot, out == nullptr);
  idle_slots_.push_back(std::move(slot));
  slots_.pop_front();
  if (out == nullptr) return;
  if (contrast_) Timed(device::Stage::kContrast, [&] { contrast_->Apply(resized_, plan_.strengths.adaptive_contrast, pool_); });
  out->pict_type = is_cut ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;  // for the encoder
  const pixel::Image* image = &resized_;
  if (sharpener_) {
    Timed(device::Stage::kSharpen, [&] { sharpener_->Run(*image, sharpened_, plan_.strengths.sharpen, pool_); });
    image = &sharpened_;
  }
  Timed(device::Stage::kConvert, [&] {
    pixel::MutableRawPlanes raw;
    for (int plane = 0; plane < 3; ++plane) {
      raw.data[plane] = out->data[plane];
      raw.stride[plane] = out->linesize[plane];
    }
    pixel::ExportYuv420p8(*image, raw, pool_);
  });
}

void PixelChain::Run(const AVFrame& frame, AVFrame& out) {
  Submit(frame, false);
  Retrieve(&out);
}

void PixelChain::WarmUp(const AVFrame& frame) {
  if (Submit(frame, true)) Retrieve(nullptr);
}

void PixelChain::AddFaceTime() {
  if (faces_) clocks_.Add(device::Stage::kFaces, face_threads_.CpuSeconds());
  face_threads_ = {};
}

void PixelChain::AddNetworkTime() {
  AddFaceTime();
  if (network_) clocks_.Add(device::Stage::kNetwork, network_threads_.CpuSeconds());
  network_threads_ = {};
}

}  // namespace reelmend::cpu
