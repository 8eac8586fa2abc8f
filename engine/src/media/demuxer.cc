#include "media/demuxer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "media/av_error.h"
#include "media/encryption.h"
#include "media/source_policy.h"
#include "media/timestamps.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

[[noreturn]] void ThrowUnreadable(const std::string& sentence) {
  throw Error(ErrorCode::kUnreadableVideo, sentence);
}

bool IsStillPicture(const AVStream* stream) {
  constexpr int kStill = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS | AV_DISPOSITION_STILL_IMAGE;
  return (stream->disposition & kStill) != 0;
}

/// Whether a stream is part of the film, not an attached file such as a cover or a font.
bool IsTrack(const AVStream* stream) {
  return stream->codecpar->codec_type != AVMEDIA_TYPE_ATTACHMENT && (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
}

/// Note [Late streams]
/// Transport and program streams describe a stream only in its packets. libav reads packets of 5 MB or 7 s to find them, and a stream that
/// begins later stays without parameters, so it can be neither copied nor decoded. Then the file is opened again and libav reads packets of
/// up to kFarBytes. Other files are read as before. Sound that begins later still is encoded in a common format, see MakeEncodedAudio.
constexpr std::int64_t kFarBytes = 32 << 20;
constexpr std::int64_t kFarMicroseconds = std::int64_t{3600} * AV_TIME_BASE;  // the bytes are the limit

/// Whether the stream could be decoded, but no packet of it has been read.
bool IsLate(const AVStream* stream) {
  constexpr unsigned kAacLatm = 0x11;  // stream type of ISO/IEC 13818-1; libav names its codec after the first packet
  const AVCodecParameters& codec = *stream->codecpar;
  if (codec.codec_type == AVMEDIA_TYPE_UNKNOWN) return codec.codec_tag == kAacLatm;
  if (FindAllowedDecoder(codec.codec_id) == nullptr) return false;
  if (codec.codec_type == AVMEDIA_TYPE_AUDIO) return codec.sample_rate <= 0 || codec.ch_layout.nb_channels <= 0;
  return codec.codec_type == AVMEDIA_TYPE_VIDEO && codec.width <= 0;
}

bool HasLateStream(const AVFormatContext& context) {
  const std::string_view format = context.iformat->name;
  return (format == "mpegts" || format == "mpeg") && std::any_of(context.streams, context.streams + context.nb_streams, IsLate);
}

/// Whether a stream may be part of the film, or become one: libav names the type of some when it has read a packet.
bool MayBeWanted(const AVFormatContext& context, const AVCodecParameters& codec, bool with_subtitles) {
  switch (codec.codec_type) {
    case AVMEDIA_TYPE_UNKNOWN:
    case AVMEDIA_TYPE_VIDEO:
    case AVMEDIA_TYPE_AUDIO: return true;
    case AVMEDIA_TYPE_SUBTITLE: return with_subtitles && IsTextSubtitle(codec.codec_id);
    // Sound of a transport stream that only states that it is private, as in AVCHD files that FFmpeg has made.
    case AVMEDIA_TYPE_DATA: return codec.codec_id == AV_CODEC_ID_BIN_DATA && std::string_view(context.iformat->name) == "mpegts";
    default: return false;
  }
}

/// Samples of the chosen streams that lie beyond the end of the file, by the container's index.
std::int64_t CountMissingSamples(const AVFormatContext& context, std::int64_t size) {
  std::int64_t missing = 0;
  for (unsigned i = 0; i < context.nb_streams; ++i) {
    AVStream* stream = context.streams[i];
    if (stream->discard == AVDISCARD_ALL) continue;
    for (int at = 0; at < avformat_index_get_entries_count(stream); ++at) {
      const AVIndexEntry* entry = avformat_index_get_entry(stream, at);
      if (!IsHeld(*entry, size)) ++missing;
    }
  }
  return missing;
}

/// See Note [Absurd timestamps]. A damaged file may also show its last picture for years: MP4 needs many samples for that, and the encoder
/// would repeat the picture for each.
void ForgetAbsurdTimes(AVPacket& packet, const AVStream& stream) {
  constexpr std::int64_t kLongestPicture_s = 100 * 3600;
  for (std::int64_t* time : {&packet.pts, &packet.dts}) {
    if (*time != AV_NOPTS_VALUE && IsAbsurd(*time, stream.time_base)) *time = AV_NOPTS_VALUE;
  }
  const bool is_picture = stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
  const bool is_endless = is_picture && av_compare_ts(packet.duration, stream.time_base, kLongestPicture_s, {1, 1}) > 0;
  if (packet.duration < 0 || is_endless || IsAbsurd(packet.duration, stream.time_base)) packet.duration = 0;
}

constexpr std::int64_t kMostReordered = 16;  ///< frames that a decoder can hold back

/// When the frame is shown; AV_NOPTS_VALUE if that is not known, or the edit list cuts it off.
std::int64_t TimeOf(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) return AV_NOPTS_VALUE;
  return packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
}

/// Rank of a video track; greater is better. A track of one frame is a still, whatever its size (phones put one beside the
/// film). Then the default flag decides, then the size.
auto VideoRank(const AVStream& stream, std::int64_t frames) {
  const std::int64_t area = std::int64_t{stream.codecpar->width} * stream.codecpar->height;
  return std::tuple(frames > 1, (stream.disposition & AV_DISPOSITION_DEFAULT) != 0, area);
}

bool Holds(const AVProgram& program, const AVStream* stream) {
  return std::ranges::count(std::span(program.stream_index, program.nb_stream_indexes), static_cast<unsigned>(stream->index)) > 0;
}

/// Whether a track belongs to other programmes than the video. A recording of a whole channel of a transmitter holds several.
bool IsOfOtherProgram(AVFormatContext& context, const AVStream* stream, const AVStream* video) {
  if (av_find_program_from_stream(&context, nullptr, video->index) == nullptr) return false;
  AVProgram* program = nullptr;
  bool is_in_one = false;
  while ((program = av_find_program_from_stream(&context, program, stream->index)) != nullptr) {
    if (Holds(*program, video)) return false;
    is_in_one = true;
  }
  return is_in_one;
}

}  // namespace

void CheckPixelLimit(std::int64_t width, std::int64_t height, const SourceLimits& limits) {
  if (width * height > limits.max_pixels) {
    throw Error(ErrorCode::kLimitExceeded, "The picture of " + std::to_string(width) + "×" + std::to_string(height) +
                                               " pixels is larger than this service takes.");
  }
}

Demuxer::Demuxer(ByteSource& source, const DemuxerOptions& options)
    : options_(options), io_(source, options.is_cancelled) {
  QuietLibav();
  if (source.size() <= 0) ThrowUnreadable("The file is empty.");
  ReadHeaders();
  if (HasLateStream(*context_)) {
    is_searched_far_ = true;
    context_.reset();
    avio_seek(io_.context(), 0, SEEK_SET);
    ReadHeaders();
  }
  ChooseStreams();
}

void Demuxer::ReadHeaders() {
  Open();
  // Checked before the first packets are read, because libav may fail on encrypted ones.
  const bool is_encrypted = IsEncrypted(*context_);
  io_.RethrowPending();
  if (is_encrypted) ThrowEncrypted();
  Describe();
}

void Demuxer::Open() {
  AVFormatContext* context = CheckAlloc(avformat_alloc_context());
  context->pb = io_.context();
  context->io_open = &RefuseToOpen;
  context->interrupt_callback = io_.interrupt_callback();
  // One more than allowed, to notice an excess: Matroska's reader silently drops the streams beyond its limit.
  context->max_streams = options_.limits.max_streams + 1;
  context->flags |= AVFMT_FLAG_CUSTOM_IO;
  Dictionary settings;
  settings.Set("format_whitelist", AllowedDemuxers());
  settings.Set("codec_whitelist", AllowedDecoders());
  settings.Set("protocol_whitelist", "none");
  if (is_searched_far_) {
    settings.Set("probesize", kFarBytes);
    settings.Set("analyzeduration", kFarMicroseconds);
  }
  // On failure libav frees the context itself and sets the pointer to null.
  const int result = avformat_open_input(&context, nullptr, nullptr, settings.address());
  context_.reset(context);
  if (result >= 0) return;
  io_.RethrowPending();
  const bool is_encrypted = IsEncryptedMp4(*io_.context());
  io_.RethrowPending();
  if (is_encrypted) ThrowEncrypted();
  // libav returns ENOMEM for one stream too many, and for headers that ask for absurd amounts of memory.
  if (result == AVERROR(ENOMEM)) {
    throw Error(ErrorCode::kLimitExceeded, "The file holds more streams or larger tables than this service takes.");
  }
  if (result == AVERROR(EINVAL)) ThrowUnreadable("The file is in a format that is not supported as a video.");
  ThrowUnreadable("The file is not a video that can be read, or it is cut off.");
}

void Demuxer::Describe() {
  if (std::count_if(context_->streams, context_->streams + context_->nb_streams, IsTrack) > options_.limits.max_streams) {
    throw Error(ErrorCode::kLimitExceeded, "The file holds more streams than this service takes.");
  }
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    const AVCodecParameters& codec = *context_->streams[i]->codecpar;
    // Checked before libav allocates a frame of this size.
    if (codec.codec_type == AVMEDIA_TYPE_VIDEO) CheckPixelLimit(codec.width, codec.height, options_.limits);
    // Set now, because the packets read by avformat_find_stream_info are the first ones that are handed out.
    if (!MayBeWanted(*context_, codec, options_.with_subtitles)) context_->streams[i]->discard = AVDISCARD_ALL;
  }
  std::vector<Dictionary> settings(context_->nb_streams);
  std::vector<AVDictionary*> entries;
  for (Dictionary& dictionary : settings) {
    dictionary.Set("max_pixels", options_.limits.max_pixels);
    dictionary.Set("threads", std::int64_t{1});
    entries.push_back(*dictionary.address());
  }
  const int result = avformat_find_stream_info(context_.get(), entries.empty() ? nullptr : entries.data());
  for (std::size_t i = 0; i < entries.size(); ++i) *settings[i].address() = entries[i];  // libav replaced them
  io_.RethrowPending();
  if (result < 0) ThrowUnreadable("The file's streams cannot be read.");
}

void Demuxer::ChooseStreams() {
  bool has_still = false;
  const AVStream* unsupported = nullptr;
  std::vector<AVStream*> candidates;
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    AVStream* stream = context_->streams[i];
    if (stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) {
      audio_.push_back(stream);
    } else if (stream->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE) {
      if (options_.with_subtitles && IsTextSubtitle(stream->codecpar->codec_id)) subtitles_.push_back(stream);
    } else if (stream->codecpar->codec_type != AVMEDIA_TYPE_VIDEO) {
      continue;
    } else if (IsStillPicture(stream)) {
      has_still = true;
    } else if (FindAllowedDecoder(stream->codecpar->codec_id) == nullptr) {
      if (unsupported == nullptr) unsupported = stream;
    } else {
      candidates.push_back(stream);
    }
  }
  if (candidates.empty()) {
    if (unsupported != nullptr) ThrowUnreadable(WhyUnsupported(unsupported->codecpar->codec_id));
    if (has_still) ThrowUnreadable("The file holds a still picture but no video.");
    ThrowUnreadable(audio_.empty() ? "The file holds no video." : "The file holds sound but no video.");
  }
  video_ = ChooseVideo(candidates);
  CheckPixelLimit(video_->codecpar->width, video_->codecpar->height, options_.limits);
  for (std::vector<AVStream*>* tracks : {&audio_, &subtitles_}) {
    std::erase_if(*tracks, [this](const AVStream* stream) { return IsOfOtherProgram(*context_, stream, video_); });
  }
  for (unsigned i = 0; i < context_->nb_streams; ++i) context_->streams[i]->discard = AVDISCARD_ALL;
  video_->discard = AVDISCARD_DEFAULT;
  for (AVStream* stream : audio_) stream->discard = AVDISCARD_DEFAULT;
  for (AVStream* stream : subtitles_) stream->discard = AVDISCARD_DEFAULT;
}

AVStream* Demuxer::ChooseVideo(const std::vector<AVStream*>& candidates) {
  if (candidates.size() == 1) return candidates[0];
  const std::vector<std::int64_t> frames = CountFrames(candidates);
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (VideoRank(*candidates[i], frames[i]) > VideoRank(*candidates[best], frames[best])) best = i;
  }
  return candidates[best];
}

/// Number of frames of each track according to the container. For tracks without a number: how many of the first packets
/// belong to it, up to two.
std::vector<std::int64_t> Demuxer::CountFrames(const std::vector<AVStream*>& streams) {
  constexpr std::size_t kMostPackets = 1'000;
  constexpr std::int64_t kMostBytes = 8 << 20;
  std::vector<std::int64_t> frames;
  for (const AVStream* stream : streams) frames.push_back(stream->nb_frames);
  std::int64_t wanted = 2 * std::ranges::count(frames, 0);
  for (std::int64_t bytes = 0; wanted > 0 && bytes < kMostBytes && ahead_.size() < kMostPackets;) {
    UniquePacket packet = MakePacket();
    if (!ReadAny(packet.get())) break;
    bytes += packet->size;
    const auto at = std::ranges::find(streams, context_->streams[packet->stream_index]);
    ahead_.push_back(std::move(packet));
    if (at == streams.end() || (*at)->nb_frames > 0) continue;
    if (++frames[static_cast<std::size_t>(at - streams.begin())] <= 2) --wanted;
  }
  return frames;
}

/// Note [Missing samples]
/// In an MP4 that is cut off, samples may be missing between others by time: where the sound is stored behind the pictures, most of the
/// pictures come after the first missing sound. libav reports the end of the file at each missing sample. The next call continues with the
/// next sample, so there are as many more calls as samples are missing.
bool Demuxer::SkipMissingSample() {
  if (!missing_samples_) {
    const bool has_index = std::strstr(context_->iformat->name, "mov") != nullptr;
    missing_samples_ = has_index ? CountMissingSamples(*context_, io_.size()) : 0;
  }
  return (*missing_samples_)-- > 0;
}

/// Reads the next packet of any stream. Returns false at the end.
bool Demuxer::ReadAny(AVPacket* packet) {
  int result = AVERROR(EAGAIN);
  while (result == AVERROR(EAGAIN) || ((result == AVERROR_EOF || result == AVERROR_INVALIDDATA) && SkipMissingSample())) {
    result = av_read_frame(context_.get(), packet);
    io_.RethrowPending();
  }
  // Usually a packet whose damaged size asks for gigabytes.
  if (result == AVERROR(ENOMEM)) ThrowUnreadable("A part of the file claims to be larger than can be held in memory.");
  if (result < 0) return false;
  if (IsEncrypted(*packet)) ThrowEncrypted();
  CountPacket();
  ForgetAbsurdTimes(*packet, *context_->streams[packet->stream_index]);
  UnwrapTimes(*packet);
  RepeatParameters(*packet);
  return true;
}

/// Note [Wrapped clocks]
/// Some clocks start again, those of transport and program streams after 26.5 hours. libav adds that length to times that are more than a
/// minute before the file's first one. In joined recordings these are times of a recording whose clock is behind. So a step of more than half
/// the length is taken as one in the other direction.
void Demuxer::UnwrapTimes(AVPacket& packet) {
  constexpr int kLongestClock_bits = 48;
  const auto index = static_cast<std::size_t>(packet.stream_index);
  const int bits = context_->streams[index]->pts_wrap_bits;
  const std::int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (bits <= 0 || bits > kLongestClock_bits || time == AV_NOPTS_VALUE) return;
  if (index >= clocks_.size()) clocks_.resize(index + 1);
  WrappedClock& clock = clocks_[index];
  const std::int64_t length = std::int64_t{1} << bits;
  const std::int64_t step = clock.last == AV_NOPTS_VALUE ? 0 : time + clock.shift - clock.last;
  if (std::abs(step) > length / 2) clock.shift += step > 0 ? -length : length;
  clock.last = time + clock.shift;
  for (std::int64_t* stamp : {&packet.pts, &packet.dts}) {
    if (*stamp != AV_NOPTS_VALUE) *stamp += clock.shift;
  }
}

/// Note [Changed parameters]
/// An MP4 that was joined from videos of several encoders has several descriptions. libav brings each with the first packet that it applies
/// to, and after seeking only if it is another than that of the packet before. The decoder may have been opened since then, so the first
/// packet after seeking brings it again.
void Demuxer::RepeatParameters(AVPacket& packet) {
  if (video_ == nullptr || packet.stream_index != video_->index) return;
  std::size_t size = 0;
  const std::uint8_t* stated = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (stated != nullptr) {
    parameters_.assign(stated, stated + size);
  } else if (repeats_parameters_ && !parameters_.empty()) {
    std::ranges::copy(parameters_, CheckAlloc(av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, parameters_.size())));
  }
  repeats_parameters_ = false;
}

/// Note [Damaged first time]
/// The first frame has none before it that could show that its time is damaged, as Note [Damaged times] requires. If the two frames after it
/// agree on an earlier time, it is: a clock that starts again after a single frame would look the same, and loses nothing. Otherwise the
/// video would begin too late, and would be measured too short and shown after its sound. A time too early looks like a pause.
void Demuxer::MendFirstTime() {
  constexpr std::size_t kWitnesses = 2;
  const std::vector<AVPacket*> frames = ReadAhead(1 + kWitnesses);
  if (frames.size() <= kWitnesses) return;
  AVPacket& first = *frames[0];
  if (std::ranges::any_of(frames, [](const AVPacket* frame) { return TimeOf(*frame) == AV_NOPTS_VALUE; })) return;
  const std::int64_t step = first.duration > 0 ? first.duration : std::abs(TimeOf(*frames[1]) - TimeOf(*frames[2]));
  const std::int64_t away = std::max(ToTicks(1, video_->time_base), kMostReordered * step);
  if (TimeOf(first) - std::max(TimeOf(*frames[1]), TimeOf(*frames[2])) <= away) return;
  std::int64_t earliest = TimeOf(first);
  for (const AVPacket* frame : ReadAhead(1 + kMostReordered)) {
    if (TimeOf(*frame) != AV_NOPTS_VALUE) earliest = std::min(earliest, TimeOf(*frame));
  }
  first.pts = earliest - step;
  const std::int64_t next_decode = frames[1]->dts;
  if (first.dts > first.pts) first.dts = next_decode == AV_NOPTS_VALUE ? AV_NOPTS_VALUE : next_decode - step;
}

/// Reads until so many packets of the video are ahead, and returns them. Fewer if the file ends, or has much else in between.
std::vector<AVPacket*> Demuxer::ReadAhead(std::size_t frames) {
  constexpr std::size_t kMostPackets = 1'000;
  std::vector<AVPacket*> found;
  for (std::size_t at = 0; found.size() < frames && at < kMostPackets; ++at) {
    if (at == ahead_.size()) {
      UniquePacket packet = MakePacket();
      if (!ReadAny(packet.get())) break;
      ahead_.push_back(std::move(packet));
    }
    if (context_->streams[ahead_[at]->stream_index] == video_) found.push_back(ahead_[at].get());
  }
  return found;
}

bool Demuxer::ReadPacket(AVPacket* packet) {
  if (!std::exchange(is_first_checked_, true)) MendFirstTime();
  for (;;) {
    if (ahead_.empty()) {
      if (!ReadAny(packet)) return false;
    } else {
      av_packet_move_ref(packet, ahead_.front().get());
      ahead_.pop_front();
    }
    // Streams may appear while reading (MPEG-TS); only the chosen ones are returned.
    const AVStream* stream = context_->streams[packet->stream_index];
    const bool is_chosen = stream == video_ || std::ranges::count(audio_, stream) > 0 ||
                           std::ranges::count(subtitles_, stream) > 0;
    if (is_chosen && stream->discard != AVDISCARD_ALL) return true;
    av_packet_unref(packet);
  }
}

/// Ends a demuxer that a damaged file sends in circles, which would return packets forever.
void Demuxer::CountPacket() {
  constexpr double kMostPerSecondAndStream = 2'000;
  const double limit_s = options_.limits.max_duration_s;
  if (limit_s <= 0) return;
  const double most = (limit_s + 60) * kMostPerSecondAndStream * context_->nb_streams;
  if (static_cast<double>(++packets_) <= most) return;
  throw Error(ErrorCode::kLimitExceeded, "The file has more packets than the longest allowed video can have.");
}

void Demuxer::ReadVideoOnly() {
  for (AVStream* stream : audio_) stream->discard = AVDISCARD_ALL;
  for (AVStream* stream : subtitles_) stream->discard = AVDISCARD_ALL;
}

void Demuxer::ForgetPosition() {
  ahead_.clear();
  clocks_.clear();
  is_first_checked_ = false;
  repeats_parameters_ = true;
  missing_samples_.reset();
}

bool Demuxer::SeekToIndexed(std::int64_t timestamp) {
  ForgetPosition();
  is_first_checked_ = true;  // in the middle of the video
  const int result = av_seek_frame(context_.get(), video_->index, timestamp, AVSEEK_FLAG_ANY | AVSEEK_FLAG_BACKWARD);
  io_.RethrowPending();
  return result >= 0;
}

bool Demuxer::SeekBefore(std::int64_t timestamp) {
  ForgetPosition();
  const int result =
      avformat_seek_file(context_.get(), video_->index, std::numeric_limits<std::int64_t>::min(), timestamp, timestamp, 0);
  io_.RethrowPending();
  return result >= 0;
}

/// Keeps the clocks: a time far from the one before it is unwrapped as one that was read in order.
bool Demuxer::SeekToByte(std::int64_t position) {
  ahead_.clear();
  is_first_checked_ = true;
  const int result = av_seek_frame(context_.get(), -1, position, AVSEEK_FLAG_BYTE);
  io_.RethrowPending();
  return result >= 0;
}

}  // namespace reelmend::media
