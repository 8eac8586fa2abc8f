// Enqueues a kernel on a device.
#pragma once

#include <cstddef>

#include "cuda/device.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

template <typename K>
void Enqueue(Device& device, const K& kernel, Extent extent, StreamHandle stream) {
  device.Launch(MakeCall(kernel, extent), stream);
}

/// Between device and host, or within either.
inline void CopyBytes(Device& device, void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  const auto row = static_cast<std::ptrdiff_t>(bytes);
  device.CopyAsync({to, row, from, row, bytes, 1}, stream);
}

/// Number of blocks of `size` that cover `count` samples.
inline int Blocks(int count, int size) { return (count + size - 1) / size; }

}  // namespace reelmend::cuda
