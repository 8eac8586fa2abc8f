// What the tests of segments share: a film, its pieces, and the comparison of the joined file with a run in one piece.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "helpers/clips.h"
#include "helpers/encoded_frames.h"
#include "reelmend/segments.h"

namespace reelmend::testing {

inline std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Times of a stream's packets, as text.
inline std::string PacketTimes(const std::string& file, const std::string& stream) {
  return RunCommand("ffprobe -v error -select_streams " + stream + " -show_entries packet=pts,dts,duration -of csv=p=0 '" + file + "'");
}

/// Presentation times (sorted) and decode times of the video packets. A key frame at a cut changes the coding order around it,
/// so the two lists are compared separately.
inline std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> VideoTimes(const std::string& file) {
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> times;
  std::istringstream lines(PacketTimes(file, "v:0"));
  for (std::string line; std::getline(lines, line);) {
    std::int64_t shown = 0;
    std::int64_t decoded = 0;
    if (std::sscanf(line.c_str(), "%ld,%ld", &shown, &decoded) != 2) continue;
    times.first.push_back(shown);
    times.second.push_back(decoded);
  }
  std::ranges::sort(times.first);
  return times;
}

/// ffprobe's entries of chapters, tags and streams that do not depend on the encoded bytes.
inline std::string Facts(const std::string& file) {
  return RunCommand("ffprobe -v error -show_chapters -show_entries format=format_name,start_time,duration:format_tags:"
                    "stream=codec_name,codec_type,profile,width,height,sample_aspect_ratio,pix_fmt,color_range,color_space,"
                    "color_transfer,color_primaries,chroma_location,time_base,start_pts,duration_ts,nb_frames,sample_rate,"
                    "channels:stream_tags:stream_disposition -of default '" + file + "'");
}

/// Options with all stages that depend on earlier frames.
inline EnhanceOptions TemporalOptions() {
  EnhanceOptions options = PlainOptions();
  options.denoise = {Strength::Mode::kFixed, 0.3F};
  options.sharpen = {Strength::Mode::kFixed, 0.3F};
  options.adaptive_contrast = {Strength::Mode::kFixed, 0.5F};
  options.encoder.preset = "veryfast";  // with B-frames
  return options;
}

inline constexpr SegmentLengths kShort{.shortest_s = 1.6, .wanted_s = 2.2, .longest_s = 5};

/// ffmpeg input: nine seconds of a noisy pattern with scene cuts at 3.1 and 5.5 s.
inline const char* const kFilm =
    "-f lavfi -i \"testsrc2=size=192x108:rate=25:duration=9,noise=alls=14:allf=t,hue=h='if(between(t,3.1,5.5),140,0)'"
    ":b='if(between(t,3.1,5.5),1.5,0)'\"";

class Segments : public ::testing::Test {
 protected:
  /// Runs the source in one piece and makes the plan.
  void Prepare(const std::string& source, const EnhanceOptions& options, const SegmentLengths& lengths = kShort) {
    source_ = source;
    options_ = options;
    whole_ = EncodedFrames(source_, File("whole.mp4"), options_);
    plan_ = PlanSegments(source_, options_, lengths);
  }

  std::string File(const std::string& name) const { return folder_.File(name); }

  std::vector<Encoded> MakePiece(std::size_t index, const std::string& path, int threads = 2) const {
    EnhanceOptions options = options_;
    options.segment_plan = plan_.text;
    options.segment_index = static_cast<int>(index);
    options.threads = threads;
    return EncodedFrames(source_, path, options);
  }

  /// Makes all pieces, starting with the last one, and expects the same frames as in one piece.
  void MakePieces() {
    pieces_.clear();
    std::vector<Encoded> joined;
    for (std::size_t i = plan_.segments.size(); i-- > 0;) {
      const std::string path = File("piece" + std::to_string(i) + ".mp4");
      const std::vector<Encoded> frames = MakePiece(i, path, 1 + static_cast<int>(i % 3));
      EXPECT_EQ(static_cast<std::int64_t>(frames.size()), plan_.segments[i].frames);
      joined.insert(joined.begin(), frames.begin(), frames.end());
      pieces_.insert(pieces_.begin(), path);
    }
    ASSERT_EQ(joined.size(), whole_.size());
    for (std::size_t i = 0; i < joined.size(); ++i) {
      ASSERT_TRUE(joined[i] == whole_[i]) << "frame " << i << ": " << joined[i].pts << " lasting " << joined[i].duration << ", in one piece "
                                          << whole_[i].pts << " lasting " << whole_[i].duration << (joined[i].hash == whole_[i].hash ? "" : "; other samples");
    }
  }

  /// Makes all pieces again, each with other threads than the first time, as another worker would, and expects the same bytes: of
  /// each piece, and of the joined file.
  void ExpectTheSameBytesAgain(const std::string& joined) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::string again = pieces_[i] + ".again.mp4";
      MakePiece(i, again, 1 + static_cast<int>((i + 1) % 3));
      EXPECT_TRUE(BytesOf(pieces_[i]) == BytesOf(again)) << "piece " << i;
      pieces_[i] = again;
    }
    Join("again.mp4");
    EXPECT_TRUE(BytesOf(joined) == BytesOf(File("again.mp4")));
  }

  JoinResult Join(const std::string& name) const { return JoinSegments(source_, plan_.text, pieces_, File(name)); }

  void ExpectSameFile(const std::string& joined, const std::string& whole) const {
    const auto times = VideoTimes(joined);
    EXPECT_EQ(times.first.size(), whole_.size());
    EXPECT_EQ(times.first, VideoTimes(whole).first);
    EXPECT_EQ(times.second, VideoTimes(whole).second);
    EXPECT_EQ(FrameTimes(joined), FrameTimes(whole));
    EXPECT_EQ(Facts(joined), Facts(whole));
    const std::string other = "-map 0 -map -0:v -c copy -f streamhash -hash md5 -";
    if (!StreamFacts(whole, "a").empty() || !StreamFacts(whole, "s").empty()) {
      EXPECT_EQ(RunCommand("ffmpeg -v error -i " + joined + " " + other), RunCommand("ffmpeg -v error -i " + whole + " " + other));
    }
    if (!StreamFacts(whole, "a").empty()) {
      EXPECT_EQ(PacketTimes(joined, "a:0"), PacketTimes(whole, "a:0"));
    }
    EXPECT_GT(Psnr(DecodeLuma(joined), DecodeLuma(whole)), 38);
  }

  TemporaryFolder folder_;
  std::string source_;
  EnhanceOptions options_;
  std::vector<Encoded> whole_;
  SegmentPlan plan_;
  std::vector<std::string> pieces_;
};

}  // namespace reelmend::testing
