#include "cuda/face_network_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cuda/enqueue.h"
#include "cuda/network_runner.h"
#include "inference/half.h"

namespace reelmend::cuda {

FaceNetworkRunner::FaceNetworkRunner(std::shared_ptr<Device> device, const FaceModel& model, inference::Backend& openvino, int threads)
    : arena_(std::move(device)) {
  try {
    LoadOnDevice(model);
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error& error) {
    why_on_cpu_ = error.what();
    LoadOnCpu(model, openvino, threads);
  }
}

void FaceNetworkRunner::MakeTensors(int side) {
  const std::size_t bytes = std::size_t{3} * side * side * sizeof(Half);
  crop_ = {static_cast<Half*>(arena_.MakeCleared(bytes)), 3, side, side};
  made_ = {static_cast<Half*>(arena_.MakeCleared(bytes)), 3, side, side};
}

void FaceNetworkRunner::LoadOnDevice(const FaceModel& model) {
  arena_.device()->MakeCurrent();
  const auto gpu_model = model.open();
  network_ = gpu_model->Load(model.side, model.side);
  MakeTensors(model.side);
  const auto bytes = static_cast<std::size_t>(network_->workspace_bytes());
  context_ = network_->MakeContext({crop_.data, made_.data, bytes > 0 ? arena_.Make(bytes) : nullptr});
  gpu_model->KeepBackendCache();
}

void FaceNetworkRunner::LoadOnCpu(const FaceModel& model, inference::Backend& openvino, int threads) {
  context_.reset();
  network_.reset();
  arena_.Clear();
  on_cpu_ = openvino_threads_.Watch([&] { return std::make_unique<faces::FaceNetwork>(openvino, model.file, threads); });
  MakeTensors(on_cpu_->side());
  transfer_ = MakePinnedMemory(arena_.device(), samples() * sizeof(Half));
}

void FaceNetworkRunner::Run(StreamHandle stream) {
  if (!is_on_device()) return RunOnCpu(stream);
  arena_.device()->MakeCurrent();
  EnqueueNetwork(*context_, stream);
}

void FaceNetworkRunner::RunOnCpu(StreamHandle stream) {
  Device& device = *arena_.device();
  const std::size_t bytes = samples() * sizeof(Half);
  CopyBytes(device, transfer_.get(), crop_.data, bytes, stream);
  device.WaitForStream(stream);
  auto* halves = static_cast<std::uint16_t*>(transfer_.get());
  std::transform(halves, halves + samples(), on_cpu_->input(), inference::HalfToFloat);
  on_cpu_->Run();
  const float* made = on_cpu_->output();
  std::transform(made, made + samples(), halves, inference::FloatToHalf);
  CopyBytes(device, made_.data, halves, bytes, stream);
}

}  // namespace reelmend::cuda
