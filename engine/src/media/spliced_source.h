// A source without its middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reelmend/probe.h"

namespace reelmend::media {

/// The beginning of a source and its end.
class SplicedSource : public ByteSource {
 public:
  /// Leaves out the bytes from `head_end` to `tail_begin`.
  SplicedSource(ByteSource& source, std::int64_t head_end, std::int64_t tail_begin)
      : source_(source), head_end_(head_end), skipped_(tail_begin - head_end) {}

  std::int64_t size() const override { return source_.size() - skipped_; }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override {
    if (offset >= head_end_) return source_.Read(offset + skipped_, destination, length);
    return source_.Read(offset, destination, std::min(length, static_cast<std::size_t>(head_end_ - offset)));
  }

 private:
  ByteSource& source_;
  std::int64_t head_end_;
  std::int64_t skipped_;
};

}  // namespace reelmend::media
