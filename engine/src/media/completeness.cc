#include "media/completeness.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "media/byte_io.h"
#include "media/container_format.h"
#include "media/matroska.h"
#include "reelmend/error.h"

namespace reelmend::media {
namespace {

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

[[noreturn]] void ThrowCut() {
  throw Error(ErrorCode::kUnreadableVideo, "The file is cut off: a part of the video is missing at its end.");
}

}  // namespace

std::int64_t DeclaredEnd(const Demuxer& demuxer, ByteSource& source) {
  const std::vector<std::uint8_t> head = ReadBytes(source, 0, 4096);
  if (head.size() < 16) return -1;
  if (IsFormat(demuxer, "matroska")) return MatroskaEnd(head);
  if (IsFormat(demuxer, "avi")) return AviEnd(head);
  if (IsFormat(demuxer, "asf")) return AsfEnd(head);
  return -1;
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
    if (!IsHeld(*entry, size)) ++missing;
  }
  if (static_cast<double>(missing) > kToleratedLoss * count) ThrowCut();
}

}  // namespace reelmend::media
