#include "media/matroska.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "media/byte_io.h"
#include "media/spliced_source.h"
#include "reelmend/error.h"

namespace reelmend::media {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Reads an EBML number of 1–8 bytes without its length marker. Returns −1 for "unknown" and for invalid data.
std::int64_t EbmlSize(const Bytes& bytes, std::size_t& at) {
  if (at >= bytes.size() || bytes[at] == 0) return -1;
  const int length = __builtin_clz(bytes[at]) - 24 + 1;
  if (at + length > bytes.size()) return -1;
  std::int64_t value = bytes[at] & (0xFF >> length);
  bool is_unknown = value == (0xFF >> length);
  for (int i = 1; i < length; ++i) {
    value = value << 8 | bytes[at + i];
    is_unknown = is_unknown && bytes[at + i] == 0xFF;
  }
  at += length;
  return is_unknown ? -1 : value;
}

/// Offset of the first cluster in a part of a file, by its id and that of the timestamp with which it begins, perhaps behind a checksum.
std::optional<std::int64_t> FindCluster(const Bytes& bytes) {
  constexpr std::uint8_t kCluster[] = {0x1F, 0x43, 0xB6, 0x75};
  constexpr std::uint8_t kChecksum[] = {0xBF, 0x84};  // id and size
  constexpr std::size_t kChecksumBytes = 6;
  constexpr std::uint8_t kTimestamp = 0xE7;
  for (auto from = bytes.begin();; ++from) {
    from = std::search(from, bytes.end(), std::begin(kCluster), std::end(kCluster));
    if (from == bytes.end()) return std::nullopt;
    std::size_t at = static_cast<std::size_t>(from - bytes.begin()) + sizeof kCluster;
    EbmlSize(bytes, at);  // often unknown
    if (at + kChecksumBytes < bytes.size() && std::equal(std::begin(kChecksum), std::end(kChecksum), &bytes[at])) at += kChecksumBytes;
    if (at < bytes.size() && bytes[at] == kTimestamp) return from - bytes.begin();
  }
}

/// When the last picture of the spliced file ends, in seconds; nothing if it has none.
std::optional<double> EndOf(SplicedSource& source, const Demuxer& whole) {
  try {
    Demuxer demuxer(source, whole.options());
    if (demuxer.video()->index != whole.video()->index) return std::nullopt;
    demuxer.ReadVideoOnly();
    SpanMeter meter(*demuxer.video());
    const UniquePacket packet = MakePacket();
    for (; demuxer.ReadPacket(packet.get()); av_packet_unref(packet.get())) {
      if (packet->stream_index == demuxer.video()->index) meter.Add(*packet);
    }
    return meter.empty() ? std::nullopt : std::optional(meter.end_s());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnreadableVideo) throw;
    return std::nullopt;
  }
}

}  // namespace

std::int64_t MatroskaEnd(const Bytes& head) {
  std::size_t at = 4;  // after the EBML id
  const std::int64_t header = EbmlSize(head, at);
  if (header < 0) return -1;
  at += static_cast<std::size_t>(header);
  constexpr std::uint8_t kSegment[] = {0x18, 0x53, 0x80, 0x67};
  if (at + 4 > head.size() || std::memcmp(&head[at], kSegment, 4) != 0) return -1;
  at += 4;
  const std::int64_t size = EbmlSize(head, at);
  return size < 0 ? -1 : static_cast<std::int64_t>(at) + size;
}

std::optional<Duration> StreamedMatroskaDuration(const Demuxer& demuxer, const SpanMeter& start, ByteSource& source) {
  constexpr std::size_t kHead = 1 << 20;
  constexpr std::int64_t kTails[] = {1 << 20, 6 << 20, 16 << 20};  // bytes; libav makes clusters of up to 5 MB
  const auto first = FindCluster(ReadBytes(source, 0, kHead));
  if (!first) return std::nullopt;
  for (const std::int64_t bytes : kTails) {
    const std::int64_t from = source.size() - bytes;
    if (from <= static_cast<std::int64_t>(kHead)) break;
    const auto cluster = FindCluster(ReadBytes(source, from, static_cast<std::size_t>(bytes)));
    if (!cluster) continue;
    SplicedSource spliced(source, *first, from + *cluster);
    const auto end_s = EndOf(spliced, demuxer);
    if (end_s && *end_s > start.last_s()) return Duration{*end_s - start.first_s(), false};
  }
  return std::nullopt;
}

}  // namespace reelmend::media
