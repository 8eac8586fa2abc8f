// Runs a network over whole frames: compiled once per size, cut into tiles if memory is short, several frames at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reelmend/model.h"
#include "inference/backend.h"
#include "inference/tiles.h"

namespace reelmend::inference {

/// Input of a tile. Fill tile_width × tile_height samples of every plane; repeat the frame's last row and column
/// beyond its end.
struct InputArea {
  float* data = nullptr;
  int x = 0;  ///< of the tile's first pixel, in the frame
  int y = 0;
  int width = 0;  ///< of a plane
  int height = 0;
};

/// Output of a tile: the kept part of every plane. Row r of plane p starts at data + p × plane + r × stride. With
/// `shuffle` b > 1 there are b² such planes for each output plane (Network::shuffle): sample (i, j) of output plane p
/// is at column i ÷ b, row j ÷ b of plane p × b² + b × (j mod b) + i mod b.
struct OutputArea {
  const float* data = nullptr;
  std::int64_t plane = 0;
  int stride = 0;
  int x = 0;  ///< of the kept part, in the output frame
  int y = 0;
  int width = 0;
  int height = 0;
  int shuffle = 1;
};

struct FrameNetworkOptions {
  int width = 0;  ///< of the input frame
  int height = 0;
  int threads = 1;
  std::int64_t memory_bytes = 768LL << 20;  ///< limit of all requests together, by estimate
  std::function<bool()> is_stopped;         ///< polled between tiles; optional
  bool takes_shuffled = false;              ///< whether the reader of the output supports OutputArea::shuffle
  int largest_part = 0;                     ///< of a tile's kept sides, in input pixels; 0: as large as memory allows
};

/// Frames pass in order, up to depth() at once: Submit(frame n + 1) before Retrieve(frame n) lets the network work
/// while the caller does something else. Used by one thread.
class FrameNetwork {
 public:
  using PackInput = std::function<void(const InputArea&)>;
  using UnpackOutput = std::function<void(const OutputArea&)>;

  /// Throws what LoadModel throws, and Error{kLimitExceeded} if it cannot be cut small enough.
  FrameNetwork(Backend& backend, const ModelFile& file, const FrameNetworkOptions& options);
  ~FrameNetwork();

  int output_width() const { return plan_.width * scale_; }
  int output_height() const { return plan_.height * scale_; }
  const TilePlan& tiles() const { return plan_; }
  std::int64_t working_bytes() const { return working_bytes_; }
  std::string precision() const { return network_->precision(); }

  /// Replaces FrameNetworkOptions::is_stopped, for a new user of this object.
  void set_is_stopped(std::function<bool()> is_stopped) { is_stopped_ = std::move(is_stopped); }

  /// Number of frames that may be submitted before the first is retrieved.
  int depth() const { return is_cut() ? 1 : network_->requests(); }

  /// A whole frame is packed and started at once. A frame in tiles is started by Retrieve: `pack` must stay valid
  /// until then.
  void Submit(PackInput pack);
  /// Waits for the oldest submitted frame and passes its output to `unpack`. Throws Error{kInternal, kCancelled}.
  void Retrieve(const UnpackOutput& unpack);
  /// Runs some tiles of a frame, by their indices in tiles(); no frame may be submitted. Throws like Retrieve.
  void RunTiles(const PackInput& pack, const UnpackOutput& unpack, const std::vector<int>& which);

 private:
  bool is_cut() const { return plan_.tiles.size() > 1; }
  void Start(const PackInput& pack, const Tile& tile, int request);
  void Finish(const UnpackOutput& unpack, const Tile& tile, int request);

  TilePlan plan_;
  int scale_ = 1;
  std::int64_t working_bytes_ = 0;
  std::function<bool()> is_stopped_;
  std::unique_ptr<Network> network_;
  std::deque<PackInput> submitted_;
  int next_request_ = 0;  ///< of the next submitted frame
  int oldest_request_ = 0;
};

}  // namespace reelmend::inference
