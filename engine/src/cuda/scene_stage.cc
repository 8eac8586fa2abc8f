#include "cuda/scene_stage.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cuda/enqueue.h"
#include "pixel/scene_detector.h"

namespace reelmend::cuda {

SceneStage::SceneStage(std::shared_ptr<Device> device, int width, int height)
    : arena_(std::move(device)), state_(arena_.MakeValues<TemporalState>(1)) {
  // pixel::SceneDetector's cells.
  shrink_.cell = std::clamp(std::min(width / 32, height / 18), 1, 8);
  shrink_.columns = std::max(1, width / shrink_.cell);
  shrink_.rows = std::max(1, height / shrink_.cell);
  shrink_.state = state_;
  thumbnails_ = arena_.MakeValues<float>(static_cast<std::size_t>(3) * shrink_.columns * shrink_.rows);
  shrink_.thumbnails = thumbnails_;
}

void SceneStage::Run(const Plane& luma, StreamHandle stream) {
  ShrinkKernel shrink = shrink_;
  shrink.luma = luma;
  Enqueue(*arena_.device(), shrink, {shrink.columns, shrink.rows, 1}, stream);
  using Scenes = pixel::SceneDetector;
  const SceneLimits limits{Scenes::kMinDifference, Scenes::kMinHistogram, Scenes::kMinStructure, Scenes::kMinDeviation};
  Enqueue(*arena_.device(), SceneKernel{thumbnails_, state_, shrink.columns * shrink.rows, limits}, {}, stream);
}

}  // namespace reelmend::cuda
