// Finds faces and their five landmarks in a picture.
//
// Note [The detector]
// MTCNN (Zhang et al. 2016, "Joint Face Detection and Alignment using Multitask Cascaded Convolutional Networks"). A
// tiny fully convolutional network proposes squares on an image pyramid; a second one on 24 × 24 samples rejects most
// of them; a third one on 48 × 48 decides and gives the landmarks. The three files are third-party (scripts/faces.txt
// names package, licence and hashes) and are used as in their package: samples (R′G′B′ − 127.5) / 128, transposed (x
// before y), thresholds 0.6 and 0.7. The last threshold is higher, because a false detection must not be "restored".
// The third step is repeated on the square that the face's landmarks give, so that they do not depend on how the face was
// found; this keeps them stable from frame to frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "faces/face_geometry.h"
#include "faces/face_picture.h"
#include "inference/backend.h"
#include "pixel/thread_pool.h"
#include "reelmend/enhance.h"

namespace reelmend::faces {

struct DetectorOptions {
  int width = 0;  ///< of the pictures
  int height = 0;
  float smallest = 24;  ///< side of the smallest face to find, in pixels
  int threads = 1;
};

/// Work of a detector so far. The cost of a step does not depend on the picture.
struct DetectorWork {
  std::int64_t searches = 0;         ///< of whole pictures
  std::int64_t searched_pixels = 0;  ///< of all levels of the pyramid in the first network
  std::int64_t second_looks = 0;     ///< batches of the second network
  std::int64_t third_looks = 0;
};

class FaceDetector {
 public:
  /// Loads the three files from `folder` (its name ends with a slash). Throws Error{kUnavailable} in one sentence if they
  /// are missing.
  FaceDetector(inference::Backend& backend, const std::string& folder, const DetectorOptions& options);
  ~FaceDetector();

  /// All faces, highest score first. The picture has the options' size.
  std::vector<Face> Detect(FacePicture& picture, pixel::ThreadPool& pool);
  /// The face of `last`, one frame later; none if it is no longer visible.
  std::optional<Face> Follow(FacePicture& picture, const Face& last);

  /// Size of the reduced picture that Detect asks for; 0 if the pictures are too small for any face.
  Size searched_size() const;
  const DetectorWork& work() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Batch size of the second network, and the largest number of squares that it gets per picture. The latter limits the time of a
/// frame: a picture full of texture proposes thousands.
inline constexpr int kRefineBatch = 16;
inline constexpr std::size_t kMostProposals = 400;

/// Folder of the detector's files in this build, with a slash at its end. Throws Error{kUnavailable}.
std::string DetectorFolder();

/// Whether this build can find faces on this machine.
bool CanDetectFaces();

}  // namespace reelmend::faces
