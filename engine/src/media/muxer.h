// Writes the output file: MP4 with its index in front.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "media/av_handles.h"
#include "media/stream_tags.h"

namespace reelmend::media {

/// Note [Faults of packets]
/// libav interleaves packets before it writes them, so a call for one stream may write a queued packet of another and
/// report that packet's error. A damaged packet of sound that the container refuses must not end the job because it
/// was reported to a call for video. The video packet stays queued and is written later. Video packets come from our
/// own encoder and are checked before.

/// Writes one MP4 file. Streams are added, then Start, then packets from any thread, then Finish.
/// A file that was not finished is removed by the destructor.
class Muxer {
 public:
  /// Creates or replaces `path`. `is_stopped` is polled while the file is rearranged at the end.
  /// Throws Error{kIo}.
  Muxer(const std::string& path, std::function<bool()> is_stopped);
  ~Muxer();
  Muxer(const Muxer&) = delete;
  Muxer& operator=(const Muxer&) = delete;

  /// Each adds a stream and returns its index.
  int AddVideo(const AVCodecContext& encoder, const StreamTags& tags);
  int AddStream(const AVCodecParameters& parameters, AVRational time_base, const StreamTags& tags);
  /// Timed text (3GPP TS 26.245).
  int AddSubtitles(AVRational time_base, const StreamTags& tags);

  /// Copies the allowed part of a source's metadata, before Start.
  void CopyMetadataOf(const AVFormatContext& source) { CopyMetadata(source.metadata, &context_->metadata); }

  /// Chapters in the output's clock, before Finish.
  void AddChapters(const std::vector<Chapter>& chapters);

  /// Writes the header. `movie_time_base`: unit of the edit lists, which limits the precision of stream starts.
  void Start(AVRational movie_time_base);

  /// Takes the packet's contents; `packet.time_base` tells the unit of its times. Thread-safe.
  /// A packet of sound or text that the container refuses is left out; everything else throws Error{kIo, kInternal}.
  void Write(int stream, AVPacket& packet);

  /// Leaves the file to the caller from now on: the destructor will not remove it. Thread-safe.
  void Abandon() { keeps_file_ = true; }

  /// Writes the index and moves it in front of the media data.
  void Finish();

 private:
  static int OnInterrupt(void* self);
  AVStream& NewStream(AVRational time_base, const StreamTags& tags);
  /// Throws Error{kInternal} unless the video packet follows the one before it.
  void CheckOrder(const AVPacket& packet);
  /// av_write_trailer would stop at the first packet that is refused.
  void WriteWhatWaits();

  std::string path_;
  std::function<bool()> is_stopped_;
  UniqueFileIo file_;
  UniqueOutputContext context_;
  std::mutex mutex_;
  std::optional<std::int64_t> last_video_dts_;  ///< in the stream's time base
  std::atomic<bool> keeps_file_ = false;
};

}  // namespace reelmend::media
