#pragma once

#include <string>
#include <string_view>

namespace reelmend::inference {

/// 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace reelmend::inference
