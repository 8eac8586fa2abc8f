// Which faces of a video are restored, where, and how strongly: the same on every device.
#pragma once

#include <cstdint>
#include <vector>

#include "faces/detector.h"
#include "faces/tracker.h"
#include "inference/backend.h"
#include "pixel/thread_pool.h"
#include "reelmend/enhance.h"

namespace reelmend::faces {

struct FinderOptions {
  int width = 0;  ///< of the finished pictures
  int height = 0;
  float enlargement = 1;  ///< finished pixels per pixel of the source
  float strength = 1;
  int threads = 1;

  bool operator==(const FinderOptions&) const = default;
};

/// For pictures that are enlarged from size `in`, that of the recording (plan's Note [Working size]), to `out`.
FinderOptions MakeFinderOptions(Size in, Size out, float strength, int threads);

/// Faces narrower than this in the source have too little detail and are not restored.
inline constexpr float kSmallestFace = 24;
/// Faces wider than this in the source, or in a result that is smaller, show more detail than the crop of a network can hold, and are not
/// restored.
inline constexpr float kLargestFace = 512;

struct FoundFace {
  Landmarks points;
  float strength = 0;  ///< of its restoration, above 0 up to 1
};

class FaceFinder {
 public:
  /// Loads the detector, which runs on the CPU. Throws Error{kUnavailable} in one sentence.
  explicit FaceFinder(const FinderOptions& options);

  /// OpenVINO, for the network that restores.
  inference::Backend& openvino() { return *openvino_; }

  /// Once per frame, in order. `number`: the frame's number in the whole video.
  std::vector<FoundFace> Find(FacePicture& picture, std::int64_t number, bool is_cut, pixel::ThreadPool& pool);

  const FinderOptions& options() const { return options_; }
  void set_strength(float strength) { options_.strength = strength; }
  /// Size of the reduced picture that Find asks for; 0 if the pictures are too small for any face.
  Size searched_size() const { return detector_.searched_size(); }
  /// Work of the detector so far.
  const DetectorWork& work() const { return detector_.work(); }

 private:
  FinderOptions options_;
  std::unique_ptr<inference::Backend> openvino_;
  FaceDetector detector_;
  FaceTracker tracker_;
};

}  // namespace reelmend::faces
