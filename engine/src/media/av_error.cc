#include "media/av_error.h"

#include <cstdlib>
#include <mutex>

#include "media/av_handles.h"

extern "C" {
#include <libavutil/log.h>
}

namespace reelmend::media {

std::string AvErrorText(int av_error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(av_error, text, sizeof text);
  return text;
}

int CheckAv(int result, ErrorCode code, const char* sentence) {
  if (result >= 0) return result;
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  throw Error(code, std::string(sentence) + " (" + AvErrorText(result) + ").");
}

void QuietLibav() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_level(std::getenv("REELMEND_LIBAV_LOG") == nullptr ? AV_LOG_QUIET : AV_LOG_INFO); });
}

UniquePacket MakePacket() { return UniquePacket(CheckAlloc(av_packet_alloc())); }

UniqueFrame MakeFrame() { return UniqueFrame(CheckAlloc(av_frame_alloc())); }

}  // namespace reelmend::media
