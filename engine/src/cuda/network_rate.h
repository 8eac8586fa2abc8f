// Measures the speed of a network on a device, and chooses the number of contexts and the batch size that are worth their
// memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cuda/device_arena.h"
#include "cuda/network_runner.h"
#include "inference/gpu_model.h"
#include "reelmend/enhance.h"

namespace reelmend::cuda {

/// The shape of a picture that a runner of this model takes, filled with zeros.
Picture MakeEmptyPicture(DeviceArena& arena, const ModelFile& file, Size size);

/// Pictures per second (median of several rounds) of the network with the kernels that pack and unpack its tensors,
/// with the contexts and batch of the options and whole pictures. 0 if memory does not suffice. Throws everything
/// else that NetworkRunner throws.
double NetworkRate(const std::shared_ptr<Device>& device, NetworkOptions options, Size size);

/// At least two contexts, even if one keeps the GPU busy: the stages before and after the network run beside it,
/// which the rate of the network alone does not show.
inline constexpr int kLeastContexts = 2;
inline constexpr int kMostContexts = 4;
inline constexpr int kMostBatch = 2;
/// Speed-up that more contexts or a larger batch must bring.
inline constexpr double kWorthItsMemory = 1.03;

/// The smallest setting that the next larger one does not beat by kWorthItsMemory; contexts first, then batch.
/// Nothing if even the smallest has no rate.
std::optional<inference::Concurrency> ChooseConcurrency(const std::function<double(const inference::Concurrency&)>& rate);

/// Measures and chooses. Builds missing engines. Takes about half a second per setting. There are three to six settings
/// (longer for networks below 100 pictures per second). The device should be idle, otherwise the result is wrong. Throws
/// what loading and running throw, except for batch sizes that the network does not support.
std::optional<inference::Concurrency> MeasureConcurrency(const std::shared_ptr<Device>& device, const std::shared_ptr<inference::GpuModel>& model,
                                                     Size size);

}  // namespace reelmend::cuda
