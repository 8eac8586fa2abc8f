// Buffers of one band's work, kept from picture to picture.
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

namespace framelift::pixel {

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

/// Lends scratch objects to bands. As many exist as bands ever ran at once, so nothing is allocated in
/// steady state. Thread-safe.
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

  /// An idle object, or `make()` when all are lent.
  template <typename Make>
  Lease Borrow(const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> item = std::move(idle_.back());
        idle_.pop_back();
        return Lease(*this, std::move(item));
      }
    }
    return Lease(*this, make());
  }

 private:
  void Return(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(item));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

/// Calls body(plane, first, last) over the rows of all three planes of `image` in one threaded loop: one
/// start and one end for the threads instead of three.
template <typename Body>
void ParallelPlaneRows(const Image& image, int grain, ThreadPool& pool, const Body& body) {
  const int luma = image.plane(0).height;
  const int chroma = image.plane(1).height;
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
  pool.ParallelRows(luma + 2 * chroma, grain, std::ref(band));  // by reference: std::function allocates for more
}

}  // namespace framelift::pixel
