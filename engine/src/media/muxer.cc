#include "media/muxer.h"

#include <unistd.h>

#include <utility>

#include "media/av_error.h"

namespace framelift::media {
namespace {

[[noreturn]] void ThrowWriteError(int result) {
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result == AVERROR_EXIT) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
  throw Error(ErrorCode::kIo, "Writing the output file failed (" + AvErrorText(result) + ").");
}

/// Errors that say something of the packet and nothing of the file.
bool IsPacketFault(int result) { return result == AVERROR(EINVAL) || result == AVERROR_INVALIDDATA; }

}  // namespace

Muxer::Muxer(const std::string& path, std::function<bool()> is_stopped)
    : path_(path), is_stopped_(std::move(is_stopped)) {
  const std::string url = "file:" + path;  // a path with a colon in it is no other protocol
  AVFormatContext* context = nullptr;
  CheckAv(avformat_alloc_output_context2(&context, nullptr, "mp4", url.c_str()), ErrorCode::kInternal,
          "The output container cannot be made");
  context_.reset(context);
  context->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;  // what libav 5 calls FLAC in MP4, long standardised
  context->interrupt_callback = {&Muxer::OnInterrupt, this};
  AVIOContext* io = nullptr;
  Dictionary settings;
  settings.Set("protocol_whitelist", "file");
  const int result =
      avio_open2(&io, url.c_str(), AVIO_FLAG_WRITE, &context->interrupt_callback, settings.address());
  if (result < 0) throw Error(ErrorCode::kIo, "The output file cannot be created (" + AvErrorText(result) + ").");
  file_.reset(io);
  context->pb = io;
}

Muxer::~Muxer() {
  context_.reset();
  file_.reset();
  if (!finished_) unlink(path_.c_str());
}

int Muxer::OnInterrupt(void* self) {
  const auto& muxer = *static_cast<Muxer*>(self);
  return muxer.is_stopped_ && muxer.is_stopped_() ? 1 : 0;
}

int Muxer::AddStream(const AVCodecParameters& parameters, AVRational time_base, const std::string& language) {
  AVStream* stream = CheckAlloc(avformat_new_stream(context_.get(), nullptr));
  CheckAv(avcodec_parameters_copy(stream->codecpar, &parameters), ErrorCode::kInternal, "A stream cannot be added");
  stream->codecpar->codec_tag = 0;  // the source container's tag says nothing in MP4
  stream->time_base = time_base;
  if (!language.empty()) av_dict_set(&stream->metadata, "language", language.c_str(), 0);
  return stream->index;
}

int Muxer::AddVideo(const AVCodecContext& encoder) {
  AVStream* stream = CheckAlloc(avformat_new_stream(context_.get(), nullptr));
  CheckAv(avcodec_parameters_from_context(stream->codecpar, &encoder), ErrorCode::kInternal,
          "The video stream cannot be added");
  stream->time_base = encoder.time_base;
  stream->avg_frame_rate = encoder.framerate;
  return stream->index;
}

void Muxer::Start(AVRational movie_time_base) {
  Dictionary settings;
  settings.Set("movflags", "+faststart+write_colr");
  settings.Set("movie_timescale", std::int64_t{movie_time_base.den});
  const int result = avformat_write_header(context_.get(), settings.address());
  if (result == AVERROR(EINVAL)) throw Error(ErrorCode::kInternal, "The output container refused a stream.");
  if (result < 0) ThrowWriteError(result);
}

void Muxer::Write(int stream, AVPacket& packet) {
  const std::lock_guard lock(mutex_);
  const AVStream& target = *context_->streams[stream];
  av_packet_rescale_ts(&packet, packet.time_base, target.time_base);
  packet.time_base = target.time_base;
  packet.stream_index = stream;
  packet.pos = -1;
  const int result = av_interleaved_write_frame(context_.get(), &packet);
  if (result >= 0) return;
  if (target.codecpar->codec_type == AVMEDIA_TYPE_AUDIO && IsPacketFault(result)) return;
  ThrowWriteError(result);
}

void Muxer::Finish() {
  const std::lock_guard lock(mutex_);
  int result = av_write_trailer(context_.get());
  if (result < 0) ThrowWriteError(result);
  context_.reset();
  result = avio_close(file_.release());  // buffered bytes are written here
  if (result < 0) ThrowWriteError(result);
  finished_ = true;
}

}  // namespace framelift::media
