// Opening a source and reading its packets.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "reelmend/probe.h"
#include "media/av_handles.h"
#include "media/byte_io.h"

namespace reelmend::media {

struct DemuxerOptions {
  SourceLimits limits;
  std::function<bool()> is_cancelled;  ///< optional
  bool with_subtitles = false;         ///< hand out the packets of subtitle streams, too
};

/// See Note [Wrapped clocks].
struct WrappedClock {
  std::int64_t last = AV_NOPTS_VALUE;
  std::int64_t shift = 0;
};

/// A source with an allowed container; its video track is chosen and its streams are described.
///
/// Note [No second file]
/// libav gets bytes only through InputIo and cannot open anything by name: demuxers that would (playlists, concat, image
/// sequences) are not allowed, the io_open callback refuses, and the protocol whitelist is empty. Each of these would
/// suffice; all are used because parsers have had holes in each.
class Demuxer {
 public:
  /// Throws Error{kUnreadableVideo, kLimitExceeded, kIo, kCancelled}.
  Demuxer(ByteSource& source, const DemuxerOptions& options);

  AVFormatContext* context() const { return context_.get(); }
  AVStream* video() const { return video_; }
  /// Audio streams in container order.
  const std::vector<AVStream*>& audio() const { return audio_; }
  /// Streams of text subtitles in container order, when they were asked for.
  const std::vector<AVStream*>& subtitles() const { return subtitles_; }
  std::int64_t size_bytes() const { return io_.size(); }
  const DemuxerOptions& options() const { return options_; }

  /// Reads the next packet of the video stream or, unless dropped, of sound or subtitles; false at the end.
  /// Damage that libav cannot read past counts as the end. Throws what the source threw.
  bool ReadPacket(AVPacket* packet);

  /// From now on skips all packets except the video's.
  void ReadVideoOnly();

  /// Seeks to the last key frame at or before `timestamp` (video stream's time base); false if the container
  /// cannot.
  bool SeekBefore(std::int64_t timestamp);

  /// Goes on with the video's last packet of the container's index that is decoded at `timestamp` or before (video stream's time base), which
  /// need not be a key frame; false if the container cannot.
  bool SeekToIndexed(std::int64_t timestamp);

  /// Goes on with the first packet that begins at a byte of the file or behind it. For transport and program streams, which can be read from
  /// anywhere; false if libav cannot.
  bool SeekToByte(std::int64_t position);

 private:
  void ReadHeaders();
  void Open();
  void Describe();
  void ChooseStreams();
  AVStream* ChooseVideo(const std::vector<AVStream*>& candidates);
  std::vector<std::int64_t> CountFrames(const std::vector<AVStream*>& streams);
  void ForgetPosition();
  bool ReadAny(AVPacket* packet);
  bool SkipMissingSample();
  void MendFirstTime();
  std::vector<AVPacket*> ReadAhead(std::size_t frames);
  void UnwrapTimes(AVPacket& packet);
  void RepeatParameters(AVPacket& packet);
  void CountPacket();

  DemuxerOptions options_;
  InputIo io_;
  bool is_searched_far_ = false;  ///< see Note [Late streams]
  UniqueInputContext context_;  // after io_: closed while its bytes can still be read
  AVStream* video_ = nullptr;
  std::int64_t packets_ = 0;
  std::optional<std::int64_t> missing_samples_;  ///< that may still be skipped; counted at the first end
  std::vector<WrappedClock> clocks_;              ///< by stream
  std::vector<std::uint8_t> parameters_;          ///< last ones that a packet of the video has brought
  bool repeats_parameters_ = false;               ///< with the next packet of the video
  std::vector<AVStream*> audio_;
  std::vector<AVStream*> subtitles_;
  bool is_first_checked_ = false;   ///< see Note [Damaged first time]
  std::deque<UniquePacket> ahead_;  ///< read before they were asked for, by ChooseStreams and MendFirstTime
};

/// Whether a file of `size` bytes holds a whole sample. A damaged index may state any 64-bit position, so nothing is added to it.
inline bool IsHeld(const AVIndexEntry& entry, std::int64_t size) { return entry.pos <= size - entry.size; }

/// Throws Error{kLimitExceeded} if a frame of that size is above the limit.
void CheckPixelLimit(std::int64_t width, std::int64_t height, const SourceLimits& limits);

}  // namespace reelmend::media
