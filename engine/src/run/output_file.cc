#include "run/output_file.h"

#include <sys/stat.h>

#include "reelmend/error.h"

namespace reelmend::run {

void CheckIsAnotherFile(const std::string& output, const std::string& input) {
  struct stat in = {};
  struct stat out = {};
  if (stat(input.c_str(), &in) != 0 || stat(output.c_str(), &out) != 0) return;
  if (in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
    throw Error(ErrorCode::kInvalidArgument, "The output must be another file than the source.");
  }
}

std::int64_t SizeOf(const std::string& output) {
  struct stat status = {};
  return stat(output.c_str(), &status) == 0 ? status.st_size : 0;
}

}  // namespace reelmend::run
