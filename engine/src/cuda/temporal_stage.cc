#include "cuda/temporal_stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/enqueue.h"
#include "cuda/motion_field.h"

namespace reelmend::cuda {

TemporalStage::TemporalStage(std::shared_ptr<Device> device, const Picture& shape, const pixel::TemporalOptions& options,
                             const TemporalState* state)
    : arena_(std::move(device)), options_(options), state_(state) {
  const Plane& luma = shape.planes[0];
  for (int i = 0; i < TemporalHistory::kPictures; ++i) {
    const Picture picture = arena_.MakePicture(luma.width, luma.height, shape.subsampling(), shape.color);
    for (int p = 0; p < 3; ++p) {
      TemporalHistory& history = history_[p];
      const int once = i - TemporalHistory::kInputs;
      const int twice = once - TemporalHistory::kOnce;
      Plane& slot = once < 0 ? history.inputs[i] : twice < 0 ? history.once[once] : history.twice[twice];
      slot = picture.planes[p];
    }
  }
  field_ = MakeMotionField(arena_, Blocks(luma.width, pixel::kMotionBlock), Blocks(luma.height, pixel::kMotionBlock));
  for (int i = 0; i < MotionHistory::kPictures; ++i) {
    motion_.luma[i] = history_[0].inputs[i];
    motion_.means[i] = arena_.MakePlane(std::max(1, luma.width / pixel::kMotionCell), std::max(1, luma.height / pixel::kMotionCell));
  }
}

void TemporalStage::FindMotion(const Plane& luma, StreamHandle stream) {
  if (std::min(luma.width, luma.height) < pixel::kMotionMinSide) return;  // the vectors stay 0
  Device& device = *arena_.device();
  Enqueue(device, MeanKernel{luma, motion_, state_}, {motion_.means[0].width, motion_.means[0].height, 1}, stream);
  MotionKernel search;
  search.state = state_;
  search.now = luma;
  search.history = motion_;
  search.field = field_;
  std::copy(std::begin(pixel::kTemporalLags), std::end(pixel::kTemporalLags), std::begin(search.lags));
  search.still_sad = pixel::StillSad(options_.grain_sigma);
  Enqueue(device, search, {field_.columns, field_.rows, 1}, stream);
  FollowGlobalMotion(device, search, stream);
}

void TemporalStage::Run(const Picture& in, const Picture& out, StreamHandle stream) {
  FindMotion(in.planes[0], stream);
  TemporalKernel temporal;
  temporal.state = state_;
  temporal.in = in;
  temporal.out = out;
  std::copy(std::begin(history_), std::end(history_), std::begin(temporal.history));
  temporal.field = field_;
  const auto limits = pixel::MakeStepLimits(options_.noise_sigma, options_.grain_sigma);
  for (int i = 0; i < pixel::kTemporalSteps; ++i) {
    temporal.steps[i] = {pixel::kTemporalLags[i], limits[i].falloff, limits[i].mean_difference, limits[i].grain_difference};
  }
  temporal.strength = std::min(options_.strength, 1.0F);
  const Extent tiles{Blocks(in.width(), TemporalKernel::kTileWidth), Blocks(in.height(), pixel::kTemporalBlock), 1};
  Enqueue(*arena_.device(), temporal, tiles, stream);
}

}  // namespace reelmend::cuda
