// Device memory that is allocated once and freed together.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/views.h"

namespace reelmend::cuda {

/// Rows of device pictures begin at multiples of this many samples: 256 bytes.
inline constexpr int kPitchSamples = 128;

inline int RoundUpTo(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

/// A picture's planes without memory.
inline Picture ShapeOf(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color) {
  Picture picture;
  picture.log2_x = subsampling.log2_x;
  picture.log2_y = subsampling.log2_y;
  picture.color = color;
  for (int p = 0; p < 3; ++p) {
    Plane& plane = picture.planes[p];
    plane.width = p == 0 ? width : (width + (1 << subsampling.log2_x) - 1) >> subsampling.log2_x;
    plane.height = p == 0 ? height : (height + (1 << subsampling.log2_y) - 1) >> subsampling.log2_y;
    plane.stride = RoundUpTo(plane.width, kPitchSamples);
  }
  return picture;
}

/// All functions throw OutOfDeviceMemory.
class DeviceArena {
 public:
  explicit DeviceArena(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  const std::shared_ptr<Device>& device() const { return device_; }

  void* Make(std::size_t bytes) {
    memory_.push_back(MakeDeviceMemory(device_, bytes));
    return memory_.back().get();
  }
  /// Holds zeros.
  void* MakeCleared(std::size_t bytes) {
    memory_.push_back(MakeClearedMemory(device_, bytes));
    return memory_.back().get();
  }
  template <typename T>
  const T* Send(const std::vector<T>& values) {
    memory_.push_back(Upload(device_, values.data(), values.size() * sizeof(T)));
    return static_cast<const T*>(memory_.back().get());
  }
  template <typename T>
  const T* SendOne(const T& value) {
    memory_.push_back(Upload(device_, &value, sizeof value));
    return static_cast<const T*>(memory_.back().get());
  }
  /// `count` copies of a value.
  template <typename T>
  T* MakeValues(std::size_t count, const T& value = {}) {
    return const_cast<T*>(Send(std::vector<T>(count, value)));
  }
  /// Holds zeros.
  View<float> MakeFloats(int columns, int rows) {
    return {MakeValues<float>(static_cast<std::size_t>(columns) * rows), columns, columns, rows};
  }
  Picture MakePicture(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color) {
    Picture picture = ShapeOf(width, height, subsampling, color);
    std::size_t samples = 0;
    for (const Plane& plane : picture.planes) samples += static_cast<std::size_t>(plane.stride) * plane.height;
    auto* data = static_cast<std::uint16_t*>(MakeCleared(samples * sizeof(std::uint16_t)));
    for (Plane& plane : picture.planes) {
      plane.data = data;
      data += plane.stride * plane.height;
    }
    return picture;
  }
  Plane MakePlane(int width, int height) {
    const std::size_t bytes = sizeof(std::uint16_t) * static_cast<std::size_t>(width) * height;
    return {static_cast<std::uint16_t*>(MakeCleared(bytes)), width, width, height};
  }
  void Clear() { memory_.clear(); }

 private:
  std::shared_ptr<Device> device_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace reelmend::cuda
