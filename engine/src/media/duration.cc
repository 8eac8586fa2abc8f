#include "media/duration.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "media/av_error.h"
#include "media/byte_io.h"
#include "media/clock_sampler.h"
#include "media/completeness.h"
#include "media/container_format.h"
#include "media/frame_count.h"
#include "media/matroska.h"
#include "media/spliced_source.h"
#include "media/timestamps.h"
#include "reelmend/error.h"

namespace reelmend::media {
namespace {

/// A declared duration counts if what was measured differs by no more.
constexpr double kAgreed_s = 1;

/// A video whose duration is wanted.
struct Source {
  Demuxer& demuxer;
  SpanMeter& start;  ///< has seen the packets from the beginning of the file up to the demuxer's position
  ByteSource& bytes;

  const AVStream& video() const { return *demuxer.video(); }
  const AVFormatContext& context() const { return *demuxer.context(); }
  /// Whether libav's durations are derived from the bit rate, and so are worth nothing.
  bool is_guess() const { return context().duration_estimation_method == AVFMT_DURATION_FROM_BITRATE; }
  /// Whether the container has one duration for all its streams.
  bool has_common_duration() const { return !is_guess() && context().duration != AV_NOPTS_VALUE && context().duration > 0; }
  /// Whether the container declares only that one, and supports seeking.
  bool is_indexed() const { return IsFormat(demuxer, "matroska") || IsFormat(demuxer, "asf"); }
};

/// Note [Durations of files that are cut off]
/// The header or index of a file still lists what was lost with its end. When all packets are read, only what the file holds counts. So the
/// rules here look for the last sample that the file holds, too. Otherwise the job would end as `source_changed`.

/// Entry of MP4's index for the last sample that the file holds and that the edit list does not cut off; -1 if there is none.
int LastHeld(const Demuxer& demuxer) {
  AVStream* video = demuxer.video();
  int last = avformat_index_get_entries_count(video) - 1;
  for (; last >= 0; --last) {
    const AVIndexEntry* entry = avformat_index_get_entry(video, last);
    if (IsHeld(*entry, demuxer.size_bytes()) && (entry->flags & AVINDEX_DISCARD_FRAME) == 0) break;
  }
  return last;
}

/// Fragmented MP4: with every stream discarded, libav reads the fragments' headers and skips the media data. Its index then
/// knows every sample. Returns the decoding time of the last one that the file holds; nothing if there is none.
std::optional<std::int64_t> LastIndexed(Demuxer& demuxer) {
  AVStream* video = demuxer.video();
  demuxer.ReadVideoOnly();
  video->discard = AVDISCARD_ALL;
  const UniquePacket packet = MakePacket();
  while (demuxer.ReadPacket(packet.get())) av_packet_unref(packet.get());
  video->discard = AVDISCARD_DEFAULT;
  const int last = LastHeld(demuxer);
  return last < 0 ? std::nullopt : std::optional(avformat_index_get_entry(video, last)->timestamp);
}

/// Offset of the first fragment's header (box `moof`, which begins with `mfhd`) in a part of the file; nothing if there is none.
std::optional<std::int64_t> FindFragment(const std::vector<std::uint8_t>& bytes) {
  constexpr std::uint8_t kBegin[] = {'m', 'o', 'o', 'f', 0, 0, 0, 16, 'm', 'f', 'h', 'd'};
  constexpr std::ptrdiff_t kSize = 4;  // stands before
  const auto found = std::search(bytes.begin() + std::min<std::ptrdiff_t>(kSize, std::ssize(bytes)), bytes.end(), std::begin(kBegin), std::end(kBegin));
  return found == bytes.end() ? std::nullopt : std::optional(found - bytes.begin() - kSize);
}

/// Decoding time of the last sample of a large file, from the header and the last fragments alone: hundreds of fragments are too much for a
/// remote source. (Where the file has no index of its fragments, libav has read all of them.) Nothing if they do not state their times.
std::optional<std::int64_t> LastInTail(const Demuxer& whole, std::int64_t first, ByteSource& source) {
  constexpr std::size_t kHead = 1 << 20;
  const auto head_end = FindFragment(ReadBytes(source, 0, kHead));
  for (const std::int64_t bytes : {2 << 20, 16 << 20}) {
    const std::int64_t from = source.size() - bytes;
    if (!head_end || from <= bytes) break;
    const auto fragment = FindFragment(ReadBytes(source, from, static_cast<std::size_t>(bytes)));
    if (!fragment) continue;
    SplicedSource spliced(source, *head_end, from + *fragment);
    try {
      Demuxer demuxer(spliced, whole.options());
      const AVIndexEntry* entry = avformat_index_get_entry(demuxer.video(), 0);
      const bool has_times = demuxer.video()->index == whole.video()->index && entry != nullptr && entry->timestamp > first;
      if (has_times) return LastIndexed(demuxer);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnreadableVideo) throw;
    }
  }
  return std::nullopt;
}

/// From the fragments of an MP4: its header knows no samples.
std::optional<Duration> OfFragments(const Source& source) {
  const AVStream& video = source.video();
  if (!IsFormat(source.demuxer, "mov") || video.nb_frames != 0) return std::nullopt;
  const AVIndexEntry* entry = avformat_index_get_entry(source.demuxer.video(), 0);
  if (entry == nullptr) return Duration{source.start.duration_s(), false};
  const std::int64_t first = entry->timestamp;
  auto last = LastInTail(source.demuxer, first, source.bytes);
  if (!last) last = LastIndexed(source.demuxer);
  const double ticks = static_cast<double>(last.value_or(first)) - static_cast<double>(first) + static_cast<double>(NominalInterval(video));
  return Duration{ticks * av_q2d(video.time_base), true};
}

/// An AVI that declares no end was written to a pipe: everything is read. So is one that is cut off before its index, from whose size libav
/// guesses the duration, unless it is large.
std::optional<Duration> OfAviWithoutIndex(const Source& source) {
  constexpr std::int64_t kLarge = 256 << 20;
  if (!IsFormat(source.demuxer, "avi")) return std::nullopt;
  const std::int64_t size = source.bytes.size();
  const std::int64_t end = DeclaredEnd(source.demuxer, source.bytes);
  const bool has_index = IndexedFrames(source.demuxer) >= source.video().nb_frames;
  if (end >= 0 && (end <= size || has_index || size > kLarge)) return std::nullopt;
  return WalkedDuration(source.demuxer, source.start);
}

/// Bytes of an AVI behind `from` that its index and its dropped frames account for.
std::int64_t ExplainedBytes(const AVFormatContext& context, std::int64_t from, std::int64_t dropped) {
  constexpr std::int64_t kChunkHeader = 8;
  constexpr std::int64_t kEntries = 24;  // in the two kinds of index
  std::int64_t chunks = dropped;
  std::int64_t bytes = 0;
  for (unsigned i = 0; i < context.nb_streams; ++i) {
    for (int n = avformat_index_get_entries_count(context.streams[i]) - 1; n >= 0; --n, ++chunks) {
      const AVIndexEntry* entry = avformat_index_get_entry(context.streams[i], n);
      if (entry->pos > from) bytes += kChunkHeader + entry->size;
    }
  }
  return bytes + chunks * kEntries + dropped * kChunkHeader;
}

/// AVI counts dropped frames, which have no bytes, in the stream's duration. The video ends with its last frame that has some, as when all
/// packets are read. The index names it, unless there is more behind it than the index knows.
std::optional<Duration> OfAviIndex(const Source& source) {
  constexpr std::int64_t kOther = 64 << 10;  // lists, padding, text
  const AVStream& video = source.video();
  const int count = avformat_index_get_entries_count(&video);
  if (!IsFormat(source.demuxer, "avi") || count == 0 || video.duration == AV_NOPTS_VALUE) return std::nullopt;
  const AVIndexEntry* last = avformat_index_get_entry(source.demuxer.video(), count - 1);
  const std::int64_t end = last->pos + last->size;
  const std::int64_t dropped = video.duration - last->timestamp - 1;
  if (static_cast<double>(dropped) * av_q2d(video.time_base) < kAgreed_s) return std::nullopt;
  if (source.bytes.size() - end > ExplainedBytes(source.context(), last->pos, dropped) + kOther) return std::nullopt;
  const double seconds = static_cast<double>(last->timestamp + 1) * av_q2d(video.time_base) - source.start.first_s();
  return Duration{std::max(seconds, source.start.duration_s()), false};
}

/// An IVF that was written to a pipe has a placeholder for its length: everything is read.
std::optional<Duration> OfPipedIvf(const Source& source) {
  constexpr std::int64_t kPlaceholder = 0xFFFFFFFF;
  if (!IsFormat(source.demuxer, "ivf") || source.video().duration != kPlaceholder) return std::nullopt;
  return WalkedDuration(source.demuxer, source.start);
}

/// Transport and program streams.
std::optional<Duration> OfSampledClock(const Source& source) { return SampledDuration(source.demuxer, source.start); }

/// Reads everything if libav's estimate is longer than a half turn of the clock. It then counts a recording whose clock is behind as one
/// after a wrap: Note [Wrapped clocks] in demuxer.cc.
std::optional<Duration> OfWrappedClock(const Source& source) {
  const AVStream& video = source.video();
  if (video.pts_wrap_bits <= 0 || video.pts_wrap_bits >= 63) return std::nullopt;
  const double half_s = static_cast<double>(std::int64_t{1} << video.pts_wrap_bits) / 2 * av_q2d(video.time_base);
  if (static_cast<double>(source.context().duration) / AV_TIME_BASE <= half_s) return std::nullopt;
  return WalkedDuration(source.demuxer, source.start);
}

/// Note [Samples at the end]
/// MP4 states when samples are decoded, and how much later each is shown. libav's duration is that of decoding, or the header's if that is
/// shorter. With B-frames, the last pictures are decoded some frames before they are shown: after a pause, as before the last picture of a
/// slide show, that is seconds before. And a header may state far too little, or list samples that are cut off. So the samples that may be
/// shown last are read, and count if they disagree.
Duration SampleTableDuration(Demuxer& demuxer, const SpanMeter& start, double declared_s) {
  AVStream* video = demuxer.video();
  const int last = LastHeld(demuxer);
  if (last < 0) return {declared_s, false};
  const AVIndexEntry* entry = avformat_index_get_entry(video, std::max(0, last - std::max(0, video->codecpar->video_delay)));
  if (entry == nullptr || !demuxer.SeekToIndexed(entry->timestamp)) return {declared_s, false};
  demuxer.ReadVideoOnly();
  SpanMeter tail(*video);
  const UniquePacket packet = MakePacket();
  for (; demuxer.ReadPacket(packet.get()); av_packet_unref(packet.get())) tail.Add(*packet);
  const double measured_s = tail.empty() ? declared_s : tail.end_s() - start.first_s();
  return {std::abs(measured_s - declared_s) > kAgreed_s ? measured_s : declared_s, false};
}

/// As declared for the stream.
std::optional<Duration> OfStream(const Source& source) {
  const AVStream& video = source.video();
  if (source.is_guess() || source.is_indexed() || video.duration == AV_NOPTS_VALUE || video.duration <= 0) return std::nullopt;
  const double seconds = static_cast<double>(video.duration) * av_q2d(video.time_base);
  const double declared_s = std::max(seconds - source.start.undecodable_lead_s(), source.start.duration_s());
  return IsFormat(source.demuxer, "mov") ? SampleTableDuration(source.demuxer, source.start, declared_s) : Duration{declared_s, false};
}

std::uint32_t BigEndian(const std::uint8_t* bytes, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

constexpr std::size_t kFlashTagHeader = 11;

/// Size of the FLV tag that ends at `end`, where its size stands again in four bytes; 0 if none does.
std::size_t FlashTagSize(const std::vector<std::uint8_t>& bytes, std::size_t end) {
  const std::size_t size = BigEndian(&bytes[end - 4], 4);
  if (size < kFlashTagHeader || size + 4 > end) return 0;
  const std::uint8_t* tag = &bytes[end - 4 - size];
  return BigEndian(tag + 1, 3) + kFlashTagHeader == size ? size : 0;
}

/// FLV declares only the longest stream's duration and has no index, but its tags are followed by their sizes. So this reads
/// back from the end of the file to the last video tag. Returns 0 if there is none.
Duration DurationToLastTag(const Demuxer& demuxer, const SpanMeter& start, ByteSource& source) {
  constexpr std::int64_t kTailBytes = 1 << 20;
  constexpr int kVideoTag = 9;
  const std::int64_t from = std::max<std::int64_t>(0, source.size() - kTailBytes);
  const std::vector<std::uint8_t> tail = ReadBytes(source, from, kTailBytes);
  std::size_t end = tail.size();
  while (end >= kFlashTagHeader + 4 && FlashTagSize(tail, end) == 0) --end;  // a file that is cut off ends in the middle of a tag
  while (end >= kFlashTagHeader + 4) {
    const std::size_t size = FlashTagSize(tail, end);
    if (size == 0) return {};
    const std::uint8_t* tag = &tail[end - 4 - size];
    const std::uint32_t time_ms = BigEndian(tag + 4, 3) | std::uint32_t{tag[7]} << 24;
    const double interval_s = static_cast<double>(NominalInterval(*demuxer.video())) * av_q2d(demuxer.video()->time_base);
    // A video tag of 5 bytes only marks the end of the sequence. The time of a tag is that of decoding.
    if ((tag[0] & 0x1F) == kVideoTag && size > kFlashTagHeader + 5) {
      return {time_ms / 1000.0 - start.first_decode_s() - start.undecodable_lead_s() + interval_s, false};
    }
    end -= 4 + size;
  }
  return {};
}

std::optional<Duration> OfFlash(const Source& source) {
  if (!IsFormat(source.demuxer, "flv")) return std::nullopt;
  const Duration duration = DurationToLastTag(source.demuxer, source.start, source.bytes);
  return duration.seconds >= source.start.duration_s() ? std::optional(duration) : std::nullopt;
}

/// For containers that declare only their own duration, which the sound may extend: measures the last packets, from the last key frame on.
/// If that is too far from the end, as where only the first frame is one, the declared duration counts.
std::optional<Duration> OfTail(const Source& source) {
  constexpr std::int64_t kPacketLimit = 5'000;
  if (!source.is_indexed() || !source.has_common_duration()) return std::nullopt;
  Demuxer& demuxer = source.demuxer;
  const SpanMeter& start = source.start;
  AVStream* video = demuxer.video();
  const double declared_s = static_cast<double>(demuxer.context()->duration) / AV_TIME_BASE;
  const std::int64_t target = ToTicks(start.first_s() + declared_s, video->time_base);
  SpanMeter tail(*video);
  if (demuxer.SeekBefore(target)) {
    demuxer.ReadVideoOnly();
    const UniquePacket packet = MakePacket();
    for (; tail.packets() < kPacketLimit && demuxer.ReadPacket(packet.get()); av_packet_unref(packet.get())) tail.Add(*packet);
  }
  if (tail.packets() == kPacketLimit) return Duration{std::max(declared_s - start.first_s(), tail.end_s() - start.first_s()), false};
  if (tail.empty() || tail.end_s() <= start.last_s()) return Duration{declared_s, false};
  return Duration{tail.end_s() - start.first_s(), false};
}

/// As declared for all streams together.
std::optional<Duration> OfContainer(const Source& source) {
  if (!source.has_common_duration()) return std::nullopt;
  return Duration{static_cast<double>(source.context().duration) / AV_TIME_BASE, false};
}

std::optional<Duration> OfStreamedMatroska(const Source& source) {
  if (!IsFormat(source.demuxer, "matroska")) return std::nullopt;
  return StreamedMatroskaDuration(source.demuxer, source.start, source.bytes);
}

/// Each returns nothing for a source that it is not made for. The first answer counts.
constexpr std::optional<Duration> (*kRules[])(const Source&) = {
    OfFragments, OfAviWithoutIndex, OfAviIndex, OfPipedIvf, OfSampledClock, OfWrappedClock,
    OfStream,    OfFlash,           OfTail,     OfContainer, OfStreamedMatroska};

}  // namespace

Duration WalkedDuration(Demuxer& demuxer, SpanMeter& start) {
  demuxer.ReadVideoOnly();
  const UniquePacket packet = MakePacket();
  while (demuxer.ReadPacket(packet.get())) {
    if (packet->stream_index == demuxer.video()->index) start.Add(*packet);
    av_packet_unref(packet.get());
  }
  return {start.duration_s(), true};
}

Duration DeclaredDuration(Demuxer& demuxer, SpanMeter& start, ByteSource& source) {
  for (const auto rule : kRules) {
    if (const auto duration = rule({demuxer, start, source})) return *duration;
  }
  return WalkedDuration(demuxer, start);
}

}  // namespace reelmend::media
