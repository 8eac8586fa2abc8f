#include "cuda/frame_ring.h"

#include <chrono>

#include "media/av_error.h"

namespace reelmend::cuda {
namespace {

/// Rows begin where the GPU's vector accesses and NVENC's registration want them.
constexpr std::ptrdiff_t kDevicePitch = 256;
constexpr std::ptrdiff_t kHostPitch = 64;

constexpr std::ptrdiff_t RoundUp(std::ptrdiff_t value, std::ptrdiff_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

/// What libav's buffer keeps of a picture that is out; also keeps the ring alive.
struct FrameRing::Loan {
  std::shared_ptr<FrameRing> ring;
  int slot;
};

FrameRing::FrameRing(std::shared_ptr<Device> device, Kind kind, int width, int height)
    : device_(std::move(device)), kind_(kind), width_(width), height_(height) {
  const bool is_nv12 = kind == Kind::kDevice;
  luma_stride_ = RoundUp(width, is_nv12 ? kDevicePitch : kHostPitch);
  chroma_stride_ = is_nv12 ? luma_stride_ : RoundUp(width / 2, kHostPitch);
  const std::ptrdiff_t chroma = chroma_stride_ * (height / 2) * (is_nv12 ? 1 : 2);
  bytes_ = static_cast<std::size_t>(luma_stride_ * height + chroma);
}

std::shared_ptr<FrameRing> FrameRing::Make(const std::shared_ptr<Device>& device, Kind kind, int width, int height,
                                           int count, AVBufferRef* hw_frames) {
  std::shared_ptr<FrameRing> ring(new FrameRing(device, kind, width, height));
  if (hw_frames != nullptr) ring->hw_frames_.reset(media::CheckAlloc(av_buffer_ref(hw_frames)));
  for (int i = 0; i < count; ++i) {
    Slot slot;
    if (kind == Kind::kDevice) {
      slot.on_device = MakeClearedMemory(device, ring->bytes_);
    } else {
      slot.on_host = MakePinnedMemory(device, ring->bytes_);
    }
    slot.memory = static_cast<std::uint8_t*>(kind == Kind::kDevice ? slot.on_device.get() : slot.on_host.get());
    slot.written = MakeEvent(device);
    ring->slots_.push_back(std::move(slot));
    ring->idle_.push_back(i);
  }
  return ring;
}

FrameRing::~FrameRing() = default;

int FrameRing::idle() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(idle_.size());
}

void FrameRing::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void FrameRing::Return(void* opaque, std::uint8_t*) {
  const std::unique_ptr<Loan> loan(static_cast<Loan*>(opaque));
  const std::lock_guard lock(loan->ring->mutex_);
  loan->ring->idle_.push_back(loan->slot);
  loan->ring->changed_.notify_all();
}

media::UniqueFrame FrameRing::Take() {
  std::unique_lock lock(mutex_);
  const auto has_one = [this] { return closed_ || !idle_.empty(); };
  if (!changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds), has_one)) {
    throw Error(ErrorCode::kInternal, "The encoder keeps more pictures than it declared to hold.");
  }
  if (closed_) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
  auto loan = std::make_unique<Loan>(Loan{shared_from_this(), idle_.back()});
  idle_.pop_back();
  lock.unlock();
  Slot& slot = slots_[loan->slot];
  media::UniqueFrame frame = media::MakeFrame();
  AVBufferRef* buffer = av_buffer_create(slot.memory, bytes_, Return, loan.get(), 0);
  if (buffer == nullptr) {
    Return(loan.release(), nullptr);
    throw std::bad_alloc();
  }
  loan.release();  // the buffer's from here on
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

FrameRing::Slot& FrameRing::SlotOf(const AVFrame& frame) {
  const auto* loan = static_cast<const Loan*>(av_buffer_get_opaque(frame.buf[0]));
  return slots_[loan->slot];
}

void FrameRing::MarkWritten(const AVFrame& frame, StreamHandle stream) {
  device_->Record(SlotOf(frame).written.get(), stream);
}

void FrameRing::WaitWritten(const AVFrame& frame) { device_->WaitFor(SlotOf(frame).written.get()); }

EncoderPicture FrameRing::Target(void* base) const {
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

FrameHolds::FrameHolds(std::shared_ptr<Device> device, int capacity) : device_(std::move(device)) {
  holds_.resize(static_cast<std::size_t>(capacity));
  for (Hold& hold : holds_) hold = {media::MakeFrame(), MakeEvent(device_)};
}

FrameHolds::~FrameHolds() {
  try {
    Drain();
  } catch (const Error&) {
    // A lost device reads nothing any more; the frames go with their references.
  }
}

void FrameHolds::LetGo() {
  av_frame_unref(holds_[oldest_].frame.get());
  oldest_ = (oldest_ + 1) % static_cast<int>(holds_.size());
  --held_;
}

void FrameHolds::Sweep() {
  while (held_ > 0 && device_->HasHappened(holds_[oldest_].done.get())) LetGo();
}

void FrameHolds::Drain() {
  while (held_ > 0) {
    device_->WaitFor(holds_[oldest_].done.get());
    LetGo();
  }
}

void FrameHolds::Keep(const AVFrame& frame, StreamHandle stream) {
  Sweep();
  const int capacity = static_cast<int>(holds_.size());
  if (held_ == capacity) {
    device_->WaitFor(holds_[oldest_].done.get());
    LetGo();
  }
  Hold& hold = holds_[(oldest_ + held_) % capacity];
  media::CheckAv(av_frame_ref(hold.frame.get(), &frame), ErrorCode::kInternal, "No memory for a frame");
  device_->Record(hold.done.get(), stream);
  ++held_;
}

}  // namespace reelmend::cuda
