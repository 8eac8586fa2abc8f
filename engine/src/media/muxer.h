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

/// Note [The end of the video]
/// MP4 stores the time between the decoding of consecutive packets, and readers take the sum as the duration (libav since
/// FFmpeg 7). Packets are decoded some frames before they are shown. At a variable rate these frames last longer at one end
/// of the video than at the other, so the sum may be shorter than the time that is shown, and files that are joined would
/// overlap. So the last packet waits for Finish, which may decode it later (at least as long before its frame as the first
/// packet) and extends its duration to the end.

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

  /// Each function adds a stream and returns its index.
  int AddVideo(const AVCodecContext& encoder, const StreamTags& tags);
  /// Adds video that was encoded before, described by `parameters`.
  int AddVideo(const AVCodecParameters& parameters, AVRational time_base, AVRational frame_rate, const StreamTags& tags);
  int AddStream(const AVCodecParameters& parameters, AVRational time_base, const StreamTags& tags);
  /// Timed text (3GPP TS 26.245).
  int AddSubtitles(AVRational time_base, const StreamTags& tags);

  /// Copies the allowed part of a source's metadata, before Start.
  void CopyMetadataOf(const AVFormatContext& source) { CopyMetadata(source.metadata, &context_->metadata); }

  /// Chapters in the output's clock, before Finish.
  void AddChapters(const std::vector<Chapter>& chapters);

  /// Writes the header. `movie_time_base`: unit of the edit lists, which limits the precision of stream starts.
  void Start(AVRational movie_time_base);

  /// Takes over the packet's contents; `packet.time_base` is the unit of its times. Thread-safe. A packet of sound or text
  /// that the container refuses is left out; every other failure throws Error{kIo, kInternal}.
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
  /// Keeps the video packet until the next one comes. See Note [The end of the video].
  void HoldVideo(AVPacket& packet);
  void WriteLastVideo();
  void Interleave(AVPacket& packet);
  /// Writes queued packets one by one: av_write_trailer would stop at the first refused one.
  void WriteWhatWaits();

  std::string path_;
  std::function<bool()> is_stopped_;
  UniqueFileIo file_;
  UniqueOutputContext context_;
  std::mutex mutex_;
  // In the time base of the video stream:
  std::optional<std::int64_t> last_video_dts_;
  UniquePacket held_video_;         ///< the last packet; null before the first one
  std::int64_t video_lead_ = 0;     ///< time from the first packet's decoding to its presentation
  std::int64_t video_end_ = 0;      ///< end of the frame that is shown last
  std::atomic<bool> keeps_file_ = false;
};

}  // namespace reelmend::media
