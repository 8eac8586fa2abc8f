// Memory of the test's own process.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace reelmend::testing {

/// Anonymous memory in bytes, which excludes mapped files. Fails the test if the kernel does not state it.
inline std::int64_t AnonymousMemory() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::atoll(line.c_str() + 8) * 1024;
  }
  ADD_FAILURE() << "/proc/self/status has no line RssAnon";
  return 0;
}

}  // namespace reelmend::testing
