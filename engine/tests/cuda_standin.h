// A device for tests: the CPU computes what a GPU would, with random delays, unsynchronised streams and injected faults. Code
// that relies on an order without an event fails here more often than on a GPU.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cuda/device.h"
#include "cuda/kernels.h"

namespace reelmend::cuda::testing {

struct StandInOptions {
  std::size_t memory_bytes = std::size_t{1} << 30;
  int longest_delay_us = 0;  ///< upper bound of the random delay before each piece of work
  unsigned seed = 1;
  int lost_after = -1;       ///< pieces of work until the device is lost; −1: never
  bool poisons = true;       ///< fills new and freed memory with garbage
  int index = 0;             ///< index of the device
};

class StandInDevice : public Device {
 public:
  explicit StandInDevice(StandInOptions options = {}) : options_(options) {
    facts_.index = options.index;
    facts_.name = "stand-in";
    facts_.memory_bytes = options.memory_bytes;
  }
  ~StandInDevice() override {
    for (const auto& [memory, bytes] : blocks_) std::free(memory);
  }

  const DeviceFacts& facts() const override { return facts_; }

  void* Allocate(std::size_t bytes) override {
    CheckLost();
    const std::lock_guard lock(mutex_);
    if (used_ + bytes > options_.memory_bytes)
      throw OutOfDeviceMemory("The GPU has too little free memory for this video.");
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    ++allocations_;
    return NewBlock(bytes);
  }
  void Free(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    used_ -= found->second;
    if (options_.poisons) std::memset(memory, 0xD1, found->second);
    blocks_.erase(found);
    std::free(memory);
  }
  void* AllocatePinned(std::size_t bytes) override {
    CheckLost();
    ++allocations_;
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void FreePinned(void* memory) noexcept override { std::free(memory); }
  std::size_t FreeBytes() override { return options_.memory_bytes - used_; }

  StreamHandle MakeStream() override { return {new FakeStream(*this)}; }
  void DestroyStream(StreamHandle stream) noexcept override { delete Of(stream); }
  EventHandle MakeEvent() override { return {new std::shared_ptr<Recording>()}; }
  void DestroyEvent(EventHandle event) noexcept override { delete &Of(event); }

  void Record(EventHandle event, StreamHandle stream) override {
    CheckLost();
    auto recording = std::make_shared<Recording>();
    Of(event) = recording;
    Of(stream)->Put([recording] { recording->Happen(); }, true);
  }
  void WaitOn(StreamHandle stream, EventHandle event) override {
    CheckLost();
    if (const auto recording = Of(event)) Of(stream)->Put([recording] { recording->Wait(); }, true);
  }
  bool HasHappened(EventHandle event) override {
    CheckLost();
    return !Of(event) || Of(event)->has_happened();
  }
  void WaitFor(EventHandle event) override {
    if (Of(event)) Of(event)->Wait();
    CheckLost();
  }
  void WaitForStream(StreamHandle stream) override {
    const auto end = std::make_shared<Recording>();
    Of(stream)->Put([end] { end->Happen(); }, true);
    end->Wait();
    CheckLost();
  }

  void CopyAsync(const Copy& copy, StreamHandle stream) override {
    CheckLost();
    Of(stream)->Put([copy] {
      for (std::size_t y = 0; y < copy.rows; ++y) {
        std::memcpy(static_cast<char*>(copy.to) + static_cast<std::ptrdiff_t>(y) * copy.to_stride,
                    static_cast<const char*>(copy.from) + static_cast<std::ptrdiff_t>(y) * copy.from_stride,
                    copy.row_bytes);
      }
    });
  }
  void ClearAsync(void* memory, std::size_t bytes, StreamHandle stream) override {
    CheckLost();
    Of(stream)->Put([memory, bytes] { std::memset(memory, 0, bytes); });
  }
  void Launch(const KernelCall& call, StreamHandle stream) override {
    CheckLost();
    ++launches_;
    Of(stream)->Put([call] { call.run_on_host(call.kernel, call.extent); });
  }

  /// Enqueues any work on a stream, like a library that supports streams.
  void Put(StreamHandle stream, std::function<void()> work) {
    CheckLost();
    Of(stream)->Put(std::move(work));
  }

  void BeginCapture(StreamHandle stream) override {
    CheckLost();
    Of(stream)->BeginCapture();
  }
  GraphHandle EndCapture(StreamHandle stream) override { return {new FakeGraph(Of(stream)->EndCapture())}; }
  static bool IsCapturing(StreamHandle stream) { return Of(stream)->is_capturing(); }
  void LaunchGraph(GraphHandle graph, StreamHandle stream) override {
    CheckLost();
    ++graph_launches_;
    for (const auto& work : *static_cast<FakeGraph*>(graph.value)) Of(stream)->Put(work);
  }
  void DestroyGraph(GraphHandle graph) noexcept override { delete static_cast<FakeGraph*>(graph.value); }
  int graph_launches() const { return graph_launches_; }

  std::size_t used() const { return used_; }
  std::size_t peak() const { return peak_; }
  int allocations() const { return allocations_; }
  int launches() const { return launches_; }
  void Lose() { is_lost_ = true; }

 private:
  using FakeGraph = std::vector<std::function<void()>>;

  /// The last recording of an event.
  class Recording {
   public:
    void Happen() {
      const std::lock_guard lock(mutex_);
      happened_ = true;
      changed_.notify_all();
    }
    void Wait() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return happened_; });
    }
    bool has_happened() {
      const std::lock_guard lock(mutex_);
      return happened_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool happened_ = false;
  };

  /// Does its work in order on its own thread. On a lost device it only completes events.
  class FakeStream {
   public:
    explicit FakeStream(StandInDevice& device) : device_(device), random_(device.options_.seed + ++device.streams_) {
      thread_ = std::thread([this] { Run(); });
    }
    ~FakeStream() {
      {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
    void BeginCapture() {
      const std::lock_guard lock(mutex_);
      captured_.emplace();
    }
    bool is_capturing() {
      const std::lock_guard lock(mutex_);
      return captured_.has_value();
    }
    FakeGraph EndCapture() {
      const std::lock_guard lock(mutex_);
      FakeGraph graph = std::move(*captured_);
      captured_.reset();
      return graph;
    }
    void Put(std::function<void()> work, bool is_bookkeeping = false) {
      const std::lock_guard lock(mutex_);
      if (captured_) {
        captured_->push_back(std::move(work));
        return;
      }
      queue_.push_back({std::move(work), is_bookkeeping});
      changed_.notify_all();
    }

   private:
    struct Item {
      std::function<void()> work;
      bool is_bookkeeping;
    };
    void Run() {
      for (;;) {
        Item item;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
          if (queue_.empty()) return;
          item = std::move(queue_.front());
          queue_.pop_front();
        }
        if (!item.is_bookkeeping) {
          device_.CountDown();
          Delay();
          if (device_.is_lost_) continue;
        }
        item.work();
      }
    }
    void Delay() {
      if (device_.options_.longest_delay_us <= 0) return;
      std::this_thread::sleep_for(
          std::chrono::microseconds(random_() % static_cast<unsigned>(device_.options_.longest_delay_us)));
    }

    StandInDevice& device_;
    std::minstd_rand random_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> queue_;
    std::optional<FakeGraph> captured_;
    bool is_ending_ = false;
    std::thread thread_;
  };

  static FakeStream* Of(StreamHandle stream) { return static_cast<FakeStream*>(stream.value); }
  static std::shared_ptr<Recording>& Of(EventHandle event) { return *static_cast<std::shared_ptr<Recording>*>(event.value); }

  void CheckLost() const {
    if (is_lost_) throw DeviceLost("The GPU stopped working while it processed the video (stand-in).");
  }
  void CountDown() {
    if (options_.lost_after >= 0 && work_done_++ >= options_.lost_after) is_lost_ = true;
  }
  void* NewBlock(std::size_t bytes) {
    void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (options_.poisons) std::memset(memory, 0xCE, bytes);
    blocks_[memory] = bytes;
    return memory;
  }

  StandInOptions options_;
  DeviceFacts facts_;
  std::mutex mutex_;
  std::map<void*, std::size_t> blocks_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::atomic<int> allocations_ = 0;
  std::atomic<int> launches_ = 0;
  std::atomic<int> graph_launches_ = 0;
  std::atomic<int> work_done_ = 0;
  std::atomic<bool> is_lost_ = false;
  std::atomic<unsigned> streams_ = 0;
};

}  // namespace reelmend::cuda::testing
