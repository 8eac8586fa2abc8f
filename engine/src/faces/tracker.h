// Faces followed from frame to frame, their points held steady.
//
// Note [Faces over time]
// The whole picture is searched on key frames only (every kKeyEvery frames of the video's own count, and where a scene
// begins); between them each face is looked at again where it was. Everything is a function of the last few frames and
// of nothing before them, so that a segment of a video after its warm-up equals the whole: what was seen is kept for
// kMemory frames, a face's points are the weighted mean of where it was seen in them (less for older ones, and less the
// farther the face has moved since: still faces are smoothed, moving ones are not held back), and its presence is the
// share of the last kFade frames in which it was seen. A face that appears or is lost in mid-scene is faded in and out
// by that; a cut forgets everything at once. Looks back kKeyEvery + kMemory frames at most, 16.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "faces/detector.h"

namespace reelmend::faces {

struct TrackedFace {
  Landmarks points;    ///< smoothed
  float side = 0;      ///< of its box, in pixels, smoothed
  float presence = 1;  ///< 0…1
};

inline constexpr int kKeyEvery = 8;
inline constexpr int kMemory = 8;
inline constexpr int kFade = 5;

/// The steadying alone: what was seen in the last frames, oldest first, to what is shown in the last of them.
class FaceHistory {
 public:
  void Forget() { frames_.clear(); }
  /// What was seen in the next frame.
  void Add(std::vector<Face> seen);
  const std::vector<Face>& last() const { return frames_.back(); }
  bool empty() const { return frames_.empty(); }
  std::vector<TrackedFace> Shown() const;

 private:
  std::deque<std::vector<Face>> frames_;
};

class FaceTracker {
 public:
  explicit FaceTracker(FaceDetector& detector) : detector_(detector) {}

  /// `number`: the frame's, counted over the whole video.
  std::vector<TrackedFace> Update(const pixel::Image& image, std::int64_t number, bool is_cut, pixel::ThreadPool& pool);

 private:
  FaceDetector& detector_;
  FaceHistory history_;
  std::int64_t last_number_ = 0;
};

}  // namespace reelmend::faces
