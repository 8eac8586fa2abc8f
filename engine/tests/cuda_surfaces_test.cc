// Frames between NVDEC, the stages and NVENC, on a stand-in device: surfaces of a fixed pool, and encoders that fail to open.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>

#include "cuda_standin.h"
#include "cuda_standin_processor.h"
#include "media/av_error.h"
#include "reelmend/error.h"

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace reelmend::cuda {
namespace {

using testing::ProcessorOn;
using testing::StandInDevice;
using testing::StandInOptions;

/// Imitates NVDEC's frames: NV12 in device memory, larger than the picture, with a crop. The pool is fixed and reuses a surface
/// as soon as it is released.
class SurfacePool {
 public:
  SurfacePool(std::shared_ptr<Device> device, int count) : device_(std::move(device)), stream_(MakeStream(device_)) {
    frames_.reset(av_buffer_allocz(sizeof(AVHWFramesContext)));
    reinterpret_cast<AVHWFramesContext*>(frames_->data)->sw_format = AV_PIX_FMT_NV12;
    for (int i = 0; i < count; ++i) surfaces_.push_back(MakeDeviceMemory(device_, kBytes)), idle_.push_back(i);
    staging_ = MakePinnedMemory(device_, kBytes * kPictures);
  }

  static constexpr int kWidth = 96;
  static constexpr int kHeight = 64;
  static constexpr int kPitch = 128;
  static constexpr std::size_t kBytes = std::size_t{kPitch} * kHeight * 3 / 2;
  static constexpr int kPictures = 40;
  StreamHandle stream() const { return stream_.get(); }

  /// Decodes picture n, which has a unique shade. Null if all surfaces are in use.
  media::UniqueFrame Decode(int n) {
    int surface = -1;
    {
      const std::lock_guard lock(mutex_);
      if (idle_.empty()) return nullptr;
      surface = idle_.back();  // the one released last, so that a late reader sees wrong samples at once
      idle_.pop_back();
    }
    auto* picture = static_cast<std::uint8_t*>(staging_.get()) + static_cast<std::size_t>(n) * kBytes;
    std::memset(picture, 40 + 4 * n, kBytes);
    auto* memory = static_cast<std::uint8_t*>(surfaces_[surface].get());
    device_->CopyAsync({memory, kBytes, picture, kBytes, kBytes, 1}, stream_.get());
    media::UniqueFrame frame = media::MakeFrame();
    frame->buf[0] = av_buffer_create(memory, kBytes, Return, new Held{this, surface}, 0);
    frame->format = AV_PIX_FMT_CUDA;
    frame->width = kWidth - 2;
    frame->height = kHeight;
    frame->colorspace = AVCOL_SPC_BT709;  // same as the output, so shades do not change
    frame->crop_left = 2;
    frame->crop_top = 4;
    frame->data[0] = memory;
    frame->data[1] = memory + kPitch * kHeight;
    frame->linesize[0] = frame->linesize[1] = kPitch;
    frame->hw_frames_ctx = av_buffer_ref(frames_.get());
    return frame;
  }

 private:
  struct Held {
    SurfacePool* pool;
    int surface;
  };
  static void Return(void* opaque, std::uint8_t*) {
    const std::unique_ptr<Held> held(static_cast<Held*>(opaque));
    const std::lock_guard lock(held->pool->mutex_);
    held->pool->idle_.push_back(held->surface);
  }

  std::shared_ptr<Device> device_;
  Stream stream_;
  UniqueBuffer frames_;
  std::vector<DeviceMemory> surfaces_;
  PinnedMemory staging_;
  std::mutex mutex_;
  std::vector<int> idle_;
};

/// The codecs of a stand-in device: SurfacePool is the decoder; the encoder fails to open on every machine.
class FakeBridge : public CodecBridge {
 public:
  explicit FakeBridge(StreamHandle stream) : stream_(stream) {}
  AVBufferRef* decoder_device() const override { return nullptr; }
  StreamHandle decoder_stream() const override { return stream_; }
  UniqueBuffer MakeEncoderFrames(int width, int height) override {
    ++sessions_asked_;
    UniqueBuffer frames(av_buffer_allocz(sizeof(AVHWFramesContext)));
    auto* context = reinterpret_cast<AVHWFramesContext*>(frames->data);
    context->format = format_;
    context->sw_format = AV_PIX_FMT_NV12;
    context->width = width;
    context->height = height;
    return frames;
  }
  static inline int sessions_asked_ = 0;
  static inline AVPixelFormat format_ = AV_PIX_FMT_CUDA;

 private:
  StreamHandle stream_;
};

plan::Plan PlanOf(int width, int height) {
  plan::Plan plan;
  plan.output = {width, height};
  plan.strengths = {};
  return plan;
}

media::VideoEncoderOptions EncoderOf(int width, int height) {
  media::QuietLibav();
  media::VideoEncoderOptions options;
  options.width = width;
  options.height = height;
  return options;
}

TEST(CudaSurfaces, AreReadInOrderAndHeldUntilTheyWereRead) {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    StandInOptions late;
    late.longest_delay_us = 800;
    late.seed = seed * 100;
    const auto device = std::make_shared<StandInDevice>(late);
    SurfacePool pool(device, 6);  // the chain holds four, the caller one
    const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(pool.stream()));
    const auto encoder = processor->MakeEncoder(EncoderOf(92, 60), 3);
    device::StageClocks clocks;
    const plan::Plan plan = PlanOf(92, 60);
    const auto chain = processor->MakeChain({plan, AV_CODEC_ID_H264, 1, clocks, {}});
    constexpr std::size_t kLag = 6;  // the size of the pool: three queued, three in use
    std::vector<media::UniqueFrame> made;
    for (int n = 0; n < SurfacePool::kPictures; ++n) {
      media::UniqueFrame frame;
      for (int patience = 0; !(frame = pool.Decode(n)); ++patience) {
        ASSERT_LT(patience, 5000) << "no surface was released";
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ASSERT_TRUE(chain->Submit(*frame, false));
      frame.reset();  // the decoder may reuse the surface as soon as the chain releases it
      media::UniqueFrame out = encoder->TakeFrame();
      chain->Retrieve(out.get());
      made.push_back(std::move(out));
      if (made.size() < kLag) continue;
      const auto packet = [](AVPacket&) {};
      media::UniqueFrame oldest = std::move(made.front());
      made.erase(made.begin());
      const int picture = n - static_cast<int>(kLag) + 1;
      encoder->Encode(*oldest, picture, 1, packet);  // waits until the frame is written
      EXPECT_EQ(int{oldest->data[0][0]}, 40 + 4 * picture);
      EXPECT_EQ(int{oldest->data[0][59 * oldest->linesize[0] + 91]}, 40 + 4 * picture);
      EXPECT_EQ(int{oldest->data[1][29 * oldest->linesize[1] + 45]}, 40 + 4 * picture);
    }
    EXPECT_EQ(device->transfers().frame_uploads, 0) << "decoded frames must stay on the device";
    EXPECT_EQ(device->transfers().frame_downloads, SurfacePool::kPictures);
  }
}

TEST(CudaSurfaces, WithoutASessionOfTheGpusEncoderTheCpuEncodes) {
  // This opens the real h264_nvenc. Without a driver it fails like on a GPU without NVENC.
  StandInOptions own;
  own.index = 7;  // a unique index: the process remembers the failures of each device
  const auto device = std::make_shared<StandInDevice>(own);
  const Stream stream = MakeStream(device);
  FakeBridge::sessions_asked_ = 0;
  const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()));
  const auto encoder = processor->MakeEncoder(EncoderOf(640, 360), 3);
  EXPECT_EQ(FakeBridge::sessions_asked_, 1);
  EXPECT_STREQ(encoder->context().codec->name, "libx264");
  EXPECT_EQ(encoder->TakeFrame()->format, AV_PIX_FMT_YUV420P);
}

TEST(CudaSurfaces, ALimitedBitRateIsEncodedByTheCpu) {
  StandInOptions own;
  own.index = 12;
  const auto device = std::make_shared<StandInDevice>(own);
  const Stream stream = MakeStream(device);
  FakeBridge::sessions_asked_ = 0;
  media::VideoEncoderOptions options = EncoderOf(640, 360);
  options.quality.max_bitrate = 8'000'000;
  const auto encoder = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()))->MakeEncoder(options, 3);
  EXPECT_EQ(FakeBridge::sessions_asked_, 0);
  EXPECT_STREQ(encoder->context().codec->name, "libx264");
}

TEST(CudaSurfaces, AGpuThatCannotEncodeIsAskedOnceForEachSize) {
  FakeBridge::sessions_asked_ = 0;
  const auto open = [](int index, int width) {
    StandInOptions own;
    own.index = index;
    const auto device = std::make_shared<StandInDevice>(own);
    const Stream stream = MakeStream(device);
    const auto encoder = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()))->MakeEncoder(EncoderOf(width, 360), 3);
    EXPECT_STREQ(encoder->context().codec->name, "libx264");
    return FakeBridge::sessions_asked_;
  };
  EXPECT_EQ(open(8, 640), 1);
  EXPECT_EQ(open(8, 640), 1) << "the same GPU and size must not be tried again";
  EXPECT_EQ(open(8, 320), 2) << "another size may be encoded";
  EXPECT_EQ(open(9, 640), 3) << "another GPU may have an encoder";
}

TEST(CudaSurfaces, AnEncoderThatFailsForAnotherReasonIsAskedAgain) {
  FakeBridge::format_ = AV_PIX_FMT_VAAPI;  // libav returns EINVAL, like when all sessions are in use
  FakeBridge::sessions_asked_ = 0;
  for (int job = 1; job <= 3; ++job) {
    StandInOptions own;
    own.index = 11;
    const auto device = std::make_shared<StandInDevice>(own);
    const Stream stream = MakeStream(device);
    const auto encoder = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()))->MakeEncoder(EncoderOf(640, 360), 3);
    EXPECT_STREQ(encoder->context().codec->name, "libx264");
    EXPECT_EQ(FakeBridge::sessions_asked_, job);
  }
  FakeBridge::format_ = AV_PIX_FMT_CUDA;
}

TEST(CudaSurfaces, NoPictureIsMadeForAnEncoderThatRefuses) {
  StandInOptions own;
  own.index = 10;  // a unique index: this device was not tried before
  const auto device = std::make_shared<StandInDevice>(own);
  const Stream stream = MakeStream(device);
  const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()));
  const auto encoder = processor->MakeEncoder(EncoderOf(640, 360), 3);
  EXPECT_STREQ(encoder->context().codec->name, "libx264");
  EXPECT_EQ(device->peak(), 0U) << "no pictures may be allocated before the session is open";
}

/// A frame like SurfacePool's, in host memory.
media::UniqueFrame HostFrame(AVPixelFormat format, int shade) {
  media::UniqueFrame frame = media::MakeFrame();
  frame->format = format;
  frame->width = SurfacePool::kWidth - 4;
  frame->height = SurfacePool::kHeight - 4;
  frame->colorspace = AVCOL_SPC_BT709;
  media::CheckAv(av_frame_get_buffer(frame.get(), 0), ErrorCode::kInternal, "Cannot allocate a frame");
  const int planes = format == AV_PIX_FMT_NV12 ? 2 : 3;
  for (int p = 0; p < planes; ++p) {
    std::memset(frame->data[p], shade, static_cast<std::size_t>(frame->linesize[p]) * (p == 0 ? frame->height : frame->height / 2));
  }
  return frame;
}

TEST(CudaSurfaces, TheStagesTakeFramesOfHostAndDeviceMemory) {
  const auto device = std::make_shared<StandInDevice>();
  SurfacePool pool(device, 6);
  const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(pool.stream()));
  const auto encoder = processor->MakeEncoder(EncoderOf(92, 60), 3);
  device::StageClocks clocks;
  const plan::Plan plan = PlanOf(92, 60);
  const auto chain = processor->MakeChain({plan, AV_CODEC_ID_H264, 1, clocks, {}});
  const auto packet = [](AVPacket&) {};
  for (int n = 0; n < 12; ++n) {
    media::UniqueFrame frame = n % 3 == 0 ? pool.Decode(n) : HostFrame(n % 3 == 1 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P, 40 + 4 * n);
    ASSERT_TRUE(frame);
    EXPECT_EQ(chain->CanSubmit(*frame), n > 0) << "the stages must be reused for frame " << n;
    ASSERT_TRUE(chain->Submit(*frame, false));
    media::UniqueFrame out = encoder->TakeFrame();
    chain->Retrieve(out.get());
    encoder->Encode(*out, n, 1, packet);
    EXPECT_EQ(int{out->data[0][0]}, 40 + 4 * n);
    EXPECT_EQ(int{out->data[1][29 * out->linesize[1] + 45]}, 40 + 4 * n);
  }
}

}  // namespace
}  // namespace reelmend::cuda
