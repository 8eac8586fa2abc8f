// A fixed number of pictures for the encoder, allocated once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device.h"
#include "cuda/views.h"
#include "media/av_handles.h"

namespace reelmend::cuda {

using media::UniqueBuffer;

/// Note [Pools cannot starve]
/// A picture is leased from Take until the last reference to its AVFrame is gone. The pool is sized for everything that
/// holds a picture meanwhile: the stages, the queue to the encoder, the encoder's thread, and as many as the encoder
/// declares to hold, plus one spare. So a picture is always free, and Take waits only if an encoder holds more than it
/// declared. That is a bug, reported after kPatienceSeconds instead of waiting forever.
class FramePool : public std::enable_shared_from_this<FramePool> {
 public:
  enum class Kind {
    kDevice,  ///< NV12 in device memory, for an encoder on the GPU
    kHost,    ///< planar 8-bit 4:2:0 in pinned host memory, for an encoder on the CPU
  };
  static constexpr int kPatienceSeconds = 10;

  /// `hw_frames` (may be null) is put on each frame; the pool takes a reference of its own.
  static std::shared_ptr<FramePool> Make(const std::shared_ptr<Device>& device, Kind kind, int width, int height,
                                         int count, AVBufferRef* hw_frames = nullptr);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// Leases a picture to fill; it returns to the pool with its last reference. Throws Error{kInternal} if none is
  /// free within kPatienceSeconds or the pool was closed.
  media::UniqueFrame Take();

  /// Ends all waits in Take.
  void Close();

  /// Declares that all writes into the frame are enqueued on `stream`.
  void MarkWritten(const AVFrame& frame, StreamHandle stream);
  /// Waits until the frame is written in full. Throws what the device throws.
  void WaitWritten(const AVFrame& frame);

  /// The frame as the kernels' output (kDevice), or memory at `base` in the same layout (kHost).
  EncoderPicture Target(void* base) const;
  /// Bytes of one picture.
  std::size_t bytes() const { return bytes_; }
  Kind kind() const { return kind_; }
  int count() const { return static_cast<int>(slots_.size()); }
  int idle() const;

 private:
  struct Slot {
    DeviceMemory on_device;
    PinnedMemory on_host;
    Event written;
    std::uint8_t* memory = nullptr;
  };
  struct Lease;
  FramePool(std::shared_ptr<Device> device, Kind kind, int width, int height);
  static void Return(void* lease, std::uint8_t* data);
  Slot& SlotOf(const AVFrame& frame);

  std::shared_ptr<Device> device_;
  Kind kind_;
  int width_;
  int height_;
  std::ptrdiff_t luma_stride_;
  std::ptrdiff_t chroma_stride_;
  std::size_t bytes_;
  UniqueBuffer hw_frames_;
  std::vector<Slot> slots_;
  std::vector<int> idle_;
  bool closed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

/// Frames whose memory a device still reads. Each is kept until the event after its last reader has happened.
class InFlightFrames {
 public:
  InFlightFrames(std::shared_ptr<Device> device, int capacity);
  ~InFlightFrames();  ///< waits for all of them

  /// Keeps a reference to `frame` until all work now on `stream` is done. Releases finished frames; waits for the
  /// oldest if `capacity` frames are kept.
  void Keep(const AVFrame& frame, StreamHandle stream);
  /// Releases all frames whose events have happened.
  void Sweep();
  void Drain();
  int held() const { return held_; }

 private:
  struct InFlightFrame {
    media::UniqueFrame frame;
    Event done;
  };
  void LetGo();

  std::shared_ptr<Device> device_;
  std::vector<InFlightFrame> in_flight_;  ///< ring buffer: oldest_ … oldest_ + held_ − 1
  int oldest_ = 0;
  int held_ = 0;
};

}  // namespace reelmend::cuda
