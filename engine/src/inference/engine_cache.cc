#include "inference/engine_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "inference/sha256.h"

namespace reelmend::inference {
namespace {

/// First line of a file; its number grows with every change of the format.
constexpr std::string_view kMagic = "reelmend engine 1\n";
constexpr std::int64_t kLargestFile = 4LL << 30;

std::string PlainName(std::string text) {
  for (char& c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!is_plain) c = '_';
  }
  return text;
}

std::optional<std::string> ReadWhole(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = stream ? static_cast<std::int64_t>(stream.tellg()) : -1;
  if (size < 0 || size > kLargestFile) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.seekg(0);
  if (!stream.read(bytes.data(), size)) return std::nullopt;
  return bytes;
}

bool WriteWhole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count == 0) errno = EIO;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return fsync(file) == 0;
}

/// A new file beside `path`, and its name; −1 if there can be none.
std::pair<std::string, int> OpenNew(const std::string& path) {
  static std::atomic<int> count = 0;
  for (;;) {
    std::string own = path + "." + std::to_string(getpid()) + "-" + std::to_string(++count) + ".new";
    const int file = open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) return {std::move(own), file};
  }
}

/// Removes the text up to the end of the line from the front and returns it.
std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string BackendCacheName(const GpuBackend& backend, const GpuTarget& target, const std::string& device) {
  return PlainName(backend.name() + "-" + backend.version() + "-sm" + std::to_string(target.major * 10 + target.minor) + "-" + device) + ".backend-cache";
}

/// Beside the engine's own file, one for each GPU that the engine fits.
std::string ConcurrencyName(const EngineKey& key, const std::string& device) {
  return key.file_name() + "-" + PlainName(device) + ".concurrency";
}

}  // namespace

std::string EngineKey::text() const {
  return "model " + model_sha256 + ", backend " + backend + " " + backend_version + ", compute capability " + target.text() + ", device " + device +
         ", input " + std::to_string(input.channels) + "x" + std::to_string(input.height) + "x" + std::to_string(input.width) + ", " + precision +
         (batch == 1 ? "" : ", batch " + std::to_string(batch));
}

std::string EngineKey::file_name() const {
  std::string size = is_range() ? "any" : std::to_string(input.width) + "x" + std::to_string(input.height);
  if (batch > 1) size.append("x").append(std::to_string(batch));
  return PlainName(backend + "-" + model_sha256.substr(0, 12) + "-" + size + "-" + precision +
                   "-sm" + std::to_string(target.major * 10 + target.minor) + "-" + Sha256(text()).substr(0, 16)) +
         ".engine";
}

EngineCache::EngineCache(std::string folder, bool may_write, Log log)
    : folder_(std::move(folder)), may_write_(may_write), log_(std::move(log)) {}

void EngineCache::Say(const std::string& sentence) const {
  if (log_) log_(sentence);
}

std::optional<std::string> EngineCache::Read(const std::string& name, const std::string& key, const std::string& what) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = folder_ + "/" + name;
  if (access(path.c_str(), F_OK) != 0) return std::nullopt;
  const auto file = ReadWhole(path);
  if (!file) {
    Say("The cached " + what + " " + name + " cannot be read; another is made.");
    return std::nullopt;
  }
  std::string_view rest = *file;
  if (!rest.starts_with(kMagic)) {
    Say("The cached " + what + " " + name + " is no file of this engine, or of another version of it; another is built.");
    return std::nullopt;
  }
  rest.remove_prefix(kMagic.size());
  if (TakeLine(rest) != key) {
    Say("The cached " + what + " " + name + " was built for something else; another is built.");
    return std::nullopt;
  }
  const std::string sum(TakeLine(rest));
  if (Sha256(rest) != sum) {
    Say("The cached " + what + " " + name + " is damaged; another is made.");
    return std::nullopt;
  }
  return std::string(rest);
}

std::string EngineCache::Write(const std::string& name, const std::string& key, const std::string& content) const {
  if (folder_.empty() || !may_write_) return "";
  const std::string path = folder_ + "/" + name;
  mkdir(folder_.c_str(), 0777);  // may exist already
  const auto [own, file] = OpenNew(path);
  const std::string head = std::string(kMagic) + key + "\n" + Sha256(content) + "\n";
  int failure = file >= 0 && WriteWhole(file, head) && WriteWhole(file, content) ? 0 : errno;
  if (file >= 0 && close(file) != 0 && failure == 0) failure = errno;
  if (failure == 0 && rename(own.c_str(), path.c_str()) == 0) return "";
  if (failure == 0) failure = errno;
  if (file >= 0) unlink(own.c_str());
  Say("The folder of cached engines cannot be written; " + name + " is built again next time.");
  return std::generic_category().message(failure);
}

std::optional<std::string> EngineCache::Find(const EngineKey& key) const { return Read(key.file_name(), key.text(), "engine"); }

std::string EngineCache::Keep(const EngineKey& key, const std::string& engine) const { return Write(key.file_name(), key.text(), engine); }

BackendCache EngineCache::FindBackendCache(const GpuBackend& backend, const GpuTarget& target, const std::string& device) const {
  const std::string name = BackendCacheName(backend, target, device);
  return {Read(name, name, "backend cache").value_or(""), false};
}

void EngineCache::KeepBackendCache(const GpuBackend& backend, const GpuTarget& target, const std::string& device, BackendCache& backend_cache) const {
  if (!backend_cache.has_changed) return;
  const std::string name = BackendCacheName(backend, target, device);
  Write(name, name, backend_cache.bytes);
  backend_cache.has_changed = false;
}

std::optional<Concurrency> EngineCache::FindConcurrency(const EngineKey& key, const std::string& device) const {
  const auto text = Read(ConcurrencyName(key, device), key.text(), "measurement");
  Concurrency found;
  if (!text || std::sscanf(text->c_str(), "%d %d", &found.contexts, &found.batch) != 2 || found.contexts < 1 || found.batch < 1) return std::nullopt;
  return found;
}

void EngineCache::KeepConcurrency(const EngineKey& key, const std::string& device, const Concurrency& concurrency) const {
  Write(ConcurrencyName(key, device), key.text(), std::to_string(concurrency.contexts) + " " + std::to_string(concurrency.batch));
}

}  // namespace reelmend::inference
