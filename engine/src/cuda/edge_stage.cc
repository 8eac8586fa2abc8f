#include "cuda/edge_stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/enqueue.h"

namespace reelmend::cuda {

EdgeStage::EdgeStage(std::shared_ptr<Device> device, const Picture& shape, float enlargement, float strength)
    : arena_(std::move(device)),
      contour_weights_(pixel::MakeContourWeights(enlargement, strength)),
      guided_weights_(pixel::MakeGuidedWeights(enlargement, strength)),
      smooth_(arena_.MakePlane(shape.width(), shape.height())) {
  const auto make = [&](const Plane& plane, int cell) {
    return arena_.MakeFloats(Blocks(plane.width, cell), Blocks(plane.height, cell));
  };
  for (ContourCells& cells : contours_) {
    for (View<float>* view : {&cells.difference, &cells.mixed, &cells.trace}) *view = make(shape.planes[0], pixel::kContourCell);
  }
  for (GuidedPlanes& planes : guided_) {
    for (View<float>& view : planes.cells) view = make(shape.planes[1], pixel::kGuidedCell);
  }
}

void EdgeStage::SmoothContours(const Plane& luma, const Plane& out, StreamHandle stream) {
  Device& device = *arena_.device();
  const Extent cells{contours_[0].trace.width, contours_[0].trace.height, 1};
  Enqueue(device, ContourCellKernel{luma, contours_[0]}, cells, stream);
  Enqueue(device, ContourBlurKernel{contours_[0], contours_[1], contour_weights_, true}, cells, stream);
  Enqueue(device, ContourBlurKernel{contours_[1], contours_[0], contour_weights_, false}, cells, stream);
  const Extent samples{luma.width, luma.height, 1};
  Enqueue(device, ContourKernel{{luma, contours_[0]}, smooth_, contour_weights_}, samples, stream);
  Enqueue(device, ContourSharpenKernel{{smooth_, contours_[0]}, out, contour_weights_}, samples, stream);
}

void EdgeStage::GuideChroma(const Picture& picture, StreamHandle stream) {
  Device& device = *arena_.device();
  const pixel::GuidedWeights& w = guided_weights_;
  const View<float>& cells = guided_[0].cells[0];
  const auto blur = [&](int planes, const float (&weights)[pixel::kGuidedReach + 1]) {
    GuidedBlurKernel kernel{guided_[0], guided_[1], {}, true};
    std::copy(std::begin(weights), std::end(weights), std::begin(kernel.weights));
    Enqueue(device, kernel, {cells.width, cells.height, planes}, stream);
    std::swap(kernel.in, kernel.out);
    kernel.is_across = false;
    Enqueue(device, kernel, {cells.width, cells.height, planes}, stream);
  };
  const Extent all{cells.width, cells.height, 1};
  Enqueue(device, GuidedCellKernel{picture, guided_[0]}, all, stream);
  blur(1, w.guide);
  Enqueue(device, GuidedProductKernel{guided_[0]}, all, stream);
  blur(8, w.window);
  Enqueue(device, GuidedFitKernel{guided_[0]}, all, stream);
  blur(6, w.window);
  Enqueue(device, GuidedChromaKernel{picture, guided_[0], w.strength}, {picture.planes[1].width, picture.planes[1].height, 1}, stream);
}

}  // namespace reelmend::cuda
