// Differences between the releases of libav. Only these functions compare versions; the rest of the engine calls them.
// scripts/test-libav-headers compiles them against FFmpeg 5.1 (Debian 12), 7.1 (Debian 13) and 9.0 (Debian 14, in
// preparation). The releases between are expected to work, but are not compiled.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/packet.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libavutil/version.h>
}

namespace reelmend::media {

/// AVFrame::duration came with libavutil 57.30 (FFmpeg 6.0) and replaced pkt_duration. In the time base of the stream; 0 when
/// unknown.
inline std::int64_t FrameDuration(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return frame.duration;
#else
  return frame.pkt_duration;
#endif
}

inline void SetFrameDuration(AVFrame& frame, std::int64_t duration) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  frame.duration = duration;
#else
  frame.pkt_duration = duration;
#endif
}

/// AV_FRAME_FLAG_INTERLACED came with libavutil 58.7 (FFmpeg 6.1) and replaced AVFrame::interlaced_frame.
inline bool IsInterlaced(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
  return frame.interlaced_frame != 0;
#endif
}

inline void SetInterlaced(AVFrame& frame, bool is_interlaced) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags = is_interlaced ? frame.flags | AV_FRAME_FLAG_INTERLACED : frame.flags & ~AV_FRAME_FLAG_INTERLACED;
#else
  frame.interlaced_frame = is_interlaced ? 1 : 0;
#endif
}

/// Side data that the container gives for the whole stream; `data` is null when there is none.
struct StreamSideData {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
};

/// AVCodecParameters::coded_side_data came with libavformat 60.15 (FFmpeg 6.1) and replaced av_stream_get_side_data().
inline StreamSideData FindStreamSideData(const AVStream& stream, AVPacketSideDataType type) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVCodecParameters& codec = *stream.codecpar;
  const AVPacketSideData* side = av_packet_side_data_get(codec.coded_side_data, codec.nb_coded_side_data, type);
  return side == nullptr ? StreamSideData{} : StreamSideData{side->data, side->size};
#else
  StreamSideData side;
  side.data = av_stream_get_side_data(&stream, type, &side.size);
  return side;
#endif
}

}  // namespace reelmend::media
