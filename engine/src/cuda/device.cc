#include "cuda/device.h"

#include <cstring>

namespace reelmend::cuda {

TransferCounts Device::transfers() const {
  return {frame_uploads_, frame_downloads_, upload_bytes_, download_bytes_, setup_bytes_};
}

DeviceMemory MakeDeviceMemory(const std::shared_ptr<Device>& device, std::size_t bytes) {
  return {device, device->Allocate(bytes)};
}

DeviceMemory MakeClearedMemory(const std::shared_ptr<Device>& device, std::size_t bytes) {
  DeviceMemory memory = MakeDeviceMemory(device, bytes);
  const Stream stream = MakeStream(device);
  device->ClearAsync(memory.get(), bytes, stream.get());
  device->WaitForStream(stream.get());
  return memory;
}

PinnedMemory MakePinnedMemory(const std::shared_ptr<Device>& device, std::size_t bytes) {
  return {device, device->AllocatePinned(bytes)};
}

Stream MakeStream(const std::shared_ptr<Device>& device) { return {device, device->MakeStream()}; }

Event MakeEvent(const std::shared_ptr<Device>& device) { return {device, device->MakeEvent()}; }

DeviceMemory Upload(const std::shared_ptr<Device>& device, const void* data, std::size_t bytes) {
  DeviceMemory memory = MakeDeviceMemory(device, bytes);
  const PinnedMemory staging = MakePinnedMemory(device, bytes);
  std::memcpy(staging.get(), data, bytes);
  const Stream stream = MakeStream(device);
  const auto row = static_cast<std::ptrdiff_t>(bytes);
  device->CopyAsync({memory.get(), row, staging.get(), row, bytes, 1}, stream.get());
  device->WaitForStream(stream.get());
  device->CountSetup(bytes);
  return memory;
}

}  // namespace reelmend::cuda
