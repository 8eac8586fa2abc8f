#include "faces/face_stage.h"

#include <algorithm>

namespace reelmend::faces {

FaceStage::FaceStage(const FaceStageOptions& options)
    : options_(options),
      backend_(inference::CreateBackend("openvino")),
      detector_(*backend_, DetectorFolder(),
                {options.width, options.height, kSmallestFace * std::max(1.0F, options.enlargement), options.threads}),
      tracker_(detector_),
      restorer_(*backend_, options.model, options.threads) {}

void FaceStage::Run(pixel::Image& image, std::int64_t number, bool is_cut, bool is_warm_up, pixel::ThreadPool& pool) {
  const std::vector<TrackedFace> faces = tracker_.Update(image, number, is_cut, pool);
  if (is_warm_up) return;
  const float smallest = kSmallestFace * options_.enlargement;
  for (const TrackedFace& face : faces) {
    // Gradual, so that an approaching face does not change all at once.
    const float large_enough = std::clamp((face.side - smallest) / (0.15F * smallest), 0.0F, 1.0F);
    const float small_enough = std::clamp((kLargestFace - face.side) / (0.1F * kLargestFace), 0.0F, 1.0F);
    const float strength = options_.strength * face.presence * large_enough * small_enough;
    if (strength <= 0) continue;
    restorer_.Run(image, face.points, strength, pool);
    ++restored_;
  }
}

}  // namespace reelmend::faces
