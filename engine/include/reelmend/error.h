// Errors of the engine: one exception type, a stable code, one plain sentence.
#pragma once

#include <stdexcept>
#include <string>

namespace reelmend {

/// What went wrong, in the vocabulary that callers act on. The service maps these to its public codes.
enum class ErrorCode {
  kInvalidArgument,   ///< an option is outside its documented range
  kUnreadableVideo,   ///< no decodable video, damaged beyond the error budget, or a format that is not allowed
  kLimitExceeded,     ///< a limit (pixels, duration, frames, streams) was exceeded
  kIo,                ///< reading the source or writing the output failed
  kCancelled,         ///< the caller's cancellation token fired
  kUnavailable,       ///< a backend or device that was asked for is not in this build or on this machine
  kInternal,          ///< everything else; a bug or an exhausted machine
  kNoEngine,          ///< the GPU has no engine of the network, and building one takes minutes
  kSegmentMismatch,   ///< a segment or a piece is not what its plan says; the video can be enhanced in one piece
};

/// snake_case name of a code, which the addon also puts on the JavaScript error's `code`.
const char* ErrorCodeName(ErrorCode code) noexcept;

/// The only exception that crosses the engine's public interface, except std::bad_alloc. `what()` is one sentence that may
/// be shown to a person; it names no path of the machine.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace reelmend
