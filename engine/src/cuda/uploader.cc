#include "cuda/uploader.h"

#include <cstring>

namespace reelmend::cuda {
namespace {

constexpr std::ptrdiff_t kPitch = 256;

struct PlaneBytes {
  std::ptrdiff_t stride = 0;
  std::size_t row = 0;
  int rows = 0;
  std::size_t offset = 0;
};

int PlaneCount(const Surface& s) { return s.gray ? 1 : s.semi_planar ? 2 : 3; }

PlaneBytes BytesOf(const Surface& s, int plane, std::size_t offset) {
  const int samples = s.PlaneWidth(plane) * (plane > 0 && s.semi_planar ? 2 : 1);
  PlaneBytes bytes;
  bytes.row = static_cast<std::size_t>(samples) * (s.bits == 8 ? 1 : 2);
  bytes.stride = (static_cast<std::ptrdiff_t>(bytes.row) + kPitch - 1) / kPitch * kPitch;
  bytes.rows = s.PlaneHeight(plane);
  bytes.offset = offset;
  return bytes;
}

}  // namespace

Surface DescribeSurface(const pixel::PackedLayout& layout, int width, int height) {
  Surface s;
  s.width = width;
  s.height = height;
  s.bits = layout.bits;
  s.left_shift = layout.left_aligned ? 0 : 16 - layout.bits;
  s.semi_planar = layout.semi_planar;
  s.swap_chroma = layout.swap_chroma;
  s.gray = layout.gray;
  s.log2_x = layout.subsampling.log2_x;
  s.log2_y = layout.subsampling.log2_y;
  return s;
}

Uploader::Uploader(std::shared_ptr<Device> device) : device_(std::move(device)), stream_(MakeStream(device_)) {
  for (UploadBuffer& buffer : buffers_) {
    buffer.sent = MakeEvent(device_);
    buffer.consumed = MakeEvent(device_);
  }
}

Uploader::~Uploader() {
  try {
    device_->WaitForStream(stream_.get());
    for (const UploadBuffer& buffer : buffers_) device_->WaitFor(buffer.consumed.get());
  } catch (const Error&) {
    // A lost device no longer reads or writes.
  }
}

Uploader::UploadBuffer& Uploader::NextBuffer(std::size_t bytes) {
  current_ = (current_ + 1) % kBuffers;
  UploadBuffer& buffer = buffers_[current_];
  device_->WaitFor(buffer.sent.get());  // the pinned memory is free
  Fit(buffer, bytes);
  return buffer;
}

void Uploader::Fit(UploadBuffer& buffer, std::size_t bytes) {
  if (bytes <= buffer.bytes) return;
  device_->WaitFor(buffer.sent.get());
  device_->WaitFor(buffer.consumed.get());
  buffer.bytes = 0;
  buffer.memory = {};
  buffer.pinned = {};
  buffer.memory = MakeDeviceMemory(device_, bytes);
  buffer.pinned = MakePinnedMemory(device_, bytes);
  buffer.bytes = bytes;
}

void Uploader::Prepare(const pixel::PackedLayout& layout, int width, int height) {
  const Surface surface = DescribeSurface(layout, width, height);
  std::size_t total = 0;
  for (int p = 0; p < PlaneCount(surface); ++p) {
    const PlaneBytes bytes = BytesOf(surface, p, total);
    total += static_cast<std::size_t>(bytes.stride) * bytes.rows;
  }
  for (UploadBuffer& buffer : buffers_) Fit(buffer, total);
}

Surface Uploader::Send(const pixel::RawPlanes& planes, const pixel::PackedLayout& layout, int width, int height,
                       StreamHandle compute) {
  Surface surface = DescribeSurface(layout, width, height);
  PlaneBytes of_plane[3];
  std::size_t total = 0;
  for (int p = 0; p < PlaneCount(surface); ++p) {
    of_plane[p] = BytesOf(surface, p, total);
    total += static_cast<std::size_t>(of_plane[p].stride) * of_plane[p].rows;
  }
  UploadBuffer& buffer = NextBuffer(total);
  auto* pinned = static_cast<std::uint8_t*>(buffer.pinned.get());
  for (int p = 0; p < PlaneCount(surface); ++p) {
    const PlaneBytes& bytes = of_plane[p];
    for (int y = 0; y < bytes.rows; ++y) {
      std::memcpy(pinned + bytes.offset + y * bytes.stride, planes.data[p] + y * planes.stride[p], bytes.row);
    }
    surface.data[p] = static_cast<const std::uint8_t*>(buffer.memory.get()) + bytes.offset;
    surface.stride[p] = bytes.stride;
  }
  device_->WaitOn(stream_.get(), buffer.consumed.get());  // the device memory is free
  const auto row = static_cast<std::ptrdiff_t>(total);
  device_->CopyAsync({buffer.memory.get(), row, pinned, row, total, 1}, stream_.get());
  device_->Record(buffer.sent.get(), stream_.get());
  device_->CountUpload(total);
  device_->WaitOn(compute, buffer.sent.get());
  return surface;
}

void Uploader::Consumed(StreamHandle compute) { device_->Record(buffers_[current_].consumed.get(), compute); }

}  // namespace reelmend::cuda
