// libav's hardware decoder and encoder on one of our CUDA devices.
#pragma once

#include <memory>
#include <string>

#include "cuda/device.h"
#include "cuda/frame_pool.h"

namespace reelmend::cuda {

/// The libav objects that decode into a GPU's memory and encode from it. Tests on the stand-in device use none:
/// frames are uploaded and downloaded.
///
/// Note [Contexts and streams of libav]
/// By default libav creates its own CUDA context and uses the legacy default stream, which is not ordered with our streams.
/// So both libav devices get the primary context, which the CUDA runtime uses too, and a stream each, so that decoder and
/// encoder overlap with the stages. The encoder must not share the stages' stream: libav passes it to NVENC as input and
/// output stream, so each picture would be encoded after all kernels enqueued so far, and the next kernels would run after
/// that. Instead, the encoder's thread waits for finished pictures.
class CodecBridge {
 public:
  virtual ~CodecBridge() = default;
  /// For AVCodecContext::hw_device_ctx; null if the GPU decodes nothing.
  virtual AVBufferRef* decoder_device() const = 0;
  /// The stream that decoded frames are written on.
  virtual StreamHandle decoder_stream() const = 0;
  /// Frames context of NV12 pictures for the encoder; null if there is none. Whether the GPU can encode is known only after
  /// opening a session.
  virtual UniqueBuffer MakeEncoderFrames(int width, int height) = 0;
};

/// Opens libav's side of a CUDA device. Throws Error{kUnavailable}.
std::unique_ptr<CodecBridge> OpenCodecBridge(const std::shared_ptr<Device>& device, StreamHandle decoder);

}  // namespace reelmend::cuda
