// Encodes the enhanced frames of a clip at several presets and quality factors, as the pipeline does.
//   bench_encoder CLIP TARGET FRAMES FOLDER PRESET:CRF…
// Writes FOLDER/reference.yuv (the enhanced frames, 8-bit planar 4:2:0) and FOLDER/PRESET-CRF.mp4, and prints one JSON
// array. scripts/bench-encoder computes their VMAF. All enhancements are automatic.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cpu/pixel_chain.h"
#include "device/cores.h"
#include "media/byte_io.h"
#include "media/muxer.h"
#include "media/video_encoder.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "run/frame_source.h"

namespace {

using namespace reelmend;

double Now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Rendered {
  media::UniqueFrame frame;
  std::int64_t pts;
  std::int64_t duration;
};

class EncoderBench {
 public:
  EncoderBench(const std::string& clip, const std::string& target, std::size_t count) : threads_(device::AvailableCores()) {
    EnhanceOptions options;
    options.target = target == "4k" ? Target::k4k : target == "source" ? Target::kSource : Target::k1080p;
    plan_ = plan::MakePlan(clip, options, {threads_});
    device::StageClocks clocks;
    media::FileSource file(clip);
    run::FrameSource source(file, plan_, options, clocks, {threads_});
    cpu::PixelChain chain(plan_, source.codec(), threads_, clocks);
    pool_ = std::make_unique<media::VideoEncoder>(Settings({}));
    source.Run([&](run::TimedFrame timed) {
      frames_.push_back({pool_->TakeFrame(), timed.pts, timed.duration});
      chain.Run(*timed.frame, *frames_.back().frame);
      return frames_.size() < count;
    });
  }

  void WriteReference(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    for (const Rendered& rendered : frames_) {
      const AVFrame& frame = *rendered.frame;
      for (int p = 0; p < 3; ++p) {
        const int shift = p == 0 ? 0 : 1;
        for (int y = 0; y < frame.height >> shift; ++y) {
          file.write(reinterpret_cast<const char*>(frame.data[p] + y * frame.linesize[p]), frame.width >> shift);
        }
      }
    }
    if (!file.flush()) throw Error(ErrorCode::kIo, "The reference frames cannot be written.");
  }

  /// Encodes all frames and prints one JSON object.
  void Encode(const EncoderOptions& quality, const std::string& path) {
    media::VideoEncoder encoder(Settings(quality));
    media::Muxer muxer(path, {});
    const int stream = muxer.AddVideo(encoder.context(), {});
    muxer.Start(plan_.time_base);
    long long bytes = 0;
    const auto write = [&](AVPacket& packet) {
      bytes += packet.size;
      muxer.Write(stream, packet);
    };
    const double wall = Now(CLOCK_MONOTONIC);
    const double cpu = Now(CLOCK_PROCESS_CPUTIME_ID);
    for (const Rendered& rendered : frames_) {
      const media::UniqueFrame copy(av_frame_clone(rendered.frame.get()));
      encoder.Encode(*copy, rendered.pts, rendered.duration, write);
    }
    encoder.Drain(write);
    std::printf("{\"preset\": \"%s\", \"crf\": %g, \"bytes\": %lld, \"frames\": %zu, \"width\": %d, \"height\": %d, ",
                quality.preset.c_str(), static_cast<double>(quality.crf), bytes, frames_.size(), plan_.output.width,
                plan_.output.height);
    const double seconds = static_cast<double>(frames_.back().pts + frames_.back().duration - frames_.front().pts) *
                           av_q2d(plan_.time_base);
    std::printf("\"seconds\": %.3f, \"cpu_s\": %.3f, \"wall_s\": %.3f}", seconds,
                Now(CLOCK_PROCESS_CPUTIME_ID) - cpu, Now(CLOCK_MONOTONIC) - wall);
    muxer.Finish();
  }

 private:
  media::VideoEncoderOptions Settings(const EncoderOptions& quality) const {
    media::VideoEncoderOptions settings;
    settings.width = plan_.output.width;
    settings.height = plan_.output.height;
    settings.time_base = plan_.time_base;
    settings.frame_rate = plan_.frame_rate;
    settings.color = plan_.color;
    settings.quality = quality;
    settings.threads = threads_ == 1 ? 1 : (threads_ * 3 + 1) / 2;  // same as Enhance
    settings.knows_cuts = true;  // same as the CPU's pipeline
    return settings;
  }

  int threads_;
  plan::Plan plan_;
  std::unique_ptr<media::VideoEncoder> pool_;
  std::vector<Rendered> frames_;
};

int Run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5) {
    std::fprintf(stderr, "usage: bench_encoder CLIP 1080p|4k|source FRAMES FOLDER PRESET:CRF…\n");
    return 2;
  }
  EncoderBench bench(arguments[0], arguments[1], static_cast<std::size_t>(std::max(1, std::atoi(arguments[2].c_str()))));
  bench.WriteReference(arguments[3] + "/reference.yuv");
  std::printf("[");
  for (std::size_t i = 4; i < arguments.size(); ++i) {
    const std::size_t colon = arguments[i].find(':');
    if (colon == std::string::npos) throw Error(ErrorCode::kInvalidArgument, "Expected PRESET:CRF.");
    EncoderOptions quality;
    quality.preset = arguments[i].substr(0, colon);
    quality.crf = std::stof(arguments[i].substr(colon + 1));
    if (i > 4) std::printf(",\n");
    bench.Encode(quality, arguments[3] + "/" + quality.preset + "-" + arguments[i].substr(colon + 1) + ".mp4");
  }
  std::printf("]\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_encoder: %s\n", error.what());
    return 1;
  }
}
