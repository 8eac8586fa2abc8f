// Scratch buffers, reused from picture to picture.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

/// 64-byte aligned array of trivially copyable elements, zeroed once; not resizable.
template <typename T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + 127) / 64 * 64;
    data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
    if (!data_) throw std::bad_alloc();
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) data_.get()[i] = T{};
  }
  T* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
};

/// Lends scratch objects to the bands of one stage. Thread-safe, and free of allocation once every thread has
/// its object.
template <typename T>
class ScratchPool {
 public:
  class Lease {
   public:
    Lease(ScratchPool& pool, std::unique_ptr<T> item) : pool_(pool), item_(std::move(item)) {}
    ~Lease() { pool_.Return(std::move(item_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    T& operator*() const { return *item_; }
    T* operator->() const { return item_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<T> item_;
  };

  /// Makes objects by `make()` until there is one for each of `threads`. Call it before the bands start.
  template <typename Make>
  void Prepare(int threads, const Make& make) {
    const std::lock_guard lock(mutex_);
    idle_.reserve(static_cast<std::size_t>(threads));
    for (; made_ < threads; ++made_) idle_.push_back(make());
  }

  /// One of the objects; there must be one left.
  Lease Borrow() {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<T> item = std::move(idle_.back());
    idle_.pop_back();
    return Lease(*this, std::move(item));
  }

 private:
  void Return(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(item));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
  int made_ = 0;
};

/// Calls body(plane, first, last) over the rows of the wanted planes of `image` in one threaded loop: one
/// start and one end for the threads instead of three.
template <typename Body>
void ParallelPlaneRows(const Image& image, int grain, ThreadPool& pool, const Body& body,
                       Planes planes = Planes::kAll) {
  const int luma = planes == Planes::kChroma ? 0 : image.plane(0).height;
  const int chroma = planes == Planes::kLuma ? 0 : image.plane(1).height;
  const auto band = [&](int first, int last) {
    int begin = 0;
    for (int plane = 0; plane < 3; ++plane) {
      const int rows = plane == 0 ? luma : chroma;
      const int from = first > begin ? first : begin;
      const int to = last < begin + rows ? last : begin + rows;
      if (from < to) body(plane, from - begin, to - begin);
      begin += rows;
    }
  };
  pool.ParallelRows(luma + 2 * chroma, grain,
                    std::ref(band));  // by reference: std::function allocates for more
}

}  // namespace reelmend::pixel
