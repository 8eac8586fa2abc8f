// Messages of TensorRT, and which of them explain a failure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace reelmend::inference {

/// Whether a message is about missing memory, of the GPU or the host.
inline bool SpeaksOfMemory(std::string_view message) {
  const auto has = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  return has("OUT_OF_MEMORY") || has("OutOfMemory") || (has("emory") && (has("lloc") || has("ut of") || has("nsufficient")));
}

/// The file that an error names as missing; empty if the error is another.
inline std::string MissingLibrary(std::string_view message) {
  constexpr std::string_view kBefore = "Unable to load library: ";
  const std::size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return "";
  message.remove_prefix(at + kBefore.size());
  return std::string(message.substr(0, message.find_first_of(": )")));
}

/// Messages of one operation. The first error is the cause; later ones are consequences.
///
/// Warnings about memory are considered for builds only. A builder with too little memory drops one tactic after the other,
/// each with a warning, and its only error is that no tactic is left. Loading and running end with an error of their own,
/// and a warning before it may come from another thread.
class Messages {
 public:
  void Add(bool is_error, std::string_view message) {
    if (is_error && first_error_.empty()) first_error_ = message;
    const bool is_about_memory = SpeaksOfMemory(message);
    error_is_about_memory_ = error_is_about_memory_ || (is_error && is_about_memory);
    any_is_about_memory_ = any_is_about_memory_ || is_about_memory;
  }
  const std::string& first_error() const { return first_error_; }
  /// For builds.
  bool any_is_about_memory() const { return any_is_about_memory_; }
  /// For everything else.
  bool error_is_about_memory() const { return error_is_about_memory_; }

 private:
  std::string first_error_;
  bool any_is_about_memory_ = false;
  bool error_is_about_memory_ = false;
};

}  // namespace reelmend::inference
