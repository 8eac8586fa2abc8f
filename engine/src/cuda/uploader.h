// Uploads frames that the CPU decoded: the decoder's own YUV, once, through pinned memory.
#pragma once

#include <array>
#include <memory>

#include "cuda/device.h"
#include "cuda/views.h"
#include "pixel/stages.h"

namespace reelmend::cuda {

/// Several upload buffers, so that copying into pinned memory, the transfer, and the kernels that read the last frame
/// overlap.
class Uploader {
 public:
  explicit Uploader(std::shared_ptr<Device> device);
  ~Uploader();  ///< waits for transfers under way

  /// Allocates the memory for frames of that layout and size, so that Send allocates none. Throws OutOfDeviceMemory.
  void Prepare(const pixel::PackedLayout& layout, int width, int height);

  /// Starts the transfer of a frame; work enqueued on `compute` afterwards may read the surface. Call Consumed after
  /// enqueueing its last reader. Throws OutOfDeviceMemory.
  Surface Send(const pixel::RawPlanes& planes, const pixel::PackedLayout& layout, int width, int height,
               StreamHandle compute);
  void Consumed(StreamHandle compute);

 private:
  static constexpr int kBuffers = 3;
  struct UploadBuffer {
    PinnedMemory pinned;
    DeviceMemory memory;
    std::size_t bytes = 0;
    Event sent;
    Event consumed;
  };
  UploadBuffer& NextBuffer(std::size_t bytes);
  void Fit(UploadBuffer& buffer, std::size_t bytes);

  std::shared_ptr<Device> device_;
  Stream stream_;
  std::array<UploadBuffer, kBuffers> buffers_;
  int current_ = 0;
};

/// A surface of that layout and size, still without data pointers.
Surface DescribeSurface(const pixel::PackedLayout& layout, int width, int height);

}  // namespace reelmend::cuda
