#include "inference/sha256.h"

#include <cstdint>
#include <memory>
#include <new>

extern "C" {
#include <libavutil/mem.h>
#include <libavutil/sha.h>
}

namespace reelmend::inference {

std::string Sha256(std::string_view bytes) {
  const std::unique_ptr<AVSHA, decltype(&av_free)> sha(av_sha_alloc(), av_free);
  if (!sha) throw std::bad_alloc();
  av_sha_init(sha.get(), 256);
  av_sha_update(sha.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::uint8_t digest[32];
  av_sha_final(sha.get(), digest);
  std::string text;
  for (const std::uint8_t byte : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

}  // namespace reelmend::inference
