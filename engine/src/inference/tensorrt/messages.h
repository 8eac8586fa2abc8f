// What TensorRT says while it works: which of its messages tell why something failed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace reelmend::inference {

/// Whether a message is about memory that a GPU or the machine does not have.
inline bool SpeaksOfMemory(std::string_view message) {
  const auto has = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  return has("OUT_OF_MEMORY") || (has("emory") && (has("lloc") || has("ut of") || has("nsufficient")));
}

/// Messages of one piece of work. The first error tells what is wrong: those that follow are of what it broke. Of memory
/// any message may tell: a builder that has too little leaves out one tactic after the other, each with a warning, and its
/// only error is that no tactic is left.
class Messages {
 public:
  void Add(bool is_error, std::string_view message) {
    if (is_error && first_error_.empty()) first_error_ = message;
    is_about_memory_ = is_about_memory_ || SpeaksOfMemory(message);
  }
  const std::string& first_error() const { return first_error_; }
  bool is_about_memory() const { return is_about_memory_; }

 private:
  std::string first_error_;
  bool is_about_memory_ = false;
};

}  // namespace reelmend::inference
