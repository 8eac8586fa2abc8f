// Enqueues a kernel on a device.
#pragma once

#include "cuda/device.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

template <typename K>
void Enqueue(Device& device, const K& kernel, Extent extent, StreamHandle stream) {
  device.Launch(MakeCall(kernel, extent), stream);
}

/// Number of blocks of `size` that cover `count` samples.
inline int Blocks(int count, int size) { return (count + size - 1) / size; }

}  // namespace reelmend::cuda
