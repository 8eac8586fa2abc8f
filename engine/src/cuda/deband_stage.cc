#include "cuda/deband_stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/enqueue.h"

namespace reelmend::cuda {

DebandStage::DebandStage(std::shared_ptr<Device> device, const Picture& shape, float threshold)
    : arena_(std::move(device)), threshold_(threshold) {
  for (int p = 0; p < 3; ++p) {
    const int columns = Blocks(shape.planes[p].width, pixel::kDebandCell);
    const int rows = Blocks(shape.planes[p].height, pixel::kDebandCell);
    for (CellPlanes* cells : {&cells_[p], &pooled_[p]}) {
      for (View<float>* view : {&cells->mean, &cells->low, &cells->high}) *view = arena_.MakeFloats(columns, rows);
    }
  }
}

void DebandStage::Run(const Picture& picture, StreamHandle stream) {
  Device& device = *arena_.device();
  const Extent cells{cells_[0].mean.width, cells_[0].mean.height, 3};
  const auto pool = [&](const CellPlanes (&in)[3], const CellPlanes (&out)[3], int reach, bool is_across) {
    PoolKernel kernel;
    std::copy(std::begin(in), std::end(in), std::begin(kernel.in));
    std::copy(std::begin(out), std::end(out), std::begin(kernel.out));
    kernel.reach = reach;
    kernel.is_across = is_across;
    Enqueue(device, kernel, cells, stream);
  };
  for (const int reach : pixel::kDebandReach) {
    CellKernel measure;
    measure.in = picture;
    std::copy(std::begin(cells_), std::end(cells_), std::begin(measure.out));
    Enqueue(device, measure, cells, stream);
    pool(cells_, pooled_, reach, true);
    pool(pooled_, cells_, reach, false);
    DebandKernel deband;
    deband.picture = picture;
    std::copy(std::begin(cells_), std::end(cells_), std::begin(deband.around));
    deband.limits = pixel::MakeDebandLimits(threshold_ * pixel::kUnitsPer8BitLevel);
    Enqueue(device, deband, {picture.width(), picture.height(), 3}, stream);
  }
}

}  // namespace reelmend::cuda
