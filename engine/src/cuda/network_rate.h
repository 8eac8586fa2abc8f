// How many pictures a second a network makes on a device, and how many of them in it at once are worth their memory.
#pragma once

#include <functional>
#include <memory>

#include "cuda/device_store.h"
#include "cuda/network_runner.h"
#include "framelift/enhance.h"
#include "inference/gpu_model.h"

namespace framelift::cuda {

/// A picture of samples that are 0, as the runner of that model takes it.
Picture MakeEmptyPicture(DeviceStore& store, const ModelFile& file, Size size);

/// Pictures a second, the median of some rounds: the network with the kernels that fill and empty its tensors, as much of
/// it at once as the options say. 0 where memory does not allow that. Throws what NetworkRunner throws.
double NetworkRate(const std::shared_ptr<Device>& device, const NetworkOptions& options, Size size);

inline constexpr int kMostContexts = 4;
inline constexpr int kMostBatch = 2;
/// How much faster more of a network has to be than less of it.
inline constexpr double kWorthItsMemory = 1.03;

/// The least that more would not make kWorthItsMemory times as fast: contexts first, then pictures in each.
inference::Occupancy ChooseOccupancy(const std::function<double(const inference::Occupancy&)>& rate);

/// Measures on the device and chooses; engines that are missing are built. Takes tenths of a second more, on a device that
/// does nothing else, which is when its answer is right. Throws OutOfDeviceMemory where not even one picture fits.
inference::Occupancy MeasureOccupancy(const std::shared_ptr<Device>& device, const std::shared_ptr<inference::GpuModel>& model, Size size);

}  // namespace framelift::cuda
