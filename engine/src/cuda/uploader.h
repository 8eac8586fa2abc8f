// Frames that the CPU decoded, on their way to the device: as the decoder's own YUV, once, through pinned memory.
#pragma once

#include <array>
#include <memory>

#include "cuda/device.h"
#include "cuda/views.h"
#include "pixel/stages.h"

namespace reelmend::cuda {

/// A few places for frames under way, so that copying into pinned memory, the transfer, and the kernels that read
/// the last frame overlap.
class Uploader {
 public:
  explicit Uploader(std::shared_ptr<Device> device);
  ~Uploader();  ///< waits for transfers under way

  /// Makes the memory for frames of that kind, so that Send makes none. Throws OutOfDeviceMemory.
  void Prepare(const pixel::PackedLayout& layout, int width, int height);

  /// Starts the transfer of a frame; what is put on `compute` afterwards may read the surface. Call Consumed when
  /// all that reads it has been put there. Throws OutOfDeviceMemory.
  Surface Send(const pixel::RawPlanes& planes, const pixel::PackedLayout& layout, int width, int height,
               StreamHandle compute);
  void Consumed(StreamHandle compute);

 private:
  static constexpr int kPlaces = 3;
  struct Place {
    PinnedMemory pinned;
    DeviceMemory memory;
    std::size_t bytes = 0;
    Event sent;
    Event consumed;
  };
  Place& NextPlace(std::size_t bytes);
  void Fit(Place& place, std::size_t bytes);

  std::shared_ptr<Device> device_;
  Stream stream_;
  std::array<Place, kPlaces> places_;
  int current_ = 0;
};

/// How a layout's samples are read from memory on the device.
Surface DescribeSurface(const pixel::PackedLayout& layout, int width, int height);

}  // namespace reelmend::cuda
