// Records the frames that a run passes to its encoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu/cpu_processor.h"
#include "run/enhance.h"

namespace reelmend::testing {

/// A frame that the encoder received.
struct Encoded {
  std::int64_t pts = 0;
  std::int64_t duration = 0;
  std::uint64_t hash = 0;
  bool operator==(const Encoded&) const = default;
};

/// FNV-1a hash of the samples.
inline std::uint64_t HashOf(const AVFrame& frame) {
  std::uint64_t hash = 14695981039346656037U;
  for (int plane = 0; plane < 3; ++plane) {
    const int shift = plane > 0 ? 1 : 0;
    for (int y = 0; y < frame.height >> shift; ++y) {
      const std::uint8_t* row = frame.data[plane] + std::ptrdiff_t{y} * frame.linesize[plane];
      for (int x = 0; x < frame.width >> shift; ++x) hash = (hash ^ row[x]) * 1099511628211U;
    }
  }
  return hash;
}

class RecordingEncoder : public device::FrameEncoder {
 public:
  RecordingEncoder(std::unique_ptr<device::FrameEncoder> encoder, std::vector<Encoded>& seen) : encoder_(std::move(encoder)), seen_(seen) {}
  const AVCodecContext& context() const override { return encoder_->context(); }
  media::UniqueFrame TakeFrame() override { return encoder_->TakeFrame(); }
  void Encode(AVFrame& frame, std::int64_t pts, std::int64_t duration, const std::function<void(AVPacket&)>& on_packet) override {
    seen_.push_back({pts, duration, HashOf(frame)});
    encoder_->Encode(frame, pts, duration, on_packet);
  }
  void Drain(const std::function<void(AVPacket&)>& on_packet) override { encoder_->Drain(on_packet); }

 private:
  std::unique_ptr<device::FrameEncoder> encoder_;
  std::vector<Encoded>& seen_;
};

/// The CPU's processor with a recording encoder.
class RecordingProcessor : public device::Processor {
 public:
  explicit RecordingProcessor(std::vector<Encoded>& seen) : seen_(seen) {}
  std::string name() const override { return cpu_->name(); }
  bool runs_networks() const override { return cpu_->runs_networks(); }
  AVBufferRef* decoder_device() const override { return nullptr; }
  std::unique_ptr<device::FrameEncoder> MakeEncoder(const media::VideoEncoderOptions& options, int queued) override {
    return std::make_unique<RecordingEncoder>(cpu_->MakeEncoder(options, queued), seen_);
  }
  std::unique_ptr<device::StageChain> MakeChain(const device::ChainOptions& options) override { return cpu_->MakeChain(options); }
  void Prepare(const EnhanceOptions& options, const Expectation& expectation) override { cpu_->Prepare(options, expectation); }

 private:
  std::unique_ptr<device::Processor> cpu_ = cpu::OpenCpu();
  std::vector<Encoded>& seen_;
};

/// Enhances on the CPU and returns the frames that were encoded.
inline std::vector<Encoded> EncodedFrames(const std::string& in, const std::string& out, const EnhanceOptions& options) {
  std::vector<Encoded> seen;
  run::EnhanceOn(std::make_unique<RecordingProcessor>(seen), in, out, options);
  return seen;
}

}  // namespace reelmend::testing
