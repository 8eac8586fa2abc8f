// The interface that the CPU and GPUs implement to run a job.
//
// Note [One pipeline, two devices]
// Plan, queues, progress, cancellation, limits, sound and muxing are the same for all devices. A device provides
// three matching parts: the memory for decoded frames, the chain of stages that reads them, and the encoder that reads
// the results. Frames pass between the parts as AVFrames; only these parts know whether the planes are in host memory
// or on a GPU.
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

/// The chain of stages from decoded frames to the encoder's frames. Used by one thread.
class StageChain {
 public:
  virtual ~StageChain() = default;
  /// Number of frames that may be submitted before the first is retrieved; known after the first Submit.
  virtual int depth() const = 0;
  /// Whether `frame` can be submitted while other frames are in progress. If not, retrieve those first.
  virtual bool CanSubmit(const AVFrame& frame) const = 0;
  /// Submits a frame, in presentation order; its pts is in the plan's time base. A warm-up frame only updates the
  /// temporal stages. Returns false if no stage uses the warm-up frame; then do not call Retrieve for it. Throws
  /// Error{kUnreadableVideo} if the picture's size or shape changes in mid-stream.
  virtual bool Submit(const AVFrame& frame, bool is_warm_up) = 0;
  /// Writes the oldest submitted frame to `out`, which comes from the encoder's TakeFrame; null for a warm-up frame.
  virtual void Retrieve(AVFrame* out) = 0;
  /// Adds the CPU time of the network runtime's threads to Stage::kNetwork and Stage::kFaces. Call it once, at the end.
  virtual void AddNetworkTime() {}
  /// Number of faces restored so far, summed over all frames.
  virtual std::int64_t faces() const { return 0; }
  /// Why the network for faces runs on the CPU instead of the chain's device: a sentence; empty if it does not.
  virtual std::string why_faces_on_cpu() const { return ""; }
};

/// Has the methods of media::VideoEncoder. The stages' thread calls TakeFrame, the encoder's thread the rest.
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

/// A device, opened for one run. Call MakeEncoder before MakeChain.
class Processor {
 public:
  virtual ~Processor() = default;
  /// Display name: "cpu", "cuda:0 (NVIDIA L4)".
  virtual std::string name() const = 0;
  /// Whether networks run on it. If not, plans use no network.
  virtual bool runs_networks() const = 0;
  /// Why no networks run on it: one sentence for the user.
  virtual std::string why_no_networks() const { return ""; }
  virtual plan::NetworkDevice network_device() const { return plan::NetworkDevice::kCpu; }
  /// The device for decoded frames, owned by the processor; null: host memory.
  virtual AVBufferRef* decoder_device() const = 0;
  /// `queued`: number of frames in the queue between chain and encoder.
  virtual std::unique_ptr<FrameEncoder> MakeEncoder(const media::VideoEncoderOptions& options, int queued) = 0;
  virtual std::unique_ptr<StageChain> MakeChain(const ChainOptions& options) = 0;
  /// Loads networks and buffers for a run with these options (see reelmend::Prepare). Throws the errors that MakeChain
  /// and the chain would throw.
  virtual void Prepare(const EnhanceOptions& options, const Expectation& expectation) = 0;
};

}  // namespace reelmend::device
