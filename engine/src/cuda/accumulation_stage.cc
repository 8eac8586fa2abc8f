#include "cuda/accumulation_stage.h"

#include <algorithm>
#include <utility>

#include "cuda/enqueue.h"
#include "cuda/motion_field.h"

namespace reelmend::cuda {

AccumulationStage::AccumulationStage(std::shared_ptr<Device> device, int width, int height, float strength)
    : arena_(std::move(device)), strength_(std::min(strength, 1.0F)) {
  for (Plane& plane : history_.inputs) plane = arena_.MakePlane(width, height);
  for (Plane& plane : history_.once) plane = arena_.MakePlane(width, height);
  refined_ = MakeMotionField(arena_, Blocks(width, pixel::kRefinedCell), Blocks(height, pixel::kRefinedCell));
}

void AccumulationStage::Run(const Plane& luma, const Plane& out, const SourceVectors& motion, const TemporalState* state,
                            StreamHandle stream) {
  Device& device = *arena_.device();
  RefineKernel refine;
  refine.now = luma;
  refine.cell = pixel::kRefinedCell;
  refine.state = state;
  refine.history = history_;
  refine.field = refined_;
  refine.source = motion;
  AccumulateKernel blend;
  for (int i = 0; i < pixel::kAccumulationSteps; ++i) refine.lags[i] = blend.lags[i] = pixel::kAccumulationLags[i];
  Enqueue(device, refine, {refined_.columns, refined_.rows, 1}, stream);
  FollowGlobalMotion(device, refine, stream);
  blend.state = state;
  blend.in = luma;
  blend.out = out;
  blend.history = history_;
  blend.field = refined_;
  blend.strength = strength_;
  Enqueue(device, blend, {Blocks(luma.width, BlockTile::kTileWidth), Blocks(luma.height, pixel::kTemporalBlock), 1}, stream);
}

}  // namespace reelmend::cuda
