// Decodes the packets of a video stream to frames.
#pragma once

#include <functional>
#include <vector>

#include "reelmend/probe.h"
#include "media/av_handles.h"

namespace reelmend::media {

/// Whether to try a GPU's decoder: a codec, bit depth and size that all NVDEC generations support, and not declared
/// interlaced (the CPU deinterlaces).
bool SuitsGpu(const AVCodecParameters& parameters);

/// Copies a frame from GPU memory to host memory, with all its properties. Throws Error{kUnavailable}.
UniqueFrame ToHost(const AVFrame& frame);

/// Surfaces for a GPU's decoder: libav's count for the stream, limited to NVDEC's maximum. NVDEC would refuse more,
/// and streams declare more than they use. Not initialised. Null if libav gives no count.
UniqueBuffer DescribeSurfaces(AVCodecContext& context);

/// Decoder of one video stream.
///
/// Note [A refused stream]
/// Whether a GPU decodes a stream is known with its first picture, or with the first one after a change of size. By
/// then the decoder has only slice threads, which for most streams means one thread. So it is not kept for the CPU:
/// earlier pictures are drained, a new decoder is opened as on a machine without a GPU, and the same packet is
/// decoded again. Nothing is lost, because a change of size starts with a key frame.
class VideoDecoder {
 public:
  /// `threads` ≥ 1: number of decoding threads. `gpu`: a CUDA device of libav to decode on if possible (SuitsGpu),
  /// borrowed; frames of other streams, and of those that it refuses, are in host memory. Copies what it needs of
  /// `stream`. Throws Error{kUnreadableVideo}.
  VideoDecoder(const AVStream& stream, const SourceLimits& limits, int threads, AVBufferRef* gpu = nullptr);

  /// Decodes one packet and calls `on_frame` for every frame that comes out; nullptr drains the decoder. The callee
  /// may move the frame; `best_effort_timestamp` is its time. Throws Error{kUnavailable} if a GPU's decoder has no
  /// surface left, std::bad_alloc if a CPU's has no memory.
  void Decode(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame);

  /// For a decoder that has not decoded yet: a damaged frame counts as undecodable, instead of being concealed.
  void RefuseDamage();

  /// From now on frames carry the stream's quantisers (AV_FRAME_DATA_VIDEO_ENC_PARAMS), if the decoder exports them.
  void ExportQuantisers() { context_->export_side_data |= AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS; }

  /// Discards everything held back, for a seek.
  void Flush();

  /// Whether it decodes several frames in parallel.
  bool has_frame_threads() const { return (context_->active_thread_type & FF_THREAD_FRAME) != 0; }

  /// Packets after the first good frame that gave an error instead of a picture.
  std::int64_t undecodable() const { return undecodable_; }
  std::int64_t frames() const { return frames_; }

 private:
  static AVPixelFormat ChooseFormat(AVCodecContext* context, const AVPixelFormat* formats);
  void Open(const AVCodec* gpu_codec, AVBufferRef* gpu);
  void Submit(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame);
  void Receive(const std::function<void(UniqueFrame)>& on_frame);
  void CountError(int result);

  UniqueCodecParameters parameters_;  ///< copies: a demuxer that is replaced destroys its stream
  AVRational time_base_;
  AVRational frame_rate_;
  std::int64_t max_pixels_;
  int threads_;
  bool is_on_gpu_ = false;
  bool refuses_damage_ = false;
  bool is_refused_ = false;  ///< the GPU refused the packet that is being decoded
  UniqueCodecContext context_;
  std::int64_t undecodable_ = 0;
  std::int64_t frames_ = 0;
};

}  // namespace reelmend::media
