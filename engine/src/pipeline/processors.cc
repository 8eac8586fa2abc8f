// Which device works, and the one that is always there.
#include <charconv>
#include <utility>

#include "cuda/processor.h"
#include "reelmend/error.h"
#include "pipeline/pixel_chain.h"
#include "pipeline/prepared_networks.h"
#include "pipeline/stage_chain.h"

namespace reelmend::pipeline {
namespace {

class CpuEncoder : public FrameEncoder {
 public:
  explicit CpuEncoder(const media::VideoEncoderOptions& options) : encoder_(options) {}
  const AVCodecContext& context() const override { return encoder_.context(); }
  media::UniqueFrame TakeFrame() override { return encoder_.TakeFrame(); }
  void Encode(AVFrame& frame, std::int64_t pts, std::int64_t duration,
              const std::function<void(AVPacket&)>& on_packet) override {
    encoder_.Encode(frame, pts, duration, on_packet);
  }
  void Drain(const std::function<void(AVPacket&)>& on_packet) override { encoder_.Drain(on_packet); }

 private:
  media::VideoEncoder encoder_;
};

class Cpu : public Processor {
 public:
  std::string name() const override { return "cpu"; }
  bool runs_networks() const override { return true; }
  bool restores_faces() const override { return true; }
  AVBufferRef* decoder_device() const override { return nullptr; }
  std::unique_ptr<FrameEncoder> MakeEncoder(const media::VideoEncoderOptions& options, int) override {
    return std::make_unique<CpuEncoder>(options);
  }
  std::unique_ptr<StageChain> MakeChain(const ChainOptions& o) override {
    return std::make_unique<PixelChain>(o.plan, o.codec, o.threads, o.clocks, o.is_stopped, std::move(prepared_));
  }
  void Prepare(const EnhanceOptions& options, const Expectation& expectation) override {
    prepared_ = std::make_unique<PreparedNetworks>(options, expectation);
  }

 private:
  std::unique_ptr<PreparedNetworks> prepared_;
};

/// A device that is open, for the options that it was opened with.
struct PreparedProcessor : Preparation {
  std::string device;
  std::unique_ptr<Processor> processor;
};

bool NamesNetwork(const std::string& model) { return model != "auto" && model != "none"; }

/// The number in "cuda:N"; throws for anything else.
int CudaIndex(const std::string& device) {
  constexpr std::string_view kPrefix = "cuda:";
  int index = -1;
  if (device.starts_with(kPrefix)) {
    const char* end = device.data() + device.size();
    const auto [stop, error] = std::from_chars(device.data() + kPrefix.size(), end, index);
    if (error == std::errc() && stop == end && index >= 0) return index;
  }
  throw Error(ErrorCode::kInvalidArgument, "There is no device named “" + device + "”.");
}

}  // namespace

void CheckDeviceName(const std::string& device) {
  if (device != "auto" && device != "cpu") CudaIndex(device);
}

std::unique_ptr<Processor> OpenCpu() { return std::make_unique<Cpu>(); }

std::unique_ptr<Processor> OpenProcessor(const std::string& device, const std::string& model) {
  if (device == "cpu") return OpenCpu();
  if (device != "auto") {
    auto processor = cuda::OpenProcessor(CudaIndex(device));
    if (!NamesNetwork(model) || processor->runs_networks()) return processor;
    throw Error(ErrorCode::kUnavailable, "No network can run on this GPU: " + processor->why_no_networks());
  }
  for (const cuda::DeviceFacts& facts : cuda::FindCudaDevices().devices) {
    try {
      auto processor = cuda::OpenProcessor(facts.index);
      if (!NamesNetwork(model) || processor->runs_networks()) return processor;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;  // the next one, else the CPU
    }
  }
  return OpenCpu();
}

std::unique_ptr<Processor> OpenPrepared(const EnhanceOptions& options, std::unique_ptr<Preparation> prepared) {
  auto* held = dynamic_cast<PreparedProcessor*>(prepared.get());
  const bool fits = held != nullptr && held->device == options.device &&
                    (!NamesNetwork(options.model) || held->processor->runs_networks());
  if (fits) return std::move(held->processor);
  prepared.reset();
  return OpenProcessor(options.device, options.model);
}

}  // namespace reelmend::pipeline

namespace reelmend {

std::unique_ptr<Preparation> Prepare(const EnhanceOptions& options, const Expectation& expectation) {
  auto prepared = std::make_unique<pipeline::PreparedProcessor>();
  prepared->device = options.device;
  prepared->processor = pipeline::OpenProcessor(options.device, options.model);
  if (!prepared->processor->runs_networks()) return prepared;
  try {
    prepared->processor->Prepare(options, expectation);
  } catch (const Error&) {
    // Left to Enhance, which says why.
  }
  return prepared;
}

}  // namespace reelmend
