// Every stage written for the GPU, launched on the CPU, against the stage that the CPU's pipeline uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/stage_plan.h"
#include "cuda/uploader.h"
#include "cuda_standin.h"
#include "pipeline/orient.h"
#include "pixel/color_matrix.h"
#include "pixel/scene_detector.h"
#include "pixel/temporal_denoise.h"
#include "pixel_testing.h"

namespace framelift::cuda {
namespace {

using pixel::Image;
using pixel::testing::PictureSize;
using testing::StandInDevice;

/// The suite is built twice: as it is, and for test:gpu with the GPU as its device.
std::shared_ptr<Device> TestDevice() {
#ifdef FRAMELIFT_ON_GPU
  static const std::shared_ptr<Device> device = OpenCudaDevice(0);
  return device;
#else
  return std::make_shared<StandInDevice>();
#endif
}

/// A frame of the decoder's: raw planes with odd strides.
struct RawFrame {
  RawFrame() = default;
  RawFrame(RawFrame&&) = default;  // no copies: the planes point into the bytes
  RawFrame& operator=(RawFrame&&) = default;

  std::vector<std::uint8_t> bytes[3];
  pixel::RawPlanes planes;
};

RawFrame MakeRaw(PictureSize size, const pixel::PackedLayout& layout, unsigned seed, double shade = 0) {
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
        const double wave = 45 * std::sin(0.13 * x + 0.07 * y * (p + 1)) + ((x / 11 + y / 9) % 2 == 0 ? 25 : -25);
        const int code = std::clamp(static_cast<int>(120 + shade + wave + noise(random)), 1, 254);
        if (bytes == 1) {
          raw.bytes[p][static_cast<std::size_t>(y) * stride + x] = static_cast<std::uint8_t>(code);
        } else {
          const auto value = static_cast<std::uint16_t>(code << shift);
          std::memcpy(&raw.bytes[p][static_cast<std::size_t>(y) * stride + 2 * x], &value, 2);
        }
      }
    }
    raw.planes.data[p] = raw.bytes[p].data();
    raw.planes.stride[p] = stride;
  }
  return raw;
}

/// The CPU's stages in the order of pipeline::PixelChain.
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
                   pipeline::OrientedSubsampling(image.subsampling(), orientation), image.color());
      pipeline::Orient(image, turned, orientation, pool_);
      pixel::ColorSpec color = image.color();
      color.site = pipeline::OrientedSite(color.site, orientation);
      turned.set_color(color);
      image = std::move(turned);
    }
    if (!scenes_) scenes_ = std::make_unique<pixel::SceneDetector>(image.width(), image.height());
    const bool is_cut = scenes_->IsCut(image, pool_);
    cuts += is_cut ? 1 : 0;
    if (o_.denoise_strength > 0) Denoise(image, is_cut);
    Image resized(o_.output_width, o_.output_height, {1, 1}, image.color());
    pixel::Resizer(image.width(), image.height(), image.subsampling(), image.color(), o_.output_width, o_.output_height)
        .Run(image, resized, pool_);
    pixel::ConvertColor(resized, o_.output_color, pool_);
    if (o_.contrast_strength > 0) {
      if (!contrast_) contrast_ = std::make_unique<pixel::AdaptiveContrast>(o_.output_width, o_.output_height);
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

  void Denoise(Image& image, bool is_cut) {
    if (!temporal_)
      temporal_ = std::make_unique<pixel::TemporalDenoiser>(image.width(), image.height(), image.subsampling());
    if (is_cut) temporal_->Reset();
    Image steady = Like(image);
    temporal_->Run(image, steady, o_.temporal_strength, o_.noise_sigma, pool_);
    pixel::Denoiser(image.width(), image.height(), image.subsampling())
        .Run(steady, image, o_.denoise_strength, o_.noise_sigma, pool_);
  }

  std::vector<std::uint8_t> Export(const Image& image) {
    const int w = image.width();
    const int h = image.height();
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(w) * h * 3 / 2);
    pixel::MutableRawPlanes raw;
    raw.data[0] = codes.data();
    raw.data[1] = codes.data() + w * h;
    raw.data[2] = raw.data[1] + w / 2 * (h / 2);
    raw.stride[0] = w;
    raw.stride[1] = raw.stride[2] = w / 2;
    pixel::ExportYuv420p8(image, raw, pool_);
    return codes;
  }

  StageOptions o_;
  pixel::PackedLayout layout_;
  pixel::ThreadPool pool_;
  std::unique_ptr<pixel::ToneMapper> tone_;
  std::unique_ptr<pixel::SceneDetector> scenes_;
  std::unique_ptr<pixel::TemporalDenoiser> temporal_;
  std::unique_ptr<pixel::AdaptiveContrast> contrast_;
};

/// The same frames through StagePlan. `is_nv12`: the encoder on the GPU; else planar, for the encoder on the CPU.
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
    std::vector<std::uint8_t> codes;
    const auto* host = static_cast<const std::uint8_t*>(host_.get());
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) codes.push_back(host[y * stride_ + x]);
    }
    for (const std::uint8_t* on_device : out.chroma) {
      const std::uint8_t* plane = host + (on_device - out.luma);
      for (int y = 0; y < out.height / 2; ++y) {
        for (int x = 0; x < out.width / 2; ++x) codes.push_back(plane[y * stride_ + x * out.chroma_step]);
      }
    }
    return codes;
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
  double share = 0;  ///< of samples that differ at all
};

Difference Compare(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
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

StageOptions Plain(PictureSize size, const pixel::PackedLayout& layout, PictureSize to) {
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

const std::vector<Format>& Formats() {
  static const std::vector<Format> formats = {
      {"nv12", {8, false, true, false, false, {1, 1}}},     {"p010", {10, true, true, false, false, {1, 1}}},
      {"yuv420p", {8, false, false, false, false, {1, 1}}}, {"yuv422p10", {10, false, false, false, false, {1, 0}}},
      {"yuv444p", {8, false, false, false, false, {0, 0}}}, {"nv21", {8, false, true, true, false, {1, 1}}},
      {"gray", {8, false, false, false, true, {1, 1}}},
  };
  return formats;
}

const std::vector<std::pair<PictureSize, PictureSize>>& Ratios() {
  static const std::vector<std::pair<PictureSize, PictureSize>> ratios = {
      {{64, 48}, {64, 48}},  {{64, 48}, {128, 96}},   {{96, 54}, {64, 36}}, {{131, 67}, {262, 134}},
      {{35, 91}, {50, 130}}, {{160, 90}, {240, 134}}, {{2, 2}, {16, 16}},   {{1, 1}, {2, 2}},
      {{300, 40}, {90, 12}}, {{17, 31}, {16, 200}},
  };
  return ratios;
}

/// Runs the same frames both ways and expects at most one code of difference, in few samples; in a few more where the CPU
/// resizes in words, whose samples are up to a fiftieth of a code off.
void ExpectAgreement(const StageOptions& o, const pixel::PackedLayout& layout, const std::vector<RawFrame>& frames,
                     const std::string& name, double tolerated_share = 0.02) {
  constexpr double kByWords = 0.008;  // three samples of the smallest pictures
  CpuTwin cpu(o, layout);
  CpuTwin cpu_in_words(o, layout);
  DeviceTwin device(TestDevice(), o, layout, true);
  const auto expect = [&](const Difference& d, double share, std::size_t frame) {
    EXPECT_LE(d.worst, 1) << name << ", frame " << frame;
    EXPECT_LE(d.share, share) << name << ", frame " << frame;
  };
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto made = device.Run(frames[i]);
    if (pixel::GetWordKernels() != nullptr) expect(Compare(cpu_in_words.Run(frames[i]), made), tolerated_share + kByWords, i);
    const pixel::testing::WithoutWords without;
    expect(Compare(cpu.Run(frames[i]), made), tolerated_share, i);
  }
}

std::vector<RawFrame> Sequence(PictureSize size, const pixel::PackedLayout& layout, int count, double shade_step = 0) {
  std::vector<RawFrame> frames;
  for (int i = 0; i < count; ++i)
    frames.push_back(MakeRaw(size, layout, 7U + static_cast<unsigned>(i), shade_step * i));
  return frames;
}

TEST(CudaStages, ImportAndTurnAreExactForEveryFormatAndOrientation) {
  for (const Format& format : Formats()) {
    for (int turn = 0; turn < 8; ++turn) {
      for (const PictureSize size : {PictureSize{34, 18}, PictureSize{64, 48}, PictureSize{2, 6}}) {
        StageOptions o = Plain(size, format.layout, size);
        o.transpose = (turn & 1) != 0;
        o.flip_x = (turn & 2) != 0;
        o.flip_y = (turn & 4) != 0;
        if (o.transpose) std::swap(o.output_width, o.output_height);
        // Luma keeps its size and is copied; chroma is moved to the left again, which rounds.
        const std::size_t luma = static_cast<std::size_t>(size.width) * size.height;
        const std::string name = std::string(format.name) + " turn " + std::to_string(turn);
        const RawFrame frame = MakeRaw(size, format.layout, 3);
        CpuTwin cpu(o, format.layout);
        DeviceTwin device(TestDevice(), o, format.layout, turn % 2 == 0);
        auto by_cpu = cpu.Run(frame);
        auto by_device = device.Run(frame);
        const bool is_copy = turn == 0 && format.layout.subsampling == pixel::Subsampling{1, 1};
        EXPECT_LE(Compare(by_cpu, by_device).worst, is_copy ? 0 : 1) << name;
        by_cpu.resize(luma);
        by_device.resize(luma);
        EXPECT_EQ(by_cpu, by_device) << name;
      }
    }
  }
}

TEST(CudaStages, ResizeAgreesForEveryRatioAndSubsampling) {
  for (const auto& [from, to] : Ratios()) {
    for (const Format& format : Formats()) {
      const StageOptions o = Plain(from, format.layout, to);
      ExpectAgreement(o, format.layout, Sequence(from, format.layout, 1),
                      std::string(format.name) + " " + pixel::testing::Name(from) + " to " + pixel::testing::Name(to),
                      0.001);
    }
  }
}

TEST(CudaStages, ResizeInBandsIsTheSamePicture) {
  const PictureSize from{160, 90};
  for (const PictureSize to : {PictureSize{320, 180}, PictureSize{80, 46}, PictureSize{100, 400}}) {
    const pixel::PackedLayout layout = Formats()[0].layout;
    const StageOptions o = Plain(from, layout, to);
    const auto frames = Sequence(from, layout, 1);
    const auto plenty = std::make_shared<StandInDevice>();
    DeviceTwin whole(plenty, o, layout, true);
    EXPECT_EQ(whole.bands(), 1);
    const auto expected = whole.Run(frames[0]);
    // What the pictures need, and a little: the intermediate has to shrink.
    testing::StandInOptions tight;
    tight.memory_bytes = plenty->used() * 99 / 100;
    bool is_banded = false;
    for (; tight.memory_bytes > plenty->used() / 2; tight.memory_bytes -= plenty->used() / 50) {
      try {
        DeviceTwin banded(std::make_shared<StandInDevice>(tight), o, layout, true);
        is_banded = is_banded || banded.bands() > 1;
        EXPECT_EQ(Compare(expected, banded.Run(frames[0])).worst, 0) << banded.bands() << " bands";
      } catch (const OutOfDeviceMemory& error) {
        EXPECT_STREQ(error.what(), "The GPU has too little free memory for this video.");
      }
    }
    EXPECT_TRUE(is_banded) << pixel::testing::Name(to);
  }
}

TEST(CudaStages, ColourAgreesBetweenAllSpaces) {
  const PictureSize size{66, 50};
  for (const auto matrix : {pixel::Matrix::kBt601, pixel::Matrix::kBt709, pixel::Matrix::kBt2020}) {
    for (const auto range : {pixel::Range::kLimited, pixel::Range::kFull}) {
      for (const auto site : {pixel::ChromaSite::kLeft, pixel::ChromaSite::kCentre, pixel::ChromaSite::kTopLeft}) {
        for (const PictureSize to : {size, PictureSize{132, 100}}) {
          const pixel::PackedLayout layout = Formats()[2].layout;
          StageOptions o = Plain(size, layout, to);
          o.color = {matrix, range, site};
          ExpectAgreement(o, layout, Sequence(size, layout, 1),
                          "colour " + std::to_string(static_cast<int>(matrix)) + std::to_string(static_cast<int>(site)),
                          0.005);
        }
      }
    }
  }
}

TEST(CudaStages, ToneMappingAgrees) {
  for (const auto transfer : {pixel::HdrTransfer::kPq, pixel::HdrTransfer::kHlg, pixel::HdrTransfer::kSdr}) {
    for (const auto primaries : {pixel::Primaries::kBt2020, pixel::Primaries::kP3D65, pixel::Primaries::kBt709}) {
      for (const Format& format : Formats()) {
        for (const auto site : {pixel::ChromaSite::kLeft, pixel::ChromaSite::kCentre, pixel::ChromaSite::kTopLeft}) {
          const PictureSize size{53, 39};
          const int turn = (static_cast<int>(site) * 3 + static_cast<int>(primaries)) % 8;
          StageOptions o = Plain(size, format.layout, (turn & 1) != 0 ? PictureSize{40, 54} : PictureSize{54, 40});
          o.transpose = (turn & 1) != 0;
          o.flip_x = (turn & 2) != 0;
          o.flip_y = (turn & 4) != 0;
          o.color = {pixel::Matrix::kBt2020, pixel::Range::kLimited, site};
          o.tone = pixel::ToneMapOptions{transfer, primaries, 1000};
          ExpectAgreement(o, format.layout, Sequence(size, format.layout, 1), std::string("tone ") + format.name, 0.05);
        }
      }
    }
  }
}

TEST(CudaStages, DenoisingAgreesOverTimeAndAcrossCuts) {
  for (const Format& format : Formats()) {
    for (const PictureSize size : {PictureSize{97, 61}, PictureSize{64, 48}, PictureSize{9, 17}}) {
      StageOptions o = Plain(size, format.layout, {size.width / 2 * 2 + 2, size.height / 2 * 2 + 2});
      o.denoise_strength = 0.5F;
      o.temporal_strength = 1.0F;
      o.noise_sigma = 2.0F;
      auto frames = Sequence(size, format.layout, 10);
      for (RawFrame& cut : Sequence(size, format.layout, 3, 40)) frames.push_back(std::move(cut));
      ExpectAgreement(o, format.layout, frames, std::string("denoise ") + format.name, 0.005);
    }
  }
}

TEST(CudaStages, ContrastAgreesOverTimeAndAcrossCuts) {
  for (const PictureSize size : {PictureSize{320, 180}, PictureSize{66, 130}, PictureSize{16, 16}}) {
    for (const auto range : {pixel::Range::kLimited, pixel::Range::kFull}) {
      const pixel::PackedLayout layout = Formats()[0].layout;
      StageOptions o = Plain(size, layout, size);
      o.color.range = range;
      o.contrast_strength = 0.7F;
      auto frames = Sequence(size, layout, 18, 1.5);
      for (RawFrame& cut : Sequence(size, layout, 4, -50)) frames.push_back(std::move(cut));
      ExpectAgreement(o, layout, frames, "contrast " + pixel::testing::Name(size), 0.01);
    }
  }
}

TEST(CudaStages, SharpeningAgrees) {
  for (const PictureSize size : {PictureSize{132, 70}, PictureSize{2, 2}, PictureSize{128, 8}, PictureSize{258, 34}}) {
    for (const float strength : {0.1F, 0.25F, 1.0F}) {
      const pixel::PackedLayout layout = Formats()[0].layout;
      StageOptions o = Plain(size, layout, size);
      o.sharpen_strength = strength;
      ExpectAgreement(o, layout, Sequence(size, layout, 1), "sharpen " + pixel::testing::Name(size), 0.005);
    }
  }
}

TEST(CudaStages, AllStagesTogetherAgree) {
  const pixel::PackedLayout layout = Formats()[1].layout;
  StageOptions o = Plain({98, 62}, layout, {200, 132});
  o.color = {pixel::Matrix::kBt601, pixel::Range::kFull, pixel::ChromaSite::kCentre};
  o.denoise_strength = 0.4F;
  o.temporal_strength = 0.8F;
  o.noise_sigma = 1.8F;
  o.contrast_strength = 0.3F;
  o.sharpen_strength = 0.2F;
  ExpectAgreement(o, layout, Sequence({98, 62}, layout, 20, 1.0), "all", 0.03);
}

TEST(CudaStages, ScenesAreCutAtTheSamePictures) {
  // Contrast forgets at cuts: were one missed or invented, the pictures after it would differ by many codes.
  const PictureSize size{128, 72};
  const pixel::PackedLayout layout = Formats()[0].layout;
  StageOptions o = Plain(size, layout, size);
  o.contrast_strength = 1.0F;
  std::vector<RawFrame> frames;
  for (const double shade : {0.0, 1.0, 2.0, 60.0, 61.0, 2.0, 2.0, -70.0, -70.0, -70.0})
    frames.push_back(MakeRaw(size, layout, 5, shade));
  CpuTwin cpu(o, layout);
  DeviceTwin device(TestDevice(), o, layout, true);
  for (const RawFrame& frame : frames) EXPECT_LE(Compare(cpu.Run(frame), device.Run(frame)).worst, 1);
  EXPECT_GE(cpu.cuts, 1);
}

TEST(CudaStages, NothingIsAllocatedFromFrameToFrame) {
  const pixel::PackedLayout layout = Formats()[0].layout;
  StageOptions o = Plain({64, 48}, layout, {128, 96});
  o.denoise_strength = 0.5F;
  o.noise_sigma = 2;
  o.contrast_strength = o.sharpen_strength = 0.5F;
  const auto stand_in = std::make_shared<StandInDevice>();
  DeviceTwin device(stand_in, o, layout, true);
  const auto frames = Sequence({64, 48}, layout, 8);
  for (int i = 0; i < 4; ++i) device.Run(frames[i]);  // all places of the uploader are made
  const int before = stand_in->allocations();
  for (int i = 4; i < 8; ++i) device.Run(frames[i]);
  EXPECT_EQ(stand_in->allocations(), before);
  EXPECT_EQ(stand_in->transfers().frame_uploads, 8);
}

TEST(CudaTensors, HalfRoundsToNearestEven) {
  // Every half goes to float and back; between two halves the nearer one is taken, the even one in the middle.
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const float v = FromHalf({static_cast<std::uint16_t>(bits)});
    ASSERT_EQ(ToHalf(v).bits, bits);
    ASSERT_EQ(ToHalf(-v).bits, bits | 0x8000U);
    if (bits + 1 == 0x7C00) continue;
    const float next = FromHalf({static_cast<std::uint16_t>(bits + 1)});
    ASSERT_EQ(ToHalf((v + next) / 2).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(ToHalf(v + (next - v) * 0.49F).bits, bits) << v;
    ASSERT_EQ(ToHalf(v + (next - v) * 0.51F).bits, bits + 1) << v;
  }
  EXPECT_EQ(ToHalf(70000.0F).bits, 0x7C00);
}

RgbMatrix ToRgb(pixel::ColorSpec color) {
  const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  return {static_cast<float>(c.luma_offset), static_cast<float>(c.luma_scale), static_cast<float>(c.red_cr),
          static_cast<float>(c.green_cb), static_cast<float>(c.green_cr), static_cast<float>(c.blue_cb)};
}

YcbcrMatrix FromRgb709() {
  return {{0.2126F, 0.7152F, 0.0722F}, 219.0F * 256, 16.0F * 256, 224.0F * 256 / 1.8556F, 224.0F * 256 / 1.5748F};
}

TEST(CudaTensors, ThereAndBackKeepsAPicture) {
  const PictureSize size{50, 38};
  pixel::PackedLayout layout = Formats()[0].layout;
  layout.subsampling = {0, 0};  // full chroma: nothing is lost by interpolation
  layout.semi_planar = false;
  const RawFrame raw = MakeRaw(size, layout, 11);
  Surface surface = DescribeSurface(layout, size.width, size.height);
  for (int p = 0; p < 3; ++p) surface.data[p] = raw.planes.data[p], surface.stride[p] = raw.planes.stride[p];
  Image image(size.width, size.height, {0, 0}, {});
  Picture shape;
  shape.log2_x = shape.log2_y = 0;
  for (int p = 0; p < 3; ++p) {
    const pixel::Plane plane = image.plane(p);
    shape.planes[p] = {plane.data, plane.stride, plane.width, plane.height};
  }
  Tensor tensor{nullptr, 3, 64, 40};
  std::vector<Half> memory(static_cast<std::size_t>(3) * 64 * 40);
  tensor.data = memory.data();
  HostLaunch(SurfaceToTensorKernel{surface, shape, ToRgb({}), tensor}, {tensor.width, tensor.height, 1});
  EXPECT_EQ(tensor.PlaneAt(1)[39 * 64 + 63].bits, tensor.PlaneAt(1)[37 * 64 + 49].bits)
      << "the margin repeats the edge";
  HostLaunch(TensorToPictureKernel{tensor, FromRgb709(), shape}, {size.width, size.height, 2});
  int worst = 0;
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const int code = raw.planes.data[p][y * raw.planes.stride[p] + x];
        const int back = ToCode8(image.plane(p).Row(y)[x]);
        // Colours outside of R′G′B′ are clipped by the network's range; the pattern's chroma is wide.
        if (tensor.PlaneAt(0)[y * 64 + x].bits >= 0x3C00 || tensor.PlaneAt(1)[y * 64 + x].bits >= 0x3C00 ||
            tensor.PlaneAt(2)[y * 64 + x].bits >= 0x3C00) {
          continue;
        }
        worst = std::max(worst, std::abs(code - back));
      }
    }
  }
  EXPECT_LE(worst, 1);
}

TEST(CudaTensors, SubsampledChromaLandsWhereTheCpuPutsIt) {
  // Converting R′G′B′ of a tensor to another matrix equals ConvertColor of the picture.
  const PictureSize size{48, 32};
  const pixel::PackedLayout layout = Formats()[0].layout;
  const RawFrame raw = MakeRaw(size, layout, 13);
  for (const auto site : {pixel::ChromaSite::kLeft, pixel::ChromaSite::kCentre, pixel::ChromaSite::kTopLeft}) {
    Image image(size.width, size.height, {1, 1}, {pixel::Matrix::kBt601, pixel::Range::kLimited, site});
    pixel::ThreadPool pool(1);
    pixel::Import(raw.planes, layout, image, pool);
    Surface surface = DescribeSurface(layout, size.width, size.height);
    for (int p = 0; p < 2; ++p) surface.data[p] = raw.planes.data[p], surface.stride[p] = raw.planes.stride[p];
    Picture shape;
    shape.color = image.color();
    for (int p = 0; p < 3; ++p) {
      const pixel::Plane plane = image.plane(p);
      shape.planes[p] = {plane.data, plane.stride, plane.width, plane.height};
    }
    std::vector<Half> memory(static_cast<std::size_t>(3) * size.width * size.height);
    const Tensor tensor{memory.data(), 3, size.width, size.height};
    HostLaunch(SurfaceToTensorKernel{surface, shape, ToRgb(image.color()), tensor}, {size.width, size.height, 1});
    pixel::ConvertColor(image, {}, pool);
    double worst = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const std::ptrdiff_t at = y * size.width + x;
        const float luma = 0.2126F * FromHalf(tensor.PlaneAt(0)[at]) + 0.7152F * FromHalf(tensor.PlaneAt(1)[at]) +
                           0.0722F * FromHalf(tensor.PlaneAt(2)[at]);
        worst = std::max(worst, std::abs(luma * 219.0 + 16 - image.plane(0).Row(y)[x] / 256.0));
      }
    }
    EXPECT_LE(worst, 0.5) << static_cast<int>(site);
  }
}

}  // namespace
}  // namespace framelift::cuda
