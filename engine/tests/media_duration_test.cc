// Durations that no header declares, or that it declares falsely.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "helpers/files.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"
#include "reelmend/segments.h"
#include "sources_fixture.h"

namespace reelmend {
namespace {

using testing::ClipTest;
using testing::Ffmpeg;
using testing::PlainOptions;
using testing::ReadFile;
using testing::RunCommand;
using testing::ServiceLimits;
using testing::ToneInput;
using testing::VideoInput;
using testing::WriteFile;
using testing::kH264;

using DurationTest = ClipTest;

TEST_F(DurationTest, MeasuresJoinedRecordingsWhoseClockStartsAgain) {
  // Noise makes the file too large to be read whole.
  const struct {
    const char* video;
    double seconds;
  } sizes[] = {{"testsrc2=size=160x90", 3}, {"testsrc2=size=480x270,noise=alls=60:allf=t", 5}};
  for (const auto& [video, seconds] : sizes) {
    for (const std::string type : {".ts", ".mpg"}) {
      SCOPED_TRACE(video + type);
      const std::string length = std::to_string(seconds);
      const std::string part = Clip("part" + type, "-f lavfi -i " + std::string(video) + ",fps=25 -f lavfi -i sine -t " + length +
                                                       " -c:v mpeg2video -b:v 7M -maxrate 8M -bufsize 1800k -c:a mp2");
      const std::string joined = folder_.File("joined" + type);
      RunCommand("cat '" + part + "' '" + part + "' '" + part + "' > '" + joined + "'");
      for (const bool walk : {false, true}) {
        EXPECT_NEAR(ProbeFile(joined, {ServiceLimits(), walk, {}}).duration_s, 3 * seconds, 0.2) << walk;
      }
    }
  }
}

/// Where the time of a block (“SimpleBlock”) of track 1 with that time in milliseconds stands in a Matroska file of one cluster.
std::size_t FindBlockTime(const std::string& bytes, int time) {
  const std::string block = {'\x81', static_cast<char>(time >> 8), static_cast<char>(time & 0xFF)};
  for (std::size_t at = bytes.find("\x1F\x43\xB6\x75"); (at = bytes.find(block, at + 1)) != std::string::npos;) {
    const bool follows_size = bytes.substr(at - 4, 3).find('\xA3') != std::string::npos;
    if (follows_size && (bytes[at + 3] == '\0' || bytes[at + 3] == '\x80')) return at + 1;
  }
  return std::string::npos;
}

/// Gives frames of such a file, a frame each 40 ms, other times in milliseconds. libav takes a negative time in the first cluster as missing.
void SetFrameTimes(const std::string& file, const std::function<int(int frame)>& time_of) {
  std::string bytes = ReadFile(file);
  std::vector<std::size_t> places;
  for (int frame = 0; places.empty() || places.back() != std::string::npos; ++frame) places.push_back(FindBlockTime(bytes, 40 * frame));
  places.pop_back();
  ASSERT_GT(places.size(), 100U);
  for (std::size_t frame = 0; frame < places.size(); ++frame) {
    const int time = time_of(static_cast<int>(frame));
    bytes[places[frame]] = static_cast<char>(time >> 8);
    bytes[places[frame] + 1] = static_cast<char>(time & 0xFF);
  }
  WriteFile(file, bytes);
}

struct TimesCase {
  const char* name;
  const char* encode;
  std::function<int(int frame)> time_of;
  double seconds;
};

TEST_F(DurationTest, MeasuresMissingAndDamagedTimesAsTheyAreShown) {
  constexpr const char* kInOrder = "-bf 0 -g 999 ";
  constexpr const char* kReordered = "-bf 2 -g 999 -x264-params b-adapt=0 ";
  constexpr double kSeconds = 6;
  const TimesCase cases[] = {
      {"first frames without times", kInOrder, [](int frame) { return frame < 75 ? -1 : 40 * (frame - 75); }, kSeconds},
      {"no time after a damaged one", kInOrder, [](int frame) { return frame == 50 ? 30'000 : frame == 51 ? -1 : 40 * frame; }, kSeconds + 28},
      {"a damaged time among B-frames", kReordered, [](int frame) { return frame == 75 ? 30'000 : 40 * frame; }, kSeconds},
      {"a damaged first time", kInOrder, [](int frame) { return frame == 0 ? 30'000 : 40 * frame; }, kSeconds},
      {"a damaged first time before B-frames", kReordered, [](int frame) { return frame == 0 ? 30'000 : 40 * frame; }, kSeconds},
      {"a pause among B-frames", kReordered, [](int frame) { return 40 * frame + (frame < 75 ? 0 : 20'000); }, kSeconds + 20},
      {"a late last frame", kReordered, [](int frame) { return 40 * frame + (frame < 149 ? 0 : 20'000); }, kSeconds + 20},
  };
  for (const auto& [name, encode, time_of, seconds] : cases) {
    SCOPED_TRACE(name);
    const std::string file = Clip("times.mkv", VideoInput("160x90", kSeconds) + kH264 + encode + "-cluster_time_limit 30000");
    SetFrameTimes(file, time_of);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, seconds, 0.05) << walk;
    EXPECT_NEAR(Enhance(file, output_, PlainOptions()).duration_s, seconds, 0.05);
    EXPECT_NEAR(PlanSegments(file, PlainOptions(), {1, 2, 4}).plan.source.duration_s, seconds, 0.05);
  }
}

TEST_F(DurationTest, MeasuresAnMp4ThatEndsWithAPauseAmongBFrames) {
  const std::string pause = " -vf setpts='if(gte(N\\,148)\\,PTS+10/TB\\,PTS)' -fps_mode vfr -enc_time_base 1/1000";
  for (const std::string flags : {"", " -movflags +faststart"}) {
    const std::string file = Clip("late.mp4", VideoInput("160x90", 6) + " " + ToneInput(6) + pause + kH264 + "-bf 3 -g 999 -c:a aac" + flags);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 16, 0.05) << walk;
    EXPECT_NEAR(Enhance(file, output_, PlainOptions()).duration_s, 16, 0.05);
    EXPECT_NEAR(PlanSegments(file, PlainOptions(), {1, 2, 4}).plan.source.duration_s, 16, 0.05);
  }
}

/// Writes a duration of so many ticks into the header of the first track, whose version is 0.
void SetTrackDuration(const std::string& file, std::uint32_t ticks) {
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find("mdhd") + 20;
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(ticks >> (24 - 8 * i) & 0xFF);
  WriteFile(file, bytes);
}

TEST_F(DurationTest, MeasuresAnMp4WhoseHeaderStatesFarTooLittle) {
  for (const std::string frames : {"-bf 0", "-bf 2 -x264-params b-adapt=0"}) {
    const std::string file = Clip("short.mp4", VideoInput("160x90", 6) + " " + ToneInput(6) + kH264 + frames + " -c:a aac");
    SetTrackDuration(file, 2000);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 6, 0.05) << frames << walk;
    EXPECT_NEAR(Enhance(file, output_, PlainOptions()).duration_s, 6, 0.05) << frames;
  }
}

/// Copies a file into Matroska; the frames for which an expression of ffmpeg's holds state this many seconds.
std::string WithDuration(const std::string& whole, const std::string& name, const std::string& which, const std::string& seconds) {
  Ffmpeg("-i '" + whole + "' -c copy -bsf:v 'setts=duration=if(" + which + "\\,ceil(" + seconds + "/TB)\\,DURATION)' '" + name + "'");
  return name;
}

/// Seconds that the ways to measure a video and to enhance it agree on.
void ExpectSeconds(const std::string& file, const std::string& output, double seconds) {
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, seconds, 0.05) << walk;
  EXPECT_NEAR(PlanSegments(file, PlainOptions(), {1, 2, 4}).plan.source.duration_s, seconds, 0.05);
  EXPECT_NEAR(Enhance(file, output, PlainOptions()).duration_s, seconds, 0.05);
}

TEST_F(DurationTest, TakesAFrameThatStatesYearsAsOneWithoutDuration) {
  for (const std::string frames : {"-bf 0", "-bf 2 -x264-params b-adapt=0"}) {
    const std::string whole = Clip("whole.mp4", VideoInput("160x90", 4) + kH264 + frames);
    for (const std::string which : {"eq(N\\,99)", "gt(N\\,95)"}) ExpectSeconds(WithDuration(whole, folder_.File("years.mkv"), which, "1e9"), output_, 4);
  }
}

TEST_F(DurationTest, EndsAFrameWhereTheNextOneBegins) {
  for (const std::string frames : {"-bf 0", "-bf 2 -x264-params b-adapt=0"}) {
    const std::string whole = Clip("whole.mp4", VideoInput("160x90", 4) + kH264 + frames);
    for (const std::string which : {"eq(N\\,0)", "eq(N\\,50)", "lt(N\\,90)"}) ExpectSeconds(WithDuration(whole, folder_.File("long.mkv"), which, "300"), output_, 4);
  }
}

TEST_F(DurationTest, TheLastFrameCountsForTheLimit) {
  const std::string whole = Clip("whole.mp4", VideoInput("160x90", 4) + kH264 + "-bf 0");
  const std::string file = WithDuration(whole, folder_.File("last.mkv"), "eq(N\\,99)", "20");
  ExpectSeconds(file, output_, 23.96);
  EnhanceOptions options = PlainOptions();
  for (const auto& [limit_s, code] : {std::pair(23.97, ErrorCode::kInternal), {20.0, ErrorCode::kLimitExceeded}}) {
    options.limits.max_duration_s = limit_s;
    ErrorCode thrown = ErrorCode::kInternal;
    try {
      Enhance(file, output_, options);
    } catch (const Error& error) {
      thrown = error.code();
    }
    EXPECT_EQ(thrown, code) << limit_s;
  }
}

TEST_F(DurationTest, KeepsTheSoundInSyncIfTheFirstTimeIsDamaged) {
  constexpr double kSeconds = 4;
  constexpr double kReordering = 0.08;  // fragmented MP4 without an edit list delays the video by it
  for (const std::string damaged : {"a.ts", "a.flv", "a.mkv", "a.mp4 -movflags frag_keyframe+empty_moov"}) {
    for (const std::string frames : {"-bf 0", "-bf 3 -x264-params b-adapt=0:b-pyramid=normal"}) {
      SCOPED_TRACE(damaged + " " + frames);
      const std::string whole = Clip("whole.mp4", VideoInput("160x90", kSeconds) + " " + ToneInput(kSeconds) + kH264 + frames + " -c:a aac");
      const std::string name = damaged.substr(0, damaged.find(' '));
      const std::string damage = " -c copy -bsf:v 'setts=pts=if(eq(N\\,0)\\,PTS+20/TB\\,PTS)' ";
      const std::string file = Clip(name, "-i '" + whole + "'" + damage + damaged.substr(name.size()));
      for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, kSeconds, 0.05) << walk;
      const std::string out = output_;
      EXPECT_NEAR(Enhance(file, out, PlainOptions()).duration_s, kSeconds, 0.05);
      EXPECT_NEAR(std::stod(testing::StreamFacts(out, "v")["start_time"]), std::stod(testing::StreamFacts(out, "a")["start_time"]), kReordering + 0.03);
    }
  }
}

TEST_F(DurationTest, BelievesAnEditListThatBeginsAtALateFirstTime) {
  const std::string whole = Clip("whole.mp4", VideoInput("160x90", 4) + kH264 + "-bf 2 -x264-params b-adapt=0");
  const std::string cut = Clip("cut.mp4", "-i '" + whole + "' -c copy -bsf:v 'setts=pts=if(eq(N\\,0)\\,PTS+3/TB\\,PTS)'");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(cut, {ServiceLimits(), walk, {}}).duration_s, 1, 0.05) << walk;
  EXPECT_NEAR(Enhance(cut, output_, PlainOptions()).duration_s, 1, 0.05);
}

TEST_F(DurationTest, ReadsAFlvBackOverTagsWithoutData) {
  const std::string file = Clip("tags.flv", VideoInput("160x90", 4) + kH264 + "-bf 0 -flvflags no_duration_filesize");
  std::string bytes = ReadFile(file);
  for (const std::string& data : {std::string(), std::string("\x02\0\x03onX\x05", 7)}) {
    const auto size = static_cast<char>(data.size());
    bytes += std::string("\x12\0\0", 3) + size + std::string("\0\x23\x28\0\0\0\0", 7) + data;  // script data at 9 s
    bytes += std::string("\0\0\0", 3) + static_cast<char>(11 + data.size());
  }
  WriteFile(file, bytes);
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 4, 0.05) << walk;
}

TEST_F(DurationTest, MeasuresAnIvfThatWasWrittenToAPipe) {
  const std::string file = folder_.File("piped.ivf");
  Ffmpeg(VideoInput("160x90", 4) + " -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -f ivf - > '" + file + "'");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 4, 0.1) << walk;
  EXPECT_NEAR(Enhance(file, output_, PlainOptions()).duration_s, 4, 0.1);
}

/// Sets the duration of the second edit of the first edit list, in milliseconds.
void SetSecondEdit(const std::string& file, std::uint32_t milliseconds) {
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find("elst") + 24;
  ASSERT_EQ(bytes[at - 13], 2) << "edits";
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(milliseconds >> (24 - 8 * i) & 0xFF);
  WriteFile(file, bytes);
}

TEST_F(DurationTest, MeasuresALateVideoWhoseEndTheEditListCutsOff) {
  for (const std::string frames : {"-bf 0", "-bf 2 -x264-params b-adapt=0"}) {
    const std::string whole = Clip("whole.mp4", VideoInput("160x90", 6) + kH264 + frames);
    const std::string file = Clip("late.mp4", "-itsoffset 5 -i '" + whole + "' " + ToneInput(11) + " -c:v copy -c:a aac");
    SetSecondEdit(file, 2000);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 2, 0.1) << walk;
    EXPECT_NEAR(Enhance(file, output_, PlainOptions()).duration_s, 2, 0.1);
  }
}

/// Removes 8 % of a file's bytes at its end; from a tenth on, files are refused.
void CutOff(const std::string& file) {
  std::string bytes = ReadFile(file);
  WriteFile(file, bytes.substr(0, bytes.size() * 92 / 100));
}

TEST_F(DurationTest, MeasuresWhatIsLeftOfAFileThatIsCutOff) {
  const struct {
    const char* name;
    const char* encode;
  } kinds[] = {{"front.mp4", "-movflags faststart"},
               {"fragments.mp4", "-g 250 -sc_threshold 0 -movflags frag_keyframe+empty_moov"},
               {"a.flv", ""},
               {"a.avi", "-c:v mpeg4"}};
  for (const auto& [name, encode] : kinds) {
    SCOPED_TRACE(name);
    const std::string file = Clip(name, VideoInput("160x90", 25) + " " + ToneInput(25) + kH264 + "-bf 2 -c:a libmp3lame -b:a 32k " + encode);
    CutOff(file);
    const double left = Enhance(file, output_, PlainOptions()).duration_s;
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, left, 0.2) << walk;
  }
}

TEST_F(DurationTest, MeasuresPicturesThatEndLongBeforeTheSound) {
  for (const char* name : {"long.mpg", "long.ts"}) {
    const std::string file = Clip(name, VideoInput("160x90", 2) + " " + ToneInput(30) + " -c:v mpeg2video -c:a mp2 -b:a 384k");
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 2, 0.1) << name << walk;
  }
}

TEST_F(DurationTest, MeasuresFlashVideoOfFewFramesWithBFrames) {
  const std::string file = Clip("slow.flv", VideoInput("160x90", 30, "1") + kH264 + "-bf 3 -x264-params b-adapt=0");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 30, 0.1) << walk;
}

TEST_F(DurationTest, MeasuresALongVideoWithOneKeyFrame) {
  const std::string file = Clip("one-key.mkv", std::string("-f lavfi -i color=size=64x64:rate=200:duration=30") + kH264 + "-g 9999 -output_ts_offset 5");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 30, 0.1) << walk;
}

}  // namespace
}  // namespace reelmend
