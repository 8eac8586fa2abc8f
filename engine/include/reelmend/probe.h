// Measuring a video without decoding all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace reelmend {

/// Random access to the bytes of a source. The demuxer reads only what it needs, so that probing a remote file takes
/// a few range requests. Called from one thread at a time; may throw reelmend::Error.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Total length in bytes.
  virtual std::int64_t size() const = 0;
  /// Reads up to `length` bytes at `offset` into `destination`; returns the count read, 0 only at the end.
  virtual std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) = 0;
};

/// Limits of a source; exceeding one is Error{kLimitExceeded}.
struct SourceLimits {
  std::int64_t max_pixels = 8192LL * 8192LL;  ///< coded width × height of one frame
  int max_streams = 64;                       ///< streams in the container; files attached to it are not counted
  int max_frame_rate = 0;                     ///< frames for each second of the duration, rounded up; 0 = no ceiling
  double max_duration_s = 0;                  ///< presentation duration in seconds; 0 = no ceiling
};

struct Rational {
  std::int64_t num = 0;
  std::int64_t den = 1;
};

struct AudioStreamInfo {
  std::string codec;       ///< libav's codec name, e.g. "aac"
  int channels = 0;
  int sample_rate_hz = 0;
  std::string language;    ///< ISO 639-2, empty when untagged
};

/// Facts about a source. Sizes are those of the displayed picture: rotation applied,
/// pixels squared (sample aspect ratio 1:1).
struct ProbeResult {
  std::string container;        ///< libav's demuxer name, e.g. "mov,mp4,m4a,3gp,3g2,mj2"
  std::string video_codec;      ///< e.g. "h264"
  std::string pixel_format;     ///< libav's name, e.g. "yuv420p10le"
  int coded_width = 0;          ///< as stored
  int coded_height = 0;
  int width = 0;                ///< as displayed
  int height = 0;
  int rotation_degrees = 0;     ///< clockwise turn applied for display: 0, 90, 180, 270
  Rational frame_rate;          ///< average according to the container, else of the first second; 0/1 if unknown
  double duration_s = 0;        ///< presentation duration of the video stream
  bool duration_is_exact = false;  ///< true when measured from packets, false when declared by the container
  std::int64_t size_bytes = 0;
  std::vector<AudioStreamInfo> audio;
  std::int64_t decoded_frames = 0;  ///< with ProbeOptions::decoding_threads, all frames of the video; else 0
};

/// Options of Probe.
struct ProbeOptions {
  SourceLimits limits;
  /// true: reads every packet for an exact duration (local files). false: trusts declared durations (remote sources,
  /// few range requests).
  bool walk_packets = false;
  std::function<bool()> is_cancelled;  ///< polled; optional
  /// ≥ 1: also decodes all frames of the video, with so many threads, and refuses a video with a damaged one.
  int decoding_threads = 0;
};

/// Reads the headers and the first decodable frame of a source. Only the duration depends on
/// `walk_packets`.
/// Throws Error{kUnreadableVideo} if no video frame can be decoded (with `decoding_threads`: if not every one can), if video or audio is encrypted, or if
/// the format is not on the allow list.
ProbeResult Probe(ByteSource& source, const ProbeOptions& options = {});

/// The same over a local file. Throws Error{kIo} when it cannot be opened.
ProbeResult ProbeFile(const std::string& path, const ProbeOptions& options = {});

}  // namespace reelmend
