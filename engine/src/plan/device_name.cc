#include "plan/device_name.h"

#include <charconv>
#include <string_view>

#include "reelmend/error.h"

namespace reelmend::plan {

int CudaIndex(const std::string& device) {
  constexpr std::string_view kPrefix = "cuda:";
  int index = -1;
  if (device.starts_with(kPrefix)) {
    const char* end = device.data() + device.size();
    const auto [stop, error] = std::from_chars(device.data() + kPrefix.size(), end, index);
    if (error == std::errc() && stop == end && index >= 0) return index;
  }
  throw Error(ErrorCode::kInvalidArgument, "There is no device named “" + device + "”.");
}

void CheckDeviceName(const std::string& device) {
  if (device != "auto" && device != "cpu") CudaIndex(device);
}

}  // namespace reelmend::plan
