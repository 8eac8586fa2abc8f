// The stage that finds, tracks and restores faces.
#pragma once

#include <cstdint>
#include <memory>

#include "faces/detector.h"
#include "faces/restorer.h"
#include "faces/tracker.h"
#include "reelmend/model.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

struct FaceStageOptions {
  ModelFile model;  ///< of the layout kFace
  int width = 0;    ///< of the finished pictures
  int height = 0;
  float enlargement = 1;  ///< finished pixels per pixel of the source
  float strength = 1;
  int threads = 1;

  bool operator==(const FaceStageOptions&) const = default;
};

/// Faces narrower than this in the source have too little detail and are not restored.
inline constexpr float kSmallestFace = 24;
/// Faces larger than this in the output are not restored: a network of 512 pixels would soften them.
inline constexpr float kLargestFace = 512;

class FaceStage {
 public:
  /// Throws Error{kUnavailable, kInvalidArgument} in one sentence.
  explicit FaceStage(const FaceStageOptions& options);

  /// Works in place. `number`: the frame's number in the whole video. A warm-up frame is analysed only. The picture
  /// is 4:2:0, left-sited. Without faces no sample changes.
  void Run(pixel::Image& image, std::int64_t number, bool is_cut, bool is_warm_up, pixel::ThreadPool& pool);

  void set_strength(float strength) { options_.strength = strength; }

  /// Number of restored faces so far, summed over frames.
  std::int64_t restored() const { return restored_; }
  /// Work of the detector so far.
  const DetectorWork& work() const { return detector_.work(); }

 private:
  FaceStageOptions options_;
  std::unique_ptr<inference::Backend> backend_;
  FaceDetector detector_;
  FaceTracker tracker_;
  FaceRestorer restorer_;
  std::int64_t restored_ = 0;
};

}  // namespace reelmend::faces
