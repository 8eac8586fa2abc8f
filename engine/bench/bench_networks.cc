// Quality and speed of networks compared with bicubic and Lanczos-3. scripts/bench-networks passes the arguments.
//   bench_networks [options] FILE…          high-resolution pictures and clips
//     --model NAME,PATH,LAYOUT,PRECISION,SCALE,MULTIPLE,HALO   a network to measure; repeatable
//     --degrade bicubic | h264:CRF | noise:SIGMA               how the low resolution is made (bicubic)
//     --scale N            scale of the enlargement (2); networks of another scale are skipped
//     --strength auto|S    strength of the networks: the pipeline's choice, or a fixed one (auto)
//     --frames N           frames per clip (24)
//     --pan N              makes a clip of N frames from every picture: a window that moves over it
//     --sweep yes          instead of scores: the error of each source, the pipeline's estimates of it, and the PSNR of
//                          each strength
//     --size WxH           size of the timed frame (960x540); --runs N: best of N (5); --peer fsrcnn: times FSRCNN, too
//     --keep FOLDER        writes the raw 4:2:0 frames of every method and clip, for VMAF
// Prints one JSON object per line: {"method", "precision", "psnr_y", "ssim_y", "psnr_cb", "psnr_cr", "ms_per_frame", …}.
//
// Note [Conventions]
// Pictures follow the super-resolution papers. The original is cropped to a multiple of the scale, reduced as R′G′B′ by
// MATLAB's antialiased bicubic, and rounded to 8 bits. Its BT.601 Y in [16, 235] is enlarged, rounded, and compared with the
// original's Y, without a border of `scale` pixels. Clips are treated the same, with the stream's own luma; their PSNR is the
// mean over frames.
// h264: the reduced frames pass through x264 (medium, the given CRF) as 4:2:0.
// noise: seeded Gaussian noise on luma. ffmpeg's nlmeans (p = 7, r = 9 and its default 15, the best of three strengths)
// followed by Lanczos-3 is measured as well.
// Chroma is left-sited 4:2:0: Cb and Cr of BT.601 in [16, 240]. A picture's chroma is computed from its R′G′B′ before and
// after the reduction; a clip's chroma is reduced by Lanczos-3. PSNR compares the 4:2:0 samples, without a border of half the
// luma's. Networks that output chroma receive it as in a job, and the engine's resizer converts their output back to 4:2:0.
// For all other methods chroma is enlarged by Lanczos-3.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
#pragma GCC diagnostic ignored "-Wrestrict"  // false alarm on string concatenation, GCC bug 105651
#endif
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout_names.h"
#include "network_methods.h"
#include "network_samples.h"
#include "picture_quality.h"
#include "picture_reader.h"
#include "pixel/stages.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "sample_names.h"

namespace {

using namespace reelmend;
using namespace reelmend::bench;

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
  if (parts.size() != 7) Refuse("--model needs NAME,PATH,LAYOUT,PRECISION,SCALE,MULTIPLE,HALO.");
  ModelFile file;
  file.name = parts[0];
  file.path = parts[1];
  file.layout = LayoutOf(parts[2]);
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
    if (++i == argc) Refuse("The option " + name + " needs a value.");
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
      if (std::sscanf(value.c_str(), "%dx%d", &o.width, &o.height) != 2) Refuse("--size needs WIDTHxHEIGHT.");
    } else Refuse("Unknown option " + name + ".");
  }
  const bool has_number = !o.parameter.empty() && o.parameter.find_first_not_of("0123456789.") == std::string::npos;
  if (o.degrade != "bicubic" && !((o.degrade == "h264" || o.degrade == "noise") && has_number)) {
    Refuse("--degrade needs bicubic, h264:CRF or noise:SIGMA.");
  }
  if (o.scale < 1 || o.scale > 8) Refuse("--scale needs a number from 1 to 8.");
  return o;
}

/// The pipeline's estimate of a plane's noise, in 8-bit levels.
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
  return plan::ChooseNetworkStrength({}, {NoiseOf(sample.low[0]), {}, sample.compression_error});
}

void Keep(const std::string& folder, const Sample& sample, const std::string& method, const std::vector<Plane>& frames,
          const std::vector<Chroma>& chroma) {
  if (folder.empty() || sample.is_still) return;
  const Plane& first = frames[0];
  std::ofstream file(folder + "/" + sample.name + "." + method + "." + std::to_string(first.width) + "x" + std::to_string(first.height) + ".yuv", std::ios::binary);
  for (std::size_t f = 0; f < frames.size(); ++f) file << Bytes420(frames[f], chroma[f]);
}

struct Score {
  double psnr = 0;
  double ssim = 0;
  double psnr_chroma[2] = {};
  double flicker = 0;  ///< mean absolute difference of consecutive frames, 8-bit levels
  int samples = 0;
  std::map<std::string, double> psnr_of;
};

/// Mean absolute difference of consecutive frames.
double Flicker(const std::vector<Plane>& frames) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t f = 1; f < frames.size(); ++f) {
    for (std::size_t i = 0; i < frames[f].data.size(); ++i) sum += std::abs(frames[f].data[i] - frames[f - 1].data[i]);
    count += static_cast<std::int64_t>(frames[f].data.size());
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

void ScoreMethod(Method& method, const Sample& sample, float strength, const Options& o, Score& score) {
  double psnr = 0;
  double ssim = 0;
  double psnr_chroma[2] = {};
  std::vector<Plane> made;
  std::vector<Chroma> made_chroma;
  for (std::size_t f = 0; f < sample.low.size(); ++f) {
    std::optional<Enlarged> out = method.Enlarge(sample, f, strength);
    if (!out) return;
    RoundToLevels(out->luma, 16, 235);
    psnr += Psnr(out->luma, sample.high[f], o.scale);
    ssim += SsimY(out->luma, sample.high[f], o.scale);
    made.push_back(std::move(out->luma));
    made_chroma.push_back(Rounded(out->chroma ? std::move(*out->chroma) : sample.plain_chroma[f]));
    for (int p = 0; p < 2; ++p) psnr_chroma[p] += Psnr(made_chroma.back()[p], sample.high_chroma[f][p], (o.scale + 1) / 2);
  }
  const auto frames = static_cast<double>(sample.low.size());
  score.psnr += psnr / frames;
  score.ssim += ssim / frames;
  for (int p = 0; p < 2; ++p) score.psnr_chroma[p] += psnr_chroma[p] / frames;
  score.flicker += Flicker(made);
  score.psnr_of[sample.name] = psnr / frames;
  ++score.samples;
  Keep(o.keep, sample, method.name() + "-" + method.precision(), made, made_chroma);
}

void Print(const Method& method, const Score& score, const Score* lanczos, Times ms, const Options& o) {
  std::printf("{\"method\": \"%s\", \"precision\": \"%s\", \"degrade\": \"%s%s%s\", \"scale\": %d", method.name().c_str(),
              method.precision().c_str(), o.degrade.c_str(), o.parameter.empty() ? "" : ":", o.parameter.c_str(), o.scale);
  if (score.samples > 0) {
    std::printf(", \"samples\": %d, \"psnr_y\": %.3f, \"ssim_y\": %.4f", score.samples, score.psnr / score.samples, score.ssim / score.samples);
    std::printf(", \"psnr_cb\": %.3f, \"psnr_cr\": %.3f", score.psnr_chroma[0] / score.samples, score.psnr_chroma[1] / score.samples);
    if (lanczos != nullptr) {
      const Gain gain = GainOver(score.psnr_of, lanczos->psnr_of);
      std::printf(", \"gain_over_lanczos3_db\": %.3f, \"worst_gain_db\": %.3f", gain.mean, gain.worst);
      if (score.samples == lanczos->samples && lanczos->flicker > 0) std::printf(", \"flicker_ratio\": %.4f", score.flicker / lanczos->flicker);
    }
  }
  std::printf(", \"ms_per_frame\": %.2f, \"cpu_ms_per_frame\": %.2f, \"timed_size\": \"%dx%d\"}\n", ms.wall, ms.cpu, o.width, o.height);
  std::fflush(stdout);
}

double MeanPsnr(Method& method, const Sample& sample, float strength, const Options& o) {
  double sum = 0;
  for (std::size_t f = 0; f < sample.low.size(); ++f) {
    std::optional<Enlarged> out = method.Enlarge(sample, f, strength);
    if (!out) return 0;
    RoundToLevels(out->luma, 16, 235);
    sum += Psnr(out->luma, sample.high[f], o.scale);
  }
  return sum / static_cast<double>(sample.low.size());
}

/// Prints one line for a network and a source: the source's error, the pipeline's estimates, and PSNR by strength.
void Sweep(Method& method, const Sample& sample, float automatic, const Options& o) {
  std::printf("{\"method\": \"%s\", \"precision\": \"%s\", \"sample\": \"%s\", \"degrade\": \"%s:%s\", \"quantiser\": %.2f, "
              "\"error\": %.3f, \"estimate\": %.3f, \"noise_estimate\": %.3f, \"clean_noise_estimate\": %.3f, "
              "\"strength\": %.4f, \"psnr_y\": %.3f, \"psnr_of\": {",
              method.name().c_str(), method.precision().c_str(), sample.name.c_str(), o.degrade.c_str(), o.parameter.c_str(),
              sample.quantiser, sample.error, sample.compression_error, NoiseOf(sample.low[0]), NoiseOf(sample.clean),
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
  if (o.degrade == "noise") {
    for (const int window : {9, 15}) methods.push_back(std::make_unique<NlmeansMethod>(std::atof(o.parameter.c_str()), o.scale, window));
  }
  std::vector<Score> scores(methods.size());
  const std::vector<std::string> names = SampleNames(o.files);
  for (std::size_t i = 0; i < o.files.size(); ++i) {
    const Sample sample = Load(o.files[i], names[i], o);
    const float strength = StrengthFor(sample, o);
    std::fprintf(stderr, "%s: %zu frame%s, strength %.3f\n", sample.name.c_str(), sample.low.size(), sample.low.size() == 1 ? "" : "s", strength);
    if (o.is_sweep) {
      for (std::size_t m = 2; m < methods.size(); ++m) Sweep(*methods[m], sample, strength, o);
      continue;
    }
    if (!sample.is_still) Keep(o.keep, sample, "original", sample.high, sample.high_chroma);
    for (std::size_t m = 0; m < methods.size(); ++m) ScoreMethod(*methods[m], sample, strength, o, scores[m]);
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
