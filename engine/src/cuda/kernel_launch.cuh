// The GPU's launcher: runs any kernel of kernels.h as a grid of blocks.
#pragma once

#include <cuda_runtime.h>

#include "cuda/kernels.h"

namespace reelmend::cuda {

class DeviceBlock {
 public:
  template <typename Work>
  REELMEND_HD void Each(const Work& work) {
#if defined(__CUDA_ARCH__)
    work(static_cast<int>(threadIdx.x));
    __syncthreads();
#else
    (void)work;
#endif
  }
  template <typename T>
  REELMEND_HD void Add(T& sum, T value) {
#if defined(__CUDA_ARCH__)
    atomicAdd(&sum, value);
#else
    (void)sum, (void)value;
#endif
  }
};

template <typename K>
__global__ void __launch_bounds__(256) PixelGrid(const __grid_constant__ K kernel) {
  kernel(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
         static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y), static_cast<int>(blockIdx.z));
}

template <typename K>
__global__ void __launch_bounds__(K::kThreads) TileGrid(const __grid_constant__ K kernel) {
  __shared__ typename K::Shared shared;
  DeviceBlock block;
  kernel(block, shared, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z));
}

inline unsigned BlocksFor(int count, int size) { return static_cast<unsigned>((count + size - 1) / size); }

/// Instantiated once for each kernel, in the files kernels_*.cu.
template <typename K>
cudaError_t LaunchOnGpu(const void* data, Extent extent, cudaStream_t stream) {
  if (extent.x <= 0 || extent.y <= 0 || extent.z <= 0) return cudaSuccess;
  K kernel;
  std::memcpy(static_cast<void*>(&kernel), data, sizeof kernel);
  const auto z = static_cast<unsigned>(extent.z);
  // Not <<<…>>>: it reports the thread's last error, which may be an earlier call's ("not ready", too).
  void* arguments[] = {&kernel};
  if constexpr (TileKernel<K>) {
    return cudaLaunchKernel(TileGrid<K>, dim3(static_cast<unsigned>(extent.x), static_cast<unsigned>(extent.y), z),
                            dim3(K::kThreads), arguments, 0, stream);
  } else {
    constexpr int kAcross = 32;  // one warp a row, so that neighbouring threads read neighbouring samples
    constexpr int kDown = 8;
    return cudaLaunchKernel(PixelGrid<K>, dim3(BlocksFor(extent.x, kAcross), BlocksFor(extent.y, kDown), z),
                            dim3(kAcross, kDown), arguments, 0, stream);
  }
}

using LaunchFunction = cudaError_t (*)(const void* data, Extent extent, cudaStream_t stream);

}  // namespace reelmend::cuda
