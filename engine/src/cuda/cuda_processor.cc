#include "cuda/cuda_processor.h"

#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "cuda/cuda_chain.h"
#include "cuda/frame_pool.h"
#include "media/av_error.h"

namespace reelmend::cuda {
namespace {

/// Pictures that NVENC may hold at once; set as its number of surfaces (Note [Pools cannot starve]).
constexpr int kEncoderSurfaces = 16;
/// x264 copies its input before Encode returns.
constexpr int kHeldByX264 = 0;
/// One in the stages, one in the encoder's thread, one spare.
constexpr int kInHands = 3;

/// An encoder of the kernels' output: on the GPU from device memory, or libx264 from pinned memory.
class PooledEncoder : public device::FrameEncoder {
 public:
  PooledEncoder(std::unique_ptr<media::VideoEncoder> encoder, std::shared_ptr<FramePool> pool)
      : pool_(std::move(pool)), encoder_(std::move(encoder)) {}
  ~PooledEncoder() override { pool_->Close(); }

  const AVCodecContext& context() const override { return encoder_->context(); }
  media::UniqueFrame TakeFrame() override { return pool_->Take(); }
  void Encode(AVFrame& frame, std::int64_t pts, std::int64_t duration,
              const std::function<void(AVPacket&)>& on_packet) override {
    // NVENC reads on its own stream (Note [Contexts and streams of libav]). Only this thread waits, and a kernel's
    // error is reported before its picture is encoded.
    pool_->WaitWritten(frame);
    encoder_->Encode(frame, pts, duration, on_packet);
  }
  void Drain(const std::function<void(AVPacket&)>& on_packet) override { encoder_->Drain(on_packet); }

 private:
  std::shared_ptr<FramePool> pool_;
  std::unique_ptr<media::VideoEncoder> encoder_;
};

/// Sizes that GPUs of this process cannot encode, so that each is tried once. Refusals for other reasons are not kept:
/// sessions become free again.
class EncoderRefusals {
 public:
  using Key = std::tuple<std::string, int, int>;  ///< device, width, height
  static EncoderRefusals& Shared() {
    static EncoderRefusals shared;
    return shared;
  }
  bool Has(const Key& key) {
    const std::lock_guard lock(mutex_);
    return keys_.contains(key);
  }
  void Add(const Key& key) {
    const std::lock_guard lock(mutex_);
    keys_.insert(key);
  }

 private:
  std::mutex mutex_;
  std::set<Key> keys_;
};

class CudaProcessor : public device::Processor {
 public:
  explicit CudaProcessor(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  std::string name() const override {
    const DeviceFacts& facts = session_->device->facts();
    return facts.id() + " (" + facts.name + ")";
  }
  bool runs_networks() const override { return session_->networks != nullptr; }
  std::string why_no_networks() const override { return session_->why_no_networks; }
  plan::NetworkDevice network_device() const override { return plan::NetworkDevice::kGpu; }
  AVBufferRef* decoder_device() const override {
    return session_->bridge ? session_->bridge->decoder_device() : nullptr;
  }

  std::unique_ptr<device::FrameEncoder> MakeEncoder(const media::VideoEncoderOptions& options, int queued) override {
    if (auto encoder = TryGpuEncoder(options, queued)) return encoder;
    auto encoder = std::make_unique<media::VideoEncoder>(options);
    const int count = queued + kInHands + kHeldByX264;
    session_->pool = FramePool::Make(session_->device, FramePool::Kind::kHost, options.width, options.height, count);
    return std::make_unique<PooledEncoder>(std::move(encoder), session_->pool);
  }

  std::unique_ptr<device::StageChain> MakeChain(const device::ChainOptions& options) override {
    return cuda::MakeChain(session_, options);
  }
  void Prepare(const EnhanceOptions& options, const Expectation& expectation) override {
    if (session_->networks) session_->networks->Prepare(options, expectation);
  }

 private:
  /// Null if the GPU does not encode this size or all its sessions are taken. Then the CPU encodes the GPU's pictures. So it does if the
  /// bit rate is limited: with a constant quality, libav does not pass the buffer's size to NVENC, so the limit would not hold.
  std::unique_ptr<device::FrameEncoder> TryGpuEncoder(const media::VideoEncoderOptions& options, int queued) {
    if (options.quality.max_bitrate > 0) return nullptr;
    const EncoderRefusals::Key key{session_->device->facts().id(), options.width, options.height};
    if (!session_->bridge || EncoderRefusals::Shared().Has(key)) return nullptr;
    const UniqueBuffer frames = session_->bridge->MakeEncoderFrames(options.width, options.height);
    if (!frames) return nullptr;
    try {
      return MakeGpuEncoder(options, frames.get(), queued);
    } catch (const media::EncoderUnsupported&) {
      EncoderRefusals::Shared().Add(key);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
    }
    return nullptr;
  }

  /// Opens the session first: GPUs without one then allocate no pictures.
  std::unique_ptr<device::FrameEncoder> MakeGpuEncoder(media::VideoEncoderOptions options, AVBufferRef* frames,
                                                         int queued) {
    options.hw_frames = frames;
    options.hw_surfaces = kEncoderSurfaces;
    auto encoder = std::make_unique<media::VideoEncoder>(options);
    const int count = queued + kInHands + encoder->hw_surfaces();
    session_->pool = FramePool::Make(session_->device, FramePool::Kind::kDevice, options.width, options.height, count, frames);
    return std::make_unique<PooledEncoder>(std::move(encoder), session_->pool);
  }

  std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<device::Processor> MakeProcessor(std::shared_ptr<Device> device, Stream compute,
                                                   std::unique_ptr<CodecBridge> bridge,
                                                   std::shared_ptr<inference::GpuBackend> networks) {
  auto session = std::make_shared<Session>();
  session->device = std::move(device);
  session->compute = std::move(compute);
  session->bridge = std::move(bridge);
  if (networks) session->networks = std::make_unique<NetworkSource>(session->device, std::move(networks));
  return std::make_unique<CudaProcessor>(std::move(session));
}

namespace {

std::shared_ptr<inference::GpuBackend> OpenNetworks(const DeviceFacts& facts) {
  return inference::OpenGpuBackend({facts.compute_major, facts.compute_minor});
}

}  // namespace

std::unique_ptr<device::Processor> OpenProcessor(int index) {
  auto session = std::make_shared<Session>();
  session->device = OpenCudaDevice(index);
  session->compute = MakeStream(session->device);
  session->decode = MakeStream(session->device);
  session->bridge = OpenCodecBridge(session->device, session->decode.get());
  try {
    session->networks = std::make_unique<NetworkSource>(session->device, OpenNetworks(session->device->facts()));
  } catch (const Error& error) {
    session->why_no_networks = error.what();
  }
  return std::make_unique<CudaProcessor>(std::move(session));
}

namespace {

GpuReport Describe(const DeviceFacts& facts) {
  media::QuietLibav();  // a GPU without an encoder is a result, not an error
  GpuReport report{facts, false, "", "", "", "libx264"};
  try {
    const std::shared_ptr<Device> device = OpenCudaDevice(facts.index);
    const Stream decode = MakeStream(device);
    const auto bridge = OpenCodecBridge(device, decode.get());
    report.is_usable = true;
    try {
      const auto networks = OpenNetworks(facts);
      report.networks = networks->name() + " " + networks->version();
    } catch (const Error& error) {
      report.why_no_networks = error.what();
    }
    const UniqueBuffer frames = bridge->MakeEncoderFrames(640, 360);
    media::VideoEncoderOptions options;
    options.width = 640;
    options.height = 360;
    options.hw_frames = frames.get();
    const media::VideoEncoder session(options);
    report.encoder = "h264_nvenc";
  } catch (const std::exception& error) {
    if (!report.is_usable) report.reason = error.what();
  }
  return report;
}

}  // namespace

std::vector<GpuReport> DescribeGpus() {
  std::vector<GpuReport> reports;
  for (const DeviceFacts& facts : FindCudaDevices().devices) reports.push_back(Describe(facts));
  return reports;
}

}  // namespace reelmend::cuda
