// What ffprobe says of a file, streams and decoded frames, from one run of it: starting it costs more than a short clip.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace reelmend::testing {

/// When a file's frames are shown and heard. Seconds.
struct DecodedTimes {
  struct Span {
    double first = 0;
    double end = 0;
  };
  std::vector<double> video;  ///< of one video stream; NaN where ffprobe has no time
  std::vector<Span> audio;    ///< per sound stream that gave a frame
};

class FfprobeReport {
 public:
  /// Decodes the whole file. Damage is no error: what ffprobe could read is reported.
  explicit FfprobeReport(const std::string& file);

  /// Entries of a stream by name; empty when there is none. The specifier is ffprobe's: "v:0" is the first video.
  const std::map<std::string, std::string>& Stream(const std::string& specifier) const;
  /// Codecs of a type's streams ("a"), with spaces between.
  std::string Codecs(const std::string& type) const;
  /// Languages of the sound tracks as three letters, "und" where there is none.
  std::vector<std::string> SoundLanguages() const;
  DecodedTimes Times(const std::string& video_stream = "v:0") const;

 private:
  struct Frame {
    int stream = 0;
    double time_s = 0;  ///< NaN: none
    double samples = 0;
  };
  void Add(const std::string& section, const std::map<std::string, std::string>& entries);
  /// Of the streams of a type ("v", "a", "s"), in the file's order.
  std::vector<int> Indices(const std::string& type) const;

  std::map<int, std::map<std::string, std::string>> streams_;
  std::vector<Frame> frames_;
};

}  // namespace reelmend::testing
