// Pictures on their way to the encoder: a fixed number of them, made once.
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

/// Note [Rings cannot starve]
/// A picture is out of its ring from Take until the last reference to its AVFrame is gone. The places where it can
/// be meanwhile are counted when the ring is made: in the hands of the stages, in the queue to the encoder, in the
/// hands of the encoder's thread, and as many inside of the encoder as it declares to hold. One more is spare. So
/// there is always one to take, and Take waits only for an encoder that holds more than it said; that is a bug,
/// told after kPatience instead of waited out.
class FrameRing : public std::enable_shared_from_this<FrameRing> {
 public:
  enum class Kind {
    kDevice,  ///< NV12 in device memory, for an encoder on the GPU
    kHost,    ///< planar 8-bit 4:2:0 in pinned host memory, for an encoder on the CPU
  };
  static constexpr int kPatienceSeconds = 10;

  /// `hw_frames` (may be null) is put on each frame; the ring takes a reference of its own.
  static std::shared_ptr<FrameRing> Make(const std::shared_ptr<Device>& device, Kind kind, int width, int height,
                                         int count, AVBufferRef* hw_frames = nullptr);
  ~FrameRing();
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;

  /// A picture to fill; goes back to the ring with its last reference. Throws Error{kInternal} when there is none for
  /// kPatienceSeconds, or when the ring was closed.
  media::UniqueFrame Take();

  /// Wakes whoever waits in Take.
  void Close();

  /// Tells that everything written into the frame is on `stream` by now.
  void MarkWritten(const AVFrame& frame, StreamHandle stream);
  /// Waits until the frame is written in full. Throws what the device throws.
  void WaitWritten(const AVFrame& frame);

  /// The frame as kernels see it (kDevice), or its twin in the layout of the frame at `base` (kHost).
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
  struct Loan;
  FrameRing(std::shared_ptr<Device> device, Kind kind, int width, int height);
  static void Return(void* loan, std::uint8_t* data);
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

/// Frames whose memory a device still reads: each is kept until the event behind its last reader has happened.
class FrameHolds {
 public:
  FrameHolds(std::shared_ptr<Device> device, int capacity);
  ~FrameHolds();  ///< waits for all of them

  /// Keeps a reference to `frame` until all that is on `stream` now is done. Lets go of what is done; waits for the
  /// oldest when `capacity` frames are kept already.
  void Keep(const AVFrame& frame, StreamHandle stream);
  /// Lets go of all frames whose events have happened.
  void Sweep();
  void Drain();
  int held() const { return held_; }

 private:
  struct Hold {
    media::UniqueFrame frame;
    Event done;
  };
  void LetGo();

  std::shared_ptr<Device> device_;
  std::vector<Hold> holds_;  ///< a ring: oldest_ … oldest_ + held_ − 1
  int oldest_ = 0;
  int held_ = 0;
};

}  // namespace reelmend::cuda
