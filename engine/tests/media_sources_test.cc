// Sources with encrypted tracks, with too many frames, or with several video tracks; and facts that must not depend on how a
// file is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "media/byte_io.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"
#include "reelmend/segments.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::PlainOptions;
using testing::RunCommand;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

constexpr const char* kH264 = " -c:v libx264 -preset ultrafast -pix_fmt yuv420p ";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SourcesTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name, const std::string& arguments) {
    Ffmpeg(arguments + " '" + folder_.File(name) + "'");
    return folder_.File(name);
  }
  /// Expects that Probe (with and without reading all packets) and Enhance refuse the file as encrypted.
  void ExpectEncrypted(const std::string& file) {
    for (const bool walk : {false, true}) {
      ProbeOptions options;
      options.walk_packets = walk;
      ExpectEncryptedError([&] { ProbeFile(file, options); }, file);
    }
    ExpectEncryptedError([&] { Enhance(file, folder_.File("out.mp4"), PlainOptions()); }, file);
    EXPECT_FALSE(testing::FileExists(folder_.File("out.mp4")));
  }
  template <typename Work>
  static void ExpectEncryptedError(const Work& work, const std::string& file) {
    try {
      work();
      ADD_FAILURE() << file << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnreadableVideo) << file;
      EXPECT_NE(std::string(error.what()).find("encrypted"), std::string::npos) << file << ": " << error.what();
    }
  }
  TemporaryFolder folder_;
};

// ---- encryption ------------------------------------------------------------------------------------------------

constexpr const char* kCommonEncryption =
    " -encryption_scheme cenc-aes-ctr -encryption_key 76a6c65c5ea762046bd749a2e632ccbb"
    " -encryption_kid a7e61c373e219033c21091fa607bf3b8 ";

TEST_F(SourcesTest, RefusesCommonEncryption) {
  const std::string inputs = VideoInput("320x180", 2) + " " + ToneInput(2) + kH264 + "-c:a aac";
  ExpectEncrypted(Make("encrypted.mp4", inputs + kCommonEncryption));
  ExpectEncrypted(Make("faststart.mp4", inputs + kCommonEncryption + "-movflags +faststart"));
  ExpectEncrypted(Make("fragmented.mp4", inputs + kCommonEncryption + "-movflags frag_keyframe+empty_moov"));
  EXPECT_NO_THROW(ProbeFile(Make("clear.mp4", inputs)));
  EXPECT_NO_THROW(ProbeFile(Make("clear-fragments.mp4", inputs + " -movflags frag_keyframe+empty_moov")));
}

/// Replaces the first `from` after the first `behind` by `to`.
std::string Renamed(const std::string& file, const std::string& behind, const std::string& from, const std::string& to) {
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find(from, bytes.find(behind));
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, to.size(), to);
  std::ofstream(file + "-renamed.mp4", std::ios::binary) << bytes;
  return file + "-renamed.mp4";
}

TEST_F(SourcesTest, RefusesASingleEncryptedTrack) {
  // Only one of the two tracks is encrypted: its sample entry says so.
  const std::string clear = Make("clear.mp4", VideoInput("320x180", 1) + " " + ToneInput(1) + kH264 + "-c:a aac");
  ExpectEncrypted(Renamed(clear, "stsd", "avc1", "encv"));
  ExpectEncrypted(Renamed(clear, "stsd", "mp4a", "enca"));
  ExpectEncrypted(Renamed(clear, "stsd", "avc1", "drmi"));
  ExpectEncrypted(Renamed(clear, "stsd", "mp4a", "drms"));
}

TEST_F(SourcesTest, RefusesEncryptedPacketsWhereTheHeadersAreOutOfReach) {
  // More boxes before the movie box than the check reads. They follow the media data, so no offset changes.
  const std::string file = Make("encrypted.mp4", VideoInput("320x180", 1) + kH264 + kCommonEncryption);
  std::string bytes = ReadFile(file);
  const std::size_t moov = bytes.find("moov");
  ASSERT_NE(moov, std::string::npos);
  std::string padding;
  for (int i = 0; i < 10'001; ++i) padding += std::string("\0\0\0\x08", 4) + "free";
  bytes.insert(moov - 4, padding);
  std::ofstream(file, std::ios::binary) << bytes;
  ExpectEncrypted(file);
}

TEST_F(SourcesTest, RefusesEncryptedWebm) {
  // Replaces the title element by an element of the same length: encryption with AES and the ID of the key.
  const std::string encoding = std::string("\x50\x33\x81\x01\x50\x35\x97\x47\xE1\x81\x05\x47\xE2\x90", 14) + "0123456789abcdef";
  const std::string payload = "\x62\x40" + std::string(1, static_cast<char>(0x80 | encoding.size())) + encoding;
  const std::string title(payload.size(), 'T');
  const std::string file = Make("titled.webm", VideoInput("320x180", 1) + " -c:v libvpx-vp9 -deadline realtime -cpu-used 8 "
                                               "-metadata:s:v title=" + title);
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find("\x53\x6E" + std::string(1, static_cast<char>(0x80 | title.size())) + title);
  ASSERT_NE(at, std::string::npos);
  EXPECT_NO_THROW(ProbeFile(file));
  bytes.replace(at, 2, "\x6D\x80");
  bytes.replace(at + 3, payload.size(), payload);
  std::ofstream(file, std::ios::binary) << bytes;
  ExpectEncrypted(file);
}

/// Scrambles the packets of a PID of a transport stream, from a share of the file on.
void ScrambleTransport(const std::string& file, int pid, double from = 0) {
  std::string bytes = ReadFile(file);
  for (std::size_t at = static_cast<std::size_t>(from * static_cast<double>(bytes.size())) / 188 * 188; at + 188 <= bytes.size(); at += 188) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    const bool has_adaptation_field = (byte(3) & 0x20) != 0;
    if (((byte(1) & 0x1F) << 8 | byte(2)) != pid) continue;
    for (std::size_t i = has_adaptation_field ? 5 + byte(4) : 4; i < 188; ++i) bytes[at + i] = static_cast<char>(bytes[at + i] ^ (17 * i));
    bytes[at + 3] = static_cast<char>(byte(3) | 0x80);
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(SourcesTest, RefusesScrambledRecordings) {
  constexpr int kVideo = 0x100;
  constexpr int kSound = 0x101;
  const std::string encode = VideoInput("320x180", 3) + " " + ToneInput(3) + " -c:v mpeg2video -b:v 2M -c:a mp2";
  for (const int pid : {kVideo, kSound}) {
    const std::string file = Make("pay.ts", encode);
    EXPECT_NO_THROW(ProbeFile(file));
    ScrambleTransport(file, pid);
    ExpectEncrypted(file);
  }
  const std::string end = Make("end.ts", encode);  // the subscription ends
  ScrambleTransport(end, kVideo, 0.9);
  EXPECT_NO_THROW(ProbeFile(end));
}

TEST_F(SourcesTest, RefusesACopiedDvd) {
  const std::string file = Make("film.vob", VideoInput("320x180", 3) + " " + ToneInput(3) + " -c:v mpeg2video -b:v 2M -c:a ac3");
  EXPECT_NO_THROW(ProbeFile(file));
  std::string bytes = ReadFile(file);
  int number = 0;
  for (std::size_t at = bytes.find(std::string("\0\0\1\xE0", 4)); at != std::string::npos; at = bytes.find(std::string("\0\0\1\xE0", 4), at + 4)) {
    if (++number % 2 == 0) bytes[at + 6] = static_cast<char>(bytes[at + 6] | 0x30);
  }
  std::ofstream(file, std::ios::binary) << bytes;
  ExpectEncrypted(file);
}

// ---- frames per billed second ----------------------------------------------------------------------------------

struct Dense {
  const char* file;
  const char* encode;
};

const Dense kDense[] = {
    {"dense.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p"},
    {"fragments.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -movflags frag_keyframe+empty_moov"},
    {"dense.mov", "-c:v mjpeg"},
    {"dense.mkv", "-c:v mpeg4"},
    {"dense.avi", "-c:v mjpeg"},
    {"dense.ts", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p"},
    {"dense.flv", "-c:v flv"},
    {"dense.wmv", "-c:v wmv2"},
    {"dense.ivf", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8"},
};

SourceLimits ServiceLimits() {
  SourceLimits limits;
  limits.max_duration_s = 600;
  limits.max_frame_rate = 250;
  return limits;
}

TEST_F(SourcesTest, RefusesThousandsOfFramesASecond) {
  for (const Dense& clip : kDense) {
    SCOPED_TRACE(clip.file);
    const std::string file = Make(clip.file, std::string("-f lavfi -i color=size=64x64:rate=5000:duration=2 ") + clip.encode);
    for (const bool walk : {false, true}) {
      try {
        ProbeFile(file, {ServiceLimits(), walk, {}});
        ADD_FAILURE() << "the file was accepted, walk " << walk;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded) << error.what();
        EXPECT_STREQ(error.what(), "The video has too many frames: at most 250 for each second are accepted.");
      }
    }
  }
}

TEST_F(SourcesTest, Takes240FramesASecond) {
  for (const Dense& clip : kDense) {
    SCOPED_TRACE(clip.file);
    const std::string file = Make(clip.file, std::string("-f lavfi -i color=size=64x64:rate=240:duration=2 ") + clip.encode);
    for (const bool walk : {false, true}) {
      EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 2, 0.1) << walk;
    }
  }
}

TEST_F(SourcesTest, CountsForEachStartedSecond) {
  // 300 frames per second for 0.5 s are 150 frames in one billed second; for 1.9 s they are 570 frames in two.
  const std::string half = Make("half.mp4", std::string("-f lavfi -i color=size=64x64:rate=300:duration=0.5") + kH264);
  EXPECT_NO_THROW(ProbeFile(half, {ServiceLimits(), false, {}}));
  const std::string two = Make("two.mp4", std::string("-f lavfi -i color=size=64x64:rate=300:duration=1.9") + kH264);
  EXPECT_THROW(ProbeFile(two, {ServiceLimits(), false, {}}), Error);
}

TEST_F(SourcesTest, TakesACutOfASlowMotionFilm) {
  // The edit list hides most of the frames in the file.
  const std::string film = Make("film.mp4", std::string("-f lavfi -i color=size=64x64:rate=240:duration=4") + kH264 + "-g 480");
  const std::string cut = Make("cut.mp4", "-ss 3.7 -i '" + film + "' -c copy");
  ASSERT_GT(testing::CountPackets(cut, "v:0"), 250);
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(cut, {ServiceLimits(), walk, {}}).duration_s, 0.3, 0.05);
}

// ---- durations that no header declares --------------------------------------------------------------------------------

TEST_F(SourcesTest, MeasuresJoinedRecordingsWhoseClockStartsAgain) {
  // Noise makes the file too large to be read whole.
  const struct {
    const char* video;
    double seconds;
  } sizes[] = {{"testsrc2=size=160x90", 3}, {"testsrc2=size=480x270,noise=alls=60:allf=t", 5}};
  for (const auto& [video, seconds] : sizes) {
    for (const std::string type : {".ts", ".mpg"}) {
      SCOPED_TRACE(video + type);
      const std::string length = std::to_string(seconds);
      const std::string part = Make("part" + type, "-f lavfi -i " + std::string(video) + ",fps=25 -f lavfi -i sine -t " + length +
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
  std::ofstream(file, std::ios::binary) << bytes;
}

struct TimesCase {
  const char* name;
  const char* encode;
  std::function<int(int frame)> time_of;
  double seconds;
};

TEST_F(SourcesTest, MeasuresMissingAndDamagedTimesAsTheyAreShown) {
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
    const std::string file = Make("times.mkv", VideoInput("160x90", kSeconds) + kH264 + encode + "-cluster_time_limit 30000");
    SetFrameTimes(file, time_of);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, seconds, 0.05) << walk;
    EXPECT_NEAR(Enhance(file, folder_.File("out.mp4"), PlainOptions()).duration_s, seconds, 0.05);
    EXPECT_NEAR(PlanSegments(file, PlainOptions(), {1, 2, 4}).plan.source.duration_s, seconds, 0.05);
  }
}

TEST_F(SourcesTest, MeasuresAnMp4ThatEndsWithAPauseAmongBFrames) {
  const std::string pause = " -vf setpts='if(gte(N\\,148)\\,PTS+10/TB\\,PTS)' -fps_mode vfr -enc_time_base 1/1000";
  for (const std::string flags : {"", " -movflags +faststart"}) {
    const std::string file = Make("late.mp4", VideoInput("160x90", 6) + " " + ToneInput(6) + pause + kH264 + "-bf 3 -g 999 -c:a aac" + flags);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 16, 0.05) << walk;
    EXPECT_NEAR(Enhance(file, folder_.File("out.mp4"), PlainOptions()).duration_s, 16, 0.05);
    EXPECT_NEAR(PlanSegments(file, PlainOptions(), {1, 2, 4}).plan.source.duration_s, 16, 0.05);
  }
}

/// Writes a duration of so many ticks into the header of the first track, whose version is 0.
void SetTrackDuration(const std::string& file, std::uint32_t ticks) {
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find("mdhd") + 20;
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(ticks >> (24 - 8 * i) & 0xFF);
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(SourcesTest, MeasuresAnMp4WhoseHeaderStatesFarTooLittle) {
  for (const std::string frames : {"-bf 0", "-bf 2 -x264-params b-adapt=0"}) {
    const std::string file = Make("short.mp4", VideoInput("160x90", 6) + " " + ToneInput(6) + kH264 + frames + " -c:a aac");
    SetTrackDuration(file, 2000);
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 6, 0.05) << frames << walk;
    EXPECT_NEAR(Enhance(file, folder_.File("out.mp4"), PlainOptions()).duration_s, 6, 0.05) << frames;
  }
}

TEST_F(SourcesTest, KeepsTheSoundInSyncIfTheFirstTimeIsDamaged) {
  constexpr double kSeconds = 4;
  constexpr double kReordering = 0.08;  // fragmented MP4 without an edit list delays the video by it
  for (const std::string damaged : {"a.ts", "a.flv", "a.mkv", "a.mp4 -movflags frag_keyframe+empty_moov"}) {
    for (const std::string frames : {"-bf 0", "-bf 3 -x264-params b-adapt=0:b-pyramid=normal"}) {
      SCOPED_TRACE(damaged + " " + frames);
      const std::string whole = Make("whole.mp4", VideoInput("160x90", kSeconds) + " " + ToneInput(kSeconds) + kH264 + frames + " -c:a aac");
      const std::string name = damaged.substr(0, damaged.find(' '));
      const std::string damage = " -c copy -bsf:v 'setts=pts=if(eq(N\\,0)\\,PTS+20/TB\\,PTS)' ";
      const std::string file = Make(name, "-i '" + whole + "'" + damage + damaged.substr(name.size()));
      for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, kSeconds, 0.05) << walk;
      const std::string out = folder_.File("out.mp4");
      EXPECT_NEAR(Enhance(file, out, PlainOptions()).duration_s, kSeconds, 0.05);
      EXPECT_NEAR(std::stod(testing::StreamFacts(out, "v")["start_time"]), std::stod(testing::StreamFacts(out, "a")["start_time"]), kReordering + 0.03);
    }
  }
}

TEST_F(SourcesTest, BelievesAnEditListThatBeginsAtALateFirstTime) {
  const std::string whole = Make("whole.mp4", VideoInput("160x90", 4) + kH264 + "-bf 2 -x264-params b-adapt=0");
  const std::string cut = Make("cut.mp4", "-i '" + whole + "' -c copy -bsf:v 'setts=pts=if(eq(N\\,0)\\,PTS+3/TB\\,PTS)'");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(cut, {ServiceLimits(), walk, {}}).duration_s, 1, 0.05) << walk;
  EXPECT_NEAR(Enhance(cut, folder_.File("out.mp4"), PlainOptions()).duration_s, 1, 0.05);
}

TEST_F(SourcesTest, MeasuresPicturesThatEndLongBeforeTheSound) {
  for (const char* name : {"long.mpg", "long.ts"}) {
    const std::string file = Make(name, VideoInput("160x90", 2) + " " + ToneInput(30) + " -c:v mpeg2video -c:a mp2 -b:a 384k");
    for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 2, 0.1) << name << walk;
  }
}

TEST_F(SourcesTest, MeasuresFlashVideoOfFewFramesWithBFrames) {
  const std::string file = Make("slow.flv", VideoInput("160x90", 30, "1") + kH264 + "-bf 3 -x264-params b-adapt=0");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 30, 0.1) << walk;
}

TEST_F(SourcesTest, MeasuresALongVideoWithOneKeyFrame) {
  const std::string file = Make("one-key.mkv", std::string("-f lavfi -i color=size=64x64:rate=200:duration=30") + kH264 + "-g 9999 -output_ts_offset 5");
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 30, 0.1) << walk;
}

TEST_F(SourcesTest, AFalseHeaderIsDetectedWhenAllIsRead) {
  const std::string file = Make("lies.mkv", "-f lavfi -i color=size=64x64:rate=5000:duration=2 -c:v mjpeg");
  // Replaces the track's lacing flag and language by a default frame duration of 40 ms.
  std::string bytes = ReadFile(file);
  const std::string taken("\x9C\x81\x00\x22\xB5\x9C\x83und", 10);
  const std::size_t at = bytes.find(taken);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, taken.size(), std::string("\x23\xE3\x83\x86\x00\x00\x02\x62\x5A\x00", 10));
  // Newer muxers write the true duration after it. Those bytes become a Void element.
  const std::size_t truth = bytes.find(std::string("\x23\xE3\x83\x83"), at + taken.size());
  if (truth < bytes.find("\x1F\x43\xB6\x75")) bytes.replace(truth, 2, "\xEC\x85");
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_EQ(ProbeFile(file, {ServiceLimits(), false, {}}).frame_rate.num, 25);
  EXPECT_THROW(ProbeFile(file, {ServiceLimits(), true, {}}), Error);
}

TEST_F(SourcesTest, DecodingEndsWhenThereAreTooMany) {
  const std::string file = Make("dense.mp4", std::string("-f lavfi -i color=size=64x64:rate=5000:duration=2") + kH264);
  EnhanceOptions options = PlainOptions();
  options.limits = ServiceLimits();
  options.limits.max_duration_s = 3;
  std::int64_t done = 0;
  EnhanceCallbacks callbacks;
  callbacks.on_progress = [&](const Progress& progress) { done = progress.frames_done; };
  try {
    Enhance(file, folder_.File("out.mp4"), options, callbacks);
    ADD_FAILURE() << "the video was enhanced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded);
    EXPECT_NE(std::string(error.what()).find("too many frames"), std::string::npos) << error.what();
  }
  EXPECT_LE(done, 750);
  EXPECT_FALSE(testing::FileExists(folder_.File("out.mp4")));
}

// ---- several video tracks --------------------------------------------------------------------------------------

TEST_F(SourcesTest, TakesTheTrackThatMoves) {
  const std::string inputs = VideoInput("160x90", 2) + " -f lavfi -i testsrc2=size=640x360:rate=25:duration=0.04 ";
  for (const std::string order : {"-map 0 -map 1", "-map 1 -map 0"}) {
    for (const std::string name : {"photo.mp4", "photo.mov", "photo.mkv", "photo.avi", "photo.ts", "photo-fragments.mp4"}) {
      SCOPED_TRACE(name + " " + order);
      const std::string flags = name == "photo-fragments.mp4" ? " -movflags frag_keyframe+empty_moov" : "";
      const ProbeResult probe = ProbeFile(Make(name, inputs + order + " -c:v mpeg4" + flags));
      EXPECT_EQ(probe.width, 160);
      EXPECT_NEAR(probe.duration_s, 2, 0.1);
    }
  }
  const EnhanceResult result = Enhance(Make("photo.mp4", inputs + "-map 0 -map 1" + kH264), folder_.File("out.mp4"), PlainOptions());
  EXPECT_EQ(result.frames, 50);
  EXPECT_EQ(result.width, 160);
}

TEST_F(SourcesTest, TakesTheDefaultAmongThoseThatMove) {
  const std::string inputs = VideoInput("160x90", 1) + " " + VideoInput("320x180", 1) + " -map 0 -map 1 -c:v mpeg4 ";
  EXPECT_EQ(ProbeFile(Make("small.mkv", inputs + "-disposition:v:0 default -disposition:v:1 0")).width, 160);
  EXPECT_EQ(ProbeFile(Make("large.mkv", inputs + "-disposition:v:0 0 -disposition:v:1 default")).width, 320);
  const std::string still = VideoInput("160x90", 1) + " -f lavfi -i testsrc2=size=640x360:rate=25:duration=0.04 -map 0 -map 1 -c:v mpeg4 ";
  EXPECT_EQ(ProbeFile(Make("still.mkv", still + "-disposition:v:0 0 -disposition:v:1 default")).width, 160);
}

TEST_F(SourcesTest, LosesNoPacketWhileChoosingTheTrack) {
  const std::string file = Make("photo.mkv", VideoInput("160x90", 2) + " -f lavfi -i testsrc2=size=640x360:rate=25:duration=0.04 " +
                                                 ToneInput(2) + " -map 0 -map 1 -map 2 -c:v mpeg4 -c:a ac3");
  const EnhanceResult result = Enhance(file, folder_.File("out.mp4"), PlainOptions());
  EXPECT_EQ(result.frames, 50);
  EXPECT_EQ(testing::CountPackets(folder_.File("out.mp4"), "a:0"), testing::CountPackets(file, "a:0"));
}

TEST_F(SourcesTest, TakesEachFileOfAChainedOgg) {
  const std::string one = Make("one.ogv", VideoInput("160x90", 2) + " " + ToneInput(2) + " -c:v libtheora -c:a libvorbis");
  testing::RunCommand("cat '" + one + "' '" + one + "' > '" + folder_.File("chain.ogv") + "'");
  const EnhanceResult result = Enhance(folder_.File("chain.ogv"), folder_.File("out.mp4"), PlainOptions());
  EXPECT_EQ(result.frames, 100);
  EXPECT_NEAR(result.duration_s, 4, 0.05);
}

TEST_F(SourcesTest, TakesTheSoundOfTheVideosProgramme) {
  const std::string file =
      Make("two.ts", VideoInput("160x90", 1) + " " + VideoInput("320x180", 1) + " " + ToneInput(1) +
                         " -map 2 -map 0 -map 1 -map 2 -map 2 -c:v mpeg2video -c:a mp2 -metadata:s:a:0 language=fra -metadata:s:a:1 language=deu "
                         "-metadata:s:a:2 language=eng -program st=0:st=1 -program st=2:st=3:st=4");
  const ProbeResult probed = ProbeFile(file);
  EXPECT_EQ(probed.width, 320);
  ASSERT_EQ(probed.audio.size(), 2U);
  EXPECT_EQ(probed.audio[0].language, "deu");
  EXPECT_EQ(probed.audio[1].language, "eng");
  Enhance(file, folder_.File("out.mp4"), PlainOptions());
  EXPECT_EQ(testing::StreamFacts(folder_.File("out.mp4"), "a:0").at("TAG:language"), "deu");
  EXPECT_TRUE(testing::StreamFacts(folder_.File("out.mp4"), "a:2").empty());
}

TEST_F(SourcesTest, SoundThatTwoProgrammesShareBelongsToBoth) {
  const std::string file = Make("shared.ts", VideoInput("160x90", 1) + " " + VideoInput("320x180", 1) + " " + ToneInput(1) +
                                                 " -map 0 -map 1 -map 2 -c:v mpeg2video -c:a mp2 -program st=0:st=2 -program st=1:st=2");
  EXPECT_EQ(ProbeFile(file).audio.size(), 1U);
}

// ---- the same facts, however a file is read ---------------------------------------------------------------------

/// Reads in blocks like a remote source: a read may return fewer bytes than requested.
class BlockSource : public ByteSource {
 public:
  explicit BlockSource(const std::string& path) : file_(path) {}
  std::int64_t size() const override { return file_.size(); }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override {
    constexpr std::int64_t kBlock = 10'000;
    const std::int64_t left = kBlock - offset % kBlock;
    const std::size_t count = file_.Read(offset, destination, std::min(length, static_cast<std::size_t>(left)));
    read_bytes += static_cast<std::int64_t>(count);
    jumps += offset == next_ ? 0 : 1;
    next_ = offset + static_cast<std::int64_t>(count);
    return count;
  }

  std::int64_t read_bytes = 0;
  int jumps = 0;

 private:
  std::int64_t next_ = 0;
  media::FileSource file_;
};

struct Format {
  const char* file;
  const char* encode;
};

const Format kFormats[] = {
    {"h264.mp4", "-c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"h264.mov", "-c:v libx264 -pix_fmt yuv420p -c:a alac"},
    {"fragmented.mp4", "-c:v libx264 -g 10 -pix_fmt yuv420p -c:a aac -movflags frag_keyframe+empty_moov"},
    {"h264.mkv", "-c:v libx264 -pix_fmt yuv420p -c:a flac"},
    {"live.mkv", "-c:v libx264 -pix_fmt yuv420p -c:a aac -live 1"},
    {"vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus"},
    {"vp8.webm", "-c:v libvpx -deadline realtime -c:a libvorbis"},
    {"mpeg4.avi", "-c:v mpeg4 -bf 2 -c:a libmp3lame"},
    {"mjpeg.avi", "-c:v mjpeg -pix_fmt yuvj422p -c:a pcm_s16le"},
    {"h264.ts", "-c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"mpeg2.ts", "-c:v mpeg2video -c:a mp2"},
    {"mpeg2.mpg", "-c:v mpeg2video -bf 2 -c:a ac3"},
    {"h264.flv", "-c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"wmv2.wmv", "-c:v wmv2 -c:a wmav2"},
    {"theora.ogv", "-c:v libtheora -c:a libvorbis"},
    {"mpeg2.mxf", "-c:v mpeg2video -c:a pcm_s16le"},
    {"vp9.ivf", "-an -c:v libvpx-vp9 -deadline realtime -cpu-used 8"},
    {"animation.gif", "-an"},
    {"raw.h264", "-an -c:v libx264 -bf 2 -pix_fmt yuv420p"},
    {"raw.m4v", "-an -c:v mpeg4"},
    {"vfr.mkv", "-vf select='not(mod(n\\,7))+not(mod(n\\,11))' -vsync vfr -c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"vfr.mp4", "-vf select='not(mod(n\\,7))+not(mod(n\\,11))' -vsync vfr -c:v libx264 -pix_fmt yuv420p -c:a aac"},
    {"no-rate.mkv", "-vf setpts=N/700/TB -vsync passthrough -enc_time_base 1/1000 -c:v ffv1 -pix_fmt yuv420p -an"},
    {"fast.mkv", "-an -vf setpts=N/900/TB -r 900 -c:v ffv1 -pix_fmt yuv420p"},
    {"one-frame.mkv", "-frames:v 1 -c:v libx264 -pix_fmt yuv420p -an"},
    {"one-frame.mp4", "-frames:v 1 -c:v libx264 -pix_fmt yuv420p -an"},
    {"pixels.mkv", "-vf setsar=4/3 -c:v libx264 -pix_fmt yuv420p -an"},
};

TEST_F(SourcesTest, MeasuresARecordingWithoutIndexFromItsEnd) {
  const std::string noise = "-f lavfi -i testsrc2=size=480x270:rate=25,noise=alls=60:allf=t -f lavfi -i sine ";
  for (const std::string sound : {"-t 12 -c:a libopus", "-t 12 -c:a pcm_s16le -af atrim=end=4", "-t 12 -c:a pcm_s16le -ac 8 -ar 96000"}) {
    SCOPED_TRACE(sound);
    const std::string file = Make("live.mkv", noise + sound + " -c:v mpeg4 -b:v 15M -live 1");
    BlockSource source(file);
    EXPECT_NEAR(Probe(source).duration_s, 12, 0.1);
    ASSERT_GT(source.size(), 20 << 20);
    EXPECT_LT(source.read_bytes, 14 << 20);
  }
}

TEST_F(SourcesTest, MeasuresAFragmentedFileWithAnIndexFromItsEnd) {
  const std::string noise = "-f lavfi -i testsrc2=size=480x270:rate=25,noise=alls=60:allf=t -f lavfi -i sine ";
  for (const std::string flags : {"dash+global_sidx+default_base_moof", "dash+global_sidx+omit_tfhd_offset"}) {
    SCOPED_TRACE(flags);
    const std::string file = Make("fragmented.mp4", noise + "-t 12 -c:v mpeg4 -b:v 12M -bf 2 -g 4 -c:a aac -movflags frag_keyframe+" + flags);
    BlockSource source(file);
    EXPECT_NEAR(Probe(source).duration_s, 12, 0.1);
    EXPECT_LT(source.jumps, 40);
  }
}

class SourceFacts : public ::testing::TestWithParam<Format> {};

TEST_P(SourceFacts, AreTheSameInRangesAndInTheWholeFile) {
  const TemporaryFolder folder;
  const std::string file = folder.File(GetParam().file);
  Ffmpeg(VideoInput("160x90", 3, "30000/1001") + " -f lavfi -i sine=sample_rate=48000:duration=3.4 " + GetParam().encode + " '" + file + "'");
  BlockSource remote(file);
  const ProbeResult ranged = Probe(remote);
  ProbeOptions whole;
  whole.walk_packets = true;
  const ProbeResult walked = ProbeFile(file, whole);
  EXPECT_EQ(ranged.container, walked.container);
  EXPECT_EQ(ranged.video_codec, walked.video_codec);
  EXPECT_EQ(ranged.pixel_format, walked.pixel_format);
  EXPECT_EQ(ranged.width, walked.width);
  EXPECT_EQ(ranged.height, walked.height);
  EXPECT_EQ(ranged.rotation_degrees, walked.rotation_degrees);
  EXPECT_EQ(ranged.size_bytes, walked.size_bytes);
  EXPECT_EQ(ranged.frame_rate.num, walked.frame_rate.num);
  EXPECT_EQ(ranged.frame_rate.den, walked.frame_rate.den);
  EXPECT_GT(ranged.frame_rate.num, 0);
  EXPECT_NEAR(ranged.duration_s, walked.duration_s, 0.15);
  ASSERT_EQ(ranged.audio.size(), walked.audio.size());
  for (std::size_t i = 0; i < ranged.audio.size(); ++i) EXPECT_EQ(ranged.audio[i].codec, walked.audio[i].codec);
}

INSTANTIATE_TEST_SUITE_P(Formats, SourceFacts, ::testing::ValuesIn(kFormats), [](const auto& info) {
  std::string name = info.param.file;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

}  // namespace
}  // namespace reelmend
