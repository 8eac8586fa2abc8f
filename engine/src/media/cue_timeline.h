// Subtitles as a row of samples without gap or overlap, which is how MP4 holds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace reelmend::media {

/// Cues may overlap; samples of a timed text track cannot. Where several cues are shown at once the sample holds
/// their texts one below the other, in the order in which they came; where none is shown it is empty.
/// Times are microseconds of the output's clock.
class CueTimeline {
 public:
  using Emit = std::function<void(std::int64_t start, std::int64_t duration, const std::string& text)>;

  /// A cue of [start, end). What lies before the samples that were emitted already is cut off.
  void Add(std::int64_t start, std::int64_t end, std::string text);

  /// Emits the samples that are complete at `time`: no cue that begins before it will be added any more. An empty
  /// stretch that is still open is emitted in pieces of at least `kLongestSilence`.
  void AdvanceTo(std::int64_t time, const Emit& emit);

  /// Emits everything up to `end` and nothing beyond it.
  void Finish(std::int64_t end, const Emit& emit);

  static constexpr std::int64_t kLongestSilence = 2'000'000;

 private:
  struct Cue {
    std::int64_t start;
    std::int64_t end;
    std::string text;
  };
  std::int64_t NextBoundary() const;
  std::string TextAt(std::int64_t time) const;
  void EmitUntil(std::int64_t time, const Emit& emit);

  std::vector<Cue> cues_;
  std::int64_t position_ = 0;
};

}  // namespace reelmend::media
