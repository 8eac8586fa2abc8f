#include "media/duration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "media/av_error.h"
#include "media/byte_io.h"
#include "media/clock_sampler.h"
#include "media/matroska.h"
#include "media/spliced_source.h"
#include "media/timestamps.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::media {
namespace {

/// Whether `name` is one of the demuxer's comma-separated names.
bool IsFormat(const Demuxer& demuxer, const char* name) {
  return std::strstr(demuxer.context()->iformat->name, name) != nullptr;
}

std::int64_t NominalInterval(const AVStream& stream) {
  AVRational rate = AverageFrameRate(stream);
  if (rate.num == 0) rate = {25, 1};
  return std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(rate), stream.time_base));
}

/// Fragmented MP4: with every stream discarded, libav reads the fragments' headers and skips the media data. Its index then
/// knows every sample. Returns the decoding time of the last one; nothing if there is none.
std::optional<std::int64_t> LastIndexed(Demuxer& demuxer) {
  AVStream* video = demuxer.video();
  demuxer.ReadVideoOnly();
  video->discard = AVDISCARD_ALL;
  const UniquePacket packet = MakePacket();
  while (demuxer.ReadPacket(packet.get())) av_packet_unref(packet.get());
  video->discard = AVDISCARD_DEFAULT;
  const int count = avformat_index_get_entries_count(video);
  return count == 0 ? std::nullopt : std::optional(avformat_index_get_entry(video, count - 1)->timestamp);
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

Duration FragmentedDuration(Demuxer& demuxer, const SpanMeter& start, ByteSource& source) {
  const AVStream& video = *demuxer.video();
  const AVIndexEntry* entry = avformat_index_get_entry(demuxer.video(), 0);
  if (entry == nullptr) return {start.duration_s(), false};
  const std::int64_t first = entry->timestamp;
  auto last = LastInTail(demuxer, first, source);
  if (!last) last = LastIndexed(demuxer);
  const double ticks = static_cast<double>(last.value_or(first)) - static_cast<double>(first) + static_cast<double>(NominalInterval(video));
  return {ticks * av_q2d(video.time_base), true};
}

/// For containers that declare only their own duration, which the sound may extend: measures the last packets, from the last key frame on.
/// If that is too far from the end, as where only the first frame is one, the declared duration counts.
Duration TailDuration(Demuxer& demuxer, const SpanMeter& start) {
  constexpr std::int64_t kPacketLimit = 5'000;
  AVStream* video = demuxer.video();
  const double declared_s = static_cast<double>(demuxer.context()->duration) / AV_TIME_BASE;
  const std::int64_t target = ToTicks(start.first_s() + declared_s, video->time_base);
  SpanMeter tail(*video);
  if (demuxer.SeekBefore(target)) {
    demuxer.ReadVideoOnly();
    const UniquePacket packet = MakePacket();
    for (; tail.packets() < kPacketLimit && demuxer.ReadPacket(packet.get()); av_packet_unref(packet.get())) tail.Add(*packet);
  }
  if (tail.packets() == kPacketLimit) return {std::max(declared_s - start.first_s(), tail.end_s() - start.first_s()), false};
  const double measured_s = tail.empty() ? 0 : tail.end_s() - start.first_s();
  if (measured_s < start.duration_s()) return {declared_s, false};
  return {measured_s, false};
}

/// Note [Samples at the end]
/// MP4 states when samples are decoded, and how much later each is shown. libav's duration is that of decoding, or the header's if that is
/// shorter. With B-frames, the last pictures are decoded some frames before they are shown: after a pause, as before the last picture of a
/// slide show, that is seconds before. And a header may state far too little. So the samples that may be shown last are read, and count if
/// they disagree.
Duration SampleTableDuration(Demuxer& demuxer, const SpanMeter& start, double declared_s) {
  constexpr double kAgreed_s = 1;
  AVStream* video = demuxer.video();
  const int last = avformat_index_get_entries_count(video) - 1;
  const AVIndexEntry* entry = avformat_index_get_entry(video, std::max(0, last - std::max(0, video->codecpar->video_delay)));
  if (entry == nullptr || !demuxer.SeekToIndexed(entry->timestamp)) return {declared_s, false};
  demuxer.ReadVideoOnly();
  SpanMeter tail(*video);
  const UniquePacket packet = MakePacket();
  for (; demuxer.ReadPacket(packet.get()); av_packet_unref(packet.get())) tail.Add(*packet);
  const double measured_s = tail.empty() ? declared_s : tail.end_s() - start.first_s();
  return {std::abs(measured_s - declared_s) > kAgreed_s ? measured_s : declared_s, false};
}

/// Whether libav's estimate is longer than a half turn of the clock. It then counts a recording whose clock is behind as one after a wrap:
/// Note [Wrapped clocks] in demuxer.cc.
bool IsWrapped(const Demuxer& demuxer) {
  const AVStream& video = *demuxer.video();
  if (video.pts_wrap_bits <= 0 || video.pts_wrap_bits >= 63) return false;
  const double half_s = static_cast<double>(std::int64_t{1} << video.pts_wrap_bits) / 2 * av_q2d(video.time_base);
  return static_cast<double>(demuxer.context()->duration) / AV_TIME_BASE > half_s;
}

std::uint32_t BigEndian(const std::uint8_t* bytes, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

/// FLV declares only the longest stream's duration and has no index, but its tags are followed by their sizes. So this reads
/// back from the end of the file to the last video tag. Returns nothing if the end is malformed.
Duration FlashDuration(Demuxer& demuxer, const SpanMeter& start, ByteSource& source) {
  constexpr std::int64_t kTailBytes = 1 << 20;
  constexpr int kTagHeader = 11;
  constexpr int kVideoTag = 9;
  const std::int64_t from = std::max<std::int64_t>(0, source.size() - kTailBytes);
  const std::vector<std::uint8_t> tail = ReadBytes(source, from, kTailBytes);
  for (std::size_t end = tail.size(); end >= 4 + kTagHeader;) {
    const std::size_t size = BigEndian(&tail[end - 4], 4);
    if (size < kTagHeader || size + 4 > end) return {};
    const std::uint8_t* tag = &tail[end - 4 - size];
    if (BigEndian(tag + 1, 3) + kTagHeader != size) return {};
    const std::uint32_t time_ms = BigEndian(tag + 4, 3) | std::uint32_t{tag[7]} << 24;
    const double interval_s = static_cast<double>(NominalInterval(*demuxer.video())) * av_q2d(demuxer.video()->time_base);
    // A video tag of 5 bytes only marks the end of the sequence. The time of a tag is that of decoding.
    if ((tag[0] & 0x1F) == kVideoTag && size > kTagHeader + 5) {
      return {time_ms / 1000.0 - start.first_decode_s() - start.undecodable_lead_s() + interval_s, false};
    }
    end -= 4 + size;
  }
  return {};
}

std::uint64_t LittleEndian(const std::uint8_t* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

std::int64_t AsfEnd(const std::vector<std::uint8_t>& head) {
  constexpr std::uint8_t kFileProperties[] = {0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11,
                                              0x8E, 0xE4, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65};
  const auto found = std::search(head.begin(), head.end(), std::begin(kFileProperties), std::end(kFileProperties));
  if (head.end() - found < 48) return -1;
  return static_cast<std::int64_t>(LittleEndian(&*found + 40, 8));
}

/// A program that writes to a pipe cannot fill in the size.
std::int64_t AviEnd(const std::vector<std::uint8_t>& head) {
  const std::uint64_t size = LittleEndian(&head[4], 4);
  return size == 0xFFFFFFFF ? -1 : 8 + static_cast<std::int64_t>(size);
}

/// Offset of the container's end according to its header; −1 if it declares none.
std::int64_t DeclaredEnd(const Demuxer& demuxer, ByteSource& source) {
  const std::vector<std::uint8_t> head = ReadBytes(source, 0, 4096);
  if (head.size() < 16) return -1;
  if (IsFormat(demuxer, "matroska")) return MatroskaEnd(head);
  if (IsFormat(demuxer, "avi")) return AviEnd(head);
  if (IsFormat(demuxer, "asf")) return AsfEnd(head);
  return -1;
}

[[noreturn]] void ThrowCut() {
  throw Error(ErrorCode::kUnreadableVideo, "The file is cut off: a part of the video is missing at its end.");
}

}  // namespace

AVRational AverageFrameRate(const AVStream& stream) {
  constexpr double kFastest = 480;  // a higher rate is a time base mistaken for a rate
  for (const AVRational rate : {stream.avg_frame_rate, stream.r_frame_rate}) {
    if (rate.num > 0 && rate.den > 0 && av_q2d(rate) <= kFastest) return rate;
  }
  return {0, 1};
}

SpanMeter::SpanMeter(const AVStream& stream)
    : time_base_(stream.time_base), interval_(NominalInterval(stream)), one_second_(ToTicks(1, time_base_) + 1) {}

void SpanMeter::Add(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) return;  // cut off by the edit list
  const std::int64_t stamp = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  const std::int64_t step = packet.duration > 0 ? packet.duration : interval_;
  if (stamp == AV_NOPTS_VALUE) {
    AddUntimed(step);
    return;
  }
  if (empty()) first_decode_ = packet.dts != AV_NOPTS_VALUE ? packet.dts : stamp;
  if (packet.dts != AV_NOPTS_VALUE) FollowClock(packet.dts, step);
  Show(stamp + offset_, step);
}

/// A packet without a time follows the one before, as a frame does in TimestampMender. It does not prove that a time before it is damaged.
void SpanMeter::AddUntimed(std::int64_t step) {
  before_jump_.reset();
  const std::int64_t time = empty() ? 0 : end_;
  last_decode_ = last_decode_ == AV_NOPTS_VALUE ? time : last_decode_ + step;
  Show(time, step);
}

/// Counts a frame. If its time is far behind the end although its decoding time is not, it may be damaged: Note [Damaged times]. Then it counts
/// once another frame is behind the end, too, or if it is the last one that is shown.
void SpanMeter::Show(std::int64_t time, std::int64_t step) {
  constexpr int kMostReordered = 16;  // frames that a decoder can hold back
  const auto is_far = [&] { return !empty() && time > end_ + one_second_; };
  if (far_ && ++far_->packets_after > kMostReordered) far_.reset();
  if (far_ && is_far()) {
    end_ = std::max(end_, far_->end);
    far_.reset();
  }
  if (empty() || time < first_) first_ = time;
  if (is_far() && !before_jump_) {
    far_ = {time + step, 0};
  } else if (empty() || time + step > end_) {
    end_ = time + step;
  }
  ++packets_;
}

/// Sets offset_ and last_decode_ for a decoding time. `step`: the packet's duration.
void SpanMeter::FollowClock(std::int64_t dts, std::int64_t step) {
  const auto is_away = [&](const Clock& clock, std::int64_t later) { return std::abs(dts + clock.offset - clock.decode - later) > one_second_; };
  Clock clock{offset_, last_decode_, end_};
  if (last_decode_ != AV_NOPTS_VALUE) {
    if (before_jump_ && is_away(clock, step) && !is_away(*before_jump_, 2 * step)) {  // Note [Damaged times] in timestamps.h
      clock = {before_jump_->offset, before_jump_->decode + step, before_jump_->end + step};
      offset_ = clock.offset;
      end_ = clock.end;
    }
    before_jump_.reset();
    if (is_away(clock, step)) before_jump_ = clock;
    if (dts + offset_ < clock.decode - one_second_) offset_ = clock.decode + step - dts;
    if (IsNearOverflow(offset_)) throw Error(ErrorCode::kUnreadableVideo, "The video's timestamps are damaged.");
  }
  last_decode_ = dts + offset_;
}

void SpanMeter::SetFirstFrame(std::int64_t timestamp) { first_frame_ = timestamp; }

double SpanMeter::first_packet_s() const { return static_cast<double>(first_) * av_q2d(time_base_); }

double SpanMeter::first_decode_s() const { return static_cast<double>(first_decode_) * av_q2d(time_base_); }

double SpanMeter::first_s() const {
  if (first_frame_ == AV_NOPTS_VALUE || first_frame_ <= first_ || first_frame_ >= end()) return first_packet_s();
  return static_cast<double>(first_frame_) * av_q2d(time_base_);
}

std::int64_t SpanMeter::end() const { return far_ ? std::max(end_, far_->end) : end_; }

double SpanMeter::end_s() const { return static_cast<double>(end()) * av_q2d(time_base_); }

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
  const AVFormatContext& context = *demuxer.context();
  const AVStream& video = *demuxer.video();
  const bool is_guess = context.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE;
  // These declare one duration for all streams, and support seeking.
  const bool is_indexed = IsFormat(demuxer, "matroska") || IsFormat(demuxer, "asf");
  if (IsFormat(demuxer, "mov") && video.nb_frames == 0) return FragmentedDuration(demuxer, start, source);
  if (IsFormat(demuxer, "avi") && DeclaredEnd(demuxer, source) < 0) return WalkedDuration(demuxer, start);  // written to a pipe
  if (const auto sampled = SampledDuration(demuxer, start)) return *sampled;
  if (IsWrapped(demuxer)) return WalkedDuration(demuxer, start);
  if (!is_guess && video.duration != AV_NOPTS_VALUE && video.duration > 0 && !is_indexed) {
    const double seconds = static_cast<double>(video.duration) * av_q2d(video.time_base);
    const double declared_s = std::max(seconds - start.undecodable_lead_s(), start.duration_s());
    return IsFormat(demuxer, "mov") ? SampleTableDuration(demuxer, start, declared_s) : Duration{declared_s, false};
  }
  const bool has_duration = !is_guess && context.duration != AV_NOPTS_VALUE && context.duration > 0;
  if (IsFormat(demuxer, "flv")) {
    if (const Duration tail = FlashDuration(demuxer, start, source); tail.seconds >= start.duration_s()) return tail;
  }
  if (has_duration && is_indexed) return TailDuration(demuxer, start);
  if (has_duration) return {static_cast<double>(context.duration) / AV_TIME_BASE, false};
  if (IsFormat(demuxer, "matroska")) {
    if (const auto streamed = StreamedMatroskaDuration(demuxer, start, source)) return *streamed;
  }
  return WalkedDuration(demuxer, start);
}

void CheckComplete(Demuxer& demuxer, ByteSource& source) {
  constexpr double kToleratedLoss = 0.1;
  const std::int64_t size = source.size();
  const std::int64_t end = DeclaredEnd(demuxer, source);
  if (end > 0 && static_cast<double>(end - size) > kToleratedLoss * static_cast<double>(end)) ThrowCut();
  if (!IsFormat(demuxer, "mov")) return;
  const int count = avformat_index_get_entries_count(demuxer.video());
  std::int64_t missing = 0;
  for (int i = 0; i < count; ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(demuxer.video(), i);
    if (entry->pos + entry->size > size) ++missing;
  }
  if (static_cast<double>(missing) > kToleratedLoss * count) ThrowCut();
}

}  // namespace reelmend::media
