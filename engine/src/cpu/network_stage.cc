#include "cpu/network_stage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "reelmend/error.h"

namespace reelmend::cpu {
namespace {

constexpr int kGrainRows = 32;
/// Tiles with their overlaps are faster than the whole picture up to this share of its area.
constexpr double kWorthTiles = 0.7;
/// Size of a tile without its overlap: small ones waste less on a small change, large ones less on their overlaps.
constexpr int kSmallestTile = 128;
constexpr int kHalosOfTile = 6;
/// Reach of Lanczos-3 when it brings chroma to luma's resolution, in chroma samples.
constexpr int kChromaReach = 4;

}  // namespace

NetworkStage::NetworkStage(const NetworkStageOptions& options)
    : options_(options),
      backend_(inference::CreateBackend("openvino")),
      changes_(options.in.width, options.in.height, options.subsampling) {
  Size size = options.in;
  pixel::Subsampling subsampling = options.subsampling;
  for (int i = 0; i < options.fit.passes; ++i) {
    Pass pass;
    const inference::FrameNetworkOptions network = OptionsFor(size);
    if (options.prepared != nullptr) pass.network = options.prepared->TakeNetwork(options.fit.file, network);
    if (!pass.network) pass.network = std::make_unique<inference::FrameNetwork>(*backend_, options.fit.file, network);
    pass.converter = MakeTensorConverter(options.fit.file.layout, size.width, size.height, subsampling, options.color,
                                         i == 0 ? options.strength : 0.0F);
    size = {pass.network->output_width(), pass.network->output_height()};
    subsampling = pass.converter->output_subsampling();
    if (i + 1 < options.fit.passes) pass.between = pixel::Image(size.width, size.height, subsampling, options.color);
    passes_.push_back(std::move(pass));
  }
  options_.prepared = nullptr;  // it may be destroyed before tiles are made
  PlanTiles();
}

inference::FrameNetworkOptions NetworkStage::OptionsFor(Size size) const {
  inference::FrameNetworkOptions network;
  network.width = size.width;
  network.height = size.height;
  network.threads = options_.threads;
  network.is_stopped = options_.is_stopped;
  network.takes_shuffled = TakesShuffled(options_.fit.file.layout);
  return network;
}

void NetworkStage::PlanTiles() {
  const ModelFile& file = options_.fit.file;
  reuse_.may_use_tiles = passes_.size() == 1;
  largest_part_ = std::max(kSmallestTile, kHalosOfTile * file.halo);
  tile_plan_ = inference::PlanParts(options_.in.width, options_.in.height, file.multiple, file.halo, largest_part_);
}

Size NetworkStage::output() const {
  return {passes_.back().network->output_width(), passes_.back().network->output_height()};
}

void NetworkStage::SubmitPass(Pass& pass, const pixel::Image& image, pixel::ThreadPool& pool) {
  pass.network->Submit([&pass, &image, &pool, prepared = false](const inference::InputArea& area) mutable {
    if (!prepared) pass.converter->Prepare(image, pool);
    prepared = true;
    pass.converter->PackInput(image, area, pool);
  });
}

void NetworkStage::MakeTiles() {
  inference::FrameNetworkOptions network = OptionsFor(options_.in);
  network.largest_part = largest_part_;
  try {
    tiles_ = std::make_unique<inference::FrameNetwork>(*backend_, options_.fit.file, network);
    reuse_.may_use_tiles = tiles_->tiles() == tile_plan_;
  } catch (const Error&) {
    reuse_.may_use_tiles = false;
  }
}

/// Tiles that contain a change; nothing if running the whole picture is faster.
std::optional<std::vector<int>> NetworkStage::ChangedTiles() const {
  const int reach = makes_chroma() ? kChromaReach << std::max(options_.subsampling.log2_x, options_.subsampling.log2_y) : 0;
  const int width = tile_plan_.tile_width;
  const int height = tile_plan_.tile_height;
  std::vector<int> changed;
  for (std::size_t i = 0; i < tile_plan_.tiles.size(); ++i) {
    const inference::Tile& tile = tile_plan_.tiles[i];
    if (changes_.Touches(tile.x - reach, tile.y - reach, width + 2 * reach, height + 2 * reach)) changed.push_back(static_cast<int>(i));
  }
  const double samples = static_cast<double>(width) * height * static_cast<double>(changed.size());
  if (samples > kWorthTiles * options_.in.width * options_.in.height) return std::nullopt;
  return changed;
}

NetworkStage::Submitted NetworkStage::Compare(const pixel::Image& image) {
  Submitted submitted;
  submitted.image = &image;
  if (!options_.reuses) return submitted;
  const pixel::PictureView now = pixel::ViewOf(image);
  const int most = reuse_.may_use_tiles ? static_cast<int>(kWorthTiles * changes_.blocks()) : 0;
  const pixel::Planes planes = makes_chroma() ? pixel::Planes::kAll : pixel::Planes::kLuma;
  const bool is_alike = before_ && changes_.Compare(*before_, now, planes, most);
  const auto tiles = is_alike ? ChangedTiles() : std::nullopt;  // empty for a picture without a change
  before_ = now;
  const bool has_kept = std::exchange(keeps_last_, tiles.has_value());
  if (!tiles) return submitted;
  submitted.method = Method::kWholeAndKeep;
  if (!tiles->empty()) ++could_use_tiles_;
  if (!has_kept || (!tiles->empty() && !(tiles_ && reuse_.may_use_tiles))) return submitted;
  submitted.tiles = *tiles;
  const bool is_trial = !tiles->empty() && (trials_ < kTrials || could_use_tiles_ % kTrialEvery == 0);
  submitted.method = is_trial ? Method::kTrial : Method::kTiles;
  return submitted;
}

void NetworkStage::Submit(const pixel::Image& image, pixel::ThreadPool& pool) {
  submitted_.push_back(Compare(image));
  if (submitted_.back().method != Method::kTiles) SubmitPass(passes_.front(), image, pool);
}

void NetworkStage::Copy(const pixel::Image& from, pixel::Image& to, pixel::ThreadPool& pool) const {
  const int planes = makes_chroma() ? 3 : 1;
  const auto rows = [&](int first, int last) {
    for (int p = 0; p < planes; ++p) {
      const auto width = sizeof(std::uint16_t) * static_cast<std::size_t>(from.plane(p).width);
      for (int y = first; y < last; ++y) std::memcpy(to.plane(p).Row(y), from.plane(p).Row(y), width);
    }
  };
  pool.ParallelRows(from.height(), kGrainRows, std::ref(rows));
}

bool NetworkStage::IsKept(const pixel::Image& made) const {
  for (int p = 0; p < (makes_chroma() ? 3 : 1); ++p) {
    const auto width = sizeof(std::uint16_t) * static_cast<std::size_t>(made.plane(p).width);
    for (int y = 0; y < made.height(); ++y) {
      if (std::memcmp(made.plane(p).Row(y), kept_.plane(p).Row(y), width) != 0) return false;
    }
  }
  return true;
}

/// Updates kept_ from the previous picture's output to this one's.
void NetworkStage::RunTiles(const Submitted& submitted, pixel::ThreadPool& pool) {
  if (submitted.tiles.empty()) return;
  TensorConverter& converter = *passes_.front().converter;
  converter.Prepare(*submitted.image, pool);
  tiles_->RunTiles([&](const inference::InputArea& area) { converter.PackInput(*submitted.image, area, pool); },
                   [&](const inference::OutputArea& area) { converter.UnpackOutput(area, kept_, pool); }, submitted.tiles);
}

void NetworkStage::TryTiles(const Submitted& submitted, const pixel::Image& whole, pixel::ThreadPool& pool) {
  RunTiles(submitted, pool);
  ++trials_;
  reuse_.may_use_tiles = reuse_.may_use_tiles && IsKept(whole);
}

void NetworkStage::RunPasses(pixel::Image& out, pixel::ThreadPool& pool) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    Pass& pass = passes_[i];
    const bool is_last = i + 1 == passes_.size();
    pixel::Image& target = is_last ? out : pass.between;
    pass.network->Retrieve([&](const inference::OutputArea& area) { pass.converter->UnpackOutput(area, target, pool); });
    if (!is_last) SubmitPass(passes_[i + 1], target, pool);
  }
}

void NetworkStage::Retrieve(pixel::Image& out, pixel::ThreadPool& pool) {
  const Submitted submitted = std::move(submitted_.front());
  submitted_.pop_front();
  if (submitted.method == Method::kTiles) {
    RunTiles(submitted, pool);
    ++(submitted.tiles.empty() ? reuse_.whole : reuse_.partial);
    return Copy(kept_, out, pool);
  }
  RunPasses(out, pool);
  if (submitted.method == Method::kWhole) return;
  if (submitted.method == Method::kTrial) TryTiles(submitted, out, pool);
  if (kept_.empty()) kept_ = pixel::Image(out.width(), out.height(), out.subsampling(), out.color());
  Copy(out, kept_, pool);
}

}  // namespace reelmend::cpu
