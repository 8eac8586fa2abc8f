// Sound, subtitles and chapters, and the clock that they share with the video.
#pragma once

#include <memory>
#include <vector>

#include "media/audio_track.h"
#include "media/demuxer.h"
#include "media/muxer.h"
#include "media/subtitle_track.h"

namespace reelmend::run {

/// Copies or converts everything but the video from a source to an output. Time 0 of the output is the earlier start
/// of video and sound, so that they stay in sync.
class SideStreams {
 public:
  /// Adds the streams to `muxer`, before it is started. `video_start` is the first displayed frame's time in the source
  /// stream's time base (AV_NOPTS_VALUE counts as 0). Sound that lasts more than a minute beyond `max_duration_s` (0 = no
  /// limit) is left out.
  SideStreams(const media::Demuxer& source, std::int64_t video_start, double max_duration_s, media::Muxer& muxer);

  /// Offset from times since the first displayed frame to times of the output.
  std::int64_t VideoShift(AVRational time_base) const;

  /// Called by the decoding thread: with each packet of a stream other than the video, and at their end.
  void Send(const AVPacket& packet);
  void FinishSound();

  /// Called by the encoding thread: when the video is written up to `time` (of the output), and at its end.
  void AdvanceTo(std::int64_t time, AVRational time_base);
  void Finish(std::int64_t end, AVRational time_base);

 private:
  bool IsBeyondCeiling(const AVPacket& packet) const;
  void ChooseOrigin(const media::Demuxer& source, std::int64_t video_start);

  media::Muxer& muxer_;
  double max_duration_s_;
  media::Origin video_start_;
  media::Origin origin_;
  std::vector<AVRational> time_bases_;                            ///< by index of the source's stream
  std::vector<std::unique_ptr<media::AudioTrack>> audio_;         ///< likewise
  std::vector<std::unique_ptr<media::SubtitleTrack>> subtitles_;  ///< likewise
  std::vector<media::Chapter> chapters_;                          ///< in the source's clock
};

}  // namespace reelmend::run
