// Pools of frames in device memory, used by an encoder that holds as many frames as it may.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "cuda/frame_pool.h"
#include "cuda_standin.h"
#include "reelmend/error.h"

namespace reelmend::cuda {
namespace {

using testing::StandInDevice;
using testing::StandInOptions;

/// Imitates NVENC: holds `surfaces` frames, reads them late, and releases them in coding order.
class BufferingEncoder {
 public:
  BufferingEncoder(std::shared_ptr<FramePool> pool, int surfaces, unsigned seed)
      : pool_(std::move(pool)), surfaces_(static_cast<std::size_t>(surfaces)), random_(seed) {}

  void Send(media::UniqueFrame frame, int n) {
    held_.emplace_back(n, std::move(frame));
    while (held_.size() > surfaces_) Release();
  }
  void Drain() {
    while (!held_.empty()) Release();
  }
  int encoded() const { return encoded_; }

 private:
  void Release() {
    // B-frames: the order of release differs from the order of arrival.
    const std::size_t at = held_.size() >= 3 ? random_() % 3 : 0;
    const auto [n, frame] = std::move(held_[at]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    pool_->WaitWritten(*frame);
    EXPECT_EQ(int{frame->data[0][0]}, n % 200 + 16) << "the picture changed while the encoder held it";
    EXPECT_EQ(int{frame->data[1][1]}, n % 200 + 16);
    ++encoded_;
  }

  std::shared_ptr<FramePool> pool_;
  std::size_t surfaces_;
  std::minstd_rand random_;
  std::vector<std::pair<int, media::UniqueFrame>> held_;
  int encoded_ = 0;
};

TEST(CudaPool, NeitherStarvesNorOverwritesWithAnEncoderThatHoldsAllItMay) {
  for (const int surfaces : {1, 4, 16}) {
    for (const unsigned seed : {1U, 2U}) {
      StandInOptions late;
      late.longest_delay_us = 400;
      late.seed = seed;
      const auto device = std::make_shared<StandInDevice>(late);
      constexpr int kQueue = 3;
      constexpr int kFrames = 200;
      const auto pool = FramePool::Make(device, FramePool::Kind::kDevice, 64, 48, surfaces + kQueue + 3);
      const Stream stream = MakeStream(device);
      std::mutex mutex;
      std::condition_variable changed;
      std::deque<std::pair<int, media::UniqueFrame>> queue;
      std::thread encode([&] {
        BufferingEncoder encoder(pool, surfaces, seed);
        for (int n = 0; n < kFrames; ++n) {
          std::unique_lock lock(mutex);
          changed.wait(lock, [&] { return !queue.empty(); });
          auto item = std::move(queue.front());
          queue.pop_front();
          changed.notify_all();
          lock.unlock();
          encoder.Send(std::move(item.second), item.first);
        }
        encoder.Drain();
        EXPECT_EQ(encoder.encoded(), kFrames);
      });
      const PinnedMemory shades = MakePinnedMemory(device, pool->bytes() * kFrames);
      for (int n = 0; n < kFrames; ++n) {
        media::UniqueFrame frame = pool->Take();
        auto* shade = static_cast<std::uint8_t*>(shades.get()) + pool->bytes() * n;
        std::memset(shade, n % 200 + 16, pool->bytes());
        device->CopyAsync({frame->data[0], 0, shade, 0, pool->bytes(), 1}, stream.get());
        pool->MarkWritten(*frame, stream.get());
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return queue.size() < kQueue; });
        queue.emplace_back(n, std::move(frame));
        changed.notify_all();
      }
      encode.join();
      EXPECT_EQ(pool->idle(), pool->count()) << "after the drain";
    }
  }
}

TEST(CudaPool, FramesInUseKeepItsMemoryAlive) {
  const auto device = std::make_shared<StandInDevice>();
  media::UniqueFrame frame;
  {
    const auto pool = FramePool::Make(device, FramePool::Kind::kHost, 64, 48, 2);
    frame = pool->Take();
    pool->Close();
    EXPECT_THROW(pool->Take(), Error);
  }
  std::memset(frame->data[0], 1, static_cast<std::size_t>(frame->linesize[0]) * 48);
  frame.reset();
}

TEST(CudaInFlightFrames, KeepFramesUntilTheEventAndNoLonger) {
  StandInOptions late;
  late.longest_delay_us = 3000;
  const auto device = std::make_shared<StandInDevice>(late);
  const Stream stream = MakeStream(device);
  const auto pool = FramePool::Make(device, FramePool::Kind::kDevice, 16, 16, 8);
  InFlightFrames in_flight(device, 3);
  const DeviceMemory memory = MakeDeviceMemory(device, 64);
  for (int i = 0; i < 20; ++i) {
    const media::UniqueFrame frame = pool->Take();
    device->ClearAsync(memory.get(), 64, stream.get());
    in_flight.Keep(*frame, stream.get());
    EXPECT_LE(in_flight.held(), 3);
  }
  EXPECT_LT(pool->idle(), pool->count());
  in_flight.Drain();
  EXPECT_EQ(pool->idle(), pool->count());
}

}  // namespace
}  // namespace reelmend::cuda
