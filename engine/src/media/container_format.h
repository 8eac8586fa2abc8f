// Which container a source has.
#pragma once

#include <cstring>

#include "media/demuxer.h"

namespace reelmend::media {

/// Whether `name` is one of the demuxer's comma-separated names.
inline bool IsFormat(const Demuxer& demuxer, const char* name) {
  return std::strstr(demuxer.context()->iformat->name, name) != nullptr;
}

}  // namespace reelmend::media
