// The bytes that one call of Enhance reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "media/byte_io.h"
#include "reelmend/error.h"

namespace reelmend::run {

/// The source of a run: a file, opened here, or the caller's. A cancelled run lives on for a while (Note [Cancelling] in
/// deferred_destruction.h) and must no longer read the caller's source.
class RunSource : public ByteSource {
 public:
  explicit RunSource(const std::string& path) : path_(path) {}
  explicit RunSource(ByteSource& source) : source_(&source) {}

  /// Empty for a source of the caller.
  const std::string& path() const { return path_; }
  /// Throws Error{kIo}. Call it before the other functions.
  void Open() {
    if (source_ == nullptr) source_ = &file_.emplace(path_);
    size_ = source_->size();
  }
  /// Kept, because the demuxer asks for it at every seek, also after Close.
  std::int64_t size() const override { return size_; }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || (is_cancelled_ && is_cancelled_())) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
    return source_->Read(offset, destination, length);
  }
  /// Asked before each read, which fails if it is true; null: nobody is asked. A slow source is opened and searched with hundreds of reads.
  void SetCancelled(std::function<bool()> is_cancelled) {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = std::move(is_cancelled);
  }
  /// Waits for the pending read. All later reads fail.
  void Close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }

 private:
  std::string path_;
  std::optional<media::FileSource> file_;
  ByteSource* source_ = nullptr;
  std::int64_t size_ = 0;
  std::mutex mutex_;
  bool is_closed_ = false;
  std::function<bool()> is_cancelled_;
};

}  // namespace reelmend::run
