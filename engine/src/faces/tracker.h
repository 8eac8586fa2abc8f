// Tracks faces from frame to frame and smooths their landmarks.
//
// Note [Faces over time]
// The whole picture is searched on key frames only (every kKeyEvery frames, counted over the video, and at the start
// of a scene). Between them each face is searched near its last position. The result depends on the last few frames
// only, so that a segment after its warm-up equals the whole run: detections are kept for kMemory frames. A face's
// landmarks are the weighted mean of its detections; older detections and those farther from the current position
// weigh less, so still faces are smoothed and moving ones are not delayed. Its presence is the share of the last
// kFade frames with a detection: a face that appears or vanishes within a scene is faded in or out. A scene cut
// clears everything. It looks back kKeyEvery + kMemory = 16 frames at most.
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

/// The smoothing alone: detections of the last frames, oldest first → the face in the last of them.
class FaceHistory {
 public:
  void Forget() { frames_.clear(); }
  /// Detection in the next frame.
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
  std::vector<TrackedFace> Update(FacePicture& picture, std::int64_t number, bool is_cut, pixel::ThreadPool& pool);

 private:
  FaceDetector& detector_;
  FaceHistory history_;
  std::int64_t last_number_ = 0;
};

}  // namespace reelmend::faces
