// Sound from the source to the output: copied if MP4 can hold the codec, else encoded as AAC.
#pragma once

#include <memory>

#include "media/av_handles.h"
#include "media/muxer.h"

namespace reelmend::media {

/// The time in the source that becomes time 0 of the output.
struct Origin {
  std::int64_t time = 0;
  AVRational time_base = {1, 1};
  /// The same time in another time base.
  std::int64_t In(AVRational other) const;
};

/// One track of sound. Never throws for damage: unreadable parts are left out.
class AudioTrack {
 public:
  virtual ~AudioTrack() = default;
  virtual void Send(const AVPacket& packet) = 0;
  /// Call it after the last packet.
  virtual void Finish() = 0;
  /// Call it before the first packet.
  void set_origin(const Origin& origin) { origin_ = origin; }
  /// Limit of all gaps together; further gaps are closed. One day by default.
  void set_longest_silence(double seconds) { longest_silence_s_ = seconds; }

 protected:
  Origin origin_;
  double longest_silence_s_ = 24 * 3600;
};

/// Adds a stream to `muxer` for the source's `stream`. Null when the sound can neither be copied nor decoded.
std::unique_ptr<AudioTrack> MakeAudioTrack(const AVStream& stream, Muxer& muxer);

}  // namespace reelmend::media
