#include "helpers/clips.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace reelmend::testing {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "reelmend-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create a temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string RunCommand(const std::string& command) {
  const TemporaryFolder folder;
  const std::string errors = folder.File("errors");
  FILE* pipe = popen((command + " 2>" + errors + " </dev/null").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start a command");
  std::string out;
  char buffer[65536];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  if (pclose(pipe) != 0) {
    std::stringstream text;
    text << std::ifstream(errors).rdbuf();
    throw std::runtime_error(command + "\n" + text.str());
  }
  return out;
}

void Ffmpeg(const std::string& arguments) { RunCommand("ffmpeg -v error -y " + arguments); }

void SetRotation(const std::string& file, int degrees) {
  // ffmpeg 6 added an input option. Later releases ignore the metadata of the output.
  static const bool has_option = RunCommand("ffmpeg -hide_banner -h long").find("-display_rotation") != std::string::npos;
  const std::string value = std::to_string(degrees);
  const std::string turned = file + ".turned" + std::filesystem::path(file).extension().string();
  Ffmpeg((has_option ? "-display_rotation:v:0 " + value : "") + " -i '" + file + "' -map 0 -c copy " +
         (has_option ? "" : "-metadata:s:v:0 rotate=" + value) + " '" + turned + "'");
  std::filesystem::rename(turned, file);
}

std::string VideoInput(const std::string& size, double seconds, const std::string& rate) {
  return "-f lavfi -i testsrc2=size=" + size + ":rate=" + rate + ":duration=" + std::to_string(seconds);
}

std::string ToneInput(double seconds) {
  return "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=" + std::to_string(seconds);
}

std::vector<double> FrameTimes(const std::string& file) {
  std::istringstream lines(RunCommand(
      "ffprobe -v error -select_streams v:0 -show_entries frame=best_effort_timestamp_time -of csv=p=0 '" + file + "'"));
  std::vector<double> times;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    times.push_back(line.rfind("N/A", 0) == 0 ? std::nan("") : std::stod(line));
  }
  return times;
}

std::map<std::string, std::string> StreamFacts(const std::string& file, const std::string& type) {
  const std::string stream = type.find(':') == std::string::npos ? type + ":0" : type;
  std::istringstream lines(
      RunCommand("ffprobe -v error -select_streams " + stream + " -show_entries stream -of default=nw=1 '" + file + "'"));
  std::map<std::string, std::string> facts;
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) facts.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return facts;
}

int CountPackets(const std::string& file, const std::string& stream) {
  return std::atoi(RunCommand("ffprobe -v error -count_packets -select_streams " + stream +
                              " -show_entries stream=nb_read_packets -of csv=p=0 '" + file + "'")
                       .c_str());
}

std::string PacketHash(const std::string& file, const std::string& stream) {
  return RunCommand("ffmpeg -v error -i '" + file + "' -map 0:" + stream + " -c copy -f data - | md5sum");
}

std::vector<std::uint8_t> DecodeRgb(const std::string& file, double at_s) {
  const std::string raw =
      RunCommand("ffmpeg -v error -ss " + std::to_string(at_s) + " -i '" + file +
                 "' -frames:v 1 -vf scale=flags=accurate_rnd+full_chroma_int+bicubic,format=rgb24 -f rawvideo -");
  return {raw.begin(), raw.end()};
}

std::vector<std::uint8_t> DecodePlane(const std::string& file, char plane) {
  const std::string raw = RunCommand("ffmpeg -v error -i '" + file + "' -map 0:v:0 -vsync passthrough -vf extractplanes=" + plane +
                                     " -pix_fmt gray -f rawvideo -");
  return {raw.begin(), raw.end()};
}

std::vector<std::uint8_t> DecodeLuma(const std::string& file) { return DecodePlane(file, 'y'); }

double Psnr(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size() || a.empty()) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    sum += d * d;
  }
  if (sum == 0) return 200;
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / sum);
}

EnhanceOptions PlainOptions() {
  EnhanceOptions options;
  options.target = Target::kSource;
  options.device = "cpu";  // tests expect the CPU's samples
  for (Strength* s : {&options.denoise, &options.sharpen, &options.adaptive_contrast, &options.face_restoration}) {
    s->mode = Strength::Mode::kOff;
  }
  options.encoder.preset = "ultrafast";
  options.encoder.crf = 12;
  options.threads = 2;
  return options;
}

bool FileExists(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0;
}

}  // namespace reelmend::testing
