// How many pictures a second a network makes on a device, and how many of them in it at once are worth their memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cuda/device_store.h"
#include "cuda/network_runner.h"
#include "inference/gpu_model.h"
#include "reelmend/enhance.h"

namespace reelmend::cuda {

/// A picture of samples that are 0, as the runner of that model takes it.
Picture MakeEmptyPicture(DeviceStore& store, const ModelFile& file, Size size);

/// Pictures a second, the median of some rounds: the network with the kernels that fill and empty its tensors, as much of
/// it at once as the options say, and whole pictures. 0 where memory does not allow that. Throws what else NetworkRunner throws.
double NetworkRate(const std::shared_ptr<Device>& device, NetworkOptions options, Size size);

/// Two lanes even where one keeps the GPU busy: the stages before and behind the network run beside it, which no rate of
/// the network alone shows.
inline constexpr int kLeastContexts = 2;
inline constexpr int kMostContexts = 4;
inline constexpr int kMostBatch = 2;
/// How much faster more of a network has to be than less of it.
inline constexpr double kWorthItsMemory = 1.03;

/// The least that more would not make kWorthItsMemory times as fast: contexts first, then pictures in each. Nothing where
/// not even the least of all has a rate.
std::optional<inference::Occupancy> ChooseOccupancy(const std::function<double(const inference::Occupancy&)>& rate);

/// Measures on the device and chooses; engines that are missing are built. Takes about half a second a try, of which there
/// are three to six (more for networks of less than 100 pictures a second), on a device that does nothing else, which is when
/// its answer is right. Throws what loading and running throw, but for batches that the network does not take.
std::optional<inference::Occupancy> MeasureOccupancy(const std::shared_ptr<Device>& device, const std::shared_ptr<inference::GpuModel>& model,
                                                     Size size);

}  // namespace reelmend::cuda
