// Kernels: plain structs that compute one group of samples, or one tile, of a picture. Each is written once and has
// two launchers: HostLaunch below and the GPU's in kernel_launch.cuh.
//
// Note [Two forms of kernels]
// - A pixel kernel has `operator()(int x, int y, int z) const`. Calls are independent.
// - A tile kernel is run by a block of GPU threads: `operator()(Block&, Shared&, int x, int y, int z)`, with `static
//   constexpr int kThreads` and a struct `Shared` in shared memory. It is a sequence of `block.Each([&](int thread)
//   {…})`: all threads finish one Each before any starts the next. State that a thread keeps between two Each lies in
//   Shared.
// Kernels are trivially copyable and hold device pointers, so that they can be passed to a GPU by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "pixel/hd.h"

namespace reelmend::cuda {

/// Number of pixels (pixel kernels) or tiles (tile kernels).
struct Extent {
  int x = 1;
  int y = 1;
  int z = 1;
};

template <typename K>
concept TileKernel = requires { typename K::Shared; };

/// A block on the host: its threads run one after the other.
class HostBlock {
 public:
  explicit HostBlock(int threads) : threads_(threads) {}
  template <typename Work>
  REELMEND_HD void Each(const Work& work) {
    for (int i = 0; i < threads_; ++i) work(i);
  }
  template <typename T>
  REELMEND_HD void Add(T& sum, T value) {
    sum += value;
  }

 private:
  int threads_;
};

template <typename K>
void HostLaunch(const K& kernel, Extent extent) {
  for (int z = 0; z < extent.z; ++z) {
    for (int y = 0; y < extent.y; ++y) {
      for (int x = 0; x < extent.x; ++x) {
        if constexpr (TileKernel<K>) {
          typename K::Shared shared{};  // compilers cannot see that thread 0 writes it first
          HostBlock block(K::kThreads);
          kernel(block, shared, x, y, z);
        } else {
          kernel(x, y, z);
        }
      }
    }
  }
}

/// A type-erased kernel with its data, as the device interface takes it.
struct KernelCall {
  static constexpr std::size_t kMaxBytes = 2048;  ///< kernels are passed by value; a GPU takes 4 KiB
  int id = 0;                                    ///< index in KernelList
  Extent extent;
  alignas(16) unsigned char kernel[kMaxBytes];
  void (*run_on_host)(const void* kernel, Extent extent) = nullptr;
};

}  // namespace reelmend::cuda
