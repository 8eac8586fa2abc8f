#include "faces/face_finder.h"

#include <algorithm>

namespace reelmend::faces {

FinderOptions MakeFinderOptions(Size in, Size out, float strength, int threads) {
  return {out.width, out.height, static_cast<float>(out.width) / static_cast<float>(in.width), strength, threads};
}

FaceFinder::FaceFinder(const FinderOptions& options)
    : options_(options),
      openvino_(inference::CreateBackend("openvino")),
      detector_(*openvino_, DetectorFolder(),
                {options.width, options.height, kSmallestFace * std::max(1.0F, options.enlargement), options.threads}),
      tracker_(detector_) {}

std::vector<FoundFace> FaceFinder::Find(FacePicture& picture, std::int64_t number, bool is_cut, pixel::ThreadPool& pool) {
  const float smallest = kSmallestFace * options_.enlargement;
  const float largest = kLargestFace * std::max(1.0F, options_.enlargement);
  std::vector<FoundFace> found;
  for (const TrackedFace& face : tracker_.Update(picture, number, is_cut, pool)) {
    // Gradual, so that an approaching face does not change all at once.
    const float large_enough = std::clamp((face.side - smallest) / (0.15F * smallest), 0.0F, 1.0F);
    const float small_enough = std::clamp((largest - face.side) / (0.1F * largest), 0.0F, 1.0F);
    const float strength = options_.strength * face.presence * large_enough * small_enough;
    if (strength > 0) found.push_back({face.points, strength});
  }
  return found;
}

}  // namespace reelmend::faces
