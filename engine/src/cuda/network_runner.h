// A network over pictures on a device: tensors, contexts, graphs, tiles.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda/device_store.h"
#include "cuda/kernels.h"
#include "framelift/model.h"
#include "inference/gpu_backend.h"
#include "inference/tiles.h"

namespace framelift::cuda {

/// Engine for input pictures of that size, on the current device. Throws what inference::GpuModel::Load throws.
using LoadNetwork = std::function<std::unique_ptr<inference::GpuNetwork>(int width, int height)>;

struct NetworkOptions {
  ModelFile file;
  int passes = 1;
  float strength = 0;  ///< of restoration, in the first pass
  LoadNetwork load;
  int contexts = 2;    ///< pictures in the network at once, where memory allows it
  bool may_cut = true;              ///< into tiles; if not, too little memory is thrown
  std::function<void()> made;       ///< called when all contexts are made; optional
  std::function<bool()> is_stopped; ///< polled between tiles; optional
};

/// Note [How many contexts]
/// A second picture in the network fills the gaps that one leaves on the GPU; each further one brings less and takes as
/// much memory (tensors, pictures and the backend's workspace). So a runner takes as many as it was asked for at most, and
/// no more than fit in half of what is free once its engines are loaded: the other half is for what is still to be made
/// for this job (pictures of the stages, surfaces of decoder and encoder) and for jobs beside it. One is always tried.
int ContextsWithin(std::size_t free_bytes, std::size_t context_bytes, int most);

/// Note [Contexts and tickets]
/// Each slot has tensors, a context and a stream of its own, so that pictures are in the network beside each other. The
/// kernel that fills the input tensor runs in the order of the stages' stream, since it reads what the next picture
/// overwrites; the rest of a slot's work runs on the slot's stream. After a first run that is put there piece by piece
/// (TensorRT finishes its preparations then), it is captured: network, further passes and the kernels between and
/// behind them are one graph, whose addresses never change; where the library does not let itself be captured, the work
/// is put there piece by piece for good. Slots are taken and waited for in turns, so pictures come out in the order in which
/// they went in.
///
/// Note [Tiles on a device]
/// Where memory is too little for two slots one is made; where it is too little for that, the picture is cut
/// (inference/tiles.h) into ever smaller parts until they fit, and these follow each other on the stages' stream. The
/// samples are the same.
class NetworkRunner {
 public:
  /// Layout kLumaStrength: reads and writes plane 0. kRgb: pictures without subsampling at both ends. `in` is the shape of
  /// the pictures that go in. Throws OutOfDeviceMemory, and what `load` throws.
  NetworkRunner(std::shared_ptr<Device> device, const NetworkOptions& options, const Picture& in);
  ~NetworkRunner();
  NetworkRunner(const NetworkRunner&) = delete;
  NetworkRunner& operator=(const NetworkRunner&) = delete;

  int slots() const { return static_cast<int>(slots_.size()); }
  int tiles() const { return static_cast<int>(passes_.front().plan.tiles.size()); }
  /// What the network makes of a slot's picture; good from Wait on until the slot's next Begin. Of kLumaStrength, plane 0
  /// alone.
  const Picture& made(int slot) const { return slots_[slot].pictures.back(); }

  /// Puts the network on the picture. `in` may be overwritten by what is put on `stage` afterwards.
  void Begin(int slot, const Picture& in, StreamHandle stage);
  /// What is put on `stage` afterwards finds the slot's picture made.
  void Wait(int slot, StreamHandle stage);

 private:
  struct Pass {
    inference::TilePlan plan;
    std::unique_ptr<inference::GpuNetwork> network;
    Picture out;  ///< shape
  };
  struct Slot {
    std::vector<Tensor> inputs;   ///< one a pass
    std::vector<Tensor> outputs;
    std::vector<std::unique_ptr<inference::GpuContext>> contexts;
    std::vector<Picture> pictures;  ///< one a pass
    Stream stream;
    Event filled;
    Event done;
    Graph graph;
    int runs = 0;
  };
  bool is_cut() const { return tiles() > 1 || passes_.back().plan.tiles.size() > 1; }
  void Make(int contexts, std::int64_t most_pixels);
  void MakePasses(std::int64_t most_pixels);
  void MakeSlot();
  std::size_t SlotBytes() const;
  void Release();
  void Fill(const Slot& slot, std::size_t pass, const Picture& in, const inference::Tile& tile, StreamHandle stream);
  void Empty(const Slot& slot, std::size_t pass, const inference::Tile& tile, StreamHandle stream);
  void PutWhole(Slot& slot);
  void Capture(Slot& slot);
  void PutTiles(Slot& slot, const Picture& in, StreamHandle stream);

  std::shared_ptr<Device> device_;
  NetworkOptions options_;
  Picture in_;
  DeviceStore store_;
  std::vector<Pass> passes_;
  std::vector<Slot> slots_;
};

}  // namespace framelift::cuda
