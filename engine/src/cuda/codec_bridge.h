// libav's hardware decoders and encoders on a device of ours.
#pragma once

#include <memory>
#include <string>

#include "cuda/device.h"
#include "cuda/frame_ring.h"

namespace reelmend::cuda {

/// What libav needs to put decoded frames into a GPU's memory and to encode from there. The stand-in of the tests has
/// none: frames are uploaded and downloaded.
///
/// Note [Contexts and streams of libav]
/// libav's own way of making a CUDA device takes a context of its own and the legacy default stream, which is in no
/// order with ours. So each of the two contexts below is filled by hand: the primary context, which CUDA's runtime
/// uses as well, and a stream of ours, for decoder and encoder one each, so that both overlap with the stages. The encoder
/// must not have the stages' stream: libav hands it to NVENC as the stream to wait for and the stream that waits, so that
/// each picture would be encoded after all the kernels put there so far, and those of the next ones run after that.
/// Finished pictures are waited for by the encoder's thread instead.
class CodecBridge {
 public:
  virtual ~CodecBridge() = default;
  /// For AVCodecContext::hw_device_ctx; null where the GPU decodes nothing.
  virtual AVBufferRef* decoder_device() const = 0;
  /// The stream that decoded frames are written on.
  virtual StreamHandle decoder_stream() const = 0;
  /// Frames context of NV12 pictures for an encoder; null where there is no such encoder. Whether the GPU encodes is
  /// told by opening a session with it.
  virtual UniqueBuffer MakeEncoderFrames(int width, int height) = 0;
};

/// Opens libav's side of a CUDA device. Throws Error{kUnavailable}.
std::unique_ptr<CodecBridge> OpenCodecBridge(const std::shared_ptr<Device>& device, StreamHandle decoder);

}  // namespace reelmend::cuda
