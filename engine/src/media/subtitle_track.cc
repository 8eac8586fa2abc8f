#include "media/subtitle_track.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "media/av_error.h"
#include "media/source_policy.h"
#include "media/stream_tags.h"
#include "media/text_encoding.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

constexpr AVRational kMicroseconds = {1, 1'000'000};
constexpr std::int64_t kUnknownDuration_us = 5'000'000;
constexpr std::size_t kLongestCue = 4'000;

struct FreeSubtitle {
  void operator()(AVSubtitle* subtitle) const noexcept { avsubtitle_free(subtitle); }
};

/// A packet whose text is UTF-8: libav's decoders refuse any other. In MP4, packets have lengths and boxes beside the text, which is UTF-8.
UniquePacket Utf8Packet(const AVPacket& packet, AVCodecID codec) {
  UniquePacket copy = MakePacket();
  const std::string_view text(reinterpret_cast<const char*>(packet.data), static_cast<std::size_t>(packet.size));
  const std::string utf8 = codec == AV_CODEC_ID_MOV_TEXT ? std::string(text) : ToUtf8(text);
  if (utf8 == text) {
    CheckAv(av_packet_ref(copy.get(), &packet), ErrorCode::kInternal, "A packet cannot be copied");
    return copy;
  }
  CheckAv(av_new_packet(copy.get(), static_cast<int>(utf8.size())), ErrorCode::kInternal, "No memory");
  CheckAv(av_packet_copy_props(copy.get(), &packet), ErrorCode::kInternal, "A packet cannot be copied");
  std::ranges::copy(utf8, copy->data);
  return copy;
}

/// Whether the text behind these override codes draws a shape: behind \p1 and above. \pos and \pbo are other codes.
bool DrawsBehind(std::string_view codes, bool is_drawing) {
  for (std::size_t at = codes.find("\\p"); at != std::string_view::npos; at = codes.find("\\p", at + 2)) {
    const char scale = at + 2 < codes.size() ? codes[at + 2] : '\0';
    if (scale >= '0' && scale <= '9') is_drawing = scale != '0';
  }
  return is_drawing;
}

/// Length of the override codes at a place, with their braces; 0 if there are none. Codes that do not end hide the rest.
std::size_t CodesAt(std::string_view event, std::size_t at, CueMarkup markup) {
  if (event[at] != '{') return 0;
  const std::size_t end = event.find('}', at);
  // libav's decoder of WebVTT writes an empty pair behind a brace of the text.
  const bool are_codes = event.substr(at + 1).starts_with('\\') || end == at + 1;
  if (markup == CueMarkup::kNone && (!are_codes || end == std::string_view::npos)) return 0;
  return end == std::string_view::npos ? event.size() - at : end + 1 - at;
}

/// A letter of an event, and how many it takes there.
struct Letter {
  char shown;
  std::size_t length;
};

Letter LetterAt(std::string_view event, std::size_t at, CueMarkup markup) {
  constexpr std::string_view kWithJoiner = "\\\xE2\x81\xA0";  // newer decoders of libav put a word joiner behind a backslash of the text
  if (event.substr(at).starts_with(kWithJoiner)) return {'\\', kWithJoiner.size()};
  const char next = event[at] == '\\' && at + 1 < event.size() ? event[at + 1] : '\0';
  if (next == 'h') return {' ', 2};
  if (next == 'N' || (next == 'n' && markup == CueMarkup::kCodes)) return {'\n', 2};
  if (next == '{' || next == '}') return {next, 2};
  return {event[at], 1};
}

}  // namespace

std::string PlainText(const std::string& event, CueMarkup markup) {
  constexpr int kFieldsBeforeText = 8;
  std::size_t at = 0;
  for (int field = 0; field < kFieldsBeforeText; ++field) {
    at = event.find(',', at);
    if (at == std::string::npos) return "";
    ++at;
  }
  std::string text;
  bool is_drawing = false;
  while (at < event.size()) {
    if (const std::size_t length = CodesAt(event, at, markup); length > 0) {
      is_drawing = DrawsBehind(std::string_view(event).substr(at, length), is_drawing);
      at += length;
      continue;
    }
    const Letter letter = LetterAt(event, at, markup);
    if (!is_drawing) text += letter.shown;
    at += letter.length;
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return CleanText(text, kLongestCue);
}

SubtitleTrack::SubtitleTrack(UniqueCodecContext decoder, AVRational time_base, Muxer& muxer, int index)
    : decoder_(std::move(decoder)), time_base_(time_base), muxer_(muxer), index_(index), packet_(MakePacket()) {}

std::unique_ptr<SubtitleTrack> SubtitleTrack::Make(const AVStream& stream, Muxer& muxer) {
  if (!IsTextSubtitle(stream.codecpar->codec_id)) return nullptr;
  const AVCodec* codec = FindAllowedDecoder(stream.codecpar->codec_id);
  if (codec == nullptr) return nullptr;
  UniqueCodecContext context(CheckAlloc(avcodec_alloc_context3(codec)));
  if (avcodec_parameters_to_context(context.get(), stream.codecpar) < 0) return nullptr;
  context->pkt_timebase = stream.time_base;
  if (avcodec_open2(context.get(), codec, nullptr) < 0) return nullptr;
  const int index = muxer.AddSubtitles(kMicroseconds, ReadTags(stream));
  return std::unique_ptr<SubtitleTrack>(new SubtitleTrack(std::move(context), stream.time_base, muxer, index));
}

std::string SubtitleTrack::Decode(const AVPacket& packet, std::int64_t& duration_us) {
  AVSubtitle subtitle = {};
  int is_complete = 0;
  const UniquePacket copy = Utf8Packet(packet, decoder_->codec_id);
  const int result = avcodec_decode_subtitle2(decoder_.get(), &subtitle, &is_complete, copy.get());
  const std::unique_ptr<AVSubtitle, FreeSubtitle> owner(&subtitle);
  if (result < 0 || is_complete == 0) return "";
  const bool has_codes = decoder_->codec_id == AV_CODEC_ID_ASS || decoder_->codec_id == AV_CODEC_ID_SSA;
  const CueMarkup markup = has_codes ? CueMarkup::kCodes : CueMarkup::kNone;
  std::string text;
  for (unsigned i = 0; i < subtitle.num_rects; ++i) {
    const AVSubtitleRect& rect = *subtitle.rects[i];
    if (rect.ass == nullptr) continue;
    const std::string line = PlainText(rect.ass, markup);
    if (line.empty()) continue;
    text += (text.empty() ? "" : "\n") + line;
  }
  if (duration_us <= 0 && subtitle.end_display_time > 0 && subtitle.end_display_time < 600'000) {
    duration_us = std::int64_t{subtitle.end_display_time} * 1000;
  }
  return text;
}

void SubtitleTrack::Send(const AVPacket& packet) {
  if (packet.pts == AV_NOPTS_VALUE || packet.size <= 0) return;
  std::int64_t duration = packet.duration > 0 ? av_rescale_q(packet.duration, time_base_, kMicroseconds) : 0;
  std::string text = Decode(packet, duration);
  if (duration <= 0) duration = kUnknownDuration_us;
  const std::int64_t start = av_rescale_q(packet.pts, time_base_, kMicroseconds) - origin_.In(kMicroseconds);
  const std::lock_guard lock(mutex_);
  timeline_.Add(start, start + duration, std::move(text));
}

void SubtitleTrack::AdvanceTo(std::int64_t time_us) {
  const std::lock_guard lock(mutex_);
  timeline_.AdvanceTo(time_us, [this](std::int64_t start, std::int64_t duration, const std::string& text) {
    Write(start, duration, text);
  });
}

void SubtitleTrack::Finish(std::int64_t end_us) {
  const std::lock_guard lock(mutex_);
  timeline_.Finish(end_us, [this](std::int64_t start, std::int64_t duration, const std::string& text) {
    Write(start, duration, text);
  });
}

void SubtitleTrack::Write(std::int64_t start_us, std::int64_t duration_us, const std::string& text) {
  // 3GPP TS 26.245: 16 bits of length, then the text.
  CheckAv(av_new_packet(packet_.get(), static_cast<int>(text.size()) + 2), ErrorCode::kInternal, "No memory");
  packet_->data[0] = static_cast<std::uint8_t>(text.size() >> 8);
  packet_->data[1] = static_cast<std::uint8_t>(text.size());
  std::memcpy(packet_->data + 2, text.data(), text.size());
  packet_->pts = packet_->dts = start_us;
  packet_->duration = duration_us;
  packet_->time_base = kMicroseconds;
  packet_->flags = AV_PKT_FLAG_KEY;
  muxer_.Write(index_, *packet_);
  av_packet_unref(packet_.get());
}

}  // namespace reelmend::media
