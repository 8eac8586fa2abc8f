#include "media/cue_timeline.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reelmend::media {

void CueTimeline::Add(std::int64_t start, std::int64_t end, std::string text) {
  start = std::max(start, position_);
  if (end <= start || text.empty()) return;
  constexpr std::size_t kMostAtOnce = 64;  // more waiting cues are no subtitles
  if (cues_.size() >= kMostAtOnce * 64) return;
  cues_.push_back({start, end, std::move(text)});
}

std::int64_t CueTimeline::NextBoundary() const {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (const Cue& cue : cues_) {
    if (cue.start > position_) next = std::min(next, cue.start);
    if (cue.end > position_) next = std::min(next, cue.end);
  }
  return next;
}

std::string CueTimeline::TextAt(std::int64_t time) const {
  constexpr std::size_t kLongest = 16'000;
  std::string text;
  for (const Cue& cue : cues_) {
    if (cue.start > time || cue.end <= time || text.size() + cue.text.size() > kLongest) continue;
    if (!text.empty()) text += '\n';
    text += cue.text;
  }
  return text;
}

/// Emits one text up to `time`, which no boundary precedes.
void CueTimeline::EmitTo(std::int64_t time, const Emit& emit) {
  constexpr std::int64_t kLongestSample = (std::int64_t{1} << 31) - 1;
  const std::string text = TextAt(position_);
  while (position_ < time) {
    // A picture may stay for hours, so one step of the video may be longer than a sample.
    const std::int64_t left = time - position_;
    const std::int64_t duration = left > kLongestSample ? kLongestText : left;
    emit(position_, duration, text);
    position_ += duration;
  }
}

void CueTimeline::EmitUntil(std::int64_t time, const Emit& emit) {
  for (std::int64_t next = NextBoundary(); next <= time; next = NextBoundary()) {
    EmitTo(next, emit);
    std::erase_if(cues_, [this](const Cue& cue) { return cue.end <= position_; });
  }
}

void CueTimeline::AdvanceTo(std::int64_t time, const Emit& emit) {
  EmitUntil(time, emit);
  if (time - position_ < (TextAt(position_).empty() ? kLongestSilence : kLongestText)) return;
  EmitTo(time, emit);
}

void CueTimeline::Finish(std::int64_t end, const Emit& emit) {
  EmitUntil(end, emit);
  EmitTo(end, emit);
  cues_.clear();
}

}  // namespace reelmend::media
