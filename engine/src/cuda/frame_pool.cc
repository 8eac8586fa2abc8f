#include "cuda/frame_pool.h"

#include <chrono>

#include "media/av_error.h"

namespace reelmend::cuda {
namespace {

/// Alignment of rows for the GPU's vector accesses and for NVENC's registration.
constexpr std::ptrdiff_t kDevicePitch = 256;
constexpr std::ptrdiff_t kHostPitch = 64;

constexpr std::ptrdiff_t RoundUp(std::ptrdiff_t value, std::ptrdiff_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

/// Owner of a leased picture in libav's buffer; also keeps the pool alive.
struct FramePool::Lease {
  std::shared_ptr<FramePool> pool;
  int slot;
};

FramePool::FramePool(std::shared_ptr<Device> device, Kind kind, int width, int height)
    : device_(std::move(device)), kind_(kind), width_(width), height_(height) {
  const bool is_nv12 = kind == Kind::kDevice;
  luma_stride_ = RoundUp(width, is_nv12 ? kDevicePitch : kHostPitch);
  chroma_stride_ = is_nv12 ? luma_stride_ : RoundUp(width / 2, kHostPitch);
  const std::ptrdiff_t chroma = chroma_stride_ * (height / 2) * (is_nv12 ? 1 : 2);
  bytes_ = static_cast<std::size_t>(luma_stride_ * height + chroma);
}

std::shared_ptr<FramePool> FramePool::Make(const std::shared_ptr<Device>& device, Kind kind, int width, int height,
                                           int count, AVBufferRef* hw_frames) {
  std::shared_ptr<FramePool> pool(new FramePool(device, kind, width, height));
  if (hw_frames != nullptr) pool->hw_frames_.reset(media::CheckAlloc(av_buffer_ref(hw_frames)));
  for (int i = 0; i < count; ++i) {
    Slot slot;
    if (kind == Kind::kDevice) {
      slot.on_device = MakeClearedMemory(device, pool->bytes_);
    } else {
      slot.on_host = MakePinnedMemory(device, pool->bytes_);
    }
    slot.memory = static_cast<std::uint8_t*>(kind == Kind::kDevice ? slot.on_device.get() : slot.on_host.get());
    slot.written = MakeEvent(device);
    pool->slots_.push_back(std::move(slot));
    pool->idle_.push_back(i);
  }
  return pool;
}

FramePool::~FramePool() = default;

int FramePool::idle() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(idle_.size());
}

void FramePool::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void FramePool::Return(void* opaque, std::uint8_t*) {
  const std::unique_ptr<Lease> lease(static_cast<Lease*>(opaque));
  const std::lock_guard lock(lease->pool->mutex_);
  lease->pool->idle_.push_back(lease->slot);
  lease->pool->changed_.notify_all();
}

media::UniqueFrame FramePool::Take() {
  std::unique_lock lock(mutex_);
  const auto has_one = [this] { return closed_ || !idle_.empty(); };
  if (!changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds), has_one)) {
    throw Error(ErrorCode::kInternal, "The encoder keeps more pictures than it declared to hold.");
  }
  if (closed_) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
  auto lease = std::make_unique<Lease>(Lease{shared_from_this(), idle_.back()});
  idle_.pop_back();
  lock.unlock();
  Slot& slot = slots_[lease->slot];
  media::UniqueFrame frame = media::MakeFrame();
  AVBufferRef* buffer = av_buffer_create(slot.memory, bytes_, Return, lease.get(), 0);
  if (buffer == nullptr) {
    Return(lease.release(), nullptr);
    throw std::bad_alloc();
  }
  lease.release();  // the buffer owns it from here on
  frame->buf[0] = buffer;
  frame->width = width_;
  frame->height = height_;
  frame->format = kind_ == Kind::kDevice ? AV_PIX_FMT_CUDA : AV_PIX_FMT_YUV420P;
  const EncoderPicture target = Target(slot.memory);
  frame->data[0] = target.luma;
  frame->data[1] = target.chroma[0];
  if (kind_ == Kind::kHost) frame->data[2] = target.chroma[1];
  frame->linesize[0] = static_cast<int>(luma_stride_);
  frame->linesize[1] = frame->linesize[2] = static_cast<int>(chroma_stride_);
  if (kind_ == Kind::kDevice) frame->linesize[2] = 0;
  frame->extended_data = frame->data;
  if (hw_frames_) frame->hw_frames_ctx = media::CheckAlloc(av_buffer_ref(hw_frames_.get()));
  return frame;
}

FramePool::Slot& FramePool::SlotOf(const AVFrame& frame) {
  const auto* lease = static_cast<const Lease*>(av_buffer_get_opaque(frame.buf[0]));
  return slots_[lease->slot];
}

void FramePool::MarkWritten(const AVFrame& frame, StreamHandle stream) {
  device_->Record(SlotOf(frame).written.get(), stream);
}

void FramePool::WaitWritten(const AVFrame& frame) { device_->WaitFor(SlotOf(frame).written.get()); }

EncoderPicture FramePool::Target(void* base) const {
  EncoderPicture picture;
  picture.luma = static_cast<std::uint8_t*>(base);
  picture.luma_stride = luma_stride_;
  picture.chroma_stride = chroma_stride_;
  picture.width = width_;
  picture.height = height_;
  picture.chroma[0] = picture.luma + luma_stride_ * height_;
  if (kind_ == Kind::kDevice) {
    picture.chroma_step = 2;
    picture.chroma[1] = picture.chroma[0] + 1;
  } else {
    picture.chroma_step = 1;
    picture.chroma[1] = picture.chroma[0] + chroma_stride_ * (height_ / 2);
  }
  return picture;
}

InFlightFrames::InFlightFrames(std::shared_ptr<Device> device, int capacity) : device_(std::move(device)) {
  in_flight_.resize(static_cast<std::size_t>(capacity));
  for (InFlightFrame& held : in_flight_) held = {media::MakeFrame(), MakeEvent(device_)};
}

InFlightFrames::~InFlightFrames() {
  try {
    Drain();
  } catch (const Error&) {
    // A lost device no longer reads anything; the frames are released with their references.
  }
}

void InFlightFrames::LetGo() {
  av_frame_unref(in_flight_[oldest_].frame.get());
  oldest_ = (oldest_ + 1) % static_cast<int>(in_flight_.size());
  --held_;
}

void InFlightFrames::Sweep() {
  while (held_ > 0 && device_->HasHappened(in_flight_[oldest_].done.get())) LetGo();
}

void InFlightFrames::Drain() {
  while (held_ > 0) {
    device_->WaitFor(in_flight_[oldest_].done.get());
    LetGo();
  }
}

void InFlightFrames::Keep(const AVFrame& frame, StreamHandle stream) {
  Sweep();
  const int capacity = static_cast<int>(in_flight_.size());
  if (held_ == capacity) {
    device_->WaitFor(in_flight_[oldest_].done.get());
    LetGo();
  }
  InFlightFrame& held = in_flight_[(oldest_ + held_) % capacity];
  media::CheckAv(av_frame_ref(held.frame.get(), &frame), ErrorCode::kInternal, "No memory for a frame");
  device_->Record(held.done.get(), stream);
  ++held_;
}

}  // namespace reelmend::cuda
