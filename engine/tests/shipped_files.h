// The files of the shipped networks, and a temporary folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "helpers/test_paths.h"
#include "reelmend/model.h"

namespace reelmend::testing {

namespace fs = std::filesystem;

inline std::string ReadBytes(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string Shipped(const std::string& name) { return ReadBytes(fs::path(test_paths::SourceDir()) / "models" / name); }

inline bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The layout of a shipped ×2 or ×1 file.
inline ModelFile::Layout LayoutOf(const std::string& shipped) {
  return Has(shipped, "quality") ? ModelFile::Layout::kYcbcrStrength : ModelFile::Layout::kLumaStrength;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "reelmend-engines-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace reelmend::testing
