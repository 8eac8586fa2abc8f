// Owning types for libav handles. Every handle gets its owner in the statement that creates it.
#pragma once

#include <cstdint>
#include <memory>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/buffer.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
}

namespace reelmend::media {

/// Calls a libav function of the form `void free(T**)`.
template <auto kFree>
struct FreeByAddress {
  template <typename T>
  void operator()(T* handle) const noexcept {
    kFree(&handle);
  }
};

/// Calls a function of the form `void free(T*)`.
template <auto kFree>
struct FreeByValue {
  template <typename T>
  void operator()(T* handle) const noexcept {
    kFree(handle);
  }
};

/// An AVIOContext made by avio_alloc_context: its buffer may have been replaced by libav and is freed first.
struct FreeCustomIo {
  void operator()(AVIOContext* io) const noexcept {
    av_freep(&io->buffer);
    avio_context_free(&io);
  }
};

struct CloseFileIo {
  void operator()(AVIOContext* io) const noexcept { avio_closep(&io); }
};

using UniquePacket = std::unique_ptr<AVPacket, FreeByAddress<av_packet_free>>;
using UniqueFrame = std::unique_ptr<AVFrame, FreeByAddress<av_frame_free>>;
using UniqueCodecParameters = std::unique_ptr<AVCodecParameters, FreeByAddress<avcodec_parameters_free>>;
using UniqueCodecContext = std::unique_ptr<AVCodecContext, FreeByAddress<avcodec_free_context>>;
using UniqueInputContext = std::unique_ptr<AVFormatContext, FreeByAddress<avformat_close_input>>;
using UniqueOutputContext = std::unique_ptr<AVFormatContext, FreeByValue<avformat_free_context>>;
using UniqueCustomIo = std::unique_ptr<AVIOContext, FreeCustomIo>;
using UniqueFileIo = std::unique_ptr<AVIOContext, CloseFileIo>;
using UniqueScaler = std::unique_ptr<SwsContext, FreeByValue<sws_freeContext>>;
using UniqueResampler = std::unique_ptr<SwrContext, FreeByAddress<swr_free>>;
using UniqueAudioFifo = std::unique_ptr<AVAudioFifo, FreeByValue<av_audio_fifo_free>>;
using UniqueBuffer = std::unique_ptr<AVBufferRef, FreeByAddress<av_buffer_unref>>;
using UniqueBufferPool = std::unique_ptr<AVBufferPool, FreeByAddress<av_buffer_pool_uninit>>;
using UniqueAvMemory = std::unique_ptr<void, FreeByValue<av_free>>;

/// Options for libav's open functions, which replace the dictionary by the entries that they did not use.
class Dictionary {
 public:
  Dictionary() = default;
  ~Dictionary() { av_dict_free(&entries_); }
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  void Set(const char* key, const char* value) { av_dict_set(&entries_, key, value, 0); }
  void Set(const char* key, std::int64_t value) { av_dict_set_int(&entries_, key, value, 0); }
  AVDictionary** address() { return &entries_; }

 private:
  AVDictionary* entries_ = nullptr;
};

UniquePacket MakePacket();
UniqueFrame MakeFrame();

}  // namespace reelmend::media
