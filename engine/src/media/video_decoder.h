// Packets to frames, drained at the end.
#pragma once

#include <functional>
#include <vector>

#include "reelmend/probe.h"
#include "media/av_handles.h"

namespace reelmend::media {

/// Whether a GPU's decoder is worth trying: a codec, bit depth and size that NVDEC generations have in common, and not
/// declared interlaced (deinterlacing is done on the CPU).
bool SuitsGpu(const AVCodecParameters& parameters);

/// A frame of a GPU's memory as one of the host's, with all its properties. Throws Error{kUnavailable}.
UniqueFrame ToHost(const AVFrame& frame);

/// The surfaces of a GPU's decoder as libav counts them for a stream, at most as many as NVDEC can have: more would be
/// refused, and a stream declares more than it uses. Not initialised yet. Null where libav counts none.
UniqueBuffer DescribeSurfaces(AVCodecContext& context);

/// Decoder of one video stream.
///
/// Note [A refused stream]
/// Whether a GPU decodes a stream is known when its first picture comes, or the first one after a change of size. By
/// then the decoder has slice threads alone, which for most streams is one thread. So it is not kept for the CPU: the
/// pictures before are taken out of it, another decoder is opened as for a machine without a GPU, and the same packet is
/// decoded again. Nothing is lost: a change of size begins with a key frame.
class VideoDecoder {
 public:
  /// `threads` ≥ 1 is the number of decoding threads. `gpu`: a CUDA device of libav's whose decoder is to be used where
  /// it can (SuitsGpu), borrowed; frames of other videos, and of those that it refuses, lie in the host's memory. What is
  /// needed of `stream` is copied. Throws Error{kUnreadableVideo}.
  VideoDecoder(const AVStream& stream, const SourceLimits& limits, int threads, AVBufferRef* gpu = nullptr);

  /// Decodes one packet (nullptr: no more packets, hand out what is held back) and calls `on_frame` for
  /// every frame that comes out. The frame is the callee's to move from; `best_effort_timestamp` is its time.
  /// Throws Error{kUnavailable} where a GPU's decoder has no surface left, std::bad_alloc where a CPU's has no memory.
  void Decode(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame);

  /// From now on frames carry the stream's quantisers (AV_FRAME_DATA_VIDEO_ENC_PARAMS), where the decoder tells them.
  void ExportQuantisers() { context_->export_side_data |= AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS; }

  /// Forgets everything held back, for a seek.
  void Flush();

  /// Whether it decodes several pictures beside each other.
  bool has_frame_threads() const { return (context_->active_thread_type & FF_THREAD_FRAME) != 0; }

  /// Packets that gave an error instead of a picture after the first good frame.
  std::int64_t undecodable() const { return undecodable_; }
  std::int64_t frames() const { return frames_; }

 private:
  static AVPixelFormat ChooseFormat(AVCodecContext* context, const AVPixelFormat* formats);
  void Open(const AVCodec* gpu_codec, AVBufferRef* gpu);
  void Submit(const AVPacket* packet, const std::function<void(UniqueFrame)>& on_frame);
  void Receive(const std::function<void(UniqueFrame)>& on_frame);
  void CountError(int result);

  UniqueCodecParameters parameters_;  ///< copies: a demuxer that is replaced takes its stream with it
  AVRational time_base_;
  AVRational frame_rate_;
  std::int64_t max_pixels_;
  int threads_;
  bool is_on_gpu_ = false;
  bool is_refused_ = false;  ///< by the GPU, in the packet that is being decoded
  UniqueCodecContext context_;
  std::int64_t undecodable_ = 0;
  std::int64_t frames_ = 0;
};

}  // namespace reelmend::media
