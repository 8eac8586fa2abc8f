#include <string>

#include "engine_identity.h"
#include "media/av_handles.h"
#include "reelmend/device.h"

namespace reelmend {
namespace {

std::string Dotted(const char* name, unsigned version) {
  return std::string(name) + " " + std::to_string(AV_VERSION_MAJOR(version)) + "." +
         std::to_string(AV_VERSION_MINOR(version)) + "." + std::to_string(AV_VERSION_MICRO(version));
}

}  // namespace

std::string EngineVersion() {
  return std::string("reelmend engine ") + REELMEND_ENGINE_VERSION + " (" + kEngineIdentity + "), FFmpeg " + av_version_info() + " (" +
         Dotted("libavformat", avformat_version()) + ", " + Dotted("libavcodec", avcodec_version()) + ", " +
         Dotted("libswscale", swscale_version()) + ")";
}

}  // namespace reelmend
