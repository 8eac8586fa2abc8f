// A network over whole frames: compiled once for a size, cut into tiles where memory asks for it, several at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "reelmend/model.h"
#include "inference/backend.h"
#include "inference/tiles.h"

namespace reelmend::inference {

/// Where a tile's planes lie. Input: fill tile_width × tile_height of every plane, with the frame's last row and
/// column repeated beyond its end.
struct InputArea {
  float* data = nullptr;
  int x = 0;  ///< of the tile's first pixel, in the frame
  int y = 0;
  int width = 0;  ///< of a plane
  int height = 0;
};

/// Output: the kept part of every plane. Plane p's row r begins at data + p × plane + r × stride. With a `shuffle` of b > 1
/// there are b² such planes for each of the output's (Network::shuffle), and the output's sample (i, j) of plane p is that
/// at column i ÷ b, row j ÷ b of plane p × b² + b × (j mod b) + i mod b.
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
  std::int64_t memory_bytes = 768LL << 20;  ///< what all requests together may take, by estimate
  std::function<bool()> is_stopped;         ///< polled between tiles; optional
  bool takes_shuffled = false;              ///< whether what takes the output knows OutputArea::shuffle
};

/// Frames go through in order, up to depth() of them at once: Begin(frame n + 1) before End(frame n) lets the network
/// work while the caller does something else. One thread calls.
class FrameNetwork {
 public:
  using Fill = std::function<void(const InputArea&)>;
  using Take = std::function<void(const OutputArea&)>;

  /// Throws what LoadModel throws, Error{kLimitExceeded} when it cannot be cut small enough.
  FrameNetwork(Backend& backend, const ModelFile& file, const FrameNetworkOptions& options);
  ~FrameNetwork();

  int output_width() const { return plan_.width * scale_; }
  int output_height() const { return plan_.height * scale_; }
  const TilePlan& tiles() const { return plan_; }
  std::int64_t working_bytes() const { return working_bytes_; }
  std::string precision() const { return network_->precision(); }

  /// FrameNetworkOptions::is_stopped of whoever uses it from now on.
  void set_is_stopped(std::function<bool()> is_stopped) { is_stopped_ = std::move(is_stopped); }

  /// Frames that may be begun before the first of them is ended.
  int depth() const { return is_cut() ? 1 : network_->requests(); }

  /// A frame that is done whole is filled in and started at once; one in tiles is started by End, so `fill` must stay
  /// good until then.
  void Begin(Fill fill);
  /// Waits for the oldest frame begun and hands its output to `take`. Throws Error{kInternal, kCancelled}.
  void End(const Take& take);

 private:
  bool is_cut() const { return plan_.tiles.size() > 1; }
  void Start(const Fill& fill, const Tile& tile, int request);
  void Finish(const Take& take, const Tile& tile, int request);
  void RunTiles(const Fill& fill, const Take& take);

  TilePlan plan_;
  int scale_ = 1;
  std::int64_t working_bytes_ = 0;
  std::function<bool()> is_stopped_;
  std::unique_ptr<Network> network_;
  std::deque<Fill> begun_;
  int next_request_ = 0;  ///< of the next frame begun
  int oldest_request_ = 0;
};

}  // namespace reelmend::inference
