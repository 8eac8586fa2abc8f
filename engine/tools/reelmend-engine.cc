// Command line of the engine: reelmend-engine probe FILE, reelmend-engine enhance IN OUT [options], devices, version.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "reelmend/device.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"

namespace {

using reelmend::EnhanceOptions;
using reelmend::Strength;

constexpr const char* kHelp =
    "reelmend-engine – measure and enhance a video\n"
    "\n"
    "  reelmend-engine probe FILE [--walk]        what the file holds, as JSON\n"
    "  reelmend-engine enhance IN OUT [options]   writes an H.264 MP4; the result as JSON\n"
    "  reelmend-engine plan IN [options]          what enhance would do, and why\n"
    "  reelmend-engine devices                    processors that can be used, as JSON\n"
    "  reelmend-engine version\n"
    "\n"
    "Options of enhance:\n"
    "  --target 1080p|4k|source      box that the picture is fitted into (1080p)\n"
    "  --denoise, --sharpen, --contrast, --face  auto|off|0…1   (auto)\n"
    "  --face-model FILE             ONNX file that restores aligned faces\n"
    "  --model NAME, --device NAME   network and processor (auto)\n"
    "  --threads N                   0 = all cores (0)\n"
    "  --preset NAME, --crf N        of x264 (superfast, 16)\n"
    "  --segment START,END[,WARMUP]  seconds of presentation time, warm-up frames\n"
    "  --max-duration SECONDS        refuse longer videos (0 = any)\n";

volatile std::sig_atomic_t interrupted = 0;

[[noreturn]] void ThrowUsage(const std::string& sentence) {
  throw reelmend::Error(reelmend::ErrorCode::kInvalidArgument, sentence);
}

double ParseNumber(const std::string& text, const std::string& option) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
  }
  ThrowUsage("Expected a number for " + option + " but received “" + text + "”.");
}

Strength ParseStrength(const std::string& text, const std::string& option) {
  if (text == "auto") return {Strength::Mode::kAuto, 0};
  if (text == "off") return {Strength::Mode::kOff, 0};
  return {Strength::Mode::kFixed, static_cast<float>(ParseNumber(text, option))};
}

reelmend::Target ParseTarget(const std::string& text) {
  static const std::map<std::string, reelmend::Target> kTargets = {
      {"1080p", reelmend::Target::k1080p}, {"4k", reelmend::Target::k4k}, {"source", reelmend::Target::kSource}};
  const auto found = kTargets.find(text);
  if (found == kTargets.end()) ThrowUsage("Expected 1080p, 4k or source for --target but received “" + text + "”.");
  return found->second;
}

reelmend::Segment ParseSegment(const std::string& text) {
  reelmend::Segment segment;
  const int count =
      std::sscanf(text.c_str(), "%lf,%lf,%d", &segment.start_s, &segment.end_s, &segment.warm_up_frames);
  if (count < 2) ThrowUsage("Expected START,END for --segment but received “" + text + "”.");
  return segment;
}

reelmend::ModelFile FaceModel(const std::string& path) {
  reelmend::ModelFile file;
  file.name = "faces";
  file.path = path;
  file.layout = reelmend::ModelFile::Layout::kFace;
  file.scale = 1;
  return file;
}

EnhanceOptions ParseEnhance(const std::vector<std::string>& arguments, std::size_t first = 3) {
  EnhanceOptions o;
  const std::map<std::string, std::function<void(const std::string&)>> setters = {
      {"--target", [&](const std::string& v) { o.target = ParseTarget(v); }},
      {"--denoise", [&](const std::string& v) { o.denoise = ParseStrength(v, "--denoise"); }},
      {"--sharpen", [&](const std::string& v) { o.sharpen = ParseStrength(v, "--sharpen"); }},
      {"--contrast", [&](const std::string& v) { o.adaptive_contrast = ParseStrength(v, "--contrast"); }},
      {"--face", [&](const std::string& v) { o.face_restoration = ParseStrength(v, "--face"); }},
      {"--face-model", [&](const std::string& v) { o.models.push_back(FaceModel(v)); }},
      {"--model", [&](const std::string& v) { o.model = v; }},
      {"--device", [&](const std::string& v) { o.device = v; }},
      {"--threads", [&](const std::string& v) { o.threads = static_cast<int>(ParseNumber(v, "--threads")); }},
      {"--preset", [&](const std::string& v) { o.encoder.preset = v; }},
      {"--crf", [&](const std::string& v) { o.encoder.crf = static_cast<float>(ParseNumber(v, "--crf")); }},
      {"--segment", [&](const std::string& v) { o.segment = ParseSegment(v); }},
      {"--max-duration", [&](const std::string& v) { o.limits.max_duration_s = ParseNumber(v, "--max-duration"); }},
  };
  for (std::size_t i = first; i < arguments.size(); i += 2) {
    const auto setter = setters.find(arguments[i]);
    if (setter == setters.end()) ThrowUsage("There is no option “" + arguments[i] + "”.");
    if (i + 1 == arguments.size()) ThrowUsage("The option " + arguments[i] + " wants a value.");
    setter->second(arguments[i + 1]);
  }
  return o;
}

std::string Quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

std::string ProbeJson(const reelmend::ProbeResult& p) {
  char numbers[512];
  std::snprintf(numbers, sizeof numbers,
                "\"coded_width\": %d, \"coded_height\": %d, \"width\": %d, \"height\": %d, \"rotation_degrees\": %d, "
                "\"frame_rate\": %.6g, \"duration_s\": %.6f, \"duration_is_exact\": %s, \"size_bytes\": %lld",
                p.coded_width, p.coded_height, p.width, p.height, p.rotation_degrees,
                static_cast<double>(p.frame_rate.num) / static_cast<double>(p.frame_rate.den), p.duration_s,
                p.duration_is_exact ? "true" : "false", static_cast<long long>(p.size_bytes));
  std::string audio;
  for (const auto& a : p.audio) {
    audio += std::string(audio.empty() ? "" : ", ") + "{\"codec\": " + Quote(a.codec) +
             ", \"channels\": " + std::to_string(a.channels) +
             ", \"sample_rate_hz\": " + std::to_string(a.sample_rate_hz) + ", \"language\": " + Quote(a.language) + "}";
  }
  return "{\"container\": " + Quote(p.container) + ", \"video_codec\": " + Quote(p.video_codec) +
         ", \"pixel_format\": " + Quote(p.pixel_format) + ", " + numbers + ", \"audio\": [" + audio + "]}";
}

std::string ResultJson(const reelmend::EnhanceResult& r) {
  char numbers[768];
  std::snprintf(numbers, sizeof numbers,
                "\"width\": %d, \"height\": %d, \"frames\": %lld, \"undecodable_frames\": %lld, \"duration_s\": %.6f, "
                "\"size_bytes\": %lld, \"wall_seconds\": %.3f, \"frames_per_second\": %.2f, \"applied\": {\"denoise\": "
                "%.3f, \"sharpen\": %.3f, \"adaptive_contrast\": %.3f, \"face_restoration\": %.3f, \"model\": ",
                r.width, r.height, static_cast<long long>(r.frames), static_cast<long long>(r.undecodable_frames),
                r.duration_s, static_cast<long long>(r.size_bytes), r.wall_seconds,
                static_cast<double>(r.frames) / r.wall_seconds, r.applied.denoise, r.applied.sharpen,
                r.applied.adaptive_contrast, r.applied.face_restoration);
  std::string stages;
  for (const auto& stage : r.stages) {
    stages += (stages.empty() ? "" : ", ") + Quote(stage.name) + ": " + std::to_string(stage.cpu_seconds);
  }
  return "{\"source\": " + ProbeJson(r.source) + ", \"device\": " + Quote(r.device) + ", " + numbers +
         Quote(r.applied.model) + "}, \"stage_cpu_seconds\": {" + stages + "}}";
}

std::string DevicesJson() {
  std::string out;
  for (const auto& d : reelmend::Devices()) {
    out += std::string(out.empty() ? "" : ", ") + "{\"id\": " + Quote(d.id) + ", \"name\": " + Quote(d.name) +
           ", \"usable\": " + (d.usable ? "true" : "false") + ", \"reason\": " + Quote(d.reason) +
           ", \"threads\": " + std::to_string(d.threads) + ", \"simd\": " + Quote(d.simd) +
           ", \"encoder\": " + Quote(d.encoder) + "}";
  }
  return "[" + out + "]";
}

void PrintProgress(const reelmend::Progress& p) {
  std::fprintf(stderr, "\r%5.1f %%  %lld frames  %.1f fps  ", p.fraction * 100, static_cast<long long>(p.frames_done),
               p.frames_per_second);
  if (p.eta_s >= 0) std::fprintf(stderr, "%.0f s left   ", p.eta_s);
}

void RunEnhance(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) ThrowUsage("enhance needs a source file and an output file.");
  const EnhanceOptions options = ParseEnhance(arguments);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  reelmend::EnhanceCallbacks callbacks;
  callbacks.is_cancelled = [] { return interrupted != 0; };
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  if (is_terminal) callbacks.on_progress = PrintProgress;
  const auto result = reelmend::Enhance(arguments[1], arguments[2], options, callbacks);
  if (is_terminal) std::fputc('\n', stderr);
  std::puts(ResultJson(result).c_str());
}

void PrintPlan(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) ThrowUsage("plan needs a source file.");
  const auto plan = reelmend::PlanEnhance(arguments[1], ParseEnhance(arguments, 2));
  std::printf("%dx%d to %dx%d on %s, model %s\n", plan.source.width, plan.source.height, plan.width, plan.height,
              plan.device.c_str(), plan.model.c_str());
  if (!plan.condition.empty()) std::printf("source: %s\n", plan.condition.c_str());
  for (const auto& stage : plan.stages) {
    std::printf("%-18s %.2f  %s\n", stage.name.c_str(), static_cast<double>(stage.strength), stage.why.c_str());
  }
}

void Run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "probe") {
    if (arguments.size() < 2) ThrowUsage("probe needs a file.");
    reelmend::ProbeOptions options;
    options.walk_packets = arguments.size() > 2 && arguments[2] == "--walk";
    std::puts(ProbeJson(reelmend::ProbeFile(arguments[1], options)).c_str());
  } else if (command == "enhance") {
    RunEnhance(arguments);
  } else if (command == "plan") {
    PrintPlan(arguments);
  } else if (command == "devices") {
    std::puts(DevicesJson().c_str());
  } else if (command == "version") {
    std::puts(reelmend::EngineVersion().c_str());
  } else if (command == "--help" || command == "-h") {
    std::fputs(kHelp, stdout);
  } else {
    ThrowUsage("There is no command “" + command + "”; see reelmend-engine --help.");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run({argv + 1, argv + argc});
    return 0;
  } catch (const reelmend::Error& error) {
    std::fprintf(stderr, "%s: %s\n", reelmend::ErrorCodeName(error.code()), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal: %s\n", error.what());
  }
  return 1;
}
