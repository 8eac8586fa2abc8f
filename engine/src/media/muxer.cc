#include "media/muxer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "media/av_error.h"

namespace reelmend::media {
namespace {

[[noreturn]] void ThrowWriteError(int result) {
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result == AVERROR_EXIT) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
  throw Error(ErrorCode::kIo, "Writing the output file failed (" + AvErrorText(result) + ").");
}

/// Sample description of timed text (3GPP TS 26.245, 5.16): white text at the bottom, centred.
std::array<std::uint8_t, 48> TextDescription(bool is_forced) {
  // Apple's QuickTime file format: bit 31 of the display flags means that every sample is always shown.
  return {static_cast<std::uint8_t>(is_forced ? 0x80 : 0), 0, 0, 0,  // display flags
          1, 0xFF,                                                  // justification: centre, bottom
          0, 0, 0, 0,                                               // background
          0, 0, 0, 0, 0, 0, 0, 0,                                   // text box
          0, 0, 0, 0, 0, 1, 0, 16, 0xFF, 0xFF, 0xFF, 0xFF,          // style: font 1, plain, size 16, white
          0, 0, 0, 18, 'f', 't', 'a', 'b', 0, 1, 0, 1, 5, 'A', 'r', 'i', 'a', 'l'};
}

/// Errors that concern one packet, not the file. AVERROR_PATCHWELCOME: an AAC header that libav cannot convert for MP4.
bool IsPacketFault(int result) {
  return result == AVERROR(EINVAL) || result == AVERROR_INVALIDDATA || result == AVERROR_PATCHWELCOME;
}

}  // namespace

Muxer::Muxer(const std::string& path, std::function<bool()> is_stopped)
    : path_(path), is_stopped_(std::move(is_stopped)) {
  const std::string url = "file:" + path;  // keeps a path with a colon from being read as a protocol
  AVFormatContext* context = nullptr;
  CheckAv(avformat_alloc_output_context2(&context, nullptr, "mp4", url.c_str()), ErrorCode::kInternal,
          "The output container cannot be made");
  context_.reset(context);
  context->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;  // libav 5 needs it for FLAC in MP4, which has long been standardised
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
  if (!keeps_file_) unlink(path_.c_str());
}

int Muxer::OnInterrupt(void* self) {
  const auto& muxer = *static_cast<Muxer*>(self);
  return muxer.is_stopped_ && muxer.is_stopped_() ? 1 : 0;
}

AVStream& Muxer::NewStream(AVRational time_base, const StreamTags& tags) {
  AVStream* stream = CheckAlloc(avformat_new_stream(context_.get(), nullptr));
  stream->time_base = time_base;
  stream->disposition = tags.disposition;
  if (!tags.language.empty()) av_dict_set(&stream->metadata, "language", tags.language.c_str(), 0);
  if (!tags.title.empty()) {
    // Players show one or the other as the track's name.
    av_dict_set(&stream->metadata, "title", tags.title.c_str(), 0);
    av_dict_set(&stream->metadata, "handler_name", tags.title.c_str(), 0);
  }
  return *stream;
}

int Muxer::AddVideo(const AVCodecContext& encoder, const StreamTags& tags) {
  AVStream& stream = NewStream(encoder.time_base, tags);
  CheckAv(avcodec_parameters_from_context(stream.codecpar, &encoder), ErrorCode::kInternal,
          "The video stream cannot be added");
  stream.avg_frame_rate = encoder.framerate;
  return stream.index;
}

int Muxer::AddVideo(const AVCodecParameters& parameters, AVRational time_base, AVRational frame_rate, const StreamTags& tags) {
  const int index = AddStream(parameters, time_base, tags);
  AVStream& stream = *context_->streams[index];
  stream.avg_frame_rate = frame_rate;
  // Taken from the encoder's settings; for copied video, from what the demuxer measured.
  stream.codecpar->bit_rate = 0;
  stream.codecpar->field_order = AV_FIELD_UNKNOWN;
  stream.codecpar->sample_aspect_ratio = {1, 1};
  return index;
}

int Muxer::AddStream(const AVCodecParameters& parameters, AVRational time_base, const StreamTags& tags) {
  AVStream& stream = NewStream(time_base, tags);
  CheckAv(avcodec_parameters_copy(stream.codecpar, &parameters), ErrorCode::kInternal, "A stream cannot be added");
  stream.codecpar->codec_tag = 0;  // the source container's tag has no meaning in MP4
  return stream.index;
}

int Muxer::AddSubtitles(AVRational time_base, const StreamTags& tags) {
  const bool is_forced = (tags.disposition & AV_DISPOSITION_FORCED) != 0;
  const auto description = TextDescription(is_forced);
  AVStream& stream = NewStream(time_base, tags);
  AVCodecParameters& codec = *stream.codecpar;
  codec.codec_type = AVMEDIA_TYPE_SUBTITLE;
  codec.codec_id = AV_CODEC_ID_MOV_TEXT;
  codec.extradata = static_cast<std::uint8_t*>(
      CheckAlloc(av_mallocz(description.size() + AV_INPUT_BUFFER_PADDING_SIZE)));
  codec.extradata_size = static_cast<int>(description.size());
  std::ranges::copy(description, codec.extradata);
  return stream.index;
}

void Muxer::AddChapters(const std::vector<Chapter>& chapters) {
  constexpr AVRational kMilliseconds = {1, 1000};
  AVFormatContext& context = *context_;
  for (const Chapter& chapter : chapters) {
    auto* entry = static_cast<AVChapter*>(CheckAlloc(av_mallocz(sizeof(AVChapter))));
    const int before = static_cast<int>(context.nb_chapters);
    int count = before;
    av_dynarray_add(&context.chapters, &count, entry);  // the context owns it from here on
    context.nb_chapters = static_cast<unsigned>(count);
    if (count == before) throw std::bad_alloc();
    entry->id = before + 1;
    entry->time_base = kMilliseconds;
    entry->start = std::llround(chapter.start_s * 1000);
    entry->end = std::llround(chapter.end_s * 1000);
    if (!chapter.title.empty()) av_dict_set(&entry->metadata, "title", chapter.title.c_str(), 0);
  }
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
  if (target.codecpar->codec_type != AVMEDIA_TYPE_VIDEO) return Interleave(packet);
  CheckOrder(packet);
  HoldVideo(packet);
}

void Muxer::Interleave(AVPacket& packet) {
  const int result = av_interleaved_write_frame(context_.get(), &packet);
  if (result < 0 && !IsPacketFault(result)) ThrowWriteError(result);  // Note [Faults of packets]
}

void Muxer::CheckOrder(const AVPacket& packet) {
  const bool follows = packet.dts != AV_NOPTS_VALUE && (!last_video_dts_ || packet.dts > *last_video_dts_);
  if (!follows || packet.pts < packet.dts) throw Error(ErrorCode::kInternal, "The encoder's frames are out of order.");
  last_video_dts_ = packet.dts;
}

void Muxer::HoldVideo(AVPacket& packet) {
  const std::int64_t end = packet.pts + packet.duration;
  if (held_video_) {
    Interleave(*held_video_);
    video_end_ = std::max(video_end_, end);
  } else {
    held_video_ = MakePacket();
    video_lead_ = packet.pts - packet.dts;
    video_end_ = end;
  }
  CheckAv(av_packet_ref(held_video_.get(), &packet), ErrorCode::kInternal, "A packet cannot be kept");
  av_packet_unref(&packet);
}

void Muxer::WriteLastVideo() {
  if (!held_video_) return;
  AVPacket& last = *held_video_;
  const std::int64_t decoded_end = video_end_ - video_lead_;
  if (last.dts + last.duration < decoded_end) {
    last.dts = std::max(last.dts, last.pts - video_lead_);
    last.duration = decoded_end - last.dts;
  }
  Interleave(last);
}

void Muxer::WriteWhatWaits() {
  for (;;) {
    const int result = av_interleaved_write_frame(context_.get(), nullptr);
    if (result >= 0) return;
    if (!IsPacketFault(result)) ThrowWriteError(result);  // one packet less waits
  }
}

void Muxer::Finish() {
  const std::lock_guard lock(mutex_);
  WriteLastVideo();
  WriteWhatWaits();
  int result = av_write_trailer(context_.get());
  if (result < 0) ThrowWriteError(result);
  context_.reset();
  result = avio_close(file_.release());  // buffered bytes are written here
  if (result < 0) ThrowWriteError(result);
  keeps_file_ = true;
}

}  // namespace reelmend::media
