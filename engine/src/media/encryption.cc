#include "media/encryption.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "reelmend/error.h"

extern "C" {
#include <libavutil/avutil.h>
}

namespace reelmend::media {
namespace {

/// Note [Sample entries]
/// libav replaces an encrypted track's sample entry by the original one (`encv` by `avc1`). It reports the encryption only
/// per packet, and not in all fragments. So this file reads the boxes down to the sample entries.
constexpr std::array kPath = {MKBETAG('m', 'o', 'o', 'v'), MKBETAG('t', 'r', 'a', 'k'), MKBETAG('m', 'd', 'i', 'a'),
                              MKBETAG('m', 'i', 'n', 'f'), MKBETAG('s', 't', 'b', 'l'), MKBETAG('s', 't', 's', 'd')};
constexpr std::array kEncryptedEntries = {MKBETAG('e', 'n', 'c', 'v'), MKBETAG('e', 'n', 'c', 'a'),
                                          MKBETAG('d', 'r', 'm', 'i'), MKBETAG('d', 'r', 'm', 's')};

class BoxReader {
 public:
  explicit BoxReader(AVIOContext& io) : io_(io), position_(avio_tell(&io)) {}
  ~BoxReader() { avio_seek(&io_, position_, SEEK_SET); }
  BoxReader(const BoxReader&) = delete;
  BoxReader& operator=(const BoxReader&) = delete;

  bool IsMp4() { return Read(0, avio_size(&io_)).type == MKBETAG('f', 't', 'y', 'p'); }
  bool FindsEncryptedEntry() { return Walk(0, avio_size(&io_), 0); }

 private:
  struct Box {
    unsigned type = 0;
    std::int64_t content = 0;
    std::int64_t end = 0;
  };

  /// Reads the boxes between two offsets, all at one depth of kPath.
  bool Walk(std::int64_t begin, std::int64_t end, std::size_t depth) {
    for (Box box = Read(begin, end); box.end > 0; box = Read(box.end, end)) {
      if (depth == kPath.size()) {
        if (std::ranges::find(kEncryptedEntries, box.type) != kEncryptedEntries.end()) return true;
      } else if (box.type == kPath[depth]) {
        const bool has_entries = depth + 1 == kPath.size();
        constexpr std::int64_t kVersionAndCount = 8;
        if (Walk(box.content + (has_entries ? kVersionAndCount : 0), box.end, depth + 1)) return true;
        if (depth == 0) return false;  // only media follow the movie's description
      }
    }
    return false;
  }

  /// Reads the box at `offset`; its end is 0 if there is none.
  Box Read(std::int64_t offset, std::int64_t end) {
    constexpr int kMostBoxes = 10'000;
    constexpr std::int64_t kHeader = 8;
    if (end - offset < kHeader || ++boxes_ > kMostBoxes || avio_seek(&io_, offset, SEEK_SET) < 0) return {};
    std::int64_t size = avio_rb32(&io_);
    const unsigned type = avio_rb32(&io_);
    std::int64_t header = kHeader;
    if (size == 1) {
      size = static_cast<std::int64_t>(avio_rb64(&io_));
      header = 2 * kHeader;
    } else if (size == 0) {
      size = end - offset;
    }
    if (size < header || avio_feof(&io_) != 0) return {};
    return {type, offset + header, offset + std::min(size, end - offset)};
  }

  AVIOContext& io_;
  std::int64_t position_;
  int boxes_ = 0;
};

bool HasKeyId(const AVFormatContext& context) {
  return std::any_of(context.streams, context.streams + context.nb_streams, [](const AVStream* stream) {
    return av_dict_get(stream->metadata, "enc_key_id", nullptr, 0) != nullptr;
  });
}

}  // namespace

bool IsEncrypted(AVFormatContext& context) {
  if (std::strstr(context.iformat->name, "mov") != nullptr) return BoxReader(*context.pb).FindsEncryptedEntry();
  return HasKeyId(context);
}

bool IsEncryptedMp4(AVIOContext& io) {
  BoxReader reader(io);
  return reader.IsMp4() && reader.FindsEncryptedEntry();
}

bool IsEncrypted(const AVPacket& packet) {
  return av_packet_get_side_data(&packet, AV_PKT_DATA_ENCRYPTION_INFO, nullptr) != nullptr;
}

void ThrowEncrypted() {
  throw Error(ErrorCode::kUnreadableVideo, "The video is encrypted: without its key its pictures or its sound cannot be decoded.");
}

}  // namespace reelmend::media
