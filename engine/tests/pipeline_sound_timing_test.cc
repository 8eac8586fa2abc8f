// Timing of the sound if it begins late, has holes, or if the timestamps jump, drift or are damaged.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "helpers/files.h"
#include "reelmend/enhance.h"
#include "reelmend/probe.h"
#include "sound_fixture.h"

namespace reelmend {
namespace {

using testing::PlainOptions;
using testing::ReadFile;
using testing::RunCommand;
using testing::SoundFixture;
using testing::StreamFacts;
using testing::ToneInput;
using testing::VideoInput;
using testing::WriteFile;

using SoundTiming = SoundFixture;

TEST_F(SoundTiming, IsHeardAfterTheClockStartsAgain) {
  for (const std::string name : {"joined.ts", "joined.mpg", "joined.vob"}) {
    SCOPED_TRACE(name);
    const std::string part = Part("part" + name.substr(6), 3);
    Enhance(Join(name, {part, part, part}), output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 9, 0.3);
    for (double at = 0.5; at < 8.5; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
  }
}

TEST_F(SoundTiming, IsHeardAfterAClockThatStartsAnywhere) {
  const std::string late = Part("late.ts", 3, 30);
  const std::string early = Part("early.ts", 3, 12);
  Enhance(Join("joined.ts", {late, early, late}), output_, PlainOptions());
  const auto heard = Heard();
  // The second part follows directly after the first 3 s. The third part starts 15 s after the second one ends (12 + 3 → 30).
  EXPECT_GT(Loudness(heard, 3.5, 5.5), kTone);
  EXPECT_LT(Loudness(heard, 7, 20), kSilence);
  EXPECT_GT(Loudness(heard, 21.5, 23.5), kTone);
  EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 24, 0.3);
}

TEST_F(SoundTiming, KeepsUpWithAPictureThatJumpsTenMinutes) {
  Enhance(Join("joined.ts", {Part("now.ts", 2), Part("later.ts", 2, 700)}), output_, PlainOptions());
  const std::vector<double> frames = testing::FrameTimes(output_);
  ASSERT_EQ(frames.size(), 100U);
  EXPECT_NEAR(frames[50], 700, 0.1);
  const auto heard = Heard();
  EXPECT_GT(Loudness(heard, 0.5, 1.5), kTone);
  EXPECT_LT(Loudness(heard, 3, 699), kSilence);
  EXPECT_GT(Loudness(heard, 700.5, 701.5), kTone);
}

TEST_F(SoundTiming, FollowsAClockThatIsMinutesBehind) {
  // libav takes times that are more than a minute before the first one as those after the end of the 33-bit clock.
  for (const char* sound : {"mp2", "aac"}) {
    for (const std::string type : {".ts", ".mpg"}) {
      if (type == ".mpg" && std::string(sound) == "aac") continue;
      SCOPED_TRACE(sound + type);
      const std::string source =
          Join("joined" + type, {Part("late" + type, 2, 1000, sound), Part("early" + type, 2, 0, sound), Part("again" + type, 2, 1001, sound)});
      EXPECT_NEAR(Enhance(source, output_, PlainOptions()).duration_s, 1005, 0.6);
      const std::vector<double> frames = testing::FrameTimes(output_);
      ASSERT_EQ(frames.size(), 150U);
      EXPECT_NEAR(frames[99], 4, 0.2);
      EXPECT_NEAR(frames[100], 1003, 0.6);
      const auto heard = Heard();
      for (const double at_s : {0.5, 2.5, 1003.5}) EXPECT_GT(Loudness(heard, at_s, at_s + 1), kTone) << at_s;
      EXPECT_LT(Loudness(heard, 5, 1000), kSilence);
      ProbeOptions walk;
      walk.walk_packets = true;
      EXPECT_NEAR(ProbeFile(source, walk).duration_s, 1005, 0.6);
    }
  }
}

TEST_F(SoundTiming, AClockThatIsBehindAtTheEndMakesNoLongVideo) {
  const std::string source = Join("joined.ts", {Part("late.ts", 2, 1000), Part("early.ts", 2)});
  EXPECT_NEAR(ProbeFile(source).duration_s, 4, 0.2);
  EnhanceOptions options = PlainOptions();
  options.limits.max_duration_s = 60;
  EXPECT_EQ(Enhance(source, output_, options).frames, 100);
}

TEST_F(SoundTiming, BeginsLongAfterThePicture) {
  // libav finds streams in packets of 5 MB or 7 s.
  const struct {
    const char* name;
    const char* codec;
    const char* channels;
  } kFiles[] = {{"aac.ts", "aac", "1"}, {"latm.ts", "aac -mpegts_flags latm", "1"}, {"mp2.ts", "mp2", "1"}, {"mp2.mpg", "mp2", "1"}, {"ac3.vob", "ac3 -ac 6", "6"}};
  for (const auto& [name, codec, channels] : kFiles) {
    SCOPED_TRACE(name);
    Enhance(Clip(name, VideoInput("160x90", 16) + " -itsoffset 12 " + ToneInput(4) + " -c:v mpeg2video -c:a " + codec), output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_LT(Loudness(heard, 0, 11.9), kSilence);
    EXPECT_GT(Loudness(heard, 12.1, 15.9), 3 * kSilence);  // a third of kTone in one of six channels
    EXPECT_EQ(StreamFacts(output_, "a")["channels"], channels);
  }
}

TEST_F(SoundTiming, BeginsBehindManyBytes) {
  // Packets of 6 MB before the sound, or of more than the engine reads for its parameters.
  const struct {
    const char* size;
    const char* rate;
    const char* channels;
  } kFiles[] = {{"320x180", "40", "6"}, {"1280x720", "16", "2"}};
  for (const auto& [size, rate, channels] : kFiles) {
    SCOPED_TRACE(size);
    const std::string file = Clip("dense.ts", VideoInput(size, 3, "25") + " -itsoffset 2 " + ToneInput(1) + " -vf fps=" + rate +
                                                  ",noise=alls=100:allf=t -c:v mpeg2video -strict -1 -q:v 1 -c:a ac3 -ac 6");
    Enhance(file, output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_LT(Loudness(heard, 0, 1.9), kSilence);
    EXPECT_GT(Loudness(heard, 2.1, 2.9), 3 * kSilence);
    EXPECT_EQ(StreamFacts(output_, "a")["channels"], channels);
  }
}

TEST_F(SoundTiming, ThatNeverBeginsIsNoTrack) {
  const std::string file = Clip("late.ts", VideoInput("160x90", 16) + " -itsoffset 12 " + ToneInput(4) + " -c:v libx264 -pix_fmt yuv420p -g 50 -sc_threshold 0 -c:a aac");
  // Also begins between two key frames, so that the video starts after the first packet.
  RunCommand("(size=$(stat -c %s '" + file + "'); tail -c +$((size / 1504 * 188 + 1)) '" + file + "' | head -c $((size / 3)) > '" + folder_.File("never.ts") + "')");
  EXPECT_GT(Enhance(folder_.File("never.ts"), output_, PlainOptions()).frames, 50);
  EXPECT_EQ(testing::FrameTimes(output_).front(), 0);
  EXPECT_TRUE(StreamFacts(output_, "a").empty());
}

TEST_F(SoundTiming, SoundThatIsLongerThanItsTimesSayKeepsUp) {
  // A sound card whose clock is 5 % fast: 20 s of sound for 19 s.
  const std::string sound = Clip("sound.mkv", ToneInput(20) + " -c:a pcm_s16le");
  const std::string source = Clip("fast.mkv", VideoInput("160x90", 19) + " -i " + sound + " -map 0 -map 1 -c:v mpeg4 -c:a copy -bsf:a setts=ts=TS*0.95");
  Enhance(source, output_, PlainOptions());
  const auto heard = Heard();
  EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 19, 0.25);
  for (double at = 0.5; at < 18; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
}

TEST_F(SoundTiming, HolesStayHoles) {
  // In the first 3 s only every third tenth of a second remains. Then a whole second is missing.
  const std::string source =
      Clip("holes.mkv", VideoInput("160x90", 6) + " -f lavfi -i sine=frequency=440:sample_rate=48000:duration=6:samples_per_frame=4800 "
                        "-af \"aselect='(lt(t\\,3)*not(mod(n\\,3)))+gt(t\\,4)'\" -c:v mpeg4 -c:a pcm_s16le");
  Enhance(source, output_, PlainOptions());
  const auto heard = Heard();
  EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 6, 0.3);
  EXPECT_GT(Loudness(heard, 1.5, 1.6), kTone);
  EXPECT_LT(Loudness(heard, 1.63, 1.77), kSilence);
  EXPECT_LT(Loudness(heard, 3.2, 3.9), kSilence);
  EXPECT_GT(Loudness(heard, 4.2, 5.8), kTone);
}

TEST_F(SoundTiming, IsHeardToTheEndWhereNoPacketHasADuration) {
  Enhance(Clip("alac.mkv", VideoInput("160x90", 1) + " " + ToneInput(1) + " -c:v mpeg4 -c:a alac"), output_, PlainOptions());
  ASSERT_EQ(StreamFacts(output_, "a")["codec_name"], "alac");
  EXPECT_GT(Loudness(Heard(), 0.95, 0.99), kTone);
}

/// Reads an element size of Matroska (RFC 8794) and moves `at` behind it.
std::size_t ReadSize(const std::string& bytes, std::size_t& at) {
  const auto first = static_cast<unsigned char>(bytes.at(at));
  const int length = std::countl_zero(first) + 1;
  std::size_t size = first & (0xFF >> length);
  for (int i = 1; i < length; ++i) size = size << 8 | static_cast<unsigned char>(bytes.at(at + i));
  at += static_cast<std::size_t>(length);
  return size;
}

/// Positions of the 16-bit times of a track's SimpleBlocks in a Matroska file.
std::vector<std::size_t> BlockTimes(const std::string& bytes, int track) {
  constexpr char kSimpleBlock = '\xA3';
  std::vector<std::size_t> found;
  const std::string id = "\x1F\x43\xB6\x75";  // of a cluster
  for (std::size_t cluster = bytes.find(id); cluster != std::string::npos; cluster = bytes.find(id, cluster + 4)) {
    std::size_t at = cluster + 4;
    const std::size_t size = ReadSize(bytes, at);
    for (const std::size_t end = at + size; at < end;) {
      const char kind = bytes.at(at++);
      const std::size_t length = ReadSize(bytes, at);
      if (kind == kSimpleBlock && bytes.at(at) == static_cast<char>(0x80 | track)) found.push_back(at + 1);
      at += length;
    }
  }
  return found;
}

/// Shifts the times of `count` packets of a track in a Matroska file, from packet number `first` on.
void DamageTimes(const std::string& file, int track, int first, int count, int by_ms) {
  std::string bytes = ReadFile(file);
  const std::vector<std::size_t> times = BlockTimes(bytes, track);
  ASSERT_GE(times.size(), static_cast<std::size_t>(first + count));
  for (int i = first; i < first + count; ++i) {
    const auto byte = [&](std::size_t j) { return static_cast<unsigned char>(bytes[times[i] + j]); };
    const int time_ms = static_cast<std::int16_t>(byte(0) << 8 | byte(1)) + by_ms;
    bytes[times[i]] = static_cast<char>(time_ms >> 8);
    bytes[times[i] + 1] = static_cast<char>(time_ms);
  }
  WriteFile(file, bytes);
}

TEST_F(SoundTiming, DamagedTimesMoveNothing) {
  const struct {
    const char* name;
    const char* codec;  ///< PCM is re-encoded, AC-3 copied
    int first;
    int count;
    int by_ms;
  } cases[] = {{"one early", "pcm_s16le", 99, 1, -20'000}, {"one late", "pcm_s16le", 99, 1, 20'000}, {"two early", "pcm_s16le", 99, 2, -20'000},
               {"the first late", "pcm_s16le", 0, 1, 20'000}, {"one early, copied", "ac3", 99, 1, -20'000}, {"one late, copied", "ac3", 99, 1, 20'000}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string source = Clip("damaged.mkv", VideoInput("160x90", 6) + " " + ToneInput(6) + " -c:v mpeg4 -c:a " + c.codec);
    DamageTimes(source, 2, c.first, c.count, c.by_ms);
    Enhance(source, output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 6, 0.3);
    for (double at = 0.5; at < 5.5; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
  }
}

TEST_F(SoundTiming, ADamagedTimeOfThePictureMovesNothing) {
  for (const int by_ms : {-20'000, 20'000}) {
    SCOPED_TRACE(by_ms);
    const std::string source = Clip("damaged.mkv", VideoInput("160x90", 6) + " " + ToneInput(6) + " -c:v mpeg4 -c:a pcm_s16le");
    DamageTimes(source, 1, 70, 1, by_ms);
    EXPECT_NEAR(Enhance(source, output_, PlainOptions()).duration_s, 6, 0.1);
    const std::vector<double> frames = testing::FrameTimes(output_);
    ASSERT_EQ(frames.size(), 150U);
    for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_NEAR(frames[i], 0.04 * static_cast<double>(i), 0.03) << i;
    ProbeOptions walk;
    walk.walk_packets = true;
    EXPECT_NEAR(ProbeFile(source, walk).duration_s, 6, 0.1);
  }
}

}  // namespace
}  // namespace reelmend
