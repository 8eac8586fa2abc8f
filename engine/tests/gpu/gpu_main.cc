// The main program of the GPU tests. Without a GPU they fail; none is skipped.
#include <gtest/gtest.h>

#include <cstdio>

#include "cuda/device.h"

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  try {
    const auto device = reelmend::cuda::OpenCudaDevice(0);
    const reelmend::cuda::DeviceFacts& facts = device->facts();
    std::printf("on %s, %s, sm_%d%d, %.1f GiB\n", facts.id().c_str(), facts.name.c_str(), facts.compute_major,
                facts.compute_minor, static_cast<double>(facts.memory_bytes) / (1 << 30));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "test:gpu: %s\n", error.what());
    return 1;
  }
  return RUN_ALL_TESTS();
}
