#include "helpers/ffprobe.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "helpers/clips.h"

namespace reelmend::testing {
namespace {

double Number(const std::map<std::string, std::string>& entries, const char* name) {
  const auto found = entries.find(name);
  return found == entries.end() || found->second == "N/A" ? std::nan("") : std::stod(found->second);
}

}  // namespace

FfprobeReport::FfprobeReport(const std::string& file) {
  std::istringstream lines(RunCommand(
      "ffprobe -v quiet -show_entries frame=stream_index,best_effort_timestamp_time,nb_samples:stream -of default '" + file +
      "' || true"));
  // Only [STREAM] and [FRAME] sections are read; other sections surround them or are nested in them.
  std::string section;
  std::map<std::string, std::string> entries;
  for (std::string line; std::getline(lines, line);) {
    if (line == "[STREAM]" || line == "[FRAME]") {
      section = line;
      entries.clear();
    } else if (line == "[/STREAM]" || line == "[/FRAME]") {
      Add(section, entries);
    } else if (const auto equals = line.find('='); equals != std::string::npos) {
      entries.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
}

void FfprobeReport::Add(const std::string& section, const std::map<std::string, std::string>& entries) {
  if (section == "[STREAM]") {
    streams_.emplace(std::atoi(entries.at("index").c_str()), entries);  // ffprobe lists the streams of a transport stream twice
  } else if (entries.count("stream_index") > 0) {
    frames_.push_back({std::atoi(entries.at("stream_index").c_str()), Number(entries, "best_effort_timestamp_time"),
                       Number(entries, "nb_samples")});
  }
}

std::vector<int> FfprobeReport::Indices(const std::string& type) const {
  static const std::map<std::string, std::string> kNames = {{"v", "video"}, {"a", "audio"}, {"s", "subtitle"}};
  std::vector<int> indices;
  for (const auto& [index, entries] : streams_) {
    const auto found = entries.find("codec_type");
    if (found != entries.end() && found->second == kNames.at(type)) indices.push_back(index);
  }
  return indices;
}

const std::map<std::string, std::string>& FfprobeReport::Stream(const std::string& specifier) const {
  static const std::map<std::string, std::string> kNone;
  const std::vector<int> indices = Indices(specifier.substr(0, 1));
  const std::size_t number = specifier.size() > 2 ? std::stoul(specifier.substr(2)) : 0;
  return number < indices.size() ? streams_.at(indices[number]) : kNone;
}

std::string FfprobeReport::Codecs(const std::string& type) const {
  std::string list;
  for (const int index : Indices(type)) {
    const auto codec = streams_.at(index).find("codec_name");
    list += (list.empty() ? "" : " ") + (codec == streams_.at(index).end() ? std::string("unknown") : codec->second);
  }
  return list;
}

std::vector<std::string> FfprobeReport::SoundLanguages() const {
  std::vector<std::string> languages;
  for (const int index : Indices("a")) {
    const auto tag = streams_.at(index).find("TAG:language");
    languages.push_back(tag == streams_.at(index).end() || tag->second.size() != 3 ? "und" : tag->second);
  }
  return languages;
}

DecodedTimes FfprobeReport::Times(const std::string& video_stream) const {
  DecodedTimes times;
  const auto& video = Stream(video_stream);
  std::map<int, DecodedTimes::Span> spans;
  for (const Frame& frame : frames_) {
    if (!video.empty() && frame.stream == std::atoi(video.at("index").c_str())) times.video.push_back(frame.time_s);
    const double rate = streams_.count(frame.stream) > 0 ? Number(streams_.at(frame.stream), "sample_rate") : std::nan("");
    if (std::isnan(rate) || std::isnan(frame.time_s)) continue;
    const auto span = spans.try_emplace(frame.stream, DecodedTimes::Span{frame.time_s, frame.time_s}).first;
    span->second.end = frame.time_s + frame.samples / rate;
  }
  for (const auto& [stream, span] : spans) times.audio.push_back(span);
  return times;
}

}  // namespace reelmend::testing
