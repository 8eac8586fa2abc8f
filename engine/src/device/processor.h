// One pipeline, any device: what a device brings to it.
//
// Note [One pipeline, two devices]
// Plan, queues, progress, cancelling, limits, sound and muxing are the same for all devices. A device brings three
// parts that fit together: where the decoder puts its frames, the chain of stages that reads them, and the encoder
// that reads what the stages make. Frames pass between the parts as AVFrames; whether their planes lie in the host's
// memory or a GPU's is between the parts alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/stage_clock.h"
#include "media/av_handles.h"
#include "media/video_encoder.h"
#include "plan/network_choice.h"
#include "plan/plan.h"

namespace reelmend::device {

/// The stages, from decoded frames to frames of the encoder's. Used by one thread.
class StageChain {
 public:
  virtual ~StageChain() = default;
  /// Frames that may be begun before the first of them is ended; known after the first Begin.
  virtual int depth() const = 0;
  /// Whether `frame` can be begun while others are on their way; if not, end those first.
  virtual bool Fits(const AVFrame& frame) const = 0;
  /// Takes a frame in, in order; its pts is its presentation time in the plan's time base. A frame of the warm-up goes through the temporal stages only.
  /// False when the frame was of no use (a warm-up that nothing needs): there is no End for it.
  /// Throws Error{kUnreadableVideo} when the picture's shape changes in mid-stream.
  virtual bool Begin(const AVFrame& frame, bool is_warm_up) = 0;
  /// Fills `out`, a frame that the encoder's TakeFrame gave, from the oldest frame begun; null for one of the warm-up.
  virtual void End(AVFrame* out) = 0;
  /// Charges what works in threads of its own to its stage; call it once, at the end.
  virtual void AddNetworkTime() {}
  /// Faces restored so far, each frame's counted.
  virtual std::int64_t faces() const { return 0; }
};

/// media::VideoEncoder's interface. TakeFrame is called by the thread of the stages, the rest by the encoder's.
class FrameEncoder {
 public:
  virtual ~FrameEncoder() = default;
  virtual const AVCodecContext& context() const = 0;
  virtual media::UniqueFrame TakeFrame() = 0;
  virtual void Encode(AVFrame& frame, std::int64_t pts, std::int64_t duration,
                      const std::function<void(AVPacket&)>& on_packet) = 0;
  virtual void Drain(const std::function<void(AVPacket&)>& on_packet) = 0;
};

struct ChainOptions {
  const plan::Plan& plan;
  AVCodecID codec = AV_CODEC_ID_NONE;
  int threads = 1;
  StageClocks& clocks;
  std::function<bool()> is_stopped;  ///< optional
};

/// A device, opened for one run. MakeEncoder comes before MakeChain.
class Processor {
 public:
  virtual ~Processor() = default;
  /// For people and records: "cpu", "cuda:0 (NVIDIA L4)".
  virtual std::string name() const = 0;
  /// Whether networks run on it; if not, plans for it are made without one.
  virtual bool runs_networks() const = 0;
  /// Whether it has the stage for faces.
  virtual bool restores_faces() const { return false; }
  /// Why it runs none, one sentence.
  virtual std::string why_no_networks() const { return ""; }
  virtual plan::NetworkPlace network_place() const { return plan::NetworkPlace::kCpu; }
  /// Where decoded frames shall lie; null: the host's memory. The processor keeps it.
  virtual AVBufferRef* decoder_device() const = 0;
  /// `queued`: frames that may lie between the chain and the encoder.
  virtual std::unique_ptr<FrameEncoder> MakeEncoder(const media::VideoEncoderOptions& options, int queued) = 0;
  virtual std::unique_ptr<StageChain> MakeChain(const ChainOptions& options) = 0;
  /// Makes ready what the chain of such a run will need (reelmend::Prepare). Throws what MakeChain's chain would.
  virtual void Prepare(const EnhanceOptions& options, const Expectation& expectation) = 0;
};

}  // namespace reelmend::device
