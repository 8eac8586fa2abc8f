// Whole videos through the GPU's side of the pipeline on a stand-in device: late, out of step, and failing on demand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "cuda/processor.h"
#include "cuda_standin.h"
#include "device/processor.h"
#include "helpers/clips.h"
#include "media/av_error.h"
#include "reelmend/device.h"
#include "reelmend/error.h"
#include "run/enhance.h"
#include "run/open_processor.h"

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::Ffmpeg;
using reelmend::testing::FileExists;
using reelmend::testing::FrameTimes;
using reelmend::testing::PlainOptions;
using reelmend::testing::Psnr;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::ToneInput;
using reelmend::testing::VideoInput;
using testing::StandInDevice;
using testing::StandInOptions;

std::unique_ptr<device::Processor> ProcessorOn(const std::shared_ptr<StandInDevice>& device,
                                                 std::unique_ptr<CodecBridge> bridge = nullptr) {
  return MakeProcessor(device, MakeStream(device), std::move(bridge));
}

EnhanceOptions AllStages() {
  EnhanceOptions options = PlainOptions();
  options.model = "none";
  options.denoise = options.sharpen = options.adaptive_contrast = {Strength::Mode::kFixed, 0.4F};
  options.encoder.crf = 8;
  return options;
}

struct Source {
  const char* name;
  const char* encode;
};
constexpr Source kSources[] = {
    {"plain.mp4", "-c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"ten.mkv", "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p10le -c:a aac"},
    {"wide.mkv", "-c:v ffv1 -pix_fmt yuv422p10le -c:a aac"},
    {"rgb.mov", "-c:v qtrle -pix_fmt rgb24 -c:a aac"},
    {"fields.mp4", "-vf setfield=tff -flags +ildct+ilme -c:v libx264 -pix_fmt yuv420p -c:a aac"},
};

class CudaPipeline : public ::testing::Test {
 protected:
  std::string Make(const Source& source, const std::string& size = "176x100", double seconds = 0.8) {
    const std::string file = folder_.File(source.name);
    if (!FileExists(file))
      Ffmpeg(VideoInput(size, seconds) + " " + ToneInput(seconds) + " " + source.encode + " " + file);
    return file;
  }

  /// The error's sentence; the output must be gone. "" when there was none.
  std::string Fault(const std::shared_ptr<StandInDevice>& device, const EnhanceOptions& options, ErrorCode code) {
    const std::string out = folder_.File("fault.mp4");
    try {
      run::EnhanceOn(ProcessorOn(device), Make(kSources[0]), out, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_FALSE(FileExists(out));
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(CudaPipeline, MakesWhatTheCpuMakesWithOneUploadAndOneDownloadAFrame) {
  for (const Source& source : kSources) {
    SCOPED_TRACE(source.name);
    const std::string in = Make(source);
    const std::string by_cpu = folder_.File("cpu.mp4");
    const std::string by_gpu = folder_.File("gpu.mp4");
    EnhanceOptions options = AllStages();
    options.device = "cpu";
    const EnhanceResult expected = Enhance(in, by_cpu, options);
    StandInOptions late;
    late.longest_delay_us = 300;
    const auto device = std::make_shared<StandInDevice>(late);
    const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), in, by_gpu, options);
    EXPECT_EQ(result.device, "cuda:0 (stand-in)");
    EXPECT_EQ(expected.device, "cpu");
    EXPECT_EQ(result.frames, expected.frames);
    EXPECT_EQ(FrameTimes(by_gpu), FrameTimes(by_cpu));
    EXPECT_GT(Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu)), 50);
    EXPECT_EQ(device->transfers().frame_uploads, result.frames);
    EXPECT_EQ(device->transfers().frame_downloads, result.frames);
    EXPECT_EQ(device->used(), 0U) << "everything was given back";
  }
}

TEST_F(CudaPipeline, ASegmentIsThePartOfTheWhole) {
  const std::string in = Make(kSources[0], "176x100", 0.8);
  EnhanceOptions options = AllStages();
  options.segment = Segment{0.4, 0.6, 24};
  const auto device = std::make_shared<StandInDevice>();
  const std::string part = folder_.File("part.mp4");
  const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), in, part, options);
  EXPECT_EQ(result.frames, 5);
  options.device = "cpu";
  Enhance(in, folder_.File("cpu-part.mp4"), options);
  EXPECT_GT(Psnr(DecodeLuma(part), DecodeLuma(folder_.File("cpu-part.mp4"))), 50);
}

TEST_F(CudaPipeline, ALostDeviceEndsInOneSentenceAtAnyMoment) {
  for (const int after : {0, 1, 7, 20, 40, 90}) {
    StandInOptions options;
    options.longest_delay_us = 200;
    options.lost_after = after;
    EXPECT_EQ(Fault(std::make_shared<StandInDevice>(options), AllStages(), ErrorCode::kUnavailable),
              "The GPU stopped working while it processed the video (stand-in).")
        << after;
  }
}

TEST_F(CudaPipeline, TooLittleMemoryIsBandsThenOneSentence) {
  const std::string in = Make({"short.mp4", kSources[0].encode}, "176x100", 0.12);
  EnhanceOptions options = AllStages();
  options.target = Target::k1080p;
  const auto plenty = std::make_shared<StandInDevice>();
  const std::string whole = folder_.File("whole.mp4");
  const EnhanceResult expected = run::EnhanceOn(ProcessorOn(plenty), in, whole, options);
  const std::vector<std::uint8_t> samples = DecodeLuma(whole);
  StandInOptions tight;
  tight.memory_bytes = plenty->peak() - 200'000;  // less than the resize's intermediate of floats
  const std::string banded = folder_.File("banded.mp4");
  EXPECT_EQ(run::EnhanceOn(ProcessorOn(std::make_shared<StandInDevice>(tight)), in, banded, options).frames,
            expected.frames);
  EXPECT_EQ(DecodeLuma(banded), samples) << "the same samples from less memory";
  tight.memory_bytes = 1'000'000;
  EXPECT_EQ(Fault(std::make_shared<StandInDevice>(tight), options, ErrorCode::kUnavailable),
            "The GPU has too little free memory for this video.");
}

TEST_F(CudaPipeline, CancellingEndsWithoutADeadlock) {
  StandInOptions late;
  late.longest_delay_us = 20'000;
  const auto device = std::make_shared<StandInDevice>(late);
  int polls = 0;
  EnhanceCallbacks callbacks;
  callbacks.is_cancelled = [&] { return ++polls > 3; };
  const std::string out = folder_.File("cancelled.mp4");
  try {
    run::EnhanceOn(ProcessorOn(device), Make(kSources[0]), out, AllStages(), callbacks);
    FAIL() << "was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_FALSE(FileExists(out));
  for (int i = 0; i < 500 && device->used() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(device->used(), 0U) << "deferred destruction returns its memory too";
}

TEST_F(CudaPipeline, ManyJobsLeaveNothingOnTheDevice) {
  const std::string in = Make({"short.mp4", kSources[0].encode}, "176x100", 0.12);
  const auto device = std::make_shared<StandInDevice>();
  std::size_t peak = 0;
  for (int i = 0; i < 20; ++i) {
    run::EnhanceOn(ProcessorOn(device), in, folder_.File("many.mp4"), AllStages());
    ASSERT_EQ(device->used(), 0U);
    if (i == 0) peak = device->peak();
  }
  EXPECT_EQ(device->peak(), peak);
}

/// Frames as NVDEC leaves them: NV12 in device memory, larger than the picture, with a crop, from a fixed pool that
/// writes its next picture into whatever was let go.
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

  /// Picture n is a shade of its own. Null when all surfaces are held.
  media::UniqueFrame Decode(int n) {
    int surface = -1;
    {
      const std::lock_guard lock(mutex_);
      if (idle_.empty()) return nullptr;
      surface = idle_.back();  // the one let go last: what still reads it would be written over at once
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
    frame->colorspace = AVCOL_SPC_BT709;  // as the output: shades stay what they are
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

/// libav's side of a stand-in: its decoder is SurfacePool, and its encoder is one that no machine has.
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
    SurfacePool pool(device, 6);  // the chain holds four, and one is in the caller's hands
    const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(pool.stream()));
    const auto encoder = processor->MakeEncoder(EncoderOf(92, 60), 3);
    device::StageClocks clocks;
    const plan::Plan plan = PlanOf(92, 60);
    const auto chain = processor->MakeChain({plan, AV_CODEC_ID_H264, 1, clocks, {}});
    constexpr std::size_t kLag = 6;  // all that the pool has: three queued, three in hands
    std::vector<media::UniqueFrame> made;
    for (int n = 0; n < SurfacePool::kPictures; ++n) {
      media::UniqueFrame frame;
      for (int patience = 0; !(frame = pool.Decode(n)); ++patience) {
        ASSERT_LT(patience, 5000) << "surfaces are never given back";
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ASSERT_TRUE(chain->Submit(*frame, false));
      frame.reset();  // the decoder may write into it again as soon as the chain lets go
      media::UniqueFrame out = encoder->TakeFrame();
      chain->Retrieve(out.get());
      made.push_back(std::move(out));
      if (made.size() < kLag) continue;
      const auto packet = [](AVPacket&) {};
      media::UniqueFrame oldest = std::move(made.front());
      made.erase(made.begin());
      const int picture = n - static_cast<int>(kLag) + 1;
      encoder->Encode(*oldest, picture, 1, packet);  // waits until it is written
      EXPECT_EQ(int{oldest->data[0][0]}, 40 + 4 * picture);
      EXPECT_EQ(int{oldest->data[0][59 * oldest->linesize[0] + 91]}, 40 + 4 * picture);
      EXPECT_EQ(int{oldest->data[1][29 * oldest->linesize[1] + 45]}, 40 + 4 * picture);
    }
    EXPECT_EQ(device->transfers().frame_uploads, 0) << "decoded frames stay on the device";
    EXPECT_EQ(device->transfers().frame_downloads, SurfacePool::kPictures);
  }
}

TEST(CudaSurfaces, WithoutASessionOfTheGpusEncoderTheCpuEncodes) {
  // h264_nvenc is asked for really; here no driver answers, as on a GPU without NVENC.
  StandInOptions own;
  own.index = 7;  // what one device refuses is remembered for the process
  const auto device = std::make_shared<StandInDevice>(own);
  const Stream stream = MakeStream(device);
  FakeBridge::sessions_asked_ = 0;
  const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()));
  const auto encoder = processor->MakeEncoder(EncoderOf(640, 360), 3);
  EXPECT_EQ(FakeBridge::sessions_asked_, 1);
  EXPECT_STREQ(encoder->context().codec->name, "libx264");
  EXPECT_EQ(encoder->TakeFrame()->format, AV_PIX_FMT_YUV420P);
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
  EXPECT_EQ(open(8, 640), 1) << "the next job on the same GPU";
  EXPECT_EQ(open(8, 320), 2) << "another size may be encoded";
  EXPECT_EQ(open(9, 640), 3) << "another GPU may have an encoder";
}

TEST(CudaSurfaces, AnEncoderThatFailsForAnotherReasonIsAskedAgain) {
  FakeBridge::format_ = AV_PIX_FMT_VAAPI;  // libav answers EINVAL, as it may where all sessions are taken
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

TEST(Fault17_35, NoPictureIsMadeForAnEncoderThatRefuses) {
  StandInOptions own;
  own.index = 10;  // one that was not asked before
  const auto device = std::make_shared<StandInDevice>(own);
  const Stream stream = MakeStream(device);
  const auto processor = ProcessorOn(device, std::make_unique<FakeBridge>(stream.get()));
  const auto encoder = processor->MakeEncoder(EncoderOf(640, 360), 3);
  EXPECT_STREQ(encoder->context().codec->name, "libx264");
  EXPECT_EQ(device->peak(), 0U) << "pictures in device memory were made before the session was asked for";
}

/// A shade as SurfacePool's, in the host's memory.
media::UniqueFrame HostFrame(AVPixelFormat format, int shade) {
  media::UniqueFrame frame = media::MakeFrame();
  frame->format = format;
  frame->width = SurfacePool::kWidth - 4;
  frame->height = SurfacePool::kHeight - 4;
  frame->colorspace = AVCOL_SPC_BT709;
  media::CheckAv(av_frame_get_buffer(frame.get(), 0), ErrorCode::kInternal, "No memory for a frame");
  const int planes = format == AV_PIX_FMT_NV12 ? 2 : 3;
  for (int p = 0; p < planes; ++p) {
    std::memset(frame->data[p], shade, static_cast<std::size_t>(frame->linesize[p]) * (p == 0 ? frame->height : frame->height / 2));
  }
  return frame;
}

TEST(Fault17_36, TheStagesStayWhereverFramesLie) {
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
    EXPECT_EQ(chain->Fits(*frame), n > 0) << "the stages are made anew for frame " << n;
    ASSERT_TRUE(chain->Submit(*frame, false));
    media::UniqueFrame out = encoder->TakeFrame();
    chain->Retrieve(out.get());
    encoder->Encode(*out, n, 1, packet);
    EXPECT_EQ(int{out->data[0][0]}, 40 + 4 * n);
    EXPECT_EQ(int{out->data[1][29 * out->linesize[1] + 45]}, 40 + 4 * n);
  }
}

/// An encoder as NVENC is: keeps `surfaces` frames, looks at them late, gives them back in coding order.
class HoardingEncoder {
 public:
  HoardingEncoder(std::shared_ptr<FramePool> pool, int surfaces, unsigned seed)
      : pool_(std::move(pool)), surfaces_(static_cast<std::size_t>(surfaces)), random_(seed) {}

  void Send(media::UniqueFrame frame, int n) {
    held_.emplace_back(n, std::move(frame));
    while (held_.size() > surfaces_) Release();
  }
  void Drain() {
    while (!held_.empty()) Release();
  }
  int encoded() const { return encoded_; }

 private:
  void Release() {
    // Pictures leave in groups of three, the last one first: B frames.
    const std::size_t at = held_.size() >= 3 ? random_() % 3 : 0;
    const auto [n, frame] = std::move(held_[at]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    pool_->WaitWritten(*frame);
    EXPECT_EQ(int{frame->data[0][0]}, n % 200 + 16) << "a picture was written over while the encoder held it";
    EXPECT_EQ(int{frame->data[1][1]}, n % 200 + 16);
    ++encoded_;
  }

  std::shared_ptr<FramePool> pool_;
  std::size_t surfaces_;
  std::minstd_rand random_;
  std::vector<std::pair<int, media::UniqueFrame>> held_;
  int encoded_ = 0;
};

TEST(CudaPool, NeitherStarvesNorOverwritesWithAnEncoderThatHoldsAllItMay) {
  for (const int surfaces : {1, 4, 16}) {
    for (const unsigned seed : {1U, 2U}) {
      StandInOptions late;
      late.longest_delay_us = 400;
      late.seed = seed;
      const auto device = std::make_shared<StandInDevice>(late);
      constexpr int kQueue = 3;
      constexpr int kFrames = 200;
      const auto pool = FramePool::Make(device, FramePool::Kind::kDevice, 64, 48, surfaces + kQueue + 3);
      const Stream stream = MakeStream(device);
      std::mutex mutex;
      std::condition_variable changed;
      std::deque<std::pair<int, media::UniqueFrame>> queue;
      std::thread encode([&] {
        HoardingEncoder encoder(pool, surfaces, seed);
        for (int n = 0; n < kFrames; ++n) {
          std::unique_lock lock(mutex);
          changed.wait(lock, [&] { return !queue.empty(); });
          auto item = std::move(queue.front());
          queue.pop_front();
          changed.notify_all();
          lock.unlock();
          encoder.Send(std::move(item.second), item.first);
        }
        encoder.Drain();
        EXPECT_EQ(encoder.encoded(), kFrames);
      });
      const PinnedMemory shades = MakePinnedMemory(device, pool->bytes() * kFrames);
      for (int n = 0; n < kFrames; ++n) {
        media::UniqueFrame frame = pool->Take();
        auto* shade = static_cast<std::uint8_t*>(shades.get()) + pool->bytes() * n;
        std::memset(shade, n % 200 + 16, pool->bytes());
        device->CopyAsync({frame->data[0], 0, shade, 0, pool->bytes(), 1}, stream.get());
        pool->MarkWritten(*frame, stream.get());
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return queue.size() < kQueue; });
        queue.emplace_back(n, std::move(frame));
        changed.notify_all();
      }
      encode.join();
      EXPECT_EQ(pool->idle(), pool->count()) << "drained";
    }
  }
}

TEST(CudaPool, OutlivesItsOwnersForTheFramesThatAreOut) {
  const auto device = std::make_shared<StandInDevice>();
  media::UniqueFrame frame;
  {
    const auto pool = FramePool::Make(device, FramePool::Kind::kHost, 64, 48, 2);
    frame = pool->Take();
    pool->Close();
    EXPECT_THROW(pool->Take(), Error);
  }
  std::memset(frame->data[0], 1, static_cast<std::size_t>(frame->linesize[0]) * 48);
  frame.reset();
}

TEST(CudaInFlightFrames, KeepFramesUntilTheEventAndNoLonger) {
  StandInOptions late;
  late.longest_delay_us = 3000;
  const auto device = std::make_shared<StandInDevice>(late);
  const Stream stream = MakeStream(device);
  const auto pool = FramePool::Make(device, FramePool::Kind::kDevice, 16, 16, 8);
  InFlightFrames in_flight(device, 3);
  const DeviceMemory memory = MakeDeviceMemory(device, 64);
  for (int i = 0; i < 20; ++i) {
    const media::UniqueFrame frame = pool->Take();
    device->ClearAsync(memory.get(), 64, stream.get());
    in_flight.Keep(*frame, stream.get());
    EXPECT_LE(in_flight.held(), 3);
  }
  EXPECT_LT(pool->idle(), pool->count());
  in_flight.Drain();
  EXPECT_EQ(pool->idle(), pool->count());
}

TEST(CudaDevices, AMachineWithoutAGpuSaysWhy) {
  const CudaState state = FindCudaDevices();
  const std::vector<DeviceInfo> devices = Devices();
  ASSERT_GE(devices.size(), 2U);
  EXPECT_EQ(devices[0].id, "cpu");
  if (!state.devices.empty()) {
    EXPECT_EQ(devices[1].id, "cuda:0");
    return;
  }
  EXPECT_FALSE(state.reason.empty());
  EXPECT_EQ(state.reason.back(), devices[1].reason.back());
  EXPECT_EQ(devices[1].id, "cuda");
  EXPECT_FALSE(devices[1].usable);
  EXPECT_EQ(devices[1].reason, state.reason);
  try {
    run::OpenProcessor("cuda:0", "auto");
    FAIL() << "opened what is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_EQ(error.what(), state.reason);
  }
  EXPECT_EQ(run::OpenProcessor("auto", "auto")->name(), "cpu");
  EXPECT_EQ(run::OpenProcessor("auto", "none")->name(), "cpu");
}

TEST(CudaDevices, ANamedNetworkGoesWhereItCanRun) {
  if (FindCudaDevices().devices.empty()) {
    EXPECT_EQ(run::OpenProcessor("auto", "fast")->name(), "cpu");
  }
  const auto device = std::make_shared<StandInDevice>();
  EXPECT_FALSE(ProcessorOn(device)->runs_networks()) << "no backend was given";
}

}  // namespace
}  // namespace reelmend::cuda
