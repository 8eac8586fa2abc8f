// Runs a network on whole frames of one size. Splits a frame into tiles if memory is short; otherwise runs several frames at
// once.
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

/// Input of a tile: `data` has the planes one after the other. Fill width × height samples of every plane. Beyond the end of
/// the frame, repeat its last row and column.
struct InputArea {
  float* data = nullptr;
  int x = 0;  ///< position of the tile's first pixel in the frame
  int y = 0;
  int width = 0;  ///< of each plane, in samples
  int height = 0;
};

/// Output of a tile without the margin that overlaps other tiles. Row r of plane p starts at data + p × plane + r × stride.
///
/// With `shuffle` b > 1, each output plane is stored as b² planes (pixel shuffle, Network::shuffle): sample (i, j) of output
/// plane p is at column i ÷ b, row j ÷ b of plane p × b² + b × (j mod b) + i mod b.
struct OutputArea {
  const float* data = nullptr;
  std::int64_t plane = 0;  ///< samples from one plane to the next
  int stride = 0;          ///< samples from one row to the next
  int x = 0;               ///< position of the first sample in the output frame
  int y = 0;
  int width = 0;
  int height = 0;
  int shuffle = 1;
};

struct FrameNetworkOptions {
  int width = 0;  ///< of the input frame
  int height = 0;
  int threads = 1;
  std::int64_t memory_bytes = 768LL << 20;  ///< limit for all requests together, compared with an estimate
  std::function<bool()> is_stopped;         ///< polled between tiles; optional
  bool takes_shuffled = false;              ///< whether `unpack` supports OutputArea::shuffle
  int largest_part = 0;                     ///< maximum side of a tile without its margin, in input pixels; 0: as memory allows
};

/// Frames are submitted and retrieved in the same order, up to depth() at once. If the caller submits frame n + 1 before it
/// retrieves frame n, the network works meanwhile. Used by one thread.
class FrameNetwork {
 public:
  using PackInput = std::function<void(const InputArea&)>;
  using UnpackOutput = std::function<void(const OutputArea&)>;

  /// Throws what LoadModel throws, and Error{kLimitExceeded} if even the smallest tiles exceed the memory limit.
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

  /// Submits a frame. A whole frame is packed and started now; a frame in tiles only by Retrieve, so `pack` must stay valid
  /// until then.
  void Submit(PackInput pack);
  /// Waits for the oldest submitted frame and passes its output to `unpack`. Throws Error{kInternal, kCancelled}.
  void Retrieve(const UnpackOutput& unpack);
  /// Runs the tiles of a frame with these indices in tiles(). No submitted frame may be pending. Throws like Retrieve.
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
  int next_request_ = 0;    ///< index of the request for the next submitted frame
  int oldest_request_ = 0;  ///< index of the request of the oldest submitted frame
};

}  // namespace reelmend::inference
