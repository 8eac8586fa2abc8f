// Whole files as bytes.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace reelmend::testing {

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void WriteFile(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace reelmend::testing
