// Turns libav's error numbers into reelmend::Error.
#pragma once

#include <new>
#include <string>

#include "reelmend/error.h"

namespace reelmend::media {

/// libav's own text for an error number.
std::string AvErrorText(int av_error);

/// Throws Error{code, "<sentence> (<libav's text>)."} when `result` is negative; std::bad_alloc when libav ran
/// out of memory. `sentence` has no full stop. Returns `result`.
int CheckAv(int result, ErrorCode code, const char* sentence);

/// Stops libav and x264 from writing to standard error, which belongs to the program (their text would tell its log
/// what customers upload). REELMEND_LIBAV_LOG=1 in the environment enables it.
void QuietLibav();

/// Throws std::bad_alloc for null, the result of libav's allocation functions without memory.
template <typename T>
T* CheckAlloc(T* handle) {
  if (handle == nullptr) throw std::bad_alloc();
  return handle;
}

}  // namespace reelmend::media
