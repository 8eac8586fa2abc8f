// Subtitles as samples without gap or overlap, as MP4 needs them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace reelmend::media {

/// Merges cues into samples. Cues may overlap; samples of a timed text track cannot. A sample holds the texts of all
/// cues shown at that time, one per line, in order of arrival; without cues it is empty. Times are microseconds of
/// the output's clock.
class CueTimeline {
 public:
  using Emit = std::function<void(std::int64_t start, std::int64_t duration, const std::string& text)>;

  /// Adds a cue [start, end). The part before already emitted samples is cut off.
  void Add(std::int64_t start, std::int64_t end, std::string text);

  /// Emits the samples that are complete at `time`: no cue that starts earlier will be added. An open sample is emitted in pieces of at
  /// least `kLongestSilence` if it is empty, or `kLongestText`. No sample is longer than MP4 holds: 2^31 ticks, here 35 minutes.
  void AdvanceTo(std::int64_t time, const Emit& emit);

  /// Emits everything up to `end` and nothing beyond it.
  void Finish(std::int64_t end, const Emit& emit);

  static constexpr std::int64_t kLongestSilence = 2'000'000;
  static constexpr std::int64_t kLongestText = 1'800'000'000;

 private:
  struct Cue {
    std::int64_t start;
    std::int64_t end;
    std::string text;
  };
  std::int64_t NextBoundary() const;
  std::string TextAt(std::int64_t time) const;
  void EmitTo(std::int64_t time, const Emit& emit);
  void EmitUntil(std::int64_t time, const Emit& emit);

  std::vector<Cue> cues_;
  std::int64_t position_ = 0;
};

}  // namespace reelmend::media
