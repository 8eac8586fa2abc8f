#include "faces/tracker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reelmend::faces {
namespace {

constexpr float kSameFace = 0.3F;   ///< overlap from one frame to the next
constexpr float kForget = 0.85F;    ///< factor of the weight for each frame of age
constexpr float kStandsStill = 0.04F;  ///< of a face's side: the weight falls from this movement on

const Face* FindSame(const std::vector<Face>& seen, const Face& face, const std::vector<const Face*>& taken) {
  const Face* best = nullptr;
  float most = kSameFace;
  for (const Face& other : seen) {
    if (std::ranges::find(taken, &other) != taken.end()) continue;
    const float overlap = OverlapOfUnion(other.box, face.box);
    if (overlap > most) {
      most = overlap;
      best = &other;
    }
  }
  return best;
}

/// One face's detections, newest first.
TrackedFace Smoothed(const std::vector<const Face*>& sightings, const std::vector<int>& ages) {
  const Face& newest = *sightings.front();
  TrackedFace shown;
  shown.points = {};
  float sum = 0;
  for (std::size_t i = 0; i < sightings.size(); ++i) {
    const Face& seen = *sightings[i];
    const float moved = Distance(seen.points, newest.points) / (kStandsStill * newest.box.side());
    const float weight = std::pow(kForget, static_cast<float>(ages[i])) * std::exp(-moved * moved);
    for (std::size_t p = 0; p < kPoints; ++p) {
      shown.points[p].x += weight * seen.points[p].x;
      shown.points[p].y += weight * seen.points[p].y;
    }
    shown.side += weight * seen.box.side();
    sum += weight;
  }
  for (Point& point : shown.points) point = {point.x / sum, point.y / sum};
  shown.side /= sum;
  return shown;
}

}  // namespace

void FaceHistory::Add(std::vector<Face> seen) {
  frames_.push_back(std::move(seen));
  if (frames_.size() > kMemory) frames_.pop_front();
}

std::vector<TrackedFace> FaceHistory::Shown() const {
  std::vector<TrackedFace> shown;
  std::vector<std::vector<const Face*>> taken(frames_.size());
  const int frames = static_cast<int>(frames_.size());
  const int fade = std::min(kFade, frames);
  // Faces of the newest frame first, then those lost in the last few frames.
  for (int first = 0; first < fade; ++first) {
    for (const Face& face : frames_[frames - 1 - first]) {
      if (std::ranges::find(taken[frames - 1 - first], &face) != taken[frames - 1 - first].end()) continue;
      std::vector<const Face*> sightings;
      std::vector<int> ages;
      const Face* last = &face;
      int recent = 0;
      for (int age = first; age < frames; ++age) {
        const int at = frames - 1 - age;
        const Face* same = age == first ? &face : FindSame(frames_[at], *last, taken[at]);
        if (same == nullptr) continue;
        taken[at].push_back(same);
        sightings.push_back(same);
        ages.push_back(age - first);
        last = same;
        if (age < fade) ++recent;
      }
      TrackedFace tracked = Smoothed(sightings, ages);
      tracked.presence = static_cast<float>(recent) / static_cast<float>(fade);
      shown.push_back(tracked);
    }
  }
  return shown;
}

std::vector<TrackedFace> FaceTracker::Update(FacePicture& picture, std::int64_t number, bool is_cut, pixel::ThreadPool& pool) {
  if (is_cut) history_.Forget();
  const bool is_key = history_.empty() || number / kKeyEvery != last_number_ / kKeyEvery;
  last_number_ = number;
  if (is_key) {
    history_.Add(detector_.Detect(picture, pool));
    return history_.Shown();
  }
  std::vector<Face> seen;
  for (const Face& face : history_.last()) {
    const std::optional<Face> again = detector_.Follow(picture, face);
    if (!again) continue;
    // Two tracks may have moved onto the same face.
    const bool is_known = std::ranges::any_of(seen, [&](const Face& f) { return OverlapOfUnion(f.box, again->box) > 0.5F; });
    if (!is_known) seen.push_back(*again);
  }
  history_.Add(std::move(seen));
  return history_.Shown();
}

}  // namespace reelmend::faces
