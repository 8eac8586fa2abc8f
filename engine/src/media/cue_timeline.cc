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

void CueTimeline::EmitUntil(std::int64_t time, const Emit& emit) {
  for (std::int64_t next = NextBoundary(); next <= time; next = NextBoundary()) {
    emit(position_, next - position_, TextAt(position_));
    position_ = next;
    std::erase_if(cues_, [this](const Cue& cue) { return cue.end <= position_; });
  }
}

void CueTimeline::AdvanceTo(std::int64_t time, const Emit& emit) {
  EmitUntil(time, emit);
  const std::string text = TextAt(position_);
  if (time - position_ < (text.empty() ? kLongestSilence : kLongestText)) return;
  emit(position_, time - position_, text);
  position_ = time;
}

void CueTimeline::Finish(std::int64_t end, const Emit& emit) {
  EmitUntil(end, emit);
  if (position_ < end) emit(position_, end - position_, TextAt(position_));
  position_ = std::max(position_, end);
  cues_.clear();
}

}  // namespace reelmend::media
