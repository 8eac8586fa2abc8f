// The stage that finds, tracks and restores faces, on the CPU.
#pragma once

#include <cstdint>

#include "faces/face_finder.h"
#include "faces/restorer.h"
#include "reelmend/model.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

struct FaceStageOptions {
  ModelFile model;  ///< of the layout kFace
  FinderOptions finder;

  bool operator==(const FaceStageOptions&) const = default;
};

class FaceStage {
 public:
  /// Throws Error{kUnavailable, kInvalidArgument} in one sentence.
  explicit FaceStage(const FaceStageOptions& options);

  /// Works in place. `source`: the picture before the resize and its network, of any size and siting; may be `image`. `number`: the
  /// frame's number in the whole video. A warm-up frame is analysed only. The picture is 4:2:0, left-sited. Without faces no sample
  /// changes.
  void Run(pixel::Image& image, const pixel::Image& source, std::int64_t number, bool is_cut, bool is_warm_up, pixel::ThreadPool& pool);

  void set_strength(float strength) { finder_.set_strength(strength); }

  /// Number of restored faces so far, summed over frames.
  std::int64_t restored() const { return restored_; }
  const DetectorWork& work() const { return finder_.work(); }

 private:
  FaceFinder finder_;
  FaceRestorer restorer_;
  std::int64_t restored_ = 0;
};

}  // namespace reelmend::faces
