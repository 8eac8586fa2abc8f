#include "media/jpeg.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "media/av_error.h"

namespace reelmend::media {
namespace {

/// Quantiser of libav's encoder, 2…31; 3 is about quality 90 of other encoders.
constexpr int kQuantiser = 3;

UniqueFrame MakePicture(Size size, AVPixelFormat format) {
  UniqueFrame picture = MakeFrame();
  picture->width = size.width;
  picture->height = size.height;
  picture->format = format;
  CheckAv(av_frame_get_buffer(picture.get(), 0), ErrorCode::kInternal, "No memory for a picture");
  return picture;
}

void Convert(const AVFrame& from, int matrix, bool is_full_range, AVFrame& to) {
  constexpr int kFlags = SWS_AREA | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
  const UniqueScaler scaler(CheckAlloc(sws_getContext(from.width, from.height, static_cast<AVPixelFormat>(from.format), to.width,
                                                      to.height, static_cast<AVPixelFormat>(to.format), kFlags, nullptr, nullptr,
                                                      nullptr)));
  const int* coefficients = sws_getCoefficients(matrix);
  sws_setColorspaceDetails(scaler.get(), coefficients, is_full_range ? 1 : 0, coefficients, 1, 0, 1 << 16, 1 << 16);
  sws_scale(scaler.get(), from.data, from.linesize, 0, from.height, to.data, to.linesize);
}

/// Converts through RGB, since JPEG has another matrix and range than video. libav and swscale number matrices alike.
UniqueFrame ToJfif(const AVFrame& frame, Size size) {
  const UniqueFrame rgb = MakePicture(size, AV_PIX_FMT_RGB24);
  Convert(frame, frame.colorspace, frame.color_range == AVCOL_RANGE_JPEG, *rgb);
  UniqueFrame jfif = MakePicture(size, AV_PIX_FMT_YUVJ420P);
  jfif->color_range = AVCOL_RANGE_JPEG;
  Convert(*rgb, SWS_CS_ITU601, true, *jfif);
  return jfif;
}

UniquePacket Compress(AVFrame& picture) {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  if (codec == nullptr) throw Error(ErrorCode::kUnavailable, "This build of libavcodec writes no JPEG files.");
  const UniqueCodecContext context(CheckAlloc(avcodec_alloc_context3(codec)));
  AVCodecContext& c = *context;
  c.width = picture.width;
  c.height = picture.height;
  c.pix_fmt = AV_PIX_FMT_YUVJ420P;
  c.color_range = AVCOL_RANGE_JPEG;
  c.time_base = {1, 25};
  c.thread_count = 1;
  c.flags |= AV_CODEC_FLAG_QSCALE;
  c.global_quality = kQuantiser * FF_QP2LAMBDA;
  picture.quality = c.global_quality;
  picture.pts = 0;
  CheckAv(avcodec_open2(&c, nullptr, nullptr), ErrorCode::kInternal, "The JPEG encoder cannot be started");
  UniquePacket packet = MakePacket();
  CheckAv(avcodec_send_frame(&c, &picture), ErrorCode::kInternal, "A picture cannot be encoded");
  CheckAv(avcodec_send_frame(&c, nullptr), ErrorCode::kInternal, "A picture cannot be encoded");
  CheckAv(avcodec_receive_packet(&c, packet.get()), ErrorCode::kInternal, "A picture cannot be encoded");
  return packet;
}

}  // namespace

Size FitBox(Size frame, int box) {
  const double scale = std::min(1.0, static_cast<double>(box) / std::max(frame.width, frame.height));
  const auto side = [scale](int length) { return std::max(1, static_cast<int>(std::lround(length * scale))); };
  return {side(frame.width), side(frame.height)};
}

std::int64_t WriteJpeg(const AVFrame& frame, Size size, const std::string& path) {
  const UniqueFrame picture = ToJfif(frame, size);
  const UniquePacket packet = Compress(*picture);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(packet->data), packet->size);
  file.close();
  if (!file) throw Error(ErrorCode::kIo, "A picture cannot be written.");
  return packet->size;
}

}  // namespace reelmend::media
