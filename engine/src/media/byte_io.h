// A custom AVIOContext over a ByteSource, the only way for a source's bytes to reach libav.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "reelmend/probe.h"
#include "media/av_handles.h"

namespace reelmend::media {

/// A local file, read with pread.
class FileSource : public ByteSource {
 public:
  /// Throws Error{kIo} when `path` cannot be opened or is not a regular file.
  explicit FileSource(const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::int64_t size() const override { return size_; }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override;

 private:
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// The `length` bytes at `offset`, fewer at the end of the source. A source may need several reads for them.
std::vector<std::uint8_t> ReadBytes(ByteSource& source, std::int64_t offset, std::size_t length);

/// An AVIOContext that reads `source`. Exceptions cannot cross libav's C frames: one thrown by the source is
/// kept, libav sees an I/O error, and RethrowPending() throws it again on our side.
class InputIo {
 public:
  InputIo(ByteSource& source, std::function<bool()> is_cancelled);
  InputIo(const InputIo&) = delete;
  InputIo& operator=(const InputIo&) = delete;

  AVIOContext* context() { return io_.get(); }
  AVIOInterruptCB interrupt_callback() { return {&InputIo::OnInterrupt, this}; }
  bool IsCancelled() const { return is_cancelled_ && is_cancelled_(); }
  /// Throws what the source threw, or Error{kCancelled} when the caller asked to stop.
  void RethrowPending();
  std::int64_t size() const { return source_.size(); }

 private:
  static int OnRead(void* self, std::uint8_t* destination, int length);
  static std::int64_t OnSeek(void* self, std::int64_t offset, int whence);
  static int OnInterrupt(void* self);

  ByteSource& source_;
  std::function<bool()> is_cancelled_;
  std::int64_t position_ = 0;
  std::exception_ptr pending_;
  UniqueCustomIo io_;
};

}  // namespace reelmend::media
