#include "pipeline/pixel_chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framelift/error.h"
#include "pipeline/orient.h"

namespace framelift::pipeline {
namespace {

/// Averaging over time costs no detail, so it is used in full long before the spatial filter is.
float TemporalStrength(float denoise) { return std::min(1.0F, 2 * denoise); }

}  // namespace

PixelChain::PixelChain(const Plan& plan, AVCodecID codec, int threads, StageClocks& clocks)
    : plan_(plan), codec_(codec), clocks_(clocks), pool_(threads) {
  const auto [width, height] = plan.output;
  if (plan.strengths.sharpen > 0) sharpener_ = std::make_unique<pixel::Sharpener>(width, height);
  if (plan.strengths.adaptive_contrast > 0) contrast_ = std::make_unique<pixel::AdaptiveContrast>(width, height);
}

template <typename Work>
void PixelChain::Timed(Stage stage, const Work& work) {
  const double helpers = pool_.WorkerCpuSeconds();
  {
    const StageScope scope(clocks_, stage);
    work();
  }
  clocks_.Add(stage, pool_.WorkerCpuSeconds() - helpers);
}

void PixelChain::Prepare(const AVFrame& frame) {
  if (importer_ && importer_->Fits(frame, codec_)) return;
  const double aspect = static_cast<double>(frame.width) / frame.height;
  if (aspect_ && std::abs(aspect / *aspect_ - 1) > 0.02) {
    throw Error(ErrorCode::kUnreadableVideo, "The picture changes its shape in the middle of the video.");
  }
  aspect_ = aspect;
  importer_ = std::make_unique<media::FrameImporter>(frame, codec_);
  pixel::ColorSpec color = importer_->color().spec;
  const pixel::Subsampling subsampling = OrientedSubsampling(importer_->subsampling(), plan_.orientation);
  int width = importer_->width();
  int height = importer_->height();
  imported_ = pixel::Image(width, height, importer_->subsampling(), importer_->color().spec);
  if (plan_.orientation.transpose) std::swap(width, height);
  if (!plan_.orientation.is_identity()) oriented_ = pixel::Image(width, height, subsampling, color);
  tone_mapper_ = MakeToneMapper(importer_->color(), plan_.peak_nits);
  if (tone_mapper_) {
    color = {pixel::Matrix::kBt709, pixel::Range::kLimited, color.site};
    toned_ = pixel::Image(width, height, subsampling, color);
  }
  if (contrast_ || plan_.strengths.denoise > 0) scenes_ = std::make_unique<pixel::SceneDetector>(width, height);
  if (plan_.strengths.denoise > 0) {
    denoiser_ = std::make_unique<pixel::Denoiser>(width, height, subsampling);
    denoised_ = pixel::Image(width, height, subsampling, color);
    temporal_ = std::make_unique<pixel::TemporalDenoiser>(width, height, subsampling);
    steadied_ = pixel::Image(width, height, subsampling, color);
  }
  const auto [out_width, out_height] = plan_.output;
  resizer_ = std::make_unique<pixel::Resizer>(width, height, subsampling, color, out_width, out_height);
  pixel::ColorSpec resized_color = color;
  resized_color.site = pixel::ChromaSite::kLeft;
  resized_ = pixel::Image(out_width, out_height, {1, 1}, resized_color);
  if (sharpener_) sharpened_ = pixel::Image(out_width, out_height, {1, 1}, importer_->color().output_spec);
}

pixel::Image& PixelChain::Process(const AVFrame& frame) {
  Prepare(frame);
  pixel::Image* image = &imported_;
  Timed(Stage::kConvert, [&] {
    importer_->Run(frame, imported_, pool_);
    if (plan_.orientation.is_identity()) return;
    Orient(imported_, oriented_, plan_.orientation, pool_);
    image = &oriented_;
  });
  if (tone_mapper_) {
    Timed(Stage::kConvert, [&] { tone_mapper_->Run(*image, toned_, pool_); });
    image = &toned_;
  }
  bool is_cut = false;
  if (scenes_) Timed(Stage::kConvert, [&] { is_cut = scenes_->IsCut(*image, pool_); });
  if (denoiser_) {
    Timed(Stage::kDenoise, [&] {
      if (is_cut) temporal_->Reset();
      temporal_->Run(*image, steadied_, TemporalStrength(plan_.strengths.denoise), plan_.traits.noise_sigma, pool_);
      denoiser_->Run(steadied_, denoised_, plan_.strengths.denoise, plan_.traits.noise_sigma, pool_);
    });
    image = &denoised_;
  }
  Timed(Stage::kResize, [&] { resizer_->Run(*image, resized_, pool_); });
  Timed(Stage::kConvert, [&] { pixel::ConvertColor(resized_, importer_->color().output_spec, pool_); });
  if (contrast_) {
    Timed(Stage::kContrast, [&] {
      if (is_cut) contrast_->Reset();
      contrast_->Run(resized_, plan_.strengths.adaptive_contrast, pool_);
    });
  }
  return resized_;
}

void PixelChain::Run(const AVFrame& frame, AVFrame& out) {
  const pixel::Image* image = &Process(frame);
  if (sharpener_) {
    Timed(Stage::kSharpen, [&] { sharpener_->Run(*image, sharpened_, plan_.strengths.sharpen, pool_); });
    image = &sharpened_;
  }
  Timed(Stage::kConvert, [&] {
    pixel::MutableRawPlanes raw;
    for (int plane = 0; plane < 3; ++plane) {
      raw.data[plane] = out.data[plane];
      raw.stride[plane] = out.linesize[plane];
    }
    pixel::ExportYuv420p8(*image, raw, pool_);
  });
}

void PixelChain::WarmUp(const AVFrame& frame) {
  if (contrast_ || plan_.strengths.denoise > 0) Process(frame);
}

}  // namespace framelift::pipeline
