// After its first run no stage allocates memory: an allocation per frame would cause page faults for every picture.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "pixel/scene_detector.h"
#include "pixel/stages.h"
#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "pixel/tone_map.h"
#include "pixel_testing.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

// Replaces operator new to count allocations. It also counts the stages' aligned buffers, whose owners are allocated with it.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
// That of AddressSanitizer is no malloc, and std::stable_sort uses it.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace reelmend::pixel {
namespace {

TEST(Allocation, NoneInSteadyState) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::vector<std::uint8_t> bytes(320 * 180 * 3 / 2, 90);
    RawPlanes raw_in;
    MutableRawPlanes raw_out;
    std::vector<std::uint8_t> exported(480 * 270 * 3 / 2 + 480);
    for (int p = 0; p < 3; ++p) {
      raw_in.data[p] = bytes.data();
      raw_in.stride[p] = p == 0 ? 320 : 160;
      raw_out.data[p] = exported.data();
      raw_out.stride[p] = p == 0 ? 480 : 240;
    }
    Image in(320, 180, {1, 1}, {});
    Image clean(320, 180, {1, 1}, {});
    Image large(480, 270, {1, 1}, {});
    Image sharp(480, 270, {1, 1}, {});
    Image toned(320, 180, {1, 1}, {});
    ToneMapper tone_mapper({});
    SceneDetector scenes(320, 180);
    TemporalDenoiser temporal(320, 180, {1, 1});
    Denoiser denoiser(320, 180, {1, 1});
    Debander debander(320, 180);
    Resizer resizer(320, 180, {1, 1}, {}, 480, 270);
    TemporalAccumulator accumulator(480, 270);
    SourceMotion motion;
    ContourSmoother contours(480, 270);
    GuidedChroma guided_chroma(480, 270);
    Sharpener sharpener(480, 270);
    AdaptiveContrast contrast(480, 270);
    const auto frame = [&] {
      Import(raw_in, {}, in, pool);
      in.set_color({Matrix::kBt601, Range::kFull, ChromaSite::kLeft});
      ConvertColor(in, {}, pool);
      tone_mapper.Run(in, toned, pool);
      scenes.IsCut(in, pool);
      temporal.Run(in, toned, {0.8F, 4}, pool);
      temporal.CopyMotion(motion);
      EstimateNoise(in, pool);
      denoiser.Run(in, clean, 0.5F, 4, pool);
      debander.Run(clean, 4, pool);
      resizer.Run(clean, large, pool);
      accumulator.Run(large, motion, 1, pool);
      contours.Run(large, 1, 1.5F, pool);
      guided_chroma.Run(large, 1, 1.5F, pool);
      contrast.Run(large, 0.5F, pool);
      sharpener.Run(large, sharp, 0.5F, pool);
      ExportYuv420p8(sharp, raw_out, pool);
    };
    frame();
    const long before = allocations;
    for (int i = 0; i < 20; ++i) frame();
    EXPECT_EQ(allocations - before, 0) << threads << " threads";
  }
}

}  // namespace
}  // namespace reelmend::pixel
