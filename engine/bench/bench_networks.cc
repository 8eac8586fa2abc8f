// Quality and speed of networks beside bicubic and Lanczos-3; scripts/bench-networks gathers its arguments.
//   bench_networks [options] FILE…          pictures and clips, the originals in high resolution
//     --model NAME,PATH,LAYOUT,PRECISION,SCALE,MULTIPLE,HALO   a network to try; any number of them
//     --degrade bicubic | h264:CRF | noise:SIGMA               how the low resolution is made (bicubic)
//     --scale N            of the enlargement (2); networks of another scale are left out
//     --strength auto|S    what networks are told to restore: as the pipeline would, or fixed (auto)
//     --frames N           of each clip (24)
//     --pan N              makes a clip of N frames of every picture: a window that moves over it
//     --sweep yes          instead of scores: what each source lost, what the pipeline takes that for, and which
//                          strength serves it best
//     --size WxH           of the frame that is timed (960x540); --runs N, best of (5); --peer fsrcnn
//     --keep FOLDER        raw 4:2:0 frames of every method and clip, for VMAF
// Prints one JSON object a line: {"method", "precision", "psnr_y", "ssim_y", "ms_per_frame", …}.
//
// Note [Conventions]
// Pictures, as the papers do it: the original is cropped to a multiple of the scale and reduced as R′G′B′ by MATLAB's
// antialiased bicubic, rounded to 8 bits; Y of BT.601 in [16, 235] of that is enlarged, rounded, and held against the
// original's Y without a border of `scale` pixels. Clips: luma as the stream has it, the same otherwise, PSNR as the
// mean over frames. h264: luma goes through x264 (medium, the given CRF) in between; noise: Gaussian, seeded,
// and ffmpeg's nlmeans (p = 7, r = 9, the best of three strengths) with Lanczos-3 stands beside.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
#pragma GCC diagnostic ignored "-Wrestrict"  // false alarm about joining strings, GCC bug 105651
#endif
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../tests/helpers/onnx_file.h"
#include "framelift/enhance.h"
#include "framelift/error.h"
#include "inference/frame_network.h"
#include "inference/model_loader.h"
#include "network_samples.h"
#include "picture_quality.h"
#include "picture_reader.h"
#include "pipeline/cores.h"
#include "pipeline/network_tensors.h"
#include "pipeline/plan.h"
#include "pixel/stages.h"

namespace {

using namespace framelift;
using namespace framelift::bench;
using Clock = std::chrono::steady_clock;

struct Options : SampleOptions {
  std::vector<ModelFile> models;
  std::optional<float> strength;
  bool is_sweep = false;
  int width = 960;
  int height = 540;
  int runs = 5;
  bool has_peer = false;
  std::string keep;
  std::vector<std::string> files;
};

[[noreturn]] void Refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

ModelFile ParseModel(const std::string& text) {
  const auto parts = Split(text, ',');
  if (parts.size() != 7) Refuse("--model wants NAME,PATH,LAYOUT,PRECISION,SCALE,MULTIPLE,HALO.");
  ModelFile file;
  file.name = parts[0];
  file.path = parts[1];
  file.layout = parts[2] == "rgb" ? ModelFile::Layout::kRgb : ModelFile::Layout::kLumaStrength;
  file.precision = parts[3] == "int8" ? ModelFile::Precision::kInt8 : ModelFile::Precision::kFp32;
  file.scale = std::atoi(parts[4].c_str());
  file.multiple = std::atoi(parts[5].c_str());
  file.halo = std::atoi(parts[6].c_str());
  return file;
}

Options Parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      o.files.push_back(name);
      continue;
    }
    if (++i == argc) Refuse("The option " + name + " wants a value.");
    const std::string value = argv[i];
    if (name == "--model") o.models.push_back(ParseModel(value));
    else if (name == "--degrade") {
      const auto parts = Split(value, ':');
      o.degrade = parts[0];
      if (parts.size() > 1) o.parameter = parts[1];
    } else if (name == "--scale") o.scale = std::atoi(value.c_str());
    else if (name == "--strength") { if (value != "auto") o.strength = std::strtof(value.c_str(), nullptr); }
    else if (name == "--frames") o.frames = std::max(1, std::atoi(value.c_str()));
    else if (name == "--pan") o.pan = std::max(0, std::atoi(value.c_str()));
    else if (name == "--sweep") o.is_sweep = value == "yes";
    else if (name == "--runs") o.runs = std::max(1, std::atoi(value.c_str()));
    else if (name == "--keep") o.keep = value;
    else if (name == "--peer") o.has_peer = value == "fsrcnn";
    else if (name == "--size") {
      if (std::sscanf(value.c_str(), "%dx%d", &o.width, &o.height) != 2) Refuse("--size wants WIDTHxHEIGHT.");
    } else Refuse("There is no option " + name + ".");
  }
  const bool has_number = !o.parameter.empty() && o.parameter.find_first_not_of("0123456789.") == std::string::npos;
  if (o.degrade != "bicubic" && !((o.degrade == "h264" || o.degrade == "noise") && has_number)) {
    Refuse("--degrade is bicubic, h264:CRF or noise:SIGMA.");
  }
  if (o.scale < 1 || o.scale > 8) Refuse("--scale lies between 1 and 8.");
  return o;
}

/// Noise as the pipeline measures it.
float NoiseOf(const Plane& plane) {
  static pixel::ThreadPool pool(1);
  pixel::Image image(plane.width, plane.height, {1, 1}, {});
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) {
      image.plane(0).Row(y)[x] = static_cast<std::uint16_t>(std::clamp(plane.at(x, y), 0.0F, 255.0F) * 256);
    }
  }
  return pixel::EstimateNoise(image, pool);
}

float StrengthFor(const Sample& sample, const Options& o) {
  if (o.strength) return *o.strength;
  if (o.degrade == "bicubic") return 0;
  return pipeline::ChooseNetworkStrength({}, {NoiseOf(sample.low[0]), 1, sample.coding_error});
}

/// Milliseconds a frame: by the clock on the wall, and of processors, which other work on the machine disturbs less.
struct Times {
  double wall = 1e30;
  double cpu = 1e30;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual std::string name() const = 0;
  virtual std::string precision() const { return "float"; }
  /// Luma of one frame, enlarged; nullopt when the method does not do this sample.
  virtual std::optional<Plane> Enlarge(const Sample& sample, std::size_t frame, float strength) = 0;
  /// For a frame of that size, the best of `runs`.
  virtual Times Time(int width, int height, int runs) = 0;
};

double ProcessCpuMs() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// Best of `runs` of the mean over a few frames.
template <typename Work>
Times BestMs(int runs, int frames, const Work& work) {
  Times best;
  for (int run = 0; run < runs; ++run) {
    const auto start = Clock::now();
    const double cpu = ProcessCpuMs();
    for (int i = 0; i < frames; ++i) work();
    best.wall = std::min(best.wall, std::chrono::duration<double, std::milli>(Clock::now() - start).count() / frames);
    best.cpu = std::min(best.cpu, (ProcessCpuMs() - cpu) / frames);
  }
  return best;
}

/// Resizing by a kernel. Quality is MATLAB's; the time of Lanczos-3 is that of the engine's own resizer, the time of
/// bicubic that of swscale.
class KernelMethod : public Method {
 public:
  KernelMethod(std::string name, Kernel kernel, int scale) : name_(std::move(name)), kernel_(kernel), scale_(scale) {}
  std::string name() const override { return name_; }
  std::optional<Plane> Enlarge(const Sample& sample, std::size_t frame, float) override {
    const Plane& low = sample.low[frame];
    return Resize(low, low.width * scale_, low.height * scale_, kernel_);
  }
  Times Time(int width, int height, int runs) override {
    if (name_ == "lanczos3") {
      pixel::ThreadPool pool(pipeline::AvailableCores());
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

/// Frames of one shape through all requests at once, as the pipeline runs them. A network whose last shuffle is left to
/// whoever takes the samples (CompileOptions::shuffle_multiple) is charged with all of that taking.
Times TimeNetwork(inference::Model& model, const inference::Shape& shape, int runs, int shuffle_multiple = 1) {
  const int threads = pipeline::AvailableCores();
  const int requests = std::min(threads, 4);
  inference::CompileOptions compile{shape, requests, threads, false};
  compile.shuffle_multiple = shuffle_multiple;
  const auto network = model.Compile(compile);
  const inference::Shape made = network->output_shape();
  const auto bridge = pipeline::MakeBridge(ModelFile::Layout::kLumaStrength, shape.width, shape.height, {1, 1}, {}, 0);
  pixel::Image samples(made.width, made.height, {1, 1}, {});
  pixel::ThreadPool one(1);
  const auto finish = [&](int r) {
    network->Wait(r);
    const int by = network->shuffle();
    if (by == 1) return;
    const int stride = made.width / by;
    bridge->Take({network->Output(r), std::int64_t{stride} * (made.height / by), stride, 0, 0, made.width, made.height, by}, samples, one);
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

  std::optional<Plane> Enlarge(const Sample& sample, std::size_t frame, float strength) override {
    const bool is_rgb = file_.layout == ModelFile::Layout::kRgb;
    if (is_rgb && sample.low_rgb.empty()) return std::nullopt;
    const Plane& low = sample.low[frame];
    if (!network_ || width_ != low.width || height_ != low.height) {
      network_ = std::make_unique<inference::FrameNetwork>(
          backend_, file_, inference::FrameNetworkOptions{low.width, low.height, pipeline::AvailableCores(), 1LL << 31, {}});
      width_ = low.width;
      height_ = low.height;
    }
    network_->Begin([&](const inference::InputArea& area) {
      const int planes = is_rgb ? 3 : 2;
      for (int p = 0; p < planes; ++p) {
        for (int y = 0; y < area.height; ++y) {
          float* row = area.data + (static_cast<std::ptrdiff_t>(p) * area.height + y) * area.width;
          for (int x = 0; x < area.width; ++x) {
            const int from_x = std::min(area.x + x, low.width - 1);
            const int from_y = std::min(area.y + y, low.height - 1);
            if (is_rgb) row[x] = sample.low_rgb[frame][p].at(from_x, from_y) / 255;
            else row[x] = p == 1 ? strength : (low.at(from_x, from_y) - 16) / 219;
          }
        }
      }
    });
    Plane out(network_->output_width(), network_->output_height());
    network_->End([&](const inference::OutputArea& area) {
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          const float* at = area.data + std::int64_t{y} * area.stride + x;
          const auto unit = [&](int p) { return std::clamp(at[p * area.plane], 0.0F, 1.0F); };
          out.at(area.x + x, area.y + y) = is_rgb ? 16 + 65.481F * unit(0) + 128.553F * unit(1) + 24.966F * unit(2) : 16 + 219 * unit(0);
        }
      }
    });
    return out;
  }

  Times Time(int width, int height, int runs) override {
    const auto model = inference::LoadModel(backend_, file_);
    const auto up = [&](int v) { return (v + file_.multiple - 1) / file_.multiple * file_.multiple; };
    const int shuffle = pipeline::TakesShuffled(file_.layout) ? file_.multiple * file_.scale : 1;
    return TimeNetwork(*model, {inference::InputPlanes(file_.layout), up(height), up(width)}, runs, shuffle);
  }

 private:
  inference::Backend& backend_;
  ModelFile file_;
  std::unique_ptr<inference::FrameNetwork> network_;
  int width_ = 0;
  int height_ = 0;
};

/// Non-local means by ffmpeg, then Lanczos-3: what noise is removed with today. Its best strength is taken.
class NlmeansMethod : public Method {
 public:
  NlmeansMethod(double sigma, int scale) : sigma_(sigma), scale_(scale) {}
  std::string name() const override { return "nlmeans+lanczos3"; }

  std::optional<Plane> Enlarge(const Sample& sample, std::size_t frame, float) override {
    if (sample_ != sample.name) {
      sample_ = sample.name;
      double best = -1;
      for (const double factor : {0.3, 0.6, 1.0}) {
        std::vector<Plane> made = Filter(sample.low, factor * sigma_);
        const Plane enlarged = Resize(made[0], sample.high[0].width, sample.high[0].height, kLanczosKernel);
        if (const double psnr = PsnrY(enlarged, sample.high[0], scale_); psnr > best) {
          best = psnr;
          made_ = std::move(made);
        }
      }
    }
    return Resize(made_[frame], sample.high[frame].width, sample.high[frame].height, kLanczosKernel);
  }

  Times Time(int width, int height, int) override {
    constexpr int kFrames = 8;
    std::vector<Plane> frames(kFrames, Plane(width, height));
    std::mt19937 random(1);
    for (Plane& plane : frames) {
      for (float& value : plane.data) value = static_cast<float>(random() & 255U);
    }
    const auto start = Clock::now();
    const double cpu = ChildrenCpuMs();
    Filter(frames, 0.2 * sigma_);
    return {std::chrono::duration<double, std::milli>(Clock::now() - start).count() / kFrames, (ChildrenCpuMs() - cpu) / kFrames};
  }

 private:
  static double ChildrenCpuMs() {
    rusage usage = {};
    getrusage(RUSAGE_CHILDREN, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-3;
  }

  /// Through files: a pipe into the program and one out of it would wait for each other.
  static std::vector<Plane> Filter(const std::vector<Plane>& frames, double strength) {
    char folder[] = "/tmp/bench-networks-XXXXXX";
    if (mkdtemp(folder) == nullptr) throw Error(ErrorCode::kIo, "There is no room for temporary files.");
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
                                std::to_string(std::clamp(strength, 1.0, 30.0)) + ":p=7:r=9 -f rawvideo -pix_fmt gray " + base + "/out.raw";
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
  std::string sample_;
  std::vector<Plane> made_;
};

/// C. Dong et al. 2016, FSRCNN(d = 56, s = 12, m = 4) ×2, random weights: only its speed is compared.
std::string Fsrcnn() {
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

void Keep(const std::string& folder, const Sample& sample, const std::string& method, const std::vector<Plane>& frames) {
  if (folder.empty() || sample.is_still) return;
  const Plane& first = frames[0];
  std::ofstream file(folder + "/" + sample.name + "." + method + "." + std::to_string(first.width) + "x" + std::to_string(first.height) + ".yuv", std::ios::binary);
  const std::string neutral(static_cast<std::size_t>((first.width + 1) / 2) * ((first.height + 1) / 2) * 2, static_cast<char>(128));
  for (const Plane& plane : frames) {
    std::string bytes;
    for (const float value : plane.data) bytes += static_cast<char>(std::lround(std::clamp(value, 0.0F, 255.0F)));
    file << bytes << neutral;
  }
}

struct Score {
  double psnr = 0;
  double ssim = 0;
  double flicker = 0;  ///< mean difference between frames
  int samples = 0;
  std::map<std::string, double> psnr_of;
};

/// Mean absolute difference between neighbouring frames.
double Flicker(const std::vector<Plane>& frames) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t f = 1; f < frames.size(); ++f) {
    for (std::size_t i = 0; i < frames[f].data.size(); ++i) sum += std::abs(frames[f].data[i] - frames[f - 1].data[i]);
    count += static_cast<std::int64_t>(frames[f].data.size());
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

void Judge(Method& method, const Sample& sample, float strength, const Options& o, Score& score) {
  double psnr = 0;
  double ssim = 0;
  std::vector<Plane> made;
  for (std::size_t f = 0; f < sample.low.size(); ++f) {
    std::optional<Plane> out = method.Enlarge(sample, f, strength);
    if (!out) return;
    RoundToCodes(*out, 16, 235);
    psnr += PsnrY(*out, sample.high[f], o.scale);
    ssim += SsimY(*out, sample.high[f], o.scale);
    made.push_back(std::move(*out));
  }
  const auto frames = static_cast<double>(sample.low.size());
  score.psnr += psnr / frames;
  score.ssim += ssim / frames;
  score.flicker += Flicker(made);
  score.psnr_of[sample.name] = psnr / frames;
  ++score.samples;
  Keep(o.keep, sample, method.name() + "-" + method.precision(), made);
}

void Print(const Method& method, const Score& score, const Score* lanczos, Times ms, const Options& o) {
  std::printf("{\"method\": \"%s\", \"precision\": \"%s\", \"degrade\": \"%s%s%s\", \"scale\": %d", method.name().c_str(),
              method.precision().c_str(), o.degrade.c_str(), o.parameter.empty() ? "" : ":", o.parameter.c_str(), o.scale);
  if (score.samples > 0) {
    std::printf(", \"samples\": %d, \"psnr_y\": %.3f, \"ssim_y\": %.4f", score.samples, score.psnr / score.samples, score.ssim / score.samples);
    if (lanczos != nullptr) {
      double worst = 1e9;
      for (const auto& [name, psnr] : score.psnr_of) worst = std::min(worst, psnr - lanczos->psnr_of.at(name));
      std::printf(", \"gain_over_lanczos3_db\": %.3f, \"worst_gain_db\": %.3f",
                  score.psnr / score.samples - lanczos->psnr / lanczos->samples, worst);
      if (lanczos->flicker > 0) std::printf(", \"flicker_ratio\": %.4f", score.flicker / lanczos->flicker);
    }
  }
  std::printf(", \"ms_per_frame\": %.2f, \"cpu_ms_per_frame\": %.2f, \"timed_size\": \"%dx%d\"}\n", ms.wall, ms.cpu, o.width, o.height);
  std::fflush(stdout);
}

double MeanPsnr(Method& method, const Sample& sample, float strength, const Options& o) {
  double sum = 0;
  for (std::size_t f = 0; f < sample.low.size(); ++f) {
    std::optional<Plane> out = method.Enlarge(sample, f, strength);
    if (!out) return 0;
    RoundToCodes(*out, 16, 235);
    sum += PsnrY(*out, sample.high[f], o.scale);
  }
  return sum / static_cast<double>(sample.low.size());
}

/// One line a network and source: the error that was made, the pipeline's estimates, and PSNR over the strengths.
void Sweep(Method& method, const Sample& sample, float automatic, const Options& o) {
  std::printf("{\"method\": \"%s\", \"precision\": \"%s\", \"sample\": \"%s\", \"degrade\": \"%s:%s\", \"quantiser\": %.2f, "
              "\"error\": %.3f, \"estimate\": %.3f, \"noise_estimate\": %.3f, \"clean_noise_estimate\": %.3f, "
              "\"strength\": %.4f, \"psnr_y\": %.3f, \"psnr_of\": {",
              method.name().c_str(), method.precision().c_str(), sample.name.c_str(), o.degrade.c_str(), o.parameter.c_str(),
              sample.quantiser, sample.error, sample.coding_error, NoiseOf(sample.low[0]), NoiseOf(sample.clean),
              automatic, MeanPsnr(method, sample, automatic, o));
  const char* comma = "";
  for (const float strength : {0.0F, 0.02F, 0.04F, 0.06F, 0.08F, 0.1F, 0.13F, 0.16F, 0.2F, 0.25F, 0.3F, 0.4F, 0.5F, 0.65F, 0.8F, 1.0F}) {
    std::printf("%s\"%.2f\": %.3f", comma, strength, MeanPsnr(method, sample, strength, o));
    comma = ", ";
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

void Run(const Options& o) {
  const auto backend = inference::CreateBackend("openvino");
  std::vector<std::unique_ptr<Method>> methods;
  methods.push_back(std::make_unique<KernelMethod>("bicubic", kCubicKernel, o.scale));
  methods.push_back(std::make_unique<KernelMethod>("lanczos3", kLanczosKernel, o.scale));
  for (const ModelFile& file : o.models) {
    if (file.scale == o.scale) methods.push_back(std::make_unique<NetworkMethod>(*backend, file));
  }
  if (o.degrade == "noise") methods.push_back(std::make_unique<NlmeansMethod>(std::atof(o.parameter.c_str()), o.scale));
  std::vector<Score> scores(methods.size());
  for (const std::string& path : o.files) {
    const Sample sample = Load(path, o);
    const float strength = StrengthFor(sample, o);
    std::fprintf(stderr, "%s: %zu frame%s, strength %.3f\n", sample.name.c_str(), sample.low.size(), sample.low.size() == 1 ? "" : "s", strength);
    if (o.is_sweep) {
      for (std::size_t m = 2; m < methods.size(); ++m) Sweep(*methods[m], sample, strength, o);
      continue;
    }
    if (!sample.is_still) Keep(o.keep, sample, "original", sample.high);
    for (std::size_t m = 0; m < methods.size(); ++m) Judge(*methods[m], sample, strength, o, scores[m]);
  }
  if (o.is_sweep) return;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    Print(*methods[m], scores[m], m >= 2 && scores[m].samples > 0 ? &scores[1] : nullptr, methods[m]->Time(o.width, o.height, o.runs), o);
  }
  if (o.has_peer) {
    const auto model = backend->Load(Fsrcnn(), "", "");
    const Times ms = TimeNetwork(*model, {1, o.height, o.width}, o.runs);
    std::printf("{\"method\": \"fsrcnn-56-12-4 (random weights)\", \"precision\": \"fp32\", \"scale\": 2, \"ms_per_frame\": %.2f, "
                "\"cpu_ms_per_frame\": %.2f, \"timed_size\": \"%dx%d\"}\n", ms.wall, ms.cpu, o.width, o.height);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(Parse(argc, argv));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_networks: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_networks: %s\n", error.what());
  }
  return 1;
}
