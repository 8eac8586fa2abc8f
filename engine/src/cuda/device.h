// A GPU as the engine uses it. One implementation calls CUDA (cuda_device.cc). The tests use another, which computes on the
// CPU with random delays and fails on request.
//
// Note [Order on a device]
// Work is enqueued on streams and runs later: in order within a stream, in any order between streams. An event
// recorded on a stream happens when all work enqueued before it is done; another stream, or the host, can wait for
// it. Memory may be freed or reused only after the events of all its readers and writers.
//
// All functions may be called from any thread; a stream or event is used by one thread at a time. Failures are thrown as
// Error{kUnavailable} with one plain sentence. OutOfDeviceMemory and DeviceLost are separate types, because callers react to
// the first by using less memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/launch.h"
#include "reelmend/error.h"

namespace reelmend::cuda {

class OutOfDeviceMemory : public Error {
 public:
  explicit OutOfDeviceMemory(const std::string& sentence) : Error(ErrorCode::kUnavailable, sentence) {}
};

class DeviceLost : public Error {
 public:
  explicit DeviceLost(const std::string& sentence) : Error(ErrorCode::kUnavailable, sentence) {}
};

struct StreamHandle {
  void* value = nullptr;
  explicit operator bool() const { return value != nullptr; }
};
struct GraphHandle {
  void* value = nullptr;
  explicit operator bool() const { return value != nullptr; }
};
struct EventHandle {
  void* value = nullptr;
  explicit operator bool() const { return value != nullptr; }
};

/// Rows of bytes from one place to another.
struct Copy {
  void* to = nullptr;
  std::ptrdiff_t to_stride = 0;
  const void* from = nullptr;
  std::ptrdiff_t from_stride = 0;
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
};

/// Transfers between host and device, in frames and bytes. Small data sent once a job (weights, coefficients) counts
/// as bytes of `setup`.
struct TransferCounts {
  std::int64_t frame_uploads = 0;
  std::int64_t frame_downloads = 0;
  std::int64_t upload_bytes = 0;
  std::int64_t download_bytes = 0;
  std::int64_t setup_bytes = 0;
};

struct DeviceFacts {
  int index = 0;
  std::string name;              ///< marketing name
  int compute_major = 0;
  int compute_minor = 0;
  std::size_t memory_bytes = 0;
  std::string id() const { return "cuda:" + std::to_string(index); }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;

  /// At least 256-byte aligned, contents undefined. Throws OutOfDeviceMemory.
  virtual void* Allocate(std::size_t bytes) = 0;
  virtual void Free(void* memory) noexcept = 0;
  /// Page-locked host memory, for asynchronous copies.
  virtual void* AllocatePinned(std::size_t bytes) = 0;
  virtual void FreePinned(void* memory) noexcept = 0;
  virtual std::size_t FreeBytes() = 0;

  /// Makes this device the current one of the calling thread, for the libraries called from it.
  virtual void MakeCurrent() {}

  virtual StreamHandle MakeStream() = 0;
  virtual void DestroyStream(StreamHandle stream) noexcept = 0;
  virtual EventHandle MakeEvent() = 0;
  virtual void DestroyEvent(EventHandle event) noexcept = 0;
  virtual void Record(EventHandle event, StreamHandle stream) = 0;
  /// Work enqueued on `stream` from now on starts after `event` has happened.
  virtual void WaitOn(StreamHandle stream, EventHandle event) = 0;
  /// True for an event that was never recorded.
  virtual bool HasHappened(EventHandle event) = 0;
  /// Blocks the calling thread.
  virtual void WaitFor(EventHandle event) = 0;
  virtual void WaitForStream(StreamHandle stream) = 0;

  virtual void CopyAsync(const Copy& copy, StreamHandle stream) = 0;
  virtual void ClearAsync(void* memory, std::size_t bytes, StreamHandle stream) = 0;
  virtual void Launch(const KernelCall& call, StreamHandle stream) = 0;

  /// Until EndCapture, work that this thread enqueues on `stream` is recorded instead of run. Other threads and streams are
  /// not affected.
  virtual void BeginCapture(StreamHandle stream) = 0;
  virtual GraphHandle EndCapture(StreamHandle stream) = 0;
  /// Enqueues the recorded work on `stream`. One launch of a graph at a time.
  virtual void LaunchGraph(GraphHandle graph, StreamHandle stream) = 0;
  virtual void DestroyGraph(GraphHandle graph) noexcept = 0;

  TransferCounts transfers() const;
  void CountUpload(std::size_t bytes) { ++frame_uploads_, upload_bytes_ += static_cast<std::int64_t>(bytes); }
  void CountDownload(std::size_t bytes) { ++frame_downloads_, download_bytes_ += static_cast<std::int64_t>(bytes); }
  void CountSetup(std::size_t bytes) { setup_bytes_ += static_cast<std::int64_t>(bytes); }

 private:
  std::atomic<std::int64_t> frame_uploads_ = 0;
  std::atomic<std::int64_t> frame_downloads_ = 0;
  std::atomic<std::int64_t> upload_bytes_ = 0;
  std::atomic<std::int64_t> download_bytes_ = 0;
  std::atomic<std::int64_t> setup_bytes_ = 0;
};

/// Owns something of a device; the device lives at least as long.
template <typename Handle, void (Device::*kRelease)(Handle) noexcept>
class Owned {
 public:
  Owned() = default;
  Owned(std::shared_ptr<Device> device, Handle handle) : device_(std::move(device)), handle_(handle) {}
  Owned(Owned&& other) noexcept : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (device_ && handle_) (device_.get()->*kRelease)(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return static_cast<bool>(handle_); }

 private:
  std::shared_ptr<Device> device_;
  Handle handle_{};
};
using DeviceMemory = Owned<void*, &Device::Free>;
using PinnedMemory = Owned<void*, &Device::FreePinned>;
using Stream = Owned<StreamHandle, &Device::DestroyStream>;
using Event = Owned<EventHandle, &Device::DestroyEvent>;
using Graph = Owned<GraphHandle, &Device::DestroyGraph>;

DeviceMemory MakeDeviceMemory(const std::shared_ptr<Device>& device, std::size_t bytes);
/// Memory filled with zeros. For pictures: kernels also read or copy the padding of rows, and pictures not yet written.
DeviceMemory MakeClearedMemory(const std::shared_ptr<Device>& device, std::size_t bytes);
PinnedMemory MakePinnedMemory(const std::shared_ptr<Device>& device, std::size_t bytes);
Stream MakeStream(const std::shared_ptr<Device>& device);
Event MakeEvent(const std::shared_ptr<Device>& device);

/// Copies `bytes` of host memory to new device memory and waits for it. For data created once a job.
DeviceMemory Upload(const std::shared_ptr<Device>& device, const void* data, std::size_t bytes);

/// The CUDA devices of this machine; found once per process.
struct CudaState {
  std::vector<DeviceFacts> devices;
  std::string reason;  ///< why there are none, one sentence; empty when there are some
};
/// Never throws; a machine without a driver is a reason.
CudaState FindCudaDevices();

/// Opens device `index` as FindCudaDevices numbers them. Throws Error{kUnavailable} naming what is missing: the CUDA
/// stages in this build, a driver, the device.
std::shared_ptr<Device> OpenCudaDevice(int index);

}  // namespace reelmend::cuda
