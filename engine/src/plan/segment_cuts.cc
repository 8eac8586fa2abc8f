#include "plan/segment_cuts.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "media/timestamps.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::plan {
namespace {

/// Least number of frames in a segment: joining needs the encoder's delay, and a slide show is not worth cutting.
constexpr std::ptrdiff_t kFewestFrames = 32;

using Times = std::vector<std::int64_t>;

/// Index in `times` of the first frame at `time` or later.
std::ptrdiff_t IndexOf(const Times& times, std::int64_t time) {
  return std::ranges::lower_bound(times, time) - times.begin();
}

/// Chooses cuts one after the other.
class CutChooser {
 public:
  CutChooser(const media::FrameIndex& index, AVRational time_base, const SegmentLengths& lengths)
      : index_(index),
        shortest_(media::ToTicks(lengths.shortest_s, time_base)),
        wanted_(media::ToTicks(lengths.wanted_s, time_base)),
        longest_(media::ToTicks(lengths.longest_s, time_base)),
        count_(static_cast<std::ptrdiff_t>(index.times.size())) {}

  /// Indices of the first frames of all segments.
  std::vector<std::ptrdiff_t> Choose() const {
    std::vector<std::ptrdiff_t> starts = {0};
    while (const auto next = Next(starts.back())) starts.push_back(*next);
    return starts;
  }

 private:
  std::int64_t time(std::ptrdiff_t place) const { return index_.times[static_cast<std::size_t>(place)]; }

  /// The first frame after the segment that begins with frame `from`; nothing if that is the last one.
  std::optional<std::ptrdiff_t> Next(std::ptrdiff_t from) const {
    if (count_ - from < 2 * kFewestFrames) return std::nullopt;
    const std::int64_t start = time(from);
    const std::int64_t last = time(count_ - 1);
    const std::int64_t rest = last - start + last - time(count_ - 2);
    // With one more cut, both segments would be nearer to the wanted length.
    const bool is_short = rest <= std::min(wanted_ + wanted_ / 2, longest_);
    if (is_short) return std::nullopt;
    const std::int64_t earliest = std::max(start + shortest_, time(from + kFewestFrames));
    const std::int64_t latest_of_all = std::min(last - shortest_, time(count_ - kFewestFrames));
    if (earliest > latest_of_all) return std::nullopt;
    const std::int64_t latest = std::min(latest_of_all, std::max(earliest, start + longest_));
    const std::int64_t wanted = std::clamp(start + wanted_, earliest, latest);
    return IndexOf(index_.times, KeyNear(wanted, earliest, latest).value_or(wanted));
  }

  /// The key frame nearest to `wanted`.
  std::optional<std::int64_t> KeyNear(std::int64_t wanted, std::int64_t earliest, std::int64_t latest) const {
    std::optional<std::int64_t> nearest;
    for (const std::int64_t key : index_.keys) {
      if (key < earliest || key > latest) continue;
      if (!nearest || std::abs(key - wanted) < std::abs(*nearest - wanted)) nearest = key;
    }
    return nearest;
  }

  const media::FrameIndex& index_;
  std::int64_t shortest_;
  std::int64_t wanted_;
  std::int64_t longest_;
  std::ptrdiff_t count_;
};

/// The key frame to decode from so that the frame at `time` and all after it are complete; nothing: from the beginning.
std::optional<std::int64_t> KeyBefore(const media::FrameIndex& index, std::int64_t time) {
  auto after = std::ranges::upper_bound(index.keys, time);
  const std::ptrdiff_t back = index.has_recovery_points ? 2 : 1;
  if (after - index.keys.begin() <= back) return std::nullopt;
  return *(after - back);
}

}  // namespace

std::vector<SegmentCut> ChooseCuts(const media::FrameIndex& index, AVRational source, AVRational output, const SegmentLengths& lengths) {
  const Times& times = index.times;
  const std::vector<std::ptrdiff_t> starts = CutChooser(index, source, lengths).Choose();
  const auto time_of = [&](std::ptrdiff_t place) {
    return av_rescale_q(times[static_cast<std::size_t>(place)], source, output) - av_rescale_q(times.front(), source, output);
  };
  std::vector<SegmentCut> cuts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::ptrdiff_t start = starts[i];
    const auto end = i + 1 < starts.size() ? starts[i + 1] : static_cast<std::ptrdiff_t>(times.size());
    const std::ptrdiff_t warm_up = std::max<std::ptrdiff_t>(0, start - kWarmUpFrames);
    SegmentCut cut;
    cut.start = time_of(start);
    cut.warm_up = time_of(warm_up);
    cut.seek = warm_up == 0 ? std::nullopt : KeyBefore(index, times[static_cast<std::size_t>(warm_up)]);
    if (i + 1 < starts.size()) cut.end = time_of(end);
    cut.warm_up_frames = start - warm_up;
    cut.frames = end - start;
    cuts.push_back(cut);
  }
  return cuts;
}

PlannedSegment SpanOf(const SegmentCut& cut, AVRational time_base, double duration_s) {
  const double start_s = static_cast<double>(cut.start) * av_q2d(time_base);
  const double end_s = cut.end ? static_cast<double>(*cut.end) * av_q2d(time_base) : std::max(duration_s, start_s);
  return {start_s, end_s, cut.frames};
}

}  // namespace reelmend::plan
