// The stage of the pipeline that finds faces, follows them, and restores them.
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
  float enlargement = 1;  ///< finished pixels a pixel of the source
  float strength = 1;
  int threads = 1;

  bool operator==(const FaceStageOptions&) const = default;
};

/// Faces whose box is narrower than this in the source hold too little, and are left alone.
inline constexpr float kSmallestFace = 24;
/// So are those whose box is larger than this in the finished picture: a network's 512 pixels would soften them.
inline constexpr float kLargestFace = 512;

class FaceStage {
 public:
  /// Throws Error{kUnavailable, kInvalidArgument} in one sentence.
  explicit FaceStage(const FaceStageOptions& options);

  /// In place. `number`: of the frame in the whole video; a frame of the warm-up is looked at only.
  /// The picture is 4:2:0 and left-sited. Where no face is found, no sample changes.
  void Run(pixel::Image& image, std::int64_t number, bool is_cut, bool is_warm_up, pixel::ThreadPool& pool);

  void set_strength(float strength) { options_.strength = strength; }

  /// Faces restored so far, each frame's counted.
  std::int64_t restored() const { return restored_; }
  /// What looking for them took so far.
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
