#include "media/scrambling.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "media/byte_io.h"
#include "media/encryption.h"

namespace reelmend::media {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Count {
  int packets = 0;
  int scrambled = 0;

  void Add(bool is_scrambled) {
    ++packets;
    scrambled += is_scrambled ? 1 : 0;
  }
  bool Exceeds(double share) const { return scrambled > share * packets; }
};

/// Packets of a transport stream: the first one in a sample, and the distance to the next (0: none found).
struct Grid {
  std::size_t first = 0;
  std::size_t distance = 0;
};

constexpr std::uint8_t kSync = 0x47;

Grid FindPackets(const Bytes& bytes) {
  constexpr std::size_t kProof = 8;
  for (const std::size_t distance : {188, 192, 204}) {
    for (std::size_t first = 0; first < distance && first + kProof * distance <= bytes.size(); ++first) {
      std::size_t found = 0;
      while (found < kProof && bytes[first + found * distance] == kSync) ++found;
      if (found == kProof) return {first, distance};
    }
  }
  return {};
}

/// Counts the packets with payload of each PID (ISO/IEC 13818-1, 2.4.3.2).
void CountTransportPackets(const Bytes& bytes, std::map<int, Count>& counts) {
  const Grid grid = FindPackets(bytes);
  for (std::size_t at = grid.first; grid.distance > 0 && at + 4 <= bytes.size() && bytes[at] == kSync; at += grid.distance) {
    const bool has_payload = (bytes[at + 3] & 0x10) != 0;
    if (has_payload) counts[(bytes[at + 1] & 0x1F) << 8 | bytes[at + 2]].Add((bytes[at + 3] & 0xC0) != 0);
  }
}

/// Counts the PES packets of video (ISO/IEC 13818-1, 2.4.3.6). MPEG-1 has no such header.
void CountProgramPackets(const Bytes& bytes, Count& count) {
  for (std::size_t at = 0; at + 6 < bytes.size(); ++at) {
    const bool is_video = bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1 && (bytes[at + 3] & 0xF0) == 0xE0;
    if (is_video && (bytes[at + 6] & 0xC0) == 0x80) count.Add((bytes[at + 6] & 0x30) != 0);
  }
}

}  // namespace

void CheckUnscrambled(const Demuxer& demuxer, ByteSource& source) {
  const std::string_view format = demuxer.context()->iformat->name;
  if (format != "mpegts" && format != "mpeg") return;
  constexpr std::size_t kSampleBytes = 128 << 10;
  std::map<int, Count> of_pid;
  Count of_video;
  for (const int quarter : {1, 2, 3}) {
    const Bytes bytes = ReadBytes(source, source.size() / 4 * quarter, kSampleBytes);
    if (format == "mpegts") {
      CountTransportPackets(bytes, of_pid);
    } else {
      CountProgramPackets(bytes, of_video);
    }
  }
  bool is_scrambled = of_video.Exceeds(0.1) || of_pid[demuxer.video()->id].Exceeds(0.5);
  for (const AVStream* stream : demuxer.audio()) is_scrambled = is_scrambled || of_pid[stream->id].Exceeds(0.5);
  if (is_scrambled) ThrowEncrypted();
}

}  // namespace reelmend::media
