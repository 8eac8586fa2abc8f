#include "media/byte_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "media/av_error.h"

namespace reelmend::media {
namespace {

// Size of one read, which is one range request for a remote source: large enough to get headers in few requests, small
// enough that jumps within a file do not fetch megabytes.
constexpr int kIoBufferBytes = 64 * 1024;

}  // namespace

FileSource::FileSource(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw Error(ErrorCode::kIo, "The source file cannot be opened.");
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw Error(ErrorCode::kIo, "The source is not a regular file.");
  }
  size_ = status.st_size;
}

FileSource::~FileSource() { close(descriptor_); }

std::size_t FileSource::Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) {
  for (;;) {
    const ssize_t count = pread(descriptor_, destination, length, offset);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw Error(ErrorCode::kIo, "Reading the source file failed.");
  }
}

std::vector<std::uint8_t> ReadBytes(ByteSource& source, std::int64_t offset, std::size_t length) {
  const auto available = static_cast<std::size_t>(std::max<std::int64_t>(0, source.size() - offset));
  std::vector<std::uint8_t> bytes(std::min(length, available));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const std::size_t count = source.Read(offset + static_cast<std::int64_t>(filled), &bytes[filled], bytes.size() - filled);
    if (count == 0) break;
    filled += count;
  }
  bytes.resize(filled);
  return bytes;
}

InputIo::InputIo(ByteSource& source, std::function<bool()> is_cancelled)
    : source_(source), is_cancelled_(std::move(is_cancelled)) {
  UniqueAvMemory buffer(CheckAlloc(av_malloc(kIoBufferBytes)));
  io_.reset(CheckAlloc(avio_alloc_context(static_cast<unsigned char*>(buffer.get()), kIoBufferBytes, 0, this,
                                          &InputIo::OnRead, nullptr, &InputIo::OnSeek)));
  buffer.release();  // io_ owns it now
}

void InputIo::RethrowPending() {
  if (pending_) std::rethrow_exception(pending_);
  if (IsCancelled()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
}

int InputIo::OnRead(void* self, std::uint8_t* destination, int length) {
  auto& io = *static_cast<InputIo*>(self);
  if (io.pending_) return AVERROR_EXTERNAL;
  try {
    if (io.IsCancelled()) return AVERROR_EXIT;
    if (io.position_ >= io.source_.size()) return AVERROR_EOF;  // asks no server for what does not exist
    const std::size_t count = io.source_.Read(io.position_, destination, static_cast<std::size_t>(length));
    io.position_ += static_cast<std::int64_t>(count);
    return count == 0 ? AVERROR_EOF : static_cast<int>(count);
  } catch (...) {
    io.pending_ = std::current_exception();
    return AVERROR_EXTERNAL;
  }
}

std::int64_t InputIo::OnSeek(void* self, std::int64_t offset, int whence) {
  auto& io = *static_cast<InputIo*>(self);
  const std::int64_t size = io.source_.size();
  switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE: return size;
    case SEEK_SET: break;
    case SEEK_CUR: offset += io.position_; break;
    case SEEK_END: offset += size; break;
    default: return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  io.position_ = offset;
  return offset;
}

int InputIo::OnInterrupt(void* self) {
  auto& io = *static_cast<InputIo*>(self);
  try {
    return io.pending_ || io.IsCancelled() ? 1 : 0;
  } catch (...) {
    io.pending_ = std::current_exception();
    return 1;
  }
}

}  // namespace reelmend::media
