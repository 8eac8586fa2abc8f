// Runs one part of the pipeline, or all of it, over a clip and prints one JSON object. Each part runs in its own process, so
// CPU time and peak memory belong to that part. scripts/bench-engine combines the results.
//   bench_pipeline decode CLIP TARGET          demux, decode, deinterlace; frames are dropped
//   bench_pipeline pixels CLIP TARGET FRAMES   the pixel stages, on frames decoded beforehand
//   bench_pipeline encode CLIP TARGET FRAMES   x264, on frames rendered beforehand
//   bench_pipeline enhance CLIP TARGET OUT     reelmend::Enhance
// TARGET: 1080p, 4k, source. Options, after these arguments:
//   --network FILE    a ×2 super-resolution network; --layout NAME: its layout as in the manifest (luma+strength)
//   --faces FILE      a face restoration network
// All enhancements run at fixed strengths.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/pixel_chain.h"
#include "device/cores.h"
#include "layout_names.h"
#include "media/byte_io.h"
#include "media/video_encoder.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "run/frame_source.h"

namespace {

using namespace reelmend;

/// Wall time and the process's CPU time since construction.
class Watch {
 public:
  Watch() : wall_(Seconds(CLOCK_MONOTONIC)), cpu_(Seconds(CLOCK_PROCESS_CPUTIME_ID)) {}
  double wall_s() const { return Seconds(CLOCK_MONOTONIC) - wall_; }
  double cpu_s() const { return Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_; }

 private:
  static double Seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double wall_;
  double cpu_;
};

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void Print(const Watch& watch, long long frames, const std::string& extra = "") {
  std::printf("{\"frames\": %lld, \"wall_s\": %.4f, \"cpu_s\": %.4f, \"peak_rss_mb\": %.1f%s}\n", frames,
              watch.wall_s(), watch.cpu_s(), PeakMegabytes(), extra.c_str());
}

Target ParseTarget(const std::string& name) {
  if (name == "1080p") return Target::k1080p;
  if (name == "4k") return Target::k4k;
  if (name == "source") return Target::kSource;
  throw Error(ErrorCode::kInvalidArgument,
              "Expected 1080p, 4k or source as the target but received '" + name + "'.");
}

/// Files of networks; empty: no such network.
struct Networks {
  std::string enlarging;
  std::string layout = "luma+strength";
  std::string faces;
};

ModelFile Described(const std::string& name, const std::string& path, ModelFile::Layout layout) {
  ModelFile file;
  file.name = name;
  file.path = path;
  file.layout = layout;
  return file;
}

EnhanceOptions Options(const std::string& target, const Networks& networks) {
  EnhanceOptions options;
  options.target = ParseTarget(target);
  options.model = "none";
  if (!networks.enlarging.empty()) {
    ModelFile file = Described("fast", networks.enlarging, bench::LayoutOf(networks.layout));
    file.scale = 2;
    file.halo = 22;
    file.multiple = 2;
    options.models.push_back(file);
    options.model = file.name;
  }
  if (!networks.faces.empty()) {
    ModelFile file = Described("faces", networks.faces, ModelFile::Layout::kFace);
    file.scale = 1;
    options.models.push_back(file);
    options.face_restoration = {Strength::Mode::kFixed, 1};
  }
  options.denoise = {Strength::Mode::kFixed, 0.5F};
  options.sharpen = {Strength::Mode::kFixed, 0.4F};
  options.adaptive_contrast = {Strength::Mode::kFixed, 0.3F};
  return options;
}

/// One clip, opened like in Enhance.
struct Bench {
  Bench(const std::string& path_in, const std::string& target, const Networks& networks)
      : path(path_in),
        options(Options(target, networks)),
        threads(device::AvailableCores()),
        plan(plan::MakePlan(path, options, {threads})),
        file(path) {}

  run::FrameSource Source() { return run::FrameSource(file, plan, options, clocks, {threads}); }

  media::VideoEncoderOptions EncoderSettings() const {
    media::VideoEncoderOptions settings;
    settings.width = plan.output.width;
    settings.height = plan.output.height;
    settings.time_base = plan.time_base;
    settings.frame_rate = plan.frame_rate;
    settings.color = plan.color;
    settings.quality = options.encoder;
    settings.threads = threads == 1 ? 1 : (threads * 3 + 1) / 2;  // same as Enhance
    settings.knows_cuts = true;  // same as the CPU's pipeline
    return settings;
  }

  /// The first `count` frames.
  std::vector<run::TimedFrame> Frames(std::size_t count) {
    std::vector<run::TimedFrame> frames;
    run::FrameSource source = Source();
    codec = source.codec();
    source.Run([&](run::TimedFrame frame) {
      frames.push_back(std::move(frame));
      return frames.size() < count;
    });
    return frames;
  }

  std::string path;
  EnhanceOptions options;
  int threads;
  device::StageClocks clocks;
  plan::Plan plan;
  media::FileSource file;
  AVCodecID codec = AV_CODEC_ID_NONE;
};

void Decode(Bench& bench) {
  long long frames = 0;
  const Watch watch;
  run::FrameSource source = bench.Source();
  source.Run([&](run::TimedFrame) {
    ++frames;
    return true;
  });
  Print(watch, frames);
}

void Pixels(Bench& bench, int count) {
  constexpr std::size_t kDistinct = 48;
  const std::vector<run::TimedFrame> frames = bench.Frames(std::min<std::size_t>(kDistinct, count));
  media::VideoEncoder encoder(bench.EncoderSettings());  // only its frame pool is used
  cpu::PixelChain chain(bench.plan, bench.codec, bench.threads, bench.clocks);
  const Watch watch;
  for (int i = 0; i < count; ++i) {
    const media::UniqueFrame out = encoder.TakeFrame();
    chain.Run(*frames[i % frames.size()].frame, *out);
  }
  chain.AddNetworkTime();
  std::string stages = ", \"stages_cpu_s\": {";
  for (const StageTime& stage : bench.clocks.Report()) {
    if (stage.name == "decode" || stage.name == "deinterlace") continue;  // spent before the measurement
    stages +=
        (stages.back() == '{' ? "\"" : ", \"") + stage.name + "\": " + std::to_string(stage.cpu_seconds);
  }
  Print(watch, count, stages + "}");
}

void Encode(Bench& bench, int count) {
  media::VideoEncoder encoder(bench.EncoderSettings());
  std::vector<media::UniqueFrame> rendered;
  const std::vector<run::TimedFrame> frames = bench.Frames(count);
  cpu::PixelChain chain(bench.plan, bench.codec, bench.threads, bench.clocks);
  for (const run::TimedFrame& frame : frames) {
    rendered.push_back(encoder.TakeFrame());
    chain.Run(*frame.frame, *rendered.back());
  }
  long long bytes = 0;
  const auto count_bytes = [&](AVPacket& packet) { bytes += packet.size; };
  const Watch watch;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    encoder.Encode(*rendered[i], frames[i].pts, frames[i].duration, count_bytes);
  }
  encoder.Drain(count_bytes);
  Print(watch, static_cast<long long>(frames.size()), ", \"bytes\": " + std::to_string(bytes));
}

void RunEnhance(const std::string& clip, const std::string& out, const EnhanceOptions& options) {
  const Watch watch;
  const EnhanceResult result = Enhance(clip, out, options);
  std::string extra = ", \"width\": " + std::to_string(result.width) +
                      ", \"height\": " + std::to_string(result.height) +
                      ", \"faces\": " + std::to_string(result.faces) +
                      ", \"bytes\": " + std::to_string(result.size_bytes) + ", \"stages_cpu_s\": {";
  for (const StageTime& stage : result.stages) {
    extra += (extra.back() == '{' ? "\"" : ", \"") + stage.name + "\": " + std::to_string(stage.cpu_seconds);
  }
  Print(watch, result.frames, extra + "}");
}

/// Parses the options and removes them from the arguments.
Networks ParseNetworks(std::vector<std::string>& arguments) {
  Networks networks;
  for (const auto& [option, file] : {std::pair{"--network", &networks.enlarging}, {"--layout", &networks.layout}, {"--faces", &networks.faces}}) {
    const auto at = std::ranges::find(arguments, option);
    if (at == arguments.end() || at + 1 == arguments.end()) continue;
    *file = at[1];
    arguments.erase(at, at + 2);
  }
  return networks;
}

int Run(std::vector<std::string> arguments) {
  const Networks networks = ParseNetworks(arguments);
  if (arguments.size() < 3) {
    std::fprintf(stderr, "usage: bench_pipeline decode|pixels|encode|enhance CLIP TARGET [FRAMES|OUT] [--network FILE [--layout NAME]] [--faces FILE]\n");
    return 2;
  }
  const std::string& part = arguments[0];
  const std::string last = arguments.size() > 3 ? arguments[3] : "";
  if (part == "enhance") {
    RunEnhance(arguments[1], last, Options(arguments[2], networks));
    return 0;
  }
  Bench bench(arguments[1], arguments[2], networks);
  const int frames = std::max(1, std::atoi(last.c_str()));
  if (part == "decode") Decode(bench);
  if (part == "pixels") Pixels(bench, frames);
  if (part == "encode") Encode(bench, frames);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_pipeline: %s\n", error.what());
    return 1;
  }
}
