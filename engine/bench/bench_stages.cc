// Times every pixel stage alone, and memcpy and libswscale's Lanczos resize for comparison. Prints one JSON object.
// Usage: bench_stages [seconds per measurement, default 0.6]
extern "C" {
#include <libavutil/frame.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pixel/change_map.h"
#include "pixel/scene_detector.h"
#include "pixel/simd.h"
#include "pixel/stages.h"
#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "pixel/tone_map.h"

namespace {

using namespace reelmend::pixel;
using Clock = std::chrono::steady_clock;

double g_seconds = 0.6;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Medians over repeated calls. Compare CPU times on a machine that also does other work.
struct Timing {
  double wall_ms = 0;
  double cpu_ms = 0;  ///< of the caller and the pool's threads
};

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Timing Measure(const ThreadPool& pool, const std::function<void()>& call) {
  call();
  std::vector<double> wall;
  std::vector<double> cpu;
  const auto begin = Clock::now();
  while (wall.size() < 5 || Since(begin) < g_seconds) {
    const double cpu_start = ThreadCpuSeconds() + pool.WorkerCpuSeconds();
    const auto start = Clock::now();
    call();
    wall.push_back(Since(start) * 1e3);
    cpu.push_back((ThreadCpuSeconds() + pool.WorkerCpuSeconds() - cpu_start) * 1e3);
  }
  return {Median(wall), Median(cpu)};
}

struct Size {
  int width;
  int height;
  double samples() const { return width * height * 1.5; }
};

/// Gigabytes per second that memcpy reads and writes with `threads` threads, on far more memory than the caches hold.
double MemcpyGigabytes(int threads) {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  static std::vector<char> from(kBytes, 1);
  static std::vector<char> to(kBytes, 2);
  ThreadPool pool(threads);
  constexpr int kChunks = 64;
  const Timing timing = Measure(pool, [&] {
    pool.ParallelRows(kChunks, 1, [&](int first, int last) {
      const std::size_t begin = kBytes / kChunks * first;
      std::memcpy(to.data() + begin, from.data() + begin,
                  kBytes / kChunks * static_cast<std::size_t>(last - first));
    });
  });
  return 2.0 * kBytes / timing.wall_ms / 1e6;
}

/// An 8-bit 4:2:0 picture with shading, edges, texture and a little noise.
std::vector<std::uint8_t> Source(Size size) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size.samples()));
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int x = static_cast<int>(i) % size.width;
    const int y = static_cast<int>(i) / size.width;
    random = random * 1664525U + 1013904223U;
    const double v =
        120 + 40 * std::sin(0.02 * x + 0.01 * y) + ((x / 40 + y / 30) % 2 ? 20 : -20) + (random >> 29);
    bytes[i] = static_cast<std::uint8_t>(v);
  }
  return bytes;
}

struct FrameFree {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
using UniqueFrame = std::unique_ptr<AVFrame, FrameFree>;
struct SwsFree {
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

UniqueFrame MakeFrame(Size size) {
  UniqueFrame frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = size.width;
  frame->height = size.height;
  if (av_frame_get_buffer(frame.get(), 64) < 0) std::abort();
  return frame;
}

/// The same resize by libswscale: 8-bit 4:2:0 to 8-bit 4:2:0.
Timing MeasureSwscale(Size from, Size to, int threads) {
  const std::unique_ptr<SwsContext, SwsFree> context(sws_alloc_context());
  SwsContext* sws = context.get();
  av_opt_set_int(sws, "srcw", from.width, 0);
  av_opt_set_int(sws, "srch", from.height, 0);
  av_opt_set_int(sws, "dstw", to.width, 0);
  av_opt_set_int(sws, "dsth", to.height, 0);
  av_opt_set_int(sws, "src_format", AV_PIX_FMT_YUV420P, 0);
  av_opt_set_int(sws, "dst_format", AV_PIX_FMT_YUV420P, 0);
  av_opt_set_int(sws, "sws_flags", SWS_LANCZOS, 0);
  av_opt_set_int(sws, "threads", threads, 0);
  if (sws_init_context(sws, nullptr, nullptr) < 0) return {};
  const UniqueFrame in = MakeFrame(from);
  const UniqueFrame out = MakeFrame(to);
  const std::vector<std::uint8_t> bytes = Source(from);
  for (int p = 0; p < 3; ++p) {
    const int rows = p == 0 ? from.height : from.height / 2;
    for (int y = 0; y < rows; ++y) {
      std::memcpy(in->data[p] + y * in->linesize[p], bytes.data() + y * from.width,
                  static_cast<std::size_t>(p == 0 ? from.width : from.width / 2));
    }
  }
  const ThreadPool none(1);
  return Measure(none, [&] { sws_scale_frame(sws, out.get(), in.get()); });
}

/// Each time the next of a few pictures of a pan that goes round and round: `picture`, moved up by some rows.
class Pan {
 public:
  explicit Pan(const Image& picture) {
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      pictures_[i] = Image(picture.width(), picture.height(), picture.subsampling(), picture.color());
      for (int p = 0; p < 3; ++p) {
        const ConstPlane from = picture.plane(p);
        const Plane to = pictures_[i].plane(p);
        const int rows = kRows * static_cast<int>(i) / (p == 0 ? 1 : 2);
        for (int y = 0; y < to.height; ++y) std::copy_n(from.Row((y + rows) % from.height), from.width, to.Row(y));
      }
    }
  }
  const Image& Next() { return pictures_[static_cast<std::size_t>(next_++) % pictures_.size()]; }

 private:
  static constexpr int kRows = 6;
  std::array<Image, 5> pictures_;
  int next_ = 0;
};

void CopyLuma(const Image& from, Image& to) {
  for (int y = 0; y < to.height(); ++y) std::copy_n(from.plane(0).Row(y), to.width(), to.plane(0).Row(y));
}

struct Result {
  std::string name;
  Timing timing;
  double bytes;  ///< read and written; 0: not counted
};

/// Pictures, stages and raw planes of one job.
struct Job {
  Job(Size from_in, Size to_in)
      : from(from_in),
        to(to_in),
        bytes(Source(from)),
        exported(static_cast<std::size_t>(to.samples())),
        in(from.width, from.height, {1, 1}, {Matrix::kBt601, Range::kLimited, ChromaSite::kLeft}),
        clean(from.width, from.height, {1, 1}, {}),
        large(to.width, to.height, {1, 1}, {}),
        sharp(to.width, to.height, {1, 1}, {}),
        toned(from.width, from.height, {1, 1}, {}),
        twin(from.width, from.height, {1, 1}, {}),
        scenes(from.width, from.height),
        changes(from.width, from.height, {1, 1}),
        temporal(from.width, from.height, {1, 1}),
        denoiser(from.width, from.height, {1, 1}),
        resizer(from.width, from.height, {1, 1}, {}, to.width, to.height),
        accumulator(to.width, to.height),
        contours(to.width, to.height),
        guided_chroma(to.width, to.height),
        sharpener(to.width, to.height),
        contrast(to.width, to.height) {
    std::size_t offset_in = 0;
    std::size_t offset_out = 0;
    for (int p = 0; p < 3; ++p) {
      raw_in.data[p] = bytes.data() + offset_in;
      raw_in.stride[p] = p == 0 ? from.width : from.width / 2;
      raw_out.data[p] = exported.data() + offset_out;
      raw_out.stride[p] = p == 0 ? to.width : to.width / 2;
      offset_in += static_cast<std::size_t>(from.width) * from.height / (p == 0 ? 1 : 4);
      offset_out += static_cast<std::size_t>(to.width) * to.height / (p == 0 ? 1 : 4);
    }
  }

  Size from;
  Size to;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> exported;
  RawPlanes raw_in;
  MutableRawPlanes raw_out;
  Image in;
  Image clean;
  Image large;
  Image sharp;
  Image toned;
  Image twin;  ///< the same picture as `in`
  SceneDetector scenes;
  ChangeMap changes;
  TemporalDenoiser temporal;
  ToneMapper tone_pq{{}};
  ToneMapper tone_hlg{{HdrTransfer::kHlg, Primaries::kBt2020, kDefaultPeakNits}};
  Denoiser denoiser;
  Resizer resizer;
  TemporalAccumulator accumulator;
  ContourSmoother contours;
  GuidedChroma guided_chroma;
  Sharpener sharpener;
  AdaptiveContrast contrast;
};

std::vector<Result> MeasureStages(Job& job, ThreadPool& pool) {
  const double in = job.from.samples();
  const double out = job.to.samples();
  const float enlargement = static_cast<float>(job.to.width) / static_cast<float>(job.from.width);
  const ColorSpec bt709;
  bool forward = true;
  const auto convert = [&] {
    ConvertColor(job.in, forward ? bt709 : ColorSpec{Matrix::kBt601, Range::kLimited, ChromaSite::kLeft},
                 pool);
    forward = !forward;
  };
  const auto all = [&] {
    Import(job.raw_in, {}, job.in, pool);
    job.denoiser.Run(job.in, job.clean, 0.5F, 3, pool);
    job.resizer.Run(job.clean, job.large, pool);
    job.sharpener.Run(job.large, job.sharp, 0.5F, pool);
    job.contrast.Run(job.sharp, 0.3F, pool);
    ExportYuv420p8(job.sharp, job.raw_out, pool);
  };
  const auto resize_only = [&] {
    Import(job.raw_in, {}, job.in, pool);
    job.resizer.Run(job.in, job.large, pool);
    ExportYuv420p8(job.large, job.raw_out, pool);
  };
  std::vector<Result> results;
  const auto add = [&](const char* name, double bytes, const std::function<void()>& call) {
    results.push_back({name, Measure(pool, call), bytes});
  };
  add("import", 3 * in, [&] { Import(job.raw_in, {}, job.in, pool); });
  add("convert_color", 4 * in + 2 * in / 3, convert);
  add("tone_map_pq", 4 * in, [&] { job.tone_pq.Run(job.in, job.toned, pool); });
  add("tone_map_hlg", 4 * in, [&] { job.tone_hlg.Run(job.in, job.toned, pool); });
  add("scene_detector", in / 1.5, [&] { job.scenes.IsCut(job.in, pool); });
  Import(job.raw_in, {}, job.in, pool);
  Import(job.raw_in, {}, job.twin, pool);
  const PictureView picture = ViewOf(job.in);
  const PictureView same = ViewOf(job.twin);
  const PictureView other = ViewOf(job.clean);
  add("changes_none", 2 * in / 1.5, [&] { job.changes.Compare(picture, same, Planes::kLuma, job.changes.blocks()); });
  add("changes_all_over", 0, [&] { job.changes.Compare(picture, other, Planes::kLuma, job.changes.blocks() * 7 / 10); });
  add("estimate_noise", 2 * in / 1.5, [&] { EstimateNoise(job.in, pool); });
  // Reads the picture and three older ones; writes the result and the picture of each step.
  add("temporal_denoise", 16 * in, [&] { job.temporal.Run(job.in, job.clean, {1, 3, 3}, pool); });
  Pan pan(job.in);
  add("temporal_denoise_of_a_pan", 16 * in, [&] { job.temporal.Run(pan.Next(), job.clean, {1, 3, 3}, pool); });
  add("denoise", 4 * in, [&] { job.denoiser.Run(job.in, job.clean, 0.5F, 3, pool); });
  add("resize", 2 * in + 2 * out, [&] { job.resizer.Run(job.clean, job.large, pool); });
  // Both steps read the picture, displace an older one, fit its vectors, and write; as many pictures as the rings hold.
  Pan enlarged(job.large);
  SourceMotion motion;
  job.temporal.CopyMotion(motion);
  add("temporal_accumulation_of_a_pan", 12 * out / 1.5, [&] {
    CopyLuma(enlarged.Next(), job.large);
    job.accumulator.Run(job.large, motion, 1, pool);
  });
  add("contours", 4 * out / 1.5, [&] { job.contours.Run(job.large, 1, enlargement, pool); });
  add("guided_chroma", 4 * out / 3, [&] { job.guided_chroma.Run(job.large, 1, enlargement, pool); });
  add("sharpen", 4 * out, [&] { job.sharpener.Run(job.large, job.sharp, 0.5F, pool); });
  add("adaptive_contrast", 4 * out / 1.5, [&] { job.contrast.Run(job.sharp, 0.3F, pool); });
  add("export", 3 * out, [&] { ExportYuv420p8(job.sharp, job.raw_out, pool); });
  add("all_in_order", 0, all);
  add("import_resize_export", 0, resize_only);
  return results;
}

void PrintRun(Job& job, int threads, bool last) {
  ThreadPool pool(threads);
  const std::vector<Result> results = MeasureStages(job, pool);
  const double memcpy_speed = MemcpyGigabytes(threads);
  std::printf("  {\"from\": \"%dx%d\", \"to\": \"%dx%d\", \"threads\": %d, \"memcpy_gb_per_s\": %.1f,\n",
              job.from.width, job.from.height, job.to.width, job.to.height, threads, memcpy_speed);
  std::printf("   \"stages\": {");
  double resize_ms = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    std::printf("%s\n     \"%s\": {\"ms\": %.3f, \"cpu_ms\": %.3f", i == 0 ? "" : ",", r.name.c_str(),
                r.timing.wall_ms, r.timing.cpu_ms);
    if (r.bytes > 0) {
      const double speed = r.bytes / r.timing.wall_ms / 1e6;
      std::printf(", \"gb_per_s\": %.2f, \"of_memcpy\": %.2f", speed, speed / memcpy_speed);
    }
    std::printf("}");
    if (r.name == "import_resize_export") resize_ms = r.timing.wall_ms;
  }
  const Timing peer = MeasureSwscale(job.from, job.to, threads);
  std::printf(
      "},\n   \"peer\": {\"name\": \"libswscale SWS_LANCZOS, 8 bits\", \"ms\": %.3f, "
      "\"its_time_over_import_resize_export\": %.2f}}%s\n",
      peer.wall_ms, peer.wall_ms / resize_ms, last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_seconds = std::max(0.01, std::atof(argv[1]));
  std::printf("{\"simd\": \"%s\", \"cores\": %u, \"runs\": [\n", SimdTarget(),
              std::thread::hardware_concurrency());
  const Size jobs[][2] = {{{960, 540}, {1920, 1080}}, {{1920, 1080}, {3840, 2160}}};
  for (int j = 0; j < 2; ++j) {
    Job job(jobs[j][0], jobs[j][1]);
    for (int threads = 1; threads <= 2; ++threads) PrintRun(job, threads, j == 1 && threads == 2);
  }
  std::printf("]}\n");
  return 0;
}
