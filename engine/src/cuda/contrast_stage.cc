#include "cuda/contrast_stage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cuda/enqueue.h"

namespace reelmend::cuda {

ContrastStage::ContrastStage(std::shared_ptr<Device> device, int width, int height, const ContrastOptions& options)
    : arena_(std::move(device)) {
  const pixel::TileAxis across(width, pixel::TileCount(width));
  const pixel::TileAxis down(height, pixel::TileCount(height));
  const std::size_t tiles = static_cast<std::size_t>(across.count) * down.count;
  curves_.layout = pixel::LayoutOf(options.range);
  curves_.across = across.count;
  curves_.down = down.count;
  curves_.history = arena_.MakeValues<std::uint32_t>(pixel::kContrastWindow * tiles * pixel::kMaxBins);
  curves_.sums = arena_.MakeValues<std::uint32_t>(tiles * pixel::kMaxBins);
  curves_.pieces = arena_.MakeValues<CurvePiece>(tiles * pixel::kMaxSegments);
  map_.pieces = curves_.pieces;
  map_.domain = curves_.layout.domain;
  map_.across = across.count;
  map_.down = down.count;
  map_.strength = std::min(options.strength, 1.0F);
  for (int i = 0; i < across.count; ++i) map_.centre_x[i] = across.Centre(i, pixel::kCentreAlignment);
  for (int i = 0; i < down.count; ++i) map_.centre_y[i] = down.Centre(i, 1);
  if (options.level_lift.amount > 0) MakeLevels(options.level_lift);
}

void ContrastStage::MakeLevels(const pixel::LevelLift& lift) {
  LevelKernel levels;
  levels.layout = curves_.layout;
  levels.lift = lift;
  levels.tiles = map_.across * map_.down;
  levels.strength = map_.strength;
  levels.history = curves_.history;
  levels.pieces = curves_.pieces;
  levels.recent = arena_.MakeValues<pixel::Levels>(pixel::kContrastWindow);
  levels.chroma_gain = arena_.MakeValues<float>(1, 1.0F);
  levels_ = levels;
  map_.strength = 1;  // the pieces contain it
}

void ContrastStage::Run(const LumaReader& luma, const TemporalState* state, StreamHandle stream) {
  CurveKernel curves = curves_;
  curves.state = state;
  curves.luma = luma;
  Enqueue(*arena_.device(), curves, {curves.across, curves.down, 1}, stream);
  if (!levels_) return;
  LevelKernel levels = *levels_;
  levels.state = state;
  Enqueue(*arena_.device(), levels, {}, stream);
}

}  // namespace reelmend::cuda
