// Runs the same frames through the CPU's stages and the CUDA stages; these run on the stand-in device or, in test:gpu, on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuda/stage_plan.h"
#include "cuda/uploader.h"
#include "cuda_standin.h"
#include "pixel/scene_detector.h"
#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "pixel_testing.h"
#include "plan/network_choice.h"
#include "plan/orient.h"

namespace reelmend::cuda {

using pixel::Image;
using pixel::testing::PictureSize;
using testing::StandInDevice;

/// The suite is built twice: with the stand-in device, and for test:gpu with a GPU.
inline std::shared_ptr<Device> TestDevice() {
#ifdef REELMEND_ON_GPU
  static const std::shared_ptr<Device> device = OpenCudaDevice(0);
  return device;
#else
  return std::make_shared<StandInDevice>();
#endif
}

/// A decoded frame: raw planes with odd strides.
struct RawFrame {
  RawFrame() = default;
  RawFrame(RawFrame&&) = default;  // move-only: the planes point into the bytes
  RawFrame& operator=(RawFrame&&) = default;

  std::vector<std::uint8_t> bytes[3];
  pixel::RawPlanes planes;
};

/// `pan`: how many samples the content has moved to the left.
inline RawFrame MakeRaw(PictureSize size, const pixel::PackedLayout& layout, unsigned seed, double shade = 0, double pan = 0) {
  RawFrame raw;
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 2.0);
  const int bytes = layout.bits == 8 ? 1 : 2;
  const int count = layout.gray ? 1 : layout.semi_planar ? 2 : 3;
  const int shift = layout.bits - 8 + (layout.left_aligned ? 16 - layout.bits : 0);
  for (int p = 0; p < count; ++p) {
    const int across =
        p == 0 ? size.width : (size.width + (1 << layout.subsampling.log2_x) - 1) >> layout.subsampling.log2_x;
    const int rows =
        p == 0 ? size.height : (size.height + (1 << layout.subsampling.log2_y) - 1) >> layout.subsampling.log2_y;
    const int samples = across * (p > 0 && layout.semi_planar ? 2 : 1);
    const int stride = samples * bytes + 6;
    raw.bytes[p].assign(static_cast<std::size_t>(stride) * rows, 0);
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < samples; ++x) {
        const double at = x + pan;
        const double wave = 45 * std::sin(0.13 * at + 0.07 * y * (p + 1)) + ((static_cast<int>(at) / 11 + y / 9) % 2 == 0 ? 25 : -25);
        const int level = std::clamp(static_cast<int>(120 + shade + wave + noise(random)), 1, 254);
        if (bytes == 1) {
          raw.bytes[p][static_cast<std::size_t>(y) * stride + x] = static_cast<std::uint8_t>(level);
        } else {
          const auto value = static_cast<std::uint16_t>(level << shift);
          std::memcpy(&raw.bytes[p][static_cast<std::size_t>(y) * stride + 2 * x], &value, 2);
        }
      }
    }
    raw.planes.data[p] = raw.bytes[p].data();
    raw.planes.stride[p] = stride;
  }
  return raw;
}

/// The CPU's stages in the order of cpu::PixelChain.
class CpuTwin {
 public:
  explicit CpuTwin(const StageOptions& o, const pixel::PackedLayout& layout) : o_(o), layout_(layout), pool_(1) {}

  std::vector<std::uint8_t> Run(const RawFrame& raw) {
    Image image(o_.stored_width, o_.stored_height, o_.stored_subsampling, o_.color);
    pixel::Import(raw.planes, layout_, image, pool_);
    if (o_.tone) {
      if (!tone_) tone_ = std::make_unique<pixel::ToneMapper>(*o_.tone);
      Image toned = Like(image);
      tone_->Run(image, toned, pool_);
      image = std::move(toned);
    }
    media::Orientation orientation;
    orientation.transpose = o_.transpose;
    orientation.flip_x = o_.flip_x;
    orientation.flip_y = o_.flip_y;
    if (!orientation.is_identity()) {
      Image turned(o_.transpose ? image.height() : image.width(), o_.transpose ? image.width() : image.height(),
                   plan::OrientedSubsampling(image.subsampling(), orientation), image.color());
      plan::Orient(image, turned, orientation, pool_);
      turned.set_color(plan::OrientedColor(image.color(), orientation, {turned.width(), turned.height()}, turned.subsampling()));
      image = std::move(turned);
    }
    if (!scenes_) scenes_ = std::make_unique<pixel::SceneDetector>(image.width(), image.height());
    const bool is_cut = scenes_->IsCut(image, pool_);
    cuts += is_cut ? 1 : 0;
    if (o_.temporal_strength > 0) DenoiseTemporally(image, is_cut);
    if (o_.denoise_strength > 0) Denoise(image);
    pixel::Debander(image.width(), image.height()).Run(image, o_.deband_threshold, pool_);
    if (o_.working_share < 1) Reduce(image);
    Image resized(o_.output_width, o_.output_height, {1, 1}, image.color());
    pixel::Resizer(image.width(), image.height(), image.subsampling(), image.color(), o_.output_width, o_.output_height)
        .Run(image, resized, pool_);
    if (o_.accumulation_strength > 0) Accumulate(resized, is_cut);
    pixel::ContourSmoother(resized.width(), resized.height()).Run(resized, o_.edge_strength, o_.edge_enlargement, pool_);
    pixel::GuidedChroma(resized.width(), resized.height()).Run(resized, o_.edge_strength, o_.edge_enlargement, pool_);
    pixel::ConvertColor(resized, o_.output_color, pool_);
    if (o_.contrast_strength > 0) {
      if (!contrast_) contrast_ = std::make_unique<pixel::AdaptiveContrast>(o_.output_width, o_.output_height, o_.level_lift);
      if (is_cut) contrast_->Reset();
      contrast_->Run(resized, o_.contrast_strength, pool_);
    }
    if (o_.sharpen_strength > 0) {
      Image sharp = Like(resized);
      pixel::Sharpener(o_.output_width, o_.output_height).Run(resized, sharp, o_.sharpen_strength, pool_);
      resized = std::move(sharp);
    }
    return Export(resized);
  }

  int cuts = 0;

 private:
  static Image Like(const Image& image) {
    return Image(image.width(), image.height(), image.subsampling(), image.color());
  }

  void DenoiseTemporally(Image& image, bool is_cut) {
    if (!temporal_)
      temporal_ = std::make_unique<pixel::TemporalDenoiser>(image.width(), image.height(), image.subsampling());
    if (is_cut) temporal_->Reset();
    Image denoised = Like(image);
    temporal_->Run(image, denoised, {o_.temporal_strength, o_.temporal_sigma, o_.noise_sigma}, pool_);
    image = std::move(denoised);
  }

  void Accumulate(Image& image, bool is_cut) {
    if (!accumulator_) accumulator_ = std::make_unique<pixel::TemporalAccumulator>(image.width(), image.height());
    if (is_cut) accumulator_->Reset();
    pixel::SourceMotion motion;
    temporal_->CopyMotion(motion);
    accumulator_->Run(image, motion, o_.accumulation_strength, pool_);
  }

  void Denoise(Image& image) {
    Image denoised = Like(image);
    pixel::Denoiser(image.width(), image.height(), image.subsampling()).Run(image, denoised, o_.denoise_strength, o_.noise_sigma, pool_);
    image = std::move(denoised);
  }

  void Reduce(Image& image) {
    const Size size = plan::WorkingSize({image.width(), image.height()}, o_.working_share);
    pixel::ColorSpec color = image.color();
    color.site = pixel::ChromaSite::kLeft;
    Image reduced(size.width, size.height, {1, 1}, color);
    pixel::Resizer(image.width(), image.height(), image.subsampling(), image.color(), size.width, size.height).Run(image, reduced, pool_);
    image = std::move(reduced);
  }

  std::vector<std::uint8_t> Export(const Image& image) {
    const int w = image.width();
    const int h = image.height();
    std::vector<std::uint8_t> levels(static_cast<std::size_t>(w) * h * 3 / 2);
    pixel::MutableRawPlanes raw;
    raw.data[0] = levels.data();
    raw.data[1] = levels.data() + w * h;
    raw.data[2] = raw.data[1] + w / 2 * (h / 2);
    raw.stride[0] = w;
    raw.stride[1] = raw.stride[2] = w / 2;
    pixel::ExportYuv420p8(image, raw, pool_);
    return levels;
  }

  StageOptions o_;
  pixel::PackedLayout layout_;
  pixel::ThreadPool pool_;
  std::unique_ptr<pixel::ToneMapper> tone_;
  std::unique_ptr<pixel::SceneDetector> scenes_;
  std::unique_ptr<pixel::TemporalDenoiser> temporal_;
  std::unique_ptr<pixel::TemporalAccumulator> accumulator_;
  std::unique_ptr<pixel::AdaptiveContrast> contrast_;
};

/// Runs frames through StagePlan. `is_nv12`: the output is NV12 for the GPU's encoder; otherwise planar for the CPU's.
class DeviceTwin {
 public:
  DeviceTwin(std::shared_ptr<Device> device, const StageOptions& o, const pixel::PackedLayout& layout, bool is_nv12)
      : device_(std::move(device)),
        o_(o),
        layout_(layout),
        is_nv12_(is_nv12),
        uploader_(device_),
        stream_(MakeStream(device_)) {
    uploader_.Prepare(layout, o.stored_width, o.stored_height);
    const int w = o.output_width;
    const int h = o.output_height;
    stride_ = (w + 63) / 64 * 64;
    bytes_ = static_cast<std::size_t>(stride_) * h * 2;
    memory_ = MakeDeviceMemory(device_, bytes_);
    device_->ClearAsync(memory_.get(), bytes_, stream_.get());  // the padding too: initcheck reports copies of unwritten bytes
    device_->WaitForStream(stream_.get());                      // before the memory goes, if the plan below throws
    host_ = MakePinnedMemory(device_, bytes_);
    plan_ = std::make_unique<StagePlan>(device_, o);
  }

  std::vector<std::uint8_t> Run(const RawFrame& raw) {
    plan_->Process(uploader_.Send(raw.planes, layout_, o_.stored_width, o_.stored_height, stream_.get()), 0, true,
                   stream_.get());
    uploader_.Consumed(stream_.get());
    EncoderPicture out;
    out.width = o_.output_width;
    out.height = o_.output_height;
    out.luma = static_cast<std::uint8_t*>(memory_.get());
    out.luma_stride = out.chroma_stride = stride_;
    out.chroma[0] = out.luma + stride_ * out.height;
    out.chroma[1] = is_nv12_ ? out.chroma[0] + 1 : out.chroma[0] + stride_ * (out.height / 2);
    out.chroma_step = is_nv12_ ? 2 : 1;
    plan_->Complete(0, stream_.get());
    plan_->Finish(out, 0, stream_.get());
    device_->CopyAsync({host_.get(), 0, memory_.get(), 0, bytes_, 1}, stream_.get());
    device_->WaitForStream(stream_.get());
    std::vector<std::uint8_t> levels;
    const auto* host = static_cast<const std::uint8_t*>(host_.get());
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) levels.push_back(host[y * stride_ + x]);
    }
    for (const std::uint8_t* on_device : out.chroma) {
      const std::uint8_t* plane = host + (on_device - out.luma);
      for (int y = 0; y < out.height / 2; ++y) {
        for (int x = 0; x < out.width / 2; ++x) levels.push_back(plane[y * stride_ + x * out.chroma_step]);
      }
    }
    return levels;
  }

  int bands() const { return plan_->bands(); }

 private:
  std::shared_ptr<Device> device_;
  StageOptions o_;
  pixel::PackedLayout layout_;
  bool is_nv12_;
  Uploader uploader_;
  Stream stream_;
  std::ptrdiff_t stride_ = 0;
  std::size_t bytes_ = 0;
  DeviceMemory memory_;
  PinnedMemory host_;
  std::unique_ptr<StagePlan> plan_;
};

struct Difference {
  int worst = 0;
  double share = 0;  ///< share of samples that differ
};

inline Difference Compare(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  Difference d;
  std::size_t different = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int distance = std::abs(int{a[i]} - int{b[i]});
    d.worst = std::max(d.worst, distance);
    different += distance != 0 ? 1 : 0;
  }
  d.share = static_cast<double>(different) / static_cast<double>(std::max<std::size_t>(a.size(), 1));
  return d;
}

inline StageOptions Plain(PictureSize size, const pixel::PackedLayout& layout, PictureSize to) {
  StageOptions o;
  o.stored_width = size.width;
  o.stored_height = size.height;
  o.stored_subsampling = layout.subsampling;
  o.output_width = to.width;
  o.output_height = to.height;
  return o;
}

struct Format {
  const char* name;
  pixel::PackedLayout layout;
};

inline const std::vector<Format>& Formats() {
  static const std::vector<Format> formats = {
      {"nv12", {8, false, true, false, false, {1, 1}}},     {"p010", {10, true, true, false, false, {1, 1}}},
      {"yuv420p", {8, false, false, false, false, {1, 1}}}, {"yuv422p10", {10, false, false, false, false, {1, 0}}},
      {"yuv444p", {8, false, false, false, false, {0, 0}}}, {"nv21", {8, false, true, true, false, {1, 1}}},
      {"gray", {8, false, false, false, true, {1, 1}}},
  };
  return formats;
}

}  // namespace reelmend::cuda
