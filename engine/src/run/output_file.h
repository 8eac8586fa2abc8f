// The file that a job writes.
#pragma once

#include <cstdint>
#include <string>

namespace reelmend::run {

/// Throws Error{kInvalidArgument} if `output` is the same file as `input`: opening it for writing would destroy the source. Files that do not
/// exist are accepted.
void CheckIsAnotherFile(const std::string& output, const std::string& input);

/// Size of a finished file; 0 if it is gone.
std::int64_t SizeOf(const std::string& output);

}  // namespace reelmend::run
