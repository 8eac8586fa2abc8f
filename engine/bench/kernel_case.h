// One measurement of bench_kernels: a call of a kernel, and the rows of a band for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "pixel/resize_plan.h"
#include "pixel/scratch.h"

namespace reelmend::pixel {

/// Ratio of rows read to rows written.
struct Mix {
  int reads = 1;
  int writes = 1;
};

struct Case {
  std::string name;
  double flops;             ///< floating-point or int16 operations of one call
  double bytes;             ///< read and written by one call, each once
  std::size_t working_set;  ///< bytes that repeated calls touch
  std::function<void()> call;
  Mix mix = {};
  bool is_int16 = false;  ///< its operations are 16-bit multiply-adds
};

inline constexpr int kRows = 16;  // of a band's ring
inline constexpr int kPad = 64;

/// The rows of a band, with padding on both sides.
struct Rows {
  Rows(int width_in)
      : width(width_in),
        stride(width_in + 2 * kPad),
        floats(static_cast<std::size_t>(kRows) * stride),
        more_floats(static_cast<std::size_t>(kRows) * stride),
        samples(static_cast<std::size_t>(kRows) * stride),
        outputs(static_cast<std::size_t>(kRows) * stride) {
    std::uint32_t random = 1;
    for (int i = 0; i < kRows * stride; ++i) {
      random = random * 1664525U + 1013904223U;
      samples.get()[i] = static_cast<std::uint16_t>(random >> 16);
      floats.get()[i] = static_cast<float>(random >> 16);
      more_floats.get()[i] = 0;
      outputs.get()[i] = 0;
    }
  }
  float* Float(int i) { return floats.get() + (i % kRows) * stride + kPad; }
  float* More(int i) { return more_floats.get() + (i % kRows) * stride + kPad; }
  std::uint16_t* Sample(int i) { return samples.get() + (i % kRows) * stride + kPad; }
  std::uint16_t* Output(int i) { return outputs.get() + (i % kRows) * stride + kPad; }
  std::size_t Bytes(std::size_t element_bytes) const { return element_bytes * static_cast<std::size_t>(kRows) * width; }

  int width;
  int stride;
  AlignedArray<float> floats;
  AlignedArray<float> more_floats;
  AlignedArray<std::uint16_t> samples;
  AlignedArray<std::uint16_t> outputs;
};

inline AxisPlan PlanOf(int from, int to) { return MakeAxisPlan(from, from, SampleGrid{}, to, to, SampleGrid{}); }

}  // namespace reelmend::pixel
