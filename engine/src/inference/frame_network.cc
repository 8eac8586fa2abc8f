#include "inference/frame_network.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "reelmend/error.h"
#include "inference/model_loader.h"

namespace reelmend::inference {
namespace {

/// Note [Requests]
/// One thread per request, and as many requests as threads, up to this limit. Requests need not wait for each other as the
/// threads of one request do, so the other stages of the pipeline get the processor time that is left. Frames in flight cost
/// memory, which the limit bounds. The frame is cut for the memory of a single request, and what is left decides how many
/// there are: smaller tiles would overlap more, and with the number of threads their borders would change, at which a network
/// that sees further than its halo differs.
constexpr int kMaxRequests = 4;

/// As many as the memory has space for, each of `bytes`.
int Requests(int threads, std::int64_t bytes, std::int64_t memory) {
  const std::int64_t most = std::min<std::int64_t>(std::clamp(threads, 1, kMaxRequests), memory / std::max<std::int64_t>(bytes, 1));
  return static_cast<int>(std::max<std::int64_t>(most, 1));
}

}  // namespace

FrameNetwork::FrameNetwork(Backend& backend, const ModelFile& file, const FrameNetworkOptions& options)
    : scale_(file.scale), is_stopped_(options.is_stopped) {
  const std::unique_ptr<Model> model = LoadModel(backend, file);
  const int planes = InputPlanes(file.layout);
  const auto bytes = [&](int width, int height) { return model->WorkingBytes({planes, height, width}); };
  const int side = SideOfPart(options.largest_part, file.multiple, file.halo);
  plan_ = PlanTiles(options.width, options.height, file.multiple, file.halo, [&](int width, int height) {
    return (options.largest_part == 0 || std::max(width, height) <= side) && bytes(width, height) <= options.memory_bytes;
  });
  const std::int64_t of_tile = bytes(plan_.tile_width, plan_.tile_height);
  const int requests = Requests(options.threads, of_tile, options.memory_bytes);
  working_bytes_ = requests * of_tile;
  CompileOptions compile{{planes, plan_.tile_height, plan_.tile_width}, requests, options.threads, file.allow_bf16};
  // Tiles begin at multiples of this, so that a shuffle by a divisor of it has whole groups.
  if (options.takes_shuffled) compile.shuffle_multiple = file.multiple * scale_;
  network_ = model->Compile(compile);
}

FrameNetwork::~FrameNetwork() = default;

void FrameNetwork::Start(const PackInput& pack, const Tile& tile, int request) {
  pack({network_->Input(request), tile.x, tile.y, plan_.tile_width, plan_.tile_height});
  network_->Start(request);
}

void FrameNetwork::Finish(const UnpackOutput& unpack, const Tile& tile, int request) {
  network_->Wait(request);
  const int shuffle = network_->shuffle();
  OutputArea area;
  area.shuffle = shuffle;
  area.stride = plan_.tile_width * scale_ / shuffle;
  area.plane = std::int64_t{area.stride} * (plan_.tile_height * scale_ / shuffle);
  area.x = tile.keep_x * scale_;
  area.y = tile.keep_y * scale_;
  area.width = tile.keep_width * scale_;
  area.height = tile.keep_height * scale_;
  area.data = network_->Output(request) + std::int64_t{(tile.keep_y - tile.y) * scale_ / shuffle} * area.stride +
              (tile.keep_x - tile.x) * scale_ / shuffle;
  unpack(area);
}

void FrameNetwork::Submit(PackInput pack) {
  if (static_cast<int>(submitted_.size()) >= depth()) throw Error(ErrorCode::kInternal, "Too many frames are in the network.");
  if (!is_cut()) {
    Start(pack, plan_.tiles[0], next_request_);
    next_request_ = (next_request_ + 1) % network_->requests();
  }
  submitted_.push_back(std::move(pack));
}

void FrameNetwork::Retrieve(const UnpackOutput& unpack) {
  if (submitted_.empty()) throw Error(ErrorCode::kInternal, "No frame is in the network.");
  const PackInput pack = std::move(submitted_.front());
  submitted_.pop_front();
  if (is_cut()) {
    std::vector<int> all(plan_.tiles.size());
    std::iota(all.begin(), all.end(), 0);
    return RunTiles(pack, unpack, all);
  }
  const int request = oldest_request_;
  oldest_request_ = (oldest_request_ + 1) % network_->requests();
  Finish(unpack, plan_.tiles[0], request);
}

void FrameNetwork::RunTiles(const PackInput& pack, const UnpackOutput& unpack, const std::vector<int>& which) {
  if (!submitted_.empty()) throw Error(ErrorCode::kInternal, "A frame is in the network.");
  const int count = static_cast<int>(which.size());
  const int requests = network_->requests();
  const auto tile = [&](int i) -> const Tile& { return plan_.tiles[which[i]]; };
  for (int i = 0; i < count + requests; ++i) {
    if (is_stopped_ && is_stopped_()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
    if (i >= requests) Finish(unpack, tile(i - requests), (i - requests) % requests);
    if (i < count) Start(pack, tile(i), i % requests);
  }
}

}  // namespace reelmend::inference
