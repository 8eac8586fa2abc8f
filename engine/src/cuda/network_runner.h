// Runs a network over pictures on a device: tensors, contexts, graphs, tiles.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"
#include "inference/gpu_backend.h"
#include "inference/tiles.h"
#include "reelmend/model.h"

namespace reelmend::cuda {

/// Loads the engine for that input size and batch on the current device. Throws what inference::GpuModel::Load
/// throws.
using LoadNetwork = std::function<std::unique_ptr<inference::GpuNetwork>(int width, int height, int batch)>;

/// Throws Error{kUnavailable}: a network that fails while it runs may run on another device; it did load. CUDA loads its kernels at the
/// first run, so memory may be short only then.
void EnqueueNetwork(inference::GpuContext& context, StreamHandle stream);

struct NetworkOptions {
  ModelFile file;
  int passes = 1;
  float strength = 0;  ///< of restoration, in the first pass
  LoadNetwork load;
  inference::Concurrency concurrency;  ///< contexts and batch, as far as memory allows
  bool may_cut = true;              ///< into tiles; false: throws if memory is too small
  std::function<void()> made;       ///< called after all contexts are made; optional
  std::function<bool()> is_stopped; ///< polled between tiles; optional
};

/// Note [How many contexts]
/// A second context fills the gaps that one leaves on the GPU. Each further one brings less and takes as much memory
/// (tensors, pictures, the backend's workspace). Small pictures use a GPU better two in a batch. The best numbers are
/// measured where engines are built ahead of time (network_rate.h) and kept beside the engine; without a measurement
/// there are two contexts of one picture. Fewer are made if they do not fit into half of the memory that is free once
/// the engines are loaded. The other half is for the rest of this job (pictures of the stages, surfaces of decoder
/// and encoder) and for other jobs. One context is always tried.
int ContextsWithin(std::size_t free_bytes, std::size_t context_bytes, int most);

/// Note [Inference slots]
/// Each inference slot has its own tensors, context and stream, so that several pictures are in the network at once.
/// The kernel that packs the input tensor runs on the stages' stream, because it reads memory that the next picture
/// overwrites; the rest of a slot's work runs on the slot's stream. The first run enqueues every piece alone
/// (TensorRT finishes its preparations then). After that the work is captured as one graph: the network, further
/// passes, and the kernels between and after them. Its addresses never change. If the library cannot be captured,
/// pieces are enqueued one by one for good.
/// Picture slots (as many per inference slot as its batch holds) are used in turn, so pictures come out in order. An
/// inference slot runs when its last picture slot is filled, or when one is waited for earlier, at the end of a
/// video; unfilled positions of the batch then compute their old contents again.
///
/// Note [Tiles on a device]
/// If memory is too small for two inference slots, one is made. If it is too small for that, the picture is cut into
/// ever smaller tiles (inference/tiles.h) until they fit; tiles run one after the other on the stages' stream. The
/// samples are the same.
class NetworkRunner {
 public:
  /// kLumaStrength reads and writes plane 0; kYcbcrStrength and kRgb take and make pictures without subsampling. `in`
  /// is the shape of the input pictures. Throws OutOfDeviceMemory and what `load` throws.
  NetworkRunner(std::shared_ptr<Device> device, const NetworkOptions& options, const Picture& in);
  ~NetworkRunner();
  NetworkRunner(const NetworkRunner&) = delete;
  NetworkRunner& operator=(const NetworkRunner&) = delete;

  /// Pictures in the network at once.
  int slots() const { return static_cast<int>(inference_slots_.size()) * batch_; }
  int tiles() const { return static_cast<int>(passes_.front().plan.tiles.size()); }
  /// Output of a picture slot, valid from Wait until the slot's next Submit. With kLumaStrength only plane 0 is set.
  const Picture& made(int slot) const { return inference_slots_[slot / batch_].pictures.back()[slot % batch_]; }

  /// Enqueues the network on the picture, or adds it to the batch. Work enqueued on `stage` afterwards may overwrite
  /// `in`.
  void Submit(int slot, const Picture& in, StreamHandle stage);
  /// Makes work enqueued on `stage` afterwards wait for the slot's picture. Slots in the order of Submit.
  void Wait(int slot, StreamHandle stage);

 private:
  struct Pass {
    inference::TilePlan plan;
    std::unique_ptr<inference::GpuNetwork> network;
    Picture out;  ///< shape
  };
  struct InferenceSlot {
    std::vector<Tensor> inputs;   ///< one per pass: the first picture of the batch
    std::vector<Tensor> outputs;
    std::vector<std::unique_ptr<inference::GpuContext>> contexts;
    std::vector<std::vector<Picture>> pictures;  ///< [pass][position in the batch]
    std::vector<bool> is_filled;                 ///< positions of the batch that the network has not run on yet
    Stream stream;
    Event filled;
    Event done;
    Graph graph;
    int runs = 0;
  };
  bool is_cut() const { return tiles() > 1 || passes_.back().plan.tiles.size() > 1; }
  void MakeWhatFits();
  void Make(const inference::Concurrency& concurrency, std::int64_t most_pixels);
  void MakePasses(std::int64_t most_pixels);
  void MakeInferenceSlot();
  Picture MakePicture(Picture shape);
  std::size_t InferenceSlotBytes() const;
  void Release();
  void PackInput(const InferenceSlot& inference, std::size_t pass, int batch_index, const Picture& in, const inference::Tile& tile, StreamHandle stream);
  void UnpackOutput(const InferenceSlot& inference, std::size_t pass, int batch_index, const inference::Tile& tile, StreamHandle stream);
  void Run(InferenceSlot& inference, StreamHandle stage);
  void EnqueueWhole(InferenceSlot& inference);
  void Capture(InferenceSlot& inference);
  void EnqueueTiles(InferenceSlot& inference, const Picture& in, StreamHandle stream);

  std::shared_ptr<Device> device_;
  NetworkOptions options_;
  Picture in_;
  DeviceArena arena_;
  std::vector<Pass> passes_;
  std::vector<InferenceSlot> inference_slots_;
  int batch_ = 1;
};

}  // namespace reelmend::cuda
