// The methods that bench_networks compares: resize kernels, the engine's networks, and ffmpeg's non-local means. FSRCNN is
// compared in speed only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../tests/helpers/onnx_file.h"
#include "cpu/tensor_converter.h"
#include "device/cores.h"
#include "inference/frame_network.h"
#include "inference/model_loader.h"
#include "network_samples.h"
#include "picture_chroma.h"
#include "picture_quality.h"
#include "picture_reader.h"
#include "pixel/stages.h"
#include "reelmend/error.h"

namespace reelmend::bench {

/// Milliseconds per frame. Other work on the machine disturbs the CPU time less than the wall time.
struct Times {
  double wall = 1e30;
  double cpu = 1e30;
};

/// An enlarged frame, in 8-bit levels.
struct Enlarged {
  Plane luma;
  std::optional<Chroma> chroma;  ///< 4:2:0; none: the method leaves chroma to Lanczos-3
};

class Method {
 public:
  virtual ~Method() = default;
  virtual std::string name() const = 0;
  virtual std::string precision() const { return "float"; }
  /// Enlarges one frame; nullopt if the method does not support the sample.
  virtual std::optional<Enlarged> Enlarge(const Sample& sample, std::size_t frame, float strength) = 0;
  /// Time of a frame of this size, the best of `runs`.
  virtual Times Time(int width, int height, int runs) = 0;
};

inline double ProcessCpuMs() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// The best of `runs` means over `frames` calls.
template <typename Work>
Times BestMs(int runs, int frames, const Work& work) {
  Times best;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const double cpu = ProcessCpuMs();
    for (int i = 0; i < frames; ++i) work();
    best.wall = std::min(best.wall, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / frames);
    best.cpu = std::min(best.cpu, (ProcessCpuMs() - cpu) / frames);
  }
  return best;
}

/// Resizing by a kernel. Quality is measured with MATLAB's resize. Time is measured with the engine's resizer for Lanczos-3
/// and with swscale for bicubic.
class KernelMethod : public Method {
 public:
  KernelMethod(std::string name, Kernel kernel, int scale) : name_(std::move(name)), kernel_(kernel), scale_(scale) {}
  std::string name() const override { return name_; }
  std::optional<Enlarged> Enlarge(const Sample& sample, std::size_t frame, float) override {
    const Plane& low = sample.low[frame];
    return Enlarged{Resize(low, low.width * scale_, low.height * scale_, kernel_), std::nullopt};
  }
  Times Time(int width, int height, int runs) override {
    if (name_ == "lanczos3") {
      pixel::ThreadPool pool(device::AvailableCores());
      pixel::Image in(width, height, {1, 1}, {});
      pixel::Image out(width * scale_, height * scale_, {1, 1}, {});
      pixel::Resizer resizer(width, height, {1, 1}, {}, out.width(), out.height());
      resizer.Run(in, out, pool, pixel::Planes::kLuma);
      return BestMs(runs, 8, [&] { resizer.Run(in, out, pool, pixel::Planes::kLuma); });
    }
    std::vector<std::uint8_t> in(static_cast<std::size_t>(width) * height);
    std::vector<std::uint8_t> out(in.size() * scale_ * scale_);
    SwsContext* scaler = sws_getContext(width, height, AV_PIX_FMT_GRAY8, width * scale_, height * scale_, AV_PIX_FMT_GRAY8,
                                        SWS_BICUBIC, nullptr, nullptr, nullptr);
    const std::uint8_t* const from[] = {in.data()};
    const int from_stride[] = {width};
    std::uint8_t* const to[] = {out.data()};
    const int to_stride[] = {width * scale_};
    const Times ms = BestMs(runs, 8, [&] { sws_scale(scaler, from, from_stride, 0, height, to, to_stride); });
    sws_freeContext(scaler);
    return ms;
  }

 private:
  std::string name_;
  Kernel kernel_;
  int scale_;
};

/// Time of frames of one shape with all requests in flight, as in the pipeline. If the network leaves its last shuffle to the
/// reader of the samples (CompileOptions::shuffle_multiple), the time includes all of that reading.
inline Times TimeNetwork(inference::Model& model, const inference::Shape& shape, int runs, ModelFile::Layout layout = ModelFile::Layout::kLumaStrength,
                         int shuffle_multiple = 1) {
  const int threads = device::AvailableCores();
  const int requests = std::min(threads, 4);
  inference::CompileOptions compile{shape, requests, threads, false};
  compile.shuffle_multiple = shuffle_multiple;
  const auto network = model.Compile(compile);
  const inference::Shape made = network->output_shape();
  const auto converter = cpu::MakeTensorConverter(layout, shape.width, shape.height, {1, 1}, {}, 0);
  pixel::Image samples(made.width, made.height, converter->output_subsampling(), {});
  pixel::ThreadPool one(1);
  const auto finish = [&](int r) {
    network->Wait(r);
    const int by = network->shuffle();
    if (by == 1) return;
    const int stride = made.width / by;
    converter->UnpackOutput({network->Output(r), std::int64_t{stride} * (made.height / by), stride, 0, 0, made.width, made.height, by}, samples, one);
  };
  for (int r = 0; r < requests; ++r) {
    for (std::int64_t i = 0; i < shape.count(); ++i) network->Input(r)[i] = static_cast<float>(i % 251) / 250;
  }
  constexpr int kRounds = 4;
  const Times ms = BestMs(runs + 1, 1, [&] {
    for (int i = 0; i < kRounds * requests; ++i) {
      if (i >= requests) finish(i % requests);
      network->Start(i % requests);
    }
    for (int r = 0; r < requests; ++r) finish(r);
  });
  return {ms.wall / (kRounds * requests), ms.cpu / (kRounds * requests)};
}

class NetworkMethod : public Method {
 public:
  NetworkMethod(inference::Backend& backend, ModelFile file) : backend_(backend), file_(std::move(file)) {}
  std::string name() const override { return file_.name; }
  std::string precision() const override { return file_.precision == ModelFile::Precision::kInt8 ? "int8" : "fp32"; }

  std::optional<Enlarged> Enlarge(const Sample& sample, std::size_t frame, float strength) override {
    const bool is_rgb = file_.layout == ModelFile::Layout::kRgb;
    if (is_rgb && sample.low_rgb.empty()) return std::nullopt;
    const Plane& low = sample.low[frame];
    if (!network_ || width_ != low.width || height_ != low.height) {
      network_ = std::make_unique<inference::FrameNetwork>(
          backend_, file_, inference::FrameNetworkOptions{low.width, low.height, device::AvailableCores(), 1LL << 31, {}});
      width_ = low.width;
      height_ = low.height;
    }
    if (is_rgb) return EnlargeRgb(sample.low_rgb[frame]);
    if (inference::MakesChroma(file_.layout)) return EnlargeAll(low, sample.low_chroma[frame], strength);
    return EnlargeLuma(low, strength);
  }

  Times Time(int width, int height, int runs) override {
    const auto model = inference::LoadModel(backend_, file_);
    const auto up = [&](int v) { return (v + file_.multiple - 1) / file_.multiple * file_.multiple; };
    const int shuffle = cpu::TakesShuffled(file_.layout) ? file_.multiple * file_.scale : 1;
    return TimeNetwork(*model, {inference::InputPlanes(file_.layout), up(height), up(width)}, runs, file_.layout, shuffle);
  }

 private:
  using Values = std::function<float(int plane, int x, int y)>;

  /// The network's output for a picture whose planes have these values.
  std::vector<Plane> Run(int planes, const Values& value) {
    network_->Submit([&](const inference::InputArea& area) {
      for (int p = 0; p < planes; ++p) {
        for (int y = 0; y < area.height; ++y) {
          float* row = area.data + (static_cast<std::ptrdiff_t>(p) * area.height + y) * area.width;
          for (int x = 0; x < area.width; ++x) row[x] = value(p, std::min(area.x + x, width_ - 1), std::min(area.y + y, height_ - 1));
        }
      }
    });
    std::vector<Plane> out(inference::OutputPlanes(file_.layout), Plane(network_->output_width(), network_->output_height()));
    network_->Retrieve([&](const inference::OutputArea& area) {
      for (std::size_t p = 0; p < out.size(); ++p) {
        for (int y = 0; y < area.height; ++y) {
          const float* row = area.data + static_cast<std::int64_t>(p) * area.plane + std::int64_t{y} * area.stride;
          for (int x = 0; x < area.width; ++x) out[p].at(area.x + x, area.y + y) = std::clamp(row[x], 0.0F, 1.0F);
        }
      }
    });
    return out;
  }

  Enlarged EnlargeLuma(const Plane& low, float strength) {
    std::vector<Plane> made = Run(2, [&](int p, int x, int y) { return p == 1 ? strength : (low.at(x, y) - 16) / 219; });
    for (float& value : made[0].data) value = 16 + 219 * value;
    return {std::move(made[0]), std::nullopt};
  }

  Enlarged EnlargeRgb(const std::vector<Plane>& low) {
    std::vector<Plane> rgb = Run(3, [&](int p, int x, int y) { return low[p].at(x, y) / 255; });
    for (Plane& plane : rgb) {
      for (float& value : plane.data) value *= 255;
    }
    const pixel::Image full = ToImage(nullptr, ChromaOfRgb(rgb), rgb[0].width, rgb[0].height, kFullChroma);
    return {LumaOf(rgb), To420(full, full.width(), full.height())};
  }

  /// As in a job: the engine's converter packs the input, and the engine's resizer converts the output to 4:2:0.
  Enlarged EnlargeAll(const Plane& low, const Chroma& chroma, float strength) {
    const pixel::Image in = ToImage(&low, chroma, low.width, low.height, {1, 1});
    const auto converter = cpu::MakeTensorConverter(file_.layout, low.width, low.height, in.subsampling(), in.color(), strength);
    pixel::Image out(network_->output_width(), network_->output_height(), converter->output_subsampling(), in.color());
    converter->Prepare(in, pool_);
    network_->Submit([&](const inference::InputArea& area) { converter->PackInput(in, area, pool_); });
    network_->Retrieve([&](const inference::OutputArea& area) { converter->UnpackOutput(area, out, pool_); });
    return {LevelsOf(std::as_const(out).plane(0)), To420(out, out.width(), out.height())};
  }

  pixel::ThreadPool pool_{1};
  inference::Backend& backend_;
  ModelFile file_;
  std::unique_ptr<inference::FrameNetwork> network_;
  int width_ = 0;
  int height_ = 0;
};

/// ffmpeg's non-local means, then Lanczos-3: a common way to remove noise. Uses the best of three strengths. `window` is the
/// research window; ffmpeg's default is 15. A smaller window is faster and removes less noise.
class NlmeansMethod : public Method {
 public:
  NlmeansMethod(double sigma, int scale, int window) : sigma_(sigma), scale_(scale), window_(window) {}
  std::string name() const override { return "nlmeans r" + std::to_string(window_) + "+lanczos3"; }

  std::optional<Enlarged> Enlarge(const Sample& sample, std::size_t frame, float) override {
    if (sample_ != sample.name) {
      sample_ = sample.name;
      double best = -1;
      for (const double factor : {0.3, 0.6, 1.0}) {
        std::vector<Plane> made = Filter(sample.low, factor * sigma_);
        const Plane enlarged = Resize(made[0], sample.high[0].width, sample.high[0].height, kLanczosKernel);
        if (const double psnr = Psnr(enlarged, sample.high[0], scale_); psnr > best) {
          best = psnr;
          made_ = std::move(made);
        }
      }
    }
    return Enlarged{Resize(made_[frame], sample.high[frame].width, sample.high[frame].height, kLanczosKernel), std::nullopt};
  }

  Times Time(int width, int height, int) override {
    constexpr int kFrames = 8;
    std::vector<Plane> frames(kFrames, Plane(width, height));
    std::mt19937 random(1);
    for (Plane& plane : frames) {
      for (float& value : plane.data) value = static_cast<float>(random() & 255U);
    }
    const auto start = std::chrono::steady_clock::now();
    const double cpu = ChildrenCpuMs();
    Filter(frames, 0.2 * sigma_);
    return {std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / kFrames, (ChildrenCpuMs() - cpu) / kFrames};
  }

 private:
  static double ChildrenCpuMs() {
    rusage usage = {};
    getrusage(RUSAGE_CHILDREN, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-3;
  }

  /// Uses files, because two pipes to the same program can deadlock.
  std::vector<Plane> Filter(const std::vector<Plane>& frames, double strength) const {
    char folder[] = "/tmp/bench-networks-XXXXXX";
    if (mkdtemp(folder) == nullptr) throw Error(ErrorCode::kIo, "Cannot create a temporary folder.");
    const std::string base = folder;
    const std::size_t count = frames[0].data.size();
    std::ofstream in(base + "/in.raw", std::ios::binary);
    for (const Plane& plane : frames) {
      std::string bytes;
      for (const float value : plane.data) bytes += static_cast<char>(std::lround(std::clamp(value, 0.0F, 255.0F)));
      in << bytes;
    }
    in.close();
    const std::string format = " -f rawvideo -pix_fmt gray -s " + std::to_string(frames[0].width) + "x" + std::to_string(frames[0].height);
    const std::string command = "ffmpeg -v error -y" + format + " -i " + base + "/in.raw -vf nlmeans=s=" +
                                std::to_string(std::clamp(strength, 1.0, 30.0)) + ":p=7:r=" + std::to_string(window_) +
                                " -f rawvideo -pix_fmt gray " + base + "/out.raw";
    const bool ok = std::system(command.c_str()) == 0;
    std::ifstream out(base + "/out.raw", std::ios::binary);
    std::vector<Plane> made;
    std::string bytes(count, '\0');
    while (ok && out.read(bytes.data(), static_cast<std::streamsize>(count))) {
      made.emplace_back(frames[0].width, frames[0].height);
      for (std::size_t i = 0; i < count; ++i) made.back().data[i] = static_cast<std::uint8_t>(bytes[i]);
    }
    std::filesystem::remove_all(folder);
    if (made.size() != frames.size()) throw Error(ErrorCode::kInternal, "ffmpeg could not filter the frames.");
    return made;
  }

  double sigma_;
  int scale_;
  int window_;
  std::string sample_;
  std::vector<Plane> made_;
};

/// FSRCNN(d = 56, s = 12, m = 4) ×2 (C. Dong et al. 2016) with random weights: only its speed is compared.
inline std::string Fsrcnn() {
  using testing::OnnxFile;
  std::mt19937 random(1);
  OnnxFile file;
  file.Input("x", {1, 1, OnnxFile::kOpen, OnnxFile::kOpen});
  std::string last = "x";
  int in = 1;
  const auto weights = [&](int count, int fan) {
    std::normal_distribution<float> normal(0.0F, std::sqrt(2.0F / static_cast<float>(fan)));
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    return values;
  };
  int index = 0;
  for (const auto& [out, side] : {std::pair{56, 5}, {12, 1}, {12, 3}, {12, 3}, {12, 3}, {12, 3}, {56, 1}}) {
    const std::string name = "l" + std::to_string(index++);
    file.Conv(last, name, out, in, side, weights(out * in * side * side, in * side * side));
    file.Tensor(name + "_slope", {out, 1, 1}, std::vector<float>(out, 0.1F)).Node("PRelu", {name, name + "_slope"}, name + "p");
    last = name + "p";
    in = out;
  }
  file.Tensor("d", {56, 1, 9, 9}, weights(56 * 81, 56 * 81));
  file.Node("ConvTranspose", {last, "d"}, "y",
            {{"strides", {2, 2}, true, ""}, {"pads", {4, 4, 4, 4}, true, ""}, {"output_padding", {1, 1}, true, ""}});
  file.Output("y", {1, 1, OnnxFile::kOpen, OnnxFile::kOpen});
  return file.Bytes();
}

}  // namespace reelmend::bench
