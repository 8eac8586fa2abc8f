// Converts text subtitles from the source to the output.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "media/audio_track.h"
#include "media/av_handles.h"
#include "media/cue_timeline.h"
#include "media/muxer.h"

namespace reelmend::media {

/// One track of subtitles, written as timed text (mov_text). Text and line breaks are kept, styling is not; simultaneous cues become one
/// sample. Text that is not UTF-8 is converted (ToUtf8 in text_encoding.h). Picture subtitles (DVD, Blu-ray, DVB, teletext) and cues after
/// the end of the video are left out. Never throws for damage: such a cue is left out.
class SubtitleTrack {
 public:
  /// Adds a stream to `muxer`. Null if `stream` is not text, or cannot be decoded.
  static std::unique_ptr<SubtitleTrack> Make(const AVStream& stream, Muxer& muxer);

  /// Set before the first packet.
  void set_origin(const Origin& origin) { origin_ = origin; }

  /// Called by the demuxing thread.
  void Send(const AVPacket& packet);
  /// Called by the thread that writes the video, which has reached `time_us` of the output.
  void AdvanceTo(std::int64_t time_us);
  /// The video has ended.
  void Finish(std::int64_t end_us);

 private:
  SubtitleTrack(UniqueCodecContext decoder, AVRational time_base, Muxer& muxer, int index);
  std::string Decode(const AVPacket& packet, std::int64_t& duration_us);
  void Write(std::int64_t start_us, std::int64_t duration_us, const std::string& text);

  UniqueCodecContext decoder_;
  AVRational time_base_;
  Muxer& muxer_;
  int index_;
  Origin origin_;
  UniquePacket packet_;
  std::mutex mutex_;  ///< guards timeline_ and packet_
  CueTimeline timeline_;
};

/// What the texts of a source hold.
enum class CueMarkup {
  kCodes,  ///< Advanced SubStation Alpha: what stands in braces is never shown
  kNone,   ///< braces and backslashes are text, except for a few codes that people use in all formats: {\an8} and \h
};

/// The text of an event in libav's form of Advanced SubStation Alpha
/// ("ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text"), without override codes and drawings.
std::string PlainText(const std::string& event, CueMarkup markup = CueMarkup::kCodes);

}  // namespace reelmend::media
