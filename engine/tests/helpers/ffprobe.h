// ffprobe's report of a file's streams and decoded frames. It runs once, because starting it takes longer than a short clip.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace reelmend::testing {

/// Times of a file's video and audio frames, in seconds.
struct DecodedTimes {
  struct Span {
    double first = 0;
    double end = 0;
  };
  std::vector<double> video;  ///< of one video stream; NaN: ffprobe has no time
  std::vector<Span> audio;    ///< of each audio stream that has a frame
};

class FfprobeReport {
 public:
  /// Decodes the whole file. Damage is no error; the report has what ffprobe could read.
  explicit FfprobeReport(const std::string& file);

  /// Entries of a stream by name; empty if there is no such stream. The specifier is ffprobe's: "v:0" is the first video.
  const std::map<std::string, std::string>& Stream(const std::string& specifier) const;
  /// Codecs of all streams of a type ("a"), separated by spaces.
  std::string Codecs(const std::string& type) const;
  /// Languages of the audio tracks as three letters; "und" if a track has none.
  std::vector<std::string> SoundLanguages() const;
  DecodedTimes Times(const std::string& video_stream = "v:0") const;

 private:
  struct Frame {
    int stream = 0;
    double time_s = 0;  ///< NaN: none
    double samples = 0;
  };
  void Add(const std::string& section, const std::map<std::string, std::string>& entries);
  /// Indices of the streams of a type ("v", "a", "s") in the file's order.
  std::vector<int> Indices(const std::string& type) const;

  std::map<int, std::map<std::string, std::string>> streams_;
  std::vector<Frame> frames_;
};

}  // namespace reelmend::testing
