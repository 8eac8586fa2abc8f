#include "media/av_error.h"

#include "media/av_handles.h"

namespace framelift::media {

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

UniquePacket MakePacket() { return UniquePacket(CheckAlloc(av_packet_alloc())); }

UniqueFrame MakeFrame() { return UniqueFrame(CheckAlloc(av_frame_alloc())); }

}  // namespace framelift::media
