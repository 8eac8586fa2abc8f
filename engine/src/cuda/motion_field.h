// The motion of a picture's blocks in device memory, for the stages that blend pictures along it.
#pragma once

#include <cstddef>

#include "cuda/device_arena.h"
#include "cuda/enqueue.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

inline std::size_t VectorCount(const MotionField& field) {
  return static_cast<std::size_t>(field.columns) * field.rows * pixel::kTemporalSteps;
}

/// All vectors are 0.
inline MotionField MakeMotionField(DeviceArena& arena, int columns, int rows) {
  MotionField field;
  field.columns = columns;
  field.rows = rows;
  const std::size_t count = VectorCount(field);
  field.vectors = static_cast<pixel::MotionVector*>(arena.MakeCleared(count * sizeof(pixel::MotionVector)));
  field.errors = static_cast<pixel::MotionErrors*>(arena.MakeCleared(count * sizeof(pixel::MotionErrors)));
  field.global = static_cast<pixel::MotionVector*>(arena.MakeCleared(pixel::kTemporalSteps * sizeof(pixel::MotionVector)));
  return field;
}

/// Lets blocks follow the global motion, if there is one. `search` is the kernel that found the vectors.
template <typename Search>
void FollowGlobalMotion(Device& device, const Search& search, StreamHandle stream) {
  const MotionField& field = search.field;
  Enqueue(device, GlobalMotionKernel{field}, {pixel::kTemporalSteps, 1, 1}, stream);
  Enqueue(device, GlobalErrorKernel<Search>{search}, {field.columns, field.rows, 1}, stream);
  Enqueue(device, FollowGlobalKernel{field}, {pixel::kTemporalSteps, 1, 1}, stream);
}

}  // namespace reelmend::cuda
