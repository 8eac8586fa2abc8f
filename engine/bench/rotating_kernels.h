// The kernels that bench_gpu measures, repeated over copies of a frame's memory. On the same memory a repeated kernel would
// hit the GPU's L2 cache (50 MiB on an H100, 126 MiB on a B200) and appear faster than memory. The repetitions form one CUDA
// graph, so short kernels do not wait for their launches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/enqueue.h"
#include "cuda/face_calls.h"
#include "cuda/frame_pool.h"
#include "cuda/stage_plan.h"

namespace reelmend::cuda {

/// Records the kernel calls of a plan, so that each can be timed alone.
class Recorder : public Device {
 public:
  explicit Recorder(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  const DeviceFacts& facts() const override { return device_->facts(); }
  void* Allocate(std::size_t bytes) override { return device_->Allocate(bytes); }
  void Free(void* memory) noexcept override { device_->Free(memory); }
  void* AllocatePinned(std::size_t bytes) override { return device_->AllocatePinned(bytes); }
  void FreePinned(void* memory) noexcept override { device_->FreePinned(memory); }
  std::size_t FreeBytes() override { return device_->FreeBytes(); }
  StreamHandle MakeStream() override { return device_->MakeStream(); }
  void DestroyStream(StreamHandle stream) noexcept override { device_->DestroyStream(stream); }
  EventHandle MakeEvent() override { return device_->MakeEvent(); }
  void DestroyEvent(EventHandle event) noexcept override { device_->DestroyEvent(event); }
  void Record(EventHandle event, StreamHandle stream) override { device_->Record(event, stream); }
  void WaitOn(StreamHandle stream, EventHandle event) override { device_->WaitOn(stream, event); }
  bool HasHappened(EventHandle event) override { return device_->HasHappened(event); }
  void WaitFor(EventHandle event) override { device_->WaitFor(event); }
  void WaitForStream(StreamHandle stream) override { device_->WaitForStream(stream); }
  void CopyAsync(const Copy& copy, StreamHandle stream) override { device_->CopyAsync(copy, stream); }
  void ClearAsync(void* memory, std::size_t bytes, StreamHandle stream) override {
    device_->ClearAsync(memory, bytes, stream);
  }
  void Launch(const KernelCall& call, StreamHandle stream) override {
    calls.push_back(call);
    device_->Launch(call, stream);
  }
  void BeginCapture(StreamHandle stream) override { device_->BeginCapture(stream); }
  GraphHandle EndCapture(StreamHandle stream) override { return device_->EndCapture(stream); }
  void LaunchGraph(GraphHandle graph, StreamHandle stream) override { device_->LaunchGraph(graph, stream); }
  void DestroyGraph(GraphHandle graph) noexcept override { device_->DestroyGraph(graph); }
  std::vector<KernelCall> calls;

 private:
  std::shared_ptr<Device> device_;
};

/// Options with every stage on except the network, so that every other kernel is measured.
inline StageOptions AllStages(int width, int height, int out_width, int out_height) {
  StageOptions o;
  o.stored_width = width;
  o.stored_height = height;
  o.color = {pixel::Matrix::kBt601, pixel::Range::kFull, pixel::ChromaSite::kCentre};
  o.denoise_strength = o.temporal_strength = o.contrast_strength = o.sharpen_strength = 0.4F;
  o.noise_sigma = o.temporal_sigma = 3;
  o.deband_threshold = 2;
  o.accumulation_strength = 1;
  o.edge_strength = 1;
  o.edge_enlargement = 2;
  o.level_lift = {0.5F, {0.3F, 0.72F}, 0, false};
  o.output_width = out_width;
  o.output_height = out_height;
  return o;
}

/// The kernels of a face that is a third of the picture high. The stage itself needs a detector and finds no face in noise.
class RecordedFace {
 public:
  RecordedFace(const std::shared_ptr<Device>& device, int width, int height, StreamHandle stream) : arena_(device) {
    constexpr int kSide = 256;
    const Picture picture = arena_.MakePicture(width, height, {}, {});
    const float scale = kSide / (static_cast<float>(height) / 3);
    const faces::Similarity to_crop{scale, 0, kSide / 2 - scale * static_cast<float>(width) / 2, kSide / 2 - scale * static_cast<float>(height) / 2};
    const faces::Similarity to_picture = to_crop.Inverse();
    FaceReduceKernel reduce = MakeReduce(arena_, picture, {std::max(1, width / 4), std::max(1, height / 4)});
    reduce.in = picture;
    reduce.out = Floats(reduce.width, reduce.height);
    Enqueue(*device, reduce, {reduce.width, reduce.height, 1}, stream);
    constexpr int kSquare = 48;
    const FaceSquareKernel square{SamplerOf(picture, true), arena_.SendOne(faces::Similarity{scale * kSide / kSquare}), kSquare, Floats(kSquare, kSquare)};
    Enqueue(*device, square, {kSquare, kSquare, 1}, stream);
    const Tensor crop{static_cast<Half*>(arena_.MakeCleared(kSide * kSide * 3 * sizeof(Half))), 3, kSide, kSide};
    Enqueue(*device, MakeFaceToTensor(picture, {picture.width(), picture.height()}, to_picture, crop), {kSide, kSide, 1}, stream);
    float* change = Floats(kSide, kSide);
    Enqueue(*device, FaceChangeKernel{crop, crop, 32, change}, {kSide, kSide, 3}, stream);
    const FaceBlendKernel blend = MakeBlend(picture, to_crop, kSide, change, 1);
    Enqueue(*device, blend, ExtentOf(blend), stream);
  }

 private:
  float* Floats(int width, int height) { return arena_.MakeValues<float>(std::size_t{3} * width * height); }

  DeviceArena arena_;
};

/// One frame's memory and its kernel calls.
class RecordedFrame {
 public:
  RecordedFrame(const std::shared_ptr<Device>& device, const StageOptions& o, StreamHandle stream)
      : recorder_(std::make_shared<Recorder>(device)),
        plan_(recorder_, o),
        pool_(FramePool::Make(device, FramePool::Kind::kDevice, o.output_width, o.output_height, 1)),
        out_(pool_->Take()) {
    std::vector<std::uint8_t> samples(static_cast<std::size_t>(o.stored_width) * o.stored_height * 3 / 2);
    for (std::uint8_t& sample : samples) sample = static_cast<std::uint8_t>(16 + std::rand() % 220);
    source_ = Upload(device, samples.data(), samples.size());
    Surface surface;
    surface.width = o.stored_width;
    surface.height = o.stored_height;
    surface.semi_planar = true;
    surface.data[0] = static_cast<const std::uint8_t*>(source_.get());
    surface.data[1] = surface.data[0] + std::ptrdiff_t{o.stored_width} * o.stored_height;
    surface.stride[0] = surface.stride[1] = o.stored_width;
    plan_.Process(surface, 0, true, stream);
    plan_.Complete(0, stream);
    plan_.Finish(pool_->Target(out_->data[0]), 0, stream);
    face_ = std::make_unique<RecordedFace>(recorder_, o.output_width, o.output_height, stream);
    device->WaitForStream(stream);
  }
  const std::vector<KernelCall>& calls() const { return recorder_->calls; }
  const AVFrame& out() const { return *out_; }

 private:
  std::shared_ptr<Recorder> recorder_;
  StagePlan plan_;
  std::shared_ptr<FramePool> pool_;
  media::UniqueFrame out_;
  DeviceMemory source_;
  std::unique_ptr<RecordedFace> face_;
};

/// Copies of a frame that together exceed the GPU's cache; fewer if they would take more than half of the free memory.
class RotatingFrames {
 public:
  static constexpr std::size_t kBeyondCaches = std::size_t{192} << 20;
  static constexpr int kMostCopies = 64;

  /// Number of copies for frames of this size, computed from their 16-bit pictures.
  static int CopiesOf(int width, int height) {
    const std::size_t picture = static_cast<std::size_t>(width) * height * 3;
    return static_cast<int>(std::clamp<std::size_t>((kBeyondCaches + picture - 1) / picture, 2, kMostCopies));
  }

  /// Throws OutOfDeviceMemory if not even two copies fit.
  RotatingFrames(std::shared_ptr<Device> device, const StageOptions& options, StreamHandle stream) : device_(std::move(device)) {
    const std::size_t least_free = device_->FreeBytes() / 2;
    const int wanted = CopiesOf(options.stored_width, options.stored_height);
    while (count() < 2 || (count() < wanted && device_->FreeBytes() > least_free)) {
      frames_.push_back(std::make_unique<RecordedFrame>(device_, options, stream));
    }
  }

  int count() const { return static_cast<int>(frames_.size()); }
  const std::vector<KernelCall>& calls(int copy) const { return frames_[static_cast<std::size_t>(copy)]->calls(); }
  const AVFrame& out(int copy) const { return frames_[static_cast<std::size_t>(copy)]->out(); }

  struct Rotation {
    Graph graph;
    int launches = 0;  ///< of the kernel, per launch of the graph
  };
  /// A graph that launches call number `index` of each copy in turn, at least kLeastLaunches times in total.
  Rotation Capture(std::size_t index, StreamHandle stream) const {
    constexpr int kLeastLaunches = 60;
    Rotation rotation;
    device_->BeginCapture(stream);
    while (rotation.launches < kLeastLaunches) {
      for (const auto& frame : frames_) device_->Launch(frame->calls()[index], stream);
      rotation.launches += count();
    }
    rotation.graph = Graph(device_, device_->EndCapture(stream));
    return rotation;
  }

 private:
  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<RecordedFrame>> frames_;
};

}  // namespace reelmend::cuda
