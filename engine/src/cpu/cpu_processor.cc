// Connects the parts of the CPU: the pixel chain, the networks, and the x264 encoder.
#include "cpu/cpu_processor.h"

#include <utility>

#include "cpu/pixel_chain.h"
#include "cpu/prepared_networks.h"

namespace reelmend::cpu {
namespace {

class CpuEncoder : public device::FrameEncoder {
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

class CpuProcessor : public device::Processor {
 public:
  std::string name() const override { return "cpu"; }
  bool runs_networks() const override { return true; }
  AVBufferRef* decoder_device() const override { return nullptr; }
  std::unique_ptr<device::FrameEncoder> MakeEncoder(const media::VideoEncoderOptions& options, int /*queued*/) override {
    media::VideoEncoderOptions with_cuts = options;
    with_cuts.knows_cuts = true;  // PixelChain detects the scene cuts
    return std::make_unique<CpuEncoder>(with_cuts);
  }
  std::unique_ptr<device::StageChain> MakeChain(const device::ChainOptions& options) override {
    return std::make_unique<PixelChain>(options.plan, options.codec, options.threads, options.clocks, options.is_stopped,
                                        std::move(prepared_));
  }
  void Prepare(const EnhanceOptions& options, const Expectation& expectation) override {
    prepared_ = std::make_unique<PreparedNetworks>(options, expectation);
  }

 private:
  std::unique_ptr<PreparedNetworks> prepared_;  ///< for the next chain, which takes them; null: it loads its own
};

}  // namespace

std::unique_ptr<device::Processor> OpenCpu() { return std::make_unique<CpuProcessor>(); }

}  // namespace reelmend::cpu
