#include "faces/face_stage.h"

namespace reelmend::faces {

FaceStage::FaceStage(const FaceStageOptions& options)
    : finder_(options.finder), restorer_(finder_.openvino(), options.model, options.finder.threads) {}

void FaceStage::Run(pixel::Image& image, const pixel::Image& source, std::int64_t number, bool is_cut, bool is_warm_up, pixel::ThreadPool& pool) {
  HostPicture picture(image, pool);
  const std::vector<FoundFace> found = finder_.Find(picture, number, is_cut, pool);
  if (is_warm_up) return;
  for (const FoundFace& face : found) restorer_.Run(image, source, face.points, face.strength, pool);
  restored_ += static_cast<std::int64_t>(found.size());
}

}  // namespace reelmend::faces
