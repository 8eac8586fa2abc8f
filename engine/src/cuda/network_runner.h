// A network over pictures on a device: tensors, contexts, graphs, tiles.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda/device_store.h"
#include "cuda/kernels.h"
#include "inference/gpu_backend.h"
#include "inference/tiles.h"
#include "reelmend/model.h"

namespace reelmend::cuda {

/// Engine for so many input pictures of that size, on the current device. Throws what inference::GpuModel::Load throws.
using LoadNetwork = std::function<std::unique_ptr<inference::GpuNetwork>(int width, int height, int batch)>;

struct NetworkOptions {
  ModelFile file;
  int passes = 1;
  float strength = 0;  ///< of restoration, in the first pass
  LoadNetwork load;
  inference::Occupancy occupancy;  ///< where memory allows it
  bool may_cut = true;              ///< into tiles; if not, too little memory is thrown
  std::function<void()> made;       ///< called when all contexts are made; optional
  std::function<bool()> is_stopped; ///< polled between tiles; optional
};

/// Note [How many contexts]
/// A second context fills the gaps that one leaves on the GPU; each further one brings less and takes as much memory
/// (tensors, pictures and the backend's workspace). Small pictures fill a GPU better two in a context. What is worth it
/// is measured where engines are built ahead of time (network_rate.h) and kept beside the engine; where it was not, there
/// are two contexts of one picture. Fewer are made where they
/// do not fit in half of what is free once the engines are loaded: the other half is for what is still to be made
/// for this job (pictures of the stages, surfaces of decoder and encoder) and for jobs beside it. One is always tried.
int ContextsWithin(std::size_t free_bytes, std::size_t context_bytes, int most);

/// Note [Contexts and tickets]
/// Each lane has tensors, a context and a stream of its own, so that pictures are in the network beside each other. The
/// kernel that fills the input tensor runs in the order of the stages' stream, since it reads what the next picture
/// overwrites; the rest of a lane's work runs on the lane's stream. After a first run that is put there piece by piece
/// (TensorRT finishes its preparations then), it is captured: network, further passes and the kernels between and
/// behind them are one graph, whose addresses never change; where the library does not let itself be captured, the work
/// is put there piece by piece for good. Slots, as many in a lane as its batch holds, are taken and waited for in turns, so
/// pictures come out in the order in which they went in. A lane runs when its last slot is filled, or when one is waited
/// for before (at the end of a video): the places that were not filled anew then compute what they did before.
///
/// Note [Tiles on a device]
/// Where memory is too little for two lanes one is made; where it is too little for that, the picture is cut
/// (inference/tiles.h) into ever smaller parts until they fit, and these follow each other on the stages' stream. The
/// samples are the same.
class NetworkRunner {
 public:
  /// Layout kLumaStrength: reads and writes plane 0. kYcbcrStrength, kRgb: pictures without subsampling at both ends. `in`
  /// is the shape of the pictures that go in. Throws OutOfDeviceMemory, and what `load` throws.
  NetworkRunner(std::shared_ptr<Device> device, const NetworkOptions& options, const Picture& in);
  ~NetworkRunner();
  NetworkRunner(const NetworkRunner&) = delete;
  NetworkRunner& operator=(const NetworkRunner&) = delete;

  /// Pictures in the network at once.
  int slots() const { return static_cast<int>(lanes_.size()) * batch_; }
  int tiles() const { return static_cast<int>(passes_.front().plan.tiles.size()); }
  /// What the network makes of a slot's picture; good from Wait on until the slot's next Begin. Of kLumaStrength, plane 0
  /// alone.
  const Picture& made(int slot) const { return lanes_[slot / batch_].pictures.back()[slot % batch_]; }

  /// Puts the network on the picture, or keeps it for the batch. `in` may be overwritten by what is put on `stage` afterwards.
  void Begin(int slot, const Picture& in, StreamHandle stage);
  /// What is put on `stage` afterwards finds the slot's picture made. Slots in the order in which they were begun.
  void Wait(int slot, StreamHandle stage);

 private:
  struct Pass {
    inference::TilePlan plan;
    std::unique_ptr<inference::GpuNetwork> network;
    Picture out;  ///< shape
  };
  struct Lane {
    std::vector<Tensor> inputs;   ///< one a pass: the first picture of the batch
    std::vector<Tensor> outputs;
    std::vector<std::unique_ptr<inference::GpuContext>> contexts;
    std::vector<std::vector<Picture>> pictures;  ///< one a pass, one a place in the batch
    std::vector<bool> is_filled;                 ///< places that the network was not put on since
    Stream stream;
    Event filled;
    Event done;
    Graph graph;
    int runs = 0;
  };
  bool is_cut() const { return tiles() > 1 || passes_.back().plan.tiles.size() > 1; }
  void Make(const inference::Occupancy& occupancy, std::int64_t most_pixels);
  void MakePasses(std::int64_t most_pixels);
  void MakeLane();
  Picture MakePicture(Picture shape);
  std::size_t LaneBytes() const;
  void Release();
  void Fill(const Lane& lane, std::size_t pass, int place, const Picture& in, const inference::Tile& tile, StreamHandle stream);
  void Empty(const Lane& lane, std::size_t pass, int place, const inference::Tile& tile, StreamHandle stream);
  void Run(Lane& lane, StreamHandle stage);
  void PutWhole(Lane& lane);
  void Capture(Lane& lane);
  void PutTiles(Lane& lane, const Picture& in, StreamHandle stream);

  std::shared_ptr<Device> device_;
  NetworkOptions options_;
  Picture in_;
  DeviceStore store_;
  std::vector<Pass> passes_;
  std::vector<Lane> lanes_;
  int batch_ = 1;
};

}  // namespace reelmend::cuda
