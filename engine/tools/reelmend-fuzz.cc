// Mutates video files and runs probe and enhance on each in a child process with limits. Files may be refused, but never
// cause a crash or a hang.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr const char* kHelp =
    "reelmend-fuzz --seeds FOLDER --work FOLDER [--count N] [--seed S] [--timeout SECONDS] [--memory MEGABYTES]\n"
    "Runs probe and enhance on N mutations of the files in the seed folder; a JSON summary on the standard output.\n"
    "Failed mutations are kept in the work folder. Exit status 1 if one is a fault of the engine.\n";

struct Settings {
  std::string seeds;
  std::string work;
  int count = 2000;
  std::uint64_t seed = 1;
  int timeout_s = 20;
  int memory_mb = 2048;
};

/// Result of one mutation.
enum class Outcome { kAccepted, kRefused, kCrash, kLibraryCrash, kHang, kMemory, kCount };
constexpr const char* kOutcomeNames[] = {"accepted", "refused", "crashes", "library_crashes", "hangs", "out_of_memory"};

/// Exit statuses of a child, distinct from those of sanitizers (which abort).
enum ChildStatus { kChildAccepted = 0, kChildRefused = 10, kChildNoMemory = 11, kChildWrongError = 12 };

Bytes ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::size_t Below(Random& random, std::size_t bound) { return bound == 0 ? 0 : random() % bound; }

/// A position in the file: half of the time in its first or last 4 KB, where the headers are.
std::size_t RandomPosition(Random& random, std::size_t size) {
  const std::size_t edge = std::min<std::size_t>(size, 4096);
  switch (random() % 4) {
    case 0: return Below(random, edge);
    case 1: return size - 1 - Below(random, edge);
    default: return Below(random, size);
  }
}

void FlipBits(Bytes& bytes, Random& random) { bytes[RandomPosition(random, bytes.size())] ^= static_cast<std::uint8_t>(1U << (random() % 8)); }

void SetNumber(Bytes& bytes, Random& random) {
  constexpr std::uint64_t kNasty[] = {0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, ~0ULL};
  const std::size_t at = RandomPosition(random, bytes.size());
  const std::uint64_t value = kNasty[random() % std::size(kNasty)];
  const std::size_t width = std::size_t{1} << (random() % 4);
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * (width - 1 - i)));
}

void Scramble(Bytes& bytes, Random& random) {
  const std::size_t at = RandomPosition(random, bytes.size());
  const std::size_t end = std::min(bytes.size(), at + 1 + Below(random, 64));
  for (std::size_t i = at; i < end; ++i) bytes[i] = static_cast<std::uint8_t>(random());
}

void Remove(Bytes& bytes, Random& random) {
  const auto at = static_cast<std::ptrdiff_t>(RandomPosition(random, bytes.size()));
  const auto end = static_cast<std::ptrdiff_t>(std::min(bytes.size(), static_cast<std::size_t>(at) + 1 + Below(random, 512)));
  bytes.erase(bytes.begin() + at, bytes.begin() + end);
}

void Repeat(Bytes& bytes, Random& random) {
  const std::size_t at = RandomPosition(random, bytes.size());
  const std::size_t length = std::min(bytes.size() - at, 1 + Below(random, 512));
  const Bytes piece(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(RandomPosition(random, bytes.size())), piece.begin(), piece.end());
}

void Cut(Bytes& bytes, Random& random) {
  if (random() % 8 == 0) bytes.resize(1 + Below(random, bytes.size()));
}

/// From one to about a dozen changes.
Bytes Mutate(Bytes bytes, Random& random) {
  constexpr void (*kMutators[])(Bytes&, Random&) = {FlipBits, FlipBits, SetNumber, SetNumber, Scramble, Remove, Repeat, Cut};
  const std::size_t changes = 1 + Below(random, 1 + Below(random, 12));
  for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) kMutators[random() % std::size(kMutators)](bytes, random);
  if (bytes.empty()) bytes.push_back(0);
  return bytes;
}

reelmend::SourceLimits Limits() {
  reelmend::SourceLimits limits;
  limits.max_pixels = 1024 * 1024;
  limits.max_streams = 16;
  limits.max_duration_s = 30;
  return limits;
}

/// Every other mutation runs the enhancing stages; the others run only the fast ones.
reelmend::EnhanceOptions Options(std::uint64_t number) {
  reelmend::EnhanceOptions options;
  options.target = reelmend::Target::kSource;
  options.limits = Limits();
  options.encoder.preset = "ultrafast";
  options.threads = 2;
  if (number % 4 == 0) options.segment = reelmend::Segment{0.2, 0.6, 4};
  if (number % 2 == 0) {
    options.denoise = options.sharpen = options.adaptive_contrast = {reelmend::Strength::Mode::kFixed, 0.5F};
  }
  return options;
}

int RunEngine(const std::string& file, const std::string& output, std::uint64_t number) {
  bool is_refused = false;
  try {
    reelmend::ProbeOptions options;
    options.limits = Limits();
    options.walk_packets = number % 3 == 0;
    reelmend::ProbeFile(file, options);
  } catch (const reelmend::Error&) {
    is_refused = true;
  }
  try {
    reelmend::Enhance(file, output, Options(number));
  } catch (const reelmend::Error& error) {
    is_refused = true;
    // "internal" means a fault of the engine: a mutated file should give an error about the source.
    if (error.code() == reelmend::ErrorCode::kInternal) {
      std::fprintf(stderr, "internal error: %s\n", error.what());
      return kChildWrongError;
    }
  }
  return is_refused ? kChildRefused : kChildAccepted;
}

[[noreturn]] void Child(const Settings& settings, const std::string& file, std::uint64_t number) {
  const std::string log = settings.work + "/log";
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  const auto limit = [](auto resource, rlim_t value) {
    const rlimit both = {value, value};
    setrlimit(resource, &both);
  };
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(2 * settings.timeout_s));
  limit(RLIMIT_FSIZE, rlim_t{256} << 20);
  try {
    _exit(RunEngine(file, settings.work + "/out.mp4", number));
  } catch (const std::bad_alloc&) {
    _exit(kChildNoMemory);
  } catch (...) {
    _exit(kChildWrongError);
  }
}

/// Resident megabytes of a process. A limit on addresses is impossible, because AddressSanitizer reserves terabytes.
long ResidentMb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE) / (1 << 20);
}

/// Whether the innermost frames of a crash are all in third-party libraries. Such crashes are counted separately.
bool IsLibraryFault(const std::string& log) {
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    if (line.find("runtime error:") != std::string::npos) return false;  // only our code is instrumented
    if (line.find("    #0 ") == std::string::npos) continue;
    return line.find("/libav") != std::string::npos || line.find("/libx264") != std::string::npos ||
           line.find("/libsw") != std::string::npos || line.find("/libdav1d") != std::string::npos ||
           line.find("/libvpx") != std::string::npos;
  }
  return false;
}

Outcome ClassifyOutcome(int status, const std::string& log) {
  if (WIFEXITED(status)) {
    switch (WEXITSTATUS(status)) {
      case kChildAccepted: return Outcome::kAccepted;
      case kChildRefused: return Outcome::kRefused;
      case kChildNoMemory: return Outcome::kMemory;
      default: break;
    }
  }
  return IsLibraryFault(log) ? Outcome::kLibraryCrash : Outcome::kCrash;
}

Outcome RunOne(const Settings& settings, const std::string& file, std::uint64_t number, long& peak_mb) {
  using Clock = std::chrono::steady_clock;
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) Child(settings, file, number);
  const auto deadline = Clock::now() + std::chrono::seconds(settings.timeout_s);
  int status = 0;
  for (;;) {
    if (waitpid(pid, &status, WNOHANG) == pid) return ClassifyOutcome(status, settings.work + "/log");
    const long resident = ResidentMb(pid);
    peak_mb = std::max(peak_mb, resident);
    const bool is_late = Clock::now() > deadline;
    if (is_late || resident > settings.memory_mb) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return is_late ? Outcome::kHang : Outcome::kMemory;
    }
    usleep(2000);
  }
}

Settings Parse(const std::vector<std::string>& arguments) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (name == "--help" || i + 1 == arguments.size()) {
      std::fputs(kHelp, name == "--help" ? stdout : stderr);
      std::exit(name == "--help" ? 0 : 2);
    }
    const std::string& value = arguments[i + 1];
    if (name == "--seeds") settings.seeds = value;
    else if (name == "--work") settings.work = value;
    else if (name == "--count") settings.count = std::atoi(value.c_str());
    else if (name == "--seed") settings.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--timeout") settings.timeout_s = std::atoi(value.c_str());
    else if (name == "--memory") settings.memory_mb = std::atoi(value.c_str());
    else throw std::runtime_error("There is no option " + name + ".");
  }
  if (settings.seeds.empty() || settings.work.empty()) throw std::runtime_error("--seeds and --work are needed.");
  return settings;
}

std::vector<std::pair<std::string, Bytes>> ReadSeeds(const std::string& folder) {
  std::vector<std::pair<std::string, Bytes>> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) seeds.emplace_back(entry.path().filename(), ReadFile(entry.path()));
  }
  std::sort(seeds.begin(), seeds.end());
  if (seeds.empty()) throw std::runtime_error("There are no seeds.");
  return seeds;
}

/// Keeps the mutation and the child's output.
void Keep(const Settings& settings, const std::string& file, std::uint64_t number, Outcome outcome) {
  const std::string name = settings.work + "/" + kOutcomeNames[static_cast<int>(outcome)] + "-" + std::to_string(number) + "-" +
                           std::filesystem::path(file).filename().string();
  std::error_code ignored;
  std::filesystem::copy_file(file, name, std::filesystem::copy_options::overwrite_existing, ignored);
  std::filesystem::copy_file(settings.work + "/log", name + ".log", std::filesystem::copy_options::overwrite_existing, ignored);
}

int Run(const Settings& settings) {
  const auto seeds = ReadSeeds(settings.seeds);
  std::filesystem::create_directories(settings.work);
  int outcomes[static_cast<int>(Outcome::kCount)] = {};
  long peak_mb = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < settings.count; ++i) {
    const std::uint64_t number = settings.seed * 1'000'003 + static_cast<std::uint64_t>(i);
    Random random(number);
    const auto& [name, bytes] = seeds[static_cast<std::size_t>(i) % seeds.size()];
    const std::string file = settings.work + "/" + name;
    WriteFile(file, Mutate(bytes, random));
    const Outcome outcome = RunOne(settings, file, number, peak_mb);
    ++outcomes[static_cast<int>(outcome)];
    if (outcome > Outcome::kRefused) Keep(settings, file, number, outcome);
    std::filesystem::remove(file);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("{\"count\": %d, \"seed\": %llu, \"seeds\": %zu", settings.count,
              static_cast<unsigned long long>(settings.seed), seeds.size());
  for (int i = 0; i < static_cast<int>(Outcome::kCount); ++i) std::printf(", \"%s\": %d", kOutcomeNames[i], outcomes[i]);
  std::printf(", \"peak_mb\": %ld, \"seconds\": %.1f}\n", peak_mb, seconds);
  const auto count = [&](Outcome outcome) { return outcomes[static_cast<int>(outcome)]; };
  return count(Outcome::kCrash) + count(Outcome::kHang) + count(Outcome::kMemory) > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(Parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
