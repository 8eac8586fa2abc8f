#include "reelmend/error.h"

namespace reelmend {

const char* ErrorCodeName(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kUnreadableVideo: return "unreadable_video";
    case ErrorCode::kLimitExceeded: return "limit_exceeded";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kNoEngine: return "no_engine";
    case ErrorCode::kSegmentMismatch: return "segment_mismatch";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

}  // namespace reelmend
