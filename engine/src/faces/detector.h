// Finding faces and their five points in a picture.
//
// Note [The detector]
// MTCNN (Zhang et al. 2016, "Joint Face Detection and Alignment using Multitask Cascaded Convolutional Networks"): a
// tiny fully convolutional network over a pyramid of the picture proposes squares, a second one of 24 × 24 samples sorts
// most of them out, a third one of 48 × 48 decides and gives the points. Its three files are not ours (scripts/faces.txt
// names package, licence and hashes) and are used as that package uses them: samples (R′G′B′ − 127.5) / 128, x before y,
// thresholds 0.6 and 0.7. The last threshold is higher, since a face that is not there must not be "restored", and a
// face's third look is repeated on the square that its own points ask for, so that the points no longer depend on how
// it was found: that keeps them steady from frame to frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "faces/geometry.h"
#include "faces/sampling.h"
#include "inference/backend.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::faces {

struct DetectorOptions {
  int width = 0;  ///< of the pictures
  int height = 0;
  float smallest = 24;  ///< side of the smallest face that is looked for, in pixels
  int threads = 1;
};

/// What a detector has done so far: each look costs the same, whatever it shows.
struct DetectorWork {
  std::int64_t searches = 0;         ///< of whole pictures
  std::int64_t searched_pixels = 0;  ///< of all levels of the pyramid that the first network saw
  std::int64_t second_looks = 0;     ///< batches of the second network
  std::int64_t third_looks = 0;
};

class FaceDetector {
 public:
  /// Loads the three files from `folder` (its name ends with a slash). Throws Error{kUnavailable} in one sentence when
  /// they are not there.
  FaceDetector(inference::Backend& backend, const std::string& folder, const DetectorOptions& options);
  ~FaceDetector();

  /// All faces, those with the highest score first. `image` is of the options' size.
  std::vector<Face> Detect(const pixel::Image& image, pixel::ThreadPool& pool);
  /// The face that `last` showed a frame before; none when it is not to be seen any more.
  std::optional<Face> Follow(const pixel::Image& image, const Face& last);

  const DetectorWork& work() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Batch of the second network, and the most squares that it is given for a picture.
inline constexpr int kRefineBatch = 16;
inline constexpr std::size_t kMostProposals = 400;

/// Folder of the detector's files in this build, with a slash at its end. Throws Error{kUnavailable}.
std::string DetectorFolder();

/// Whether this build can find faces on this machine.
bool CanDetectFaces();

}  // namespace reelmend::faces
