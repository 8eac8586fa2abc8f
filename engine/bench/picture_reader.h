// Reads pictures and clips through libav, as planes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "media/av_error.h"
#include "media/av_handles.h"
#include "picture_chroma.h"
#include "picture_quality.h"
#include "plan/compression_error.h"
#include "reelmend/error.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace reelmend::bench {

struct ReadFrames {
  std::vector<AVFrame*> frames;
  std::vector<float> compression_errors;  ///< of the frames that have an estimate
  std::vector<float> quantisers;     ///< of the same frames
  bool is_still = false;
  double frames_per_second = 25;

  ReadFrames() = default;
  ReadFrames(const ReadFrames&) = delete;
  ReadFrames& operator=(const ReadFrames&) = delete;
  ReadFrames(ReadFrames&& other) noexcept = default;
  ~ReadFrames() {
    for (AVFrame*& frame : frames) av_frame_free(&frame);
  }
};

inline std::string LowerExtension(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

inline bool IsPicture(const std::string& path) {
  const std::string e = LowerExtension(path);
  return e == ".png" || e == ".jpg" || e == ".jpeg" || e == ".bmp" || e == ".webp" || e == ".tif" || e == ".tiff";
}

inline bool IsClip(const std::string& path) {
  const std::string e = LowerExtension(path);
  return e == ".mp4" || e == ".mkv" || e == ".mov" || e == ".webm" || e == ".y4m" || e == ".avi";
}

/// Decodes at most `most` frames of the video.
inline ReadFrames Decode(const std::string& path, int most) {
  ReadFrames result;
  AVFormatContext* format = nullptr;
  media::CheckAv(avformat_open_input(&format, path.c_str(), nullptr, nullptr), ErrorCode::kIo, "Cannot open a file");
  struct Closer {
    AVFormatContext*& f;
    ~Closer() { avformat_close_input(&f); }
  } closer{format};
  media::CheckAv(avformat_find_stream_info(format, nullptr), ErrorCode::kUnreadableVideo, "Cannot read a file");
  const AVCodec* codec = nullptr;
  const int index = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  media::CheckAv(index, ErrorCode::kUnreadableVideo, "A file has no video");
  const AVStream& stream = *format->streams[index];
  const media::UniqueCodecContext context(media::CheckAlloc(avcodec_alloc_context3(codec)));
  media::CheckAv(avcodec_parameters_to_context(context.get(), stream.codecpar), ErrorCode::kUnreadableVideo, "Damaged");
  context->export_side_data |= AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS;
  media::CheckAv(avcodec_open2(context.get(), codec, nullptr), ErrorCode::kUnreadableVideo, "Cannot open a decoder");
  result.is_still = IsPicture(path);
  if (stream.avg_frame_rate.num > 0) result.frames_per_second = av_q2d(stream.avg_frame_rate);
  const media::UniquePacket packet = media::MakePacket();
  const auto receive = [&] {
    while (static_cast<int>(result.frames.size()) < most) {
      AVFrame* frame = media::CheckAlloc(av_frame_alloc());
      if (avcodec_receive_frame(context.get(), frame) < 0) {
        av_frame_free(&frame);
        return;
      }
      if (const auto error = plan::CompressionErrorOf(*frame)) {
        result.compression_errors.push_back(*error);
        result.quantisers.push_back(*plan::QuantiserOf(*frame));
      }
      result.frames.push_back(frame);
    }
  };
  while (static_cast<int>(result.frames.size()) < most && av_read_frame(format, packet.get()) >= 0) {
    if (packet->stream_index == index && avcodec_send_packet(context.get(), packet.get()) >= 0) receive();
    av_packet_unref(packet.get());
  }
  avcodec_send_packet(context.get(), nullptr);
  receive();
  if (result.frames.empty()) throw Error(ErrorCode::kUnreadableVideo, "Cannot decode any frame of a file.");
  return result;
}

/// Converts a frame with swscale at full chroma resolution. The caller frees the result.
inline AVFrame* Converted(const AVFrame& in, AVPixelFormat format) {
  AVFrame* out = media::CheckAlloc(av_frame_alloc());
  out->format = format;
  out->width = in.width;
  out->height = in.height;
  media::CheckAv(av_frame_get_buffer(out, 0), ErrorCode::kInternal, "No memory");
  SwsContext* scaler = sws_getContext(in.width, in.height, static_cast<AVPixelFormat>(in.format), out->width, out->height,
                                      format, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP,
                                      nullptr, nullptr, nullptr);
  if (scaler == nullptr) throw Error(ErrorCode::kUnreadableVideo, "Cannot convert a picture's format.");
  sws_scale(scaler, in.data, in.linesize, 0, in.height, out->data, out->linesize);
  sws_freeContext(scaler);
  return out;
}

/// The R, G and B planes of a frame.
inline std::vector<Plane> RgbPlanes(const AVFrame& in) {
  AVFrame* rgb = Converted(in, AV_PIX_FMT_RGB24);
  std::vector<Plane> planes(3, Plane(rgb->width, rgb->height));
  for (int y = 0; y < rgb->height; ++y) {
    const std::uint8_t* row = rgb->data[0] + static_cast<std::ptrdiff_t>(y) * rgb->linesize[0];
    for (int x = 0; x < rgb->width; ++x) {
      for (int p = 0; p < 3; ++p) planes[p].at(x, y) = row[3 * x + p];
    }
  }
  av_frame_free(&rgb);
  return planes;
}

/// The stream's picture as a working picture with the same subsampling. Levels are treated as limited range.
inline pixel::Image StreamPicture(const AVFrame& in) {
  const bool is_plain = in.format == AV_PIX_FMT_YUV420P || in.format == AV_PIX_FMT_YUV422P || in.format == AV_PIX_FMT_YUV444P;
  AVFrame* converted = is_plain ? nullptr : Converted(in, AV_PIX_FMT_YUV444P);
  const AVFrame& frame = converted != nullptr ? *converted : in;
  const auto* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  pixel::Image image(frame.width, frame.height, {format->log2_chroma_w, format->log2_chroma_h},
                     {pixel::Matrix::kBt601, pixel::Range::kLimited, pixel::ChromaSite::kLeft});
  for (int p = 0; p < 3; ++p) {
    const pixel::Plane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      const std::uint8_t* row = frame.data[p] + static_cast<std::ptrdiff_t>(y) * frame.linesize[p];
      std::transform(row, row + plane.width, plane.Row(y), [](std::uint8_t level) { return static_cast<std::uint16_t>(level * pixel::kUnitsPer8BitLevel); });
    }
  }
  av_frame_free(&converted);
  return image;
}

}  // namespace reelmend::bench
