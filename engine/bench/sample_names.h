// Names of the samples of bench_networks.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace reelmend::bench {

/// A name for the sample of each file: its stem, with a number where an earlier file has that name (“a.png”, “a.jpg”, “set/a.png”). Scores, kept
/// frames and what methods remember belong to names.
inline std::vector<std::string> SampleNames(const std::vector<std::string>& paths) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const std::string stem = std::filesystem::path(path).stem();
    std::string name = stem;
    for (int number = 2; !taken.insert(name).second; ++number) name = stem + "-" + std::to_string(number);
    names.push_back(name);
  }
  return names;
}

}  // namespace reelmend::bench
