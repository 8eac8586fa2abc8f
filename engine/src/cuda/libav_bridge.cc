// libav on a CUDA device of ours: Note [Contexts and streams of libav].
#ifdef REELMEND_CUDA
#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/codec_bridge.h"
#include "media/av_error.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
}

namespace reelmend::cuda {
namespace {

/// The context that CUDA's runtime uses on this thread. Taken through the runtime, so that libcuda is not linked.
CUcontext PrimaryContext(Device& device) {
  device.FreeBytes();  // makes the context current on this thread
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned kSince = 12000;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, kSince, cudaEnableDefault, &found);
  CUcontext context = nullptr;
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess || entry == nullptr ||
      reinterpret_cast<CUresult (*)(CUcontext*)>(entry)(&context) != CUDA_SUCCESS || context == nullptr) {
    throw Error(ErrorCode::kUnavailable, "The GPU's context cannot be shared with the video decoder.");
  }
  return context;
}

UniqueBuffer MakeLibavDevice(CUcontext context, StreamHandle stream) {
  UniqueBuffer buffer(media::CheckAlloc(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA)));
  auto* device = reinterpret_cast<AVHWDeviceContext*>(buffer->data);
  auto* cuda = static_cast<AVCUDADeviceContext*>(device->hwctx);
  cuda->cuda_ctx = context;
  cuda->stream = static_cast<CUstream>(stream.value);
  media::CheckAv(av_hwdevice_ctx_init(buffer.get()), ErrorCode::kUnavailable,
                 "The GPU's video decoder cannot be opened");
  return buffer;
}

class LibavBridge : public CodecBridge {
 public:
  LibavBridge(const std::shared_ptr<Device>& device, CUcontext context, StreamHandle decoder)
      : decoder_stream_(decoder),
        encoder_stream_(MakeStream(device)),
        decoder_(MakeLibavDevice(context, decoder)),
        encoder_(MakeLibavDevice(context, encoder_stream_.get())) {}

  AVBufferRef* decoder_device() const override { return decoder_.get(); }
  StreamHandle decoder_stream() const override { return decoder_stream_; }

  UniqueBuffer MakeEncoderFrames(int width, int height) override {
    UniqueBuffer buffer(media::CheckAlloc(av_hwframe_ctx_alloc(encoder_.get())));
    auto* frames = reinterpret_cast<AVHWFramesContext*>(buffer->data);
    frames->format = AV_PIX_FMT_CUDA;
    frames->sw_format = AV_PIX_FMT_NV12;
    frames->width = width;
    frames->height = height;
    media::CheckAv(av_hwframe_ctx_init(buffer.get()), ErrorCode::kUnavailable, "The GPU's encoder cannot be opened");
    return buffer;
  }

 private:
  StreamHandle decoder_stream_;
  Stream encoder_stream_;
  UniqueBuffer decoder_;
  UniqueBuffer encoder_;
};

}  // namespace

std::unique_ptr<CodecBridge> OpenCodecBridge(const std::shared_ptr<Device>& device, StreamHandle decoder) {
  return std::make_unique<LibavBridge>(device, PrimaryContext(*device), decoder);
}

}  // namespace reelmend::cuda
#endif
