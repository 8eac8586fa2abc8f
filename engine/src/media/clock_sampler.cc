#include "media/clock_sampler.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "media/timestamps.h"

namespace reelmend::media {
namespace {

constexpr std::int64_t kReadWhole = 8 << 20;      ///< bytes; smaller files are read whole
constexpr int kPlaces = 16;
constexpr int kTimes = 3;                         ///< that are read where the clock seems to step back: one of them may be damaged
constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNear = 256 << 10;         ///< bytes; a step back is searched to this distance. One block of a remote source
constexpr std::int64_t kLongestTail = 16 << 20;   ///< bytes at the end of the file in which the last picture is searched
constexpr std::int64_t kMostRead = 16 << 20;      ///< bytes in all: a remote source gives 64 MiB for the whole measurement
constexpr std::int64_t kWithoutPictures = 2 << 20;  ///< bytes that a place is searched for a picture

/// Where the clock was read, and what it was.
struct Reading {
  std::int64_t byte;
  std::int64_t time;
};

class ClockSampler {
 public:
  ClockSampler(Demuxer& demuxer, SpanMeter& meter) : demuxer_(demuxer), meter_(meter), packet_(MakePacket()) {
    one_second_ = ToTicks(1, demuxer.video()->time_base);
  }

  /// False if no picture is found near the end, or too much would be read.
  bool Run() {
    const std::int64_t size = demuxer_.size_bytes();
    std::optional<Reading> before = At(0, 1);
    for (int i = 1; i < kPlaces && before; ++i) {
      if (const auto now = At(size / kPlaces * i, 1)) before = Follow(*before, *now);
    }
    if (!before) return false;
    for (std::int64_t bytes = kNear; bytes <= kLongestTail; bytes *= 4) {
      const auto now = At(size - bytes);
      if (!now) continue;
      Follow(*before, *now);
      return AddFrom(now->byte, size) && read_ <= kMostRead;
    }
    return false;
  }

 private:
  /// The next packet of the video, or the next one that has a time; false at the end or beyond `end`, a byte of the file.
  bool Next(std::int64_t end, bool needs_time) {
    while (demuxer_.ReadPacket(packet_.get())) {
      position_ = std::max(position_, packet_->pos);
      if (position_ >= end) return false;
      if (packet_->stream_index == demuxer_.video()->index && (!needs_time || packet_->dts != AV_NOPTS_VALUE)) return true;
      av_packet_unref(packet_.get());
    }
    return false;
  }

  /// False if too much has been read.
  bool Seek(std::int64_t byte) {
    read_ += position_ - sought_;
    position_ = sought_ = byte;
    av_packet_unref(packet_.get());
    return read_ <= kMostRead && demuxer_.SeekToByte(byte);
  }

  /// The clock at a place: the median of the next times.
  std::optional<Reading> At(std::int64_t byte, int count = kTimes) {
    std::array<std::int64_t, kTimes> times = {};
    if (!Seek(byte)) return std::nullopt;
    for (int i = 0; i < count; ++i) {
      if (!Next(byte + kWithoutPictures, true)) return std::nullopt;
      times[static_cast<std::size_t>(i)] = packet_->dts;
      av_packet_unref(packet_.get());
    }
    std::sort(times.begin(), times.begin() + count);
    return Reading{byte, times[static_cast<std::size_t>(count / 2)]};
  }

  bool StepsBack(const Reading& before, const Reading& now) const { return now.time < before.time - one_second_; }

  /// Adds the packets on both sides of a step back between two places, if there is one. Returns `now`,
  /// read more exactly.
  Reading Follow(const Reading& seen, const Reading& now) {
    if (!StepsBack(seen, now)) return now;
    const auto from = At(seen.byte);
    const auto to = At(now.byte);
    if (!from || !to || !StepsBack(*from, *to)) return to.value_or(now);
    Reading before = *from;
    Reading after = *to;
    while (after.byte - before.byte > kNear) {
      const auto middle = At(before.byte + (after.byte - before.byte) / 2);
      if (!middle) break;
      (StepsBack(before, *middle) ? after : before) = *middle;
    }
    AddFrom(before.byte, after.byte);
    return *to;
  }

  /// Adds the packets from one place on, up to those whose times were read at another one. False if there are none.
  bool AddFrom(std::int64_t byte, std::int64_t end) {
    if (!Seek(byte)) return false;
    bool has_any = false;
    for (int behind = 0; behind < kTimes && Next(kEverything, !has_any); av_packet_unref(packet_.get())) {
      if (position_ >= end) ++behind;
      meter_.Add(*packet_);
      has_any = true;
    }
    return has_any;
  }

  Demuxer& demuxer_;
  SpanMeter& meter_;
  UniquePacket packet_;
  std::int64_t one_second_ = 0;
  std::int64_t sought_ = 0;    ///< where the last seek went
  std::int64_t position_ = 0;  ///< as far as the file was read from there
  std::int64_t read_ = 0;      ///< bytes before the last seek
};

}  // namespace

std::optional<Duration> SampledDuration(Demuxer& demuxer, SpanMeter& start) {
  const std::string_view format = demuxer.context()->iformat->name;
  if (format != "mpegts" && format != "mpeg") return std::nullopt;
  if (demuxer.size_bytes() <= kReadWhole) return WalkedDuration(demuxer, start);
  demuxer.ReadVideoOnly();
  SpanMeter sampled = start;
  if (ClockSampler(demuxer, sampled).Run()) return Duration{sampled.duration_s(), false};
  demuxer.SeekToByte(0);
  return std::nullopt;
}

}  // namespace reelmend::media
