// Sound: its timing if the timestamps jump, drift or are damaged, and what cannot be copied or is not accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include "helpers/clips.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::PlainOptions;
using testing::RunCommand;
using testing::StreamFacts;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

class SoundTest : public ::testing::Test {
 protected:
  static constexpr int kRate = 8'000;

  std::string Make(const std::string& name, const std::string& arguments) {
    Ffmpeg(arguments + " '" + folder_.File(name) + "'");
    return folder_.File(name);
  }
  /// A video with a tone, `seconds` long. Its timestamps start `clock_s` later than usual.
  std::string Part(const std::string& name, double seconds, double clock_s = 0, const std::string& sound = "mp2") {
    return Make(name, VideoInput("160x90", seconds) + " " + ToneInput(seconds) + " -c:v mpeg2video -c:a " + sound +
                          " -output_ts_offset " + std::to_string(clock_s));
  }
  /// Concatenates the bytes of files, like a naive join of recordings.
  std::string Join(const std::string& name, const std::vector<std::string>& parts) {
    std::string command = "cat";
    for (const std::string& part : parts) command += " '" + part + "'";
    RunCommand(command + " > '" + folder_.File(name) + "'");
    return folder_.File(name);
  }
  /// The output's sound as samples, behind `filters` (each with a comma); gaps in time are filled with silence.
  std::vector<std::int16_t> Heard(const std::string& filters = "") const {
    const std::string raw = RunCommand("ffmpeg -v error -i '" + output_ + "' -map 0:a:0 -af '" + filters + "aresample=" + std::to_string(kRate) +
                                       ":async=1:first_pts=0' -ac 1 -f s16le -");
    std::vector<std::int16_t> samples(raw.size() / 2);
    std::copy(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(samples.size() * 2), reinterpret_cast<char*>(samples.data()));
    return samples;
  }
  /// RMS of the loudest channel, in the middle half of the sound.
  double LoudestChannel() const {
    const std::string raw = RunCommand("ffmpeg -v error -i '" + output_ + "' -map 0:a:0 -c:a pcm_s16le -f s16le -");
    const auto channels = static_cast<std::size_t>(std::stoi(StreamFacts(output_, "a").at("channels")));
    const std::size_t frames = raw.size() / 2 / channels;
    std::vector<double> sums(channels);
    for (std::size_t i = frames / 4 * channels; i < frames * 3 / 4 * channels; ++i) {
      std::int16_t sample = 0;
      std::memcpy(&sample, &raw[2 * i], sizeof sample);
      sums[i % channels] += static_cast<double>(sample) * sample;
    }
    return std::sqrt(std::ranges::max(sums) / (static_cast<double>(frames) / 2));
  }
  /// RMS between two times; ffmpeg's sine has about 2,900.
  static double Loudness(const std::vector<std::int16_t>& samples, double from_s, double to_s) {
    const auto from = std::min(samples.size(), static_cast<std::size_t>(from_s * kRate));
    const auto to = std::min(samples.size(), static_cast<std::size_t>(to_s * kRate));
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += static_cast<double>(samples[i]) * samples[i];
    return std::sqrt(sum / std::max(1.0, (to_s - from_s) * kRate));
  }
  /// Rising zero crossings in the second that begins at `at_s`.
  static double Pitch(const std::vector<std::int16_t>& samples, std::size_t at_s) {
    double crossings = 0;
    for (std::size_t i = at_s * kRate; i < (at_s + 1) * kRate && i + 1 < samples.size(); ++i) crossings += samples[i] < 0 && samples[i + 1] >= 0;
    return crossings;
  }
  static constexpr double kTone = 2'000;
  static constexpr double kSilence = 200;

  TemporaryFolder folder_;
  std::string output_ = folder_.File("out.mp4");
};

TEST_F(SoundTest, IsHeardAfterTheClockStartsAgain) {
  for (const std::string name : {"joined.ts", "joined.mpg", "joined.vob"}) {
    SCOPED_TRACE(name);
    const std::string part = Part("part" + name.substr(6), 3);
    Enhance(Join(name, {part, part, part}), output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 9, 0.3);
    for (double at = 0.5; at < 8.5; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
  }
}

TEST_F(SoundTest, IsHeardAfterAClockThatStartsAnywhere) {
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

TEST_F(SoundTest, KeepsUpWithAPictureThatJumpsTenMinutes) {
  Enhance(Join("joined.ts", {Part("now.ts", 2), Part("later.ts", 2, 700)}), output_, PlainOptions());
  const std::vector<double> frames = testing::FrameTimes(output_);
  ASSERT_EQ(frames.size(), 100U);
  EXPECT_NEAR(frames[50], 700, 0.1);
  const auto heard = Heard();
  EXPECT_GT(Loudness(heard, 0.5, 1.5), kTone);
  EXPECT_LT(Loudness(heard, 3, 699), kSilence);
  EXPECT_GT(Loudness(heard, 700.5, 701.5), kTone);
}

TEST_F(SoundTest, FollowsAClockThatIsMinutesBehind) {
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

TEST_F(SoundTest, AClockThatIsBehindAtTheEndMakesNoLongVideo) {
  const std::string source = Join("joined.ts", {Part("late.ts", 2, 1000), Part("early.ts", 2)});
  EXPECT_NEAR(ProbeFile(source).duration_s, 4, 0.2);
  EnhanceOptions options = PlainOptions();
  options.limits.max_duration_s = 60;
  EXPECT_EQ(Enhance(source, output_, options).frames, 100);
}

TEST_F(SoundTest, BeginsLongAfterThePicture) {
  // libav finds streams in packets of 5 MB or 7 s.
  const struct {
    const char* name;
    const char* codec;
    const char* channels;
  } kFiles[] = {{"aac.ts", "aac", "1"}, {"latm.ts", "aac -mpegts_flags latm", "1"}, {"mp2.ts", "mp2", "1"}, {"mp2.mpg", "mp2", "1"}, {"ac3.vob", "ac3 -ac 6", "6"}};
  for (const auto& [name, codec, channels] : kFiles) {
    SCOPED_TRACE(name);
    Enhance(Make(name, VideoInput("160x90", 16) + " -itsoffset 12 " + ToneInput(4) + " -c:v mpeg2video -c:a " + codec), output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_LT(Loudness(heard, 0, 11.9), kSilence);
    EXPECT_GT(Loudness(heard, 12.1, 15.9), 3 * kSilence);  // a third of kTone in one of six channels
    EXPECT_EQ(StreamFacts(output_, "a")["channels"], channels);
  }
}

TEST_F(SoundTest, BeginsBehindManyBytes) {
  // Packets of 6 MB before the sound, or of more than the engine reads for its parameters.
  const struct {
    const char* size;
    const char* rate;
    const char* channels;
  } kFiles[] = {{"320x180", "40", "6"}, {"1280x720", "16", "2"}};
  for (const auto& [size, rate, channels] : kFiles) {
    SCOPED_TRACE(size);
    const std::string file = Make("dense.ts", VideoInput(size, 3, "25") + " -itsoffset 2 " + ToneInput(1) + " -vf fps=" + rate +
                                                  ",noise=alls=100:allf=t -c:v mpeg2video -strict -1 -q:v 1 -c:a ac3 -ac 6");
    Enhance(file, output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_LT(Loudness(heard, 0, 1.9), kSilence);
    EXPECT_GT(Loudness(heard, 2.1, 2.9), 3 * kSilence);
    EXPECT_EQ(StreamFacts(output_, "a")["channels"], channels);
  }
}

TEST_F(SoundTest, AnyArrangementOfChannelsIsHeard) {
  // Only the last channel has sound.
  struct { const char* layout; const char* before; const char* output; double mixed = 1; } const cases[] = {
      {"FL", "", "mono"},         {"LFE", "", "mono"},          {"SL+SR", "0|", "stereo"},       {"FL+LFE", "0|", "stereo"},
      {"downmix", "0|", "stereo"}, {"3.0", "0|0|", "3.0"},       {"2.1", "0|0|", "5.1"},          {"quad", "0|0|0|", "5.0"},
      {"4.0", "0|0|0|", "4.0"},   {"5.0(side)", "0|0|0|0|", "5.0"}, {"hexagonal", "0|0|0|0|0|", "5.1", 0.707}, {"5.1(side)", "0|0|0|0|0|", "5.1"},
      {"6.1", "0|0|0|0|0|0|", "7.1"}, {"7.0", "0|0|0|0|0|0|", "7.1"}};
  for (const auto& [layout, before, output, mixed] : cases) {
    SCOPED_TRACE(layout);
    const std::string source = Make("layout.mov", VideoInput("160x90", 1) + " -f lavfi -i \"aevalsrc='" + before + "0.2*sin(60*2*PI*t)':d=1:c=" + layout +
                                                      "\" -c:v mpeg4 -c:a pcm_s16le");
    Enhance(source, output_, PlainOptions());
    ASSERT_EQ(StreamFacts(output_, "a")["channel_layout"], output);
    EXPECT_NEAR(LoudestChannel(), mixed * 0.2 * 32'768 / std::numbers::sqrt2, 100);
  }
}

TEST_F(SoundTest, FollowsAnArrangementThatChangesAmongAsManyChannels) {
  // Only the third channel has sound: left of the listener, then in the centre.
  const auto part = [this](const char* layout, int clock_s) {
    return Make("part" + std::to_string(clock_s) + ".m2ts", VideoInput("160x90", 3) + " -f lavfi -i \"aevalsrc='0|0|0.2*sin(440*2*PI*t)|0':d=3:s=48000:c=" +
                                                                std::string(layout) + "\" -c:v mpeg2video -c:a pcm_bluray -mpegts_m2ts_mode 1 -f mpegts" +
                                                                " -output_ts_offset " + std::to_string(clock_s));
  };
  Enhance(Join("joined.m2ts", {part("quad(side)", 0), part("4.0", 3)}), output_, PlainOptions());
  ASSERT_EQ(StreamFacts(output_, "a")["channel_layout"], "5.0");
  const auto left = Heard("pan=mono|c0=BL,");
  const auto centre = Heard("pan=mono|c0=FC,");
  EXPECT_GT(Loudness(left, 0.5, 2.5), kTone);
  EXPECT_LT(Loudness(centre, 0.5, 2.5), kSilence);
  EXPECT_LT(Loudness(left, 3.5, 5.5), kSilence);
  EXPECT_GT(Loudness(centre, 3.5, 5.5), kTone);
}

TEST_F(SoundTest, IsHeardToTheEndWhereNoPacketHasADuration) {
  Enhance(Make("alac.mkv", VideoInput("160x90", 1) + " " + ToneInput(1) + " -c:v mpeg4 -c:a alac"), output_, PlainOptions());
  ASSERT_EQ(StreamFacts(output_, "a")["codec_name"], "alac");
  EXPECT_GT(Loudness(Heard(), 0.95, 0.99), kTone);
}

TEST_F(SoundTest, ManyChannelsWithoutNamesAreMixed) {
  for (const int channels : {9, 12, 16, 64, 65}) {
    for (const int loud : {0, channels - 1}) {
      SCOPED_TRACE(std::to_string(loud) + " of " + std::to_string(channels));
      std::string raw(static_cast<std::size_t>(kRate * channels * 2), '\0');
      for (int i = 0; i < kRate; ++i) {
        const auto sample = static_cast<std::int16_t>(20'000 * std::sin(440 * 2 * std::numbers::pi * i / kRate));
        std::memcpy(&raw[static_cast<std::size_t>(i * channels + loud) * 2], &sample, sizeof sample);
      }
      std::ofstream(folder_.File("raw"), std::ios::binary) << raw;
      // Matroska holds no names of channels.
      Enhance(Make("many.mkv", VideoInput("160x90", 1) + " -f s16le -ar " + std::to_string(kRate) + " -ac " + std::to_string(channels) + " -i " +
                                   folder_.File("raw") + " -c:v mpeg4 -c:a copy"),
              output_, PlainOptions());
      if (channels > 64) {
        EXPECT_TRUE(StreamFacts(output_, "a").empty());
        continue;
      }
      ASSERT_EQ(StreamFacts(output_, "a")["channel_layout"], "stereo");
      EXPECT_NEAR(Loudness(Heard(), 0.2, 0.8), 20'000 / std::sqrt(2 * channels), 200);
    }
  }
}

TEST_F(SoundTest, ChannelsAboveTheListenerAreHeard) {
  // Only the last channel has sound.
  struct { const char* layout; const char* output; double mixed; } const cases[] = {
      {"FL+FR+FC+LFE+BL+BR+SL+SR+TFL+TFR+TBL+TBR", "stereo", 0.707}, {"FL+FR+FC+LFE+BL+BR+TFL+TFR", "7.1", 0.707}, {"FL+FR+BC+TFC", "5.1", 0.5}};
  for (const auto& [layout, output, mixed] : cases) {
    SCOPED_TRACE(layout);
    std::string channels;
    for (const char* letter = layout; *letter != '\0'; ++letter) channels += *letter == '+' ? "0|" : "";
    Enhance(Make("above.mov", VideoInput("160x90", 1) + " -f lavfi -i \"aevalsrc='" + channels + "0.2*sin(60*2*PI*t)':d=1:c=" + layout +
                                  "\" -c:v mpeg4 -c:a pcm_s16le"),
            output_, PlainOptions());
    EXPECT_EQ(StreamFacts(output_, "a")["channel_layout"], output);
    EXPECT_NEAR(LoudestChannel(), mixed * 0.2 * 32'768 / std::numbers::sqrt2, 100);
  }
}

TEST_F(SoundTest, ThatNeverBeginsIsNoTrack) {
  const std::string file = Make("late.ts", VideoInput("160x90", 16) + " -itsoffset 12 " + ToneInput(4) + " -c:v libx264 -pix_fmt yuv420p -g 50 -sc_threshold 0 -c:a aac");
  // Also begins between two key frames, so that the video starts after the first packet.
  RunCommand("(size=$(stat -c %s '" + file + "'); tail -c +$((size / 1504 * 188 + 1)) '" + file + "' | head -c $((size / 3)) > '" + folder_.File("never.ts") + "')");
  EXPECT_GT(Enhance(folder_.File("never.ts"), output_, PlainOptions()).frames, 50);
  EXPECT_EQ(testing::FrameTimes(output_).front(), 0);
  EXPECT_TRUE(StreamFacts(output_, "a").empty());
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
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const std::vector<std::size_t> times = BlockTimes(bytes, track);
  ASSERT_GE(times.size(), static_cast<std::size_t>(first + count));
  for (int i = first; i < first + count; ++i) {
    const auto byte = [&](std::size_t j) { return static_cast<unsigned char>(bytes[times[i] + j]); };
    const int time_ms = static_cast<std::int16_t>(byte(0) << 8 | byte(1)) + by_ms;
    bytes[times[i]] = static_cast<char>(time_ms >> 8);
    bytes[times[i] + 1] = static_cast<char>(time_ms);
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(SoundTest, DamagedTimesMoveNothing) {
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
    const std::string source = Make("damaged.mkv", VideoInput("160x90", 6) + " " + ToneInput(6) + " -c:v mpeg4 -c:a " + c.codec);
    DamageTimes(source, 2, c.first, c.count, c.by_ms);
    Enhance(source, output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 6, 0.3);
    for (double at = 0.5; at < 5.5; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
  }
}

TEST_F(SoundTest, ADamagedTimeOfThePictureMovesNothing) {
  for (const int by_ms : {-20'000, 20'000}) {
    SCOPED_TRACE(by_ms);
    const std::string source = Make("damaged.mkv", VideoInput("160x90", 6) + " " + ToneInput(6) + " -c:v mpeg4 -c:a pcm_s16le");
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

TEST_F(SoundTest, SoundThatIsLongerThanItsTimesSayKeepsUp) {
  // A sound card whose clock is 5 % fast: 20 s of sound for 19 s.
  const std::string sound = Make("sound.mkv", ToneInput(20) + " -c:a pcm_s16le");
  const std::string source = Make("fast.mkv", VideoInput("160x90", 19) + " -i " + sound + " -map 0 -map 1 -c:v mpeg4 -c:a copy -bsf:a setts=ts=TS*0.95");
  Enhance(source, output_, PlainOptions());
  const auto heard = Heard();
  EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 19, 0.25);
  for (double at = 0.5; at < 18; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
}

/// Positions of the frames of an AAC file. ADTS (ISO/IEC 14496-3, 1.A.3.2) has 13 bits of length from the 31st on.
std::vector<std::size_t> AdtsFrames(const std::string& bytes) {
  std::vector<std::size_t> frames;
  for (std::size_t at = 0; at + 7 <= bytes.size();) {
    frames.push_back(at);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes.at(at + i)); };
    at += static_cast<std::size_t>((byte(3) & 3) << 11 | byte(4) << 3 | byte(5) >> 5);
  }
  return frames;
}

TEST_F(SoundTest, AacWhoseFormatChangesIsHeardInTheFirstFormat) {
  const char* const kFormats[] = {"-ac 2 -ar 48000", "-ac 6 -ar 48000", "-ac 2 -ar 44100", "-ac 1 -ar 32000"};
  for (const std::string first : kFormats) {
    SCOPED_TRACE(first);
    const std::string start = Part("start.ts", 3, 0, "aac " + first);
    std::vector<std::string> parts;
    for (const std::string next : kFormats) {
      parts.push_back(start);
      if (next != first) parts.push_back(Part("next" + std::to_string(parts.size()) + ".ts", 3, 0, "aac " + next));
    }
    Enhance(Join("joined.ts", parts), output_, PlainOptions());
    EXPECT_EQ(RunCommand("ffmpeg -v warning -i '" + output_ + "' -map 0:a -f null - 2>&1"), "");
    EXPECT_EQ(StreamFacts(output_, "a")["channels"], first.substr(4, 1));
    EXPECT_EQ(StreamFacts(output_, "a")["sample_rate"], first.substr(10));
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 3.0 * static_cast<double>(parts.size()), 0.3);
    for (std::size_t at = 1; at < 3 * parts.size(); at += 3) {
      EXPECT_GT(Loudness(heard, static_cast<double>(at), static_cast<double>(at) + 1), 3 * kSilence) << at << " s";
      EXPECT_NEAR(Pitch(heard, at), 440, 2) << at << " s";
    }
  }
}

/// Two FLV files as a recorder writes them that goes on after a pause: one after the other, with one header.
std::string JoinedFlash(const std::string& first, const std::string& second, unsigned second_from_ms) {
  constexpr std::size_t kFileHeader = 13;
  constexpr std::size_t kTagHeader = 11;
  const auto read = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  };
  std::string rest = read(second);
  for (std::size_t at = kFileHeader; at + kTagHeader < rest.size();) {
    const auto number = [&](std::size_t i) {
      return unsigned{static_cast<unsigned char>(rest[i])} << 16 | unsigned{static_cast<unsigned char>(rest[i + 1])} << 8 | static_cast<unsigned char>(rest[i + 2]);
    };
    const unsigned time_ms = number(at + 4) + second_from_ms;
    for (std::size_t i = 0; i < 3; ++i) rest[at + 4 + i] = static_cast<char>(time_ms >> (16 - 8 * i));
    at += kTagHeader + number(at + 1) + 4;
  }
  return read(first) + rest.substr(kFileHeader);
}

TEST_F(SoundTest, AacInFlashWhoseFormatChangesIsHeardInTheFirstFormat) {
  const auto part = [&](const std::string& name, const std::string& format) {
    return Make(name, VideoInput("160x90", 3) + " " + ToneInput(3) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac " + format);
  };
  const std::string stereo = part("stereo.flv", "-ac 2 -ar 44100");
  const std::string mono = part("mono.flv", "-ac 1 -ar 48000");
  for (const auto& [first, second, rate] : {std::tuple(stereo, mono, "44100"), std::tuple(mono, stereo, "48000")}) {
    const std::string source = folder_.File("joined.flv");
    std::ofstream(source, std::ios::binary) << JoinedFlash(first, second, 3'100);
    Enhance(source, output_, PlainOptions());
    EXPECT_EQ(RunCommand("ffmpeg -v warning -i '" + output_ + "' -map 0:a -f null - 2>&1"), "");
    EXPECT_EQ(StreamFacts(output_, "a")["sample_rate"], rate);
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 6.1, 0.1);
    for (const std::size_t at : {1U, 4U}) {
      EXPECT_GT(Loudness(heard, static_cast<double>(at), static_cast<double>(at) + 1), 3 * kSilence) << at << " s";
      EXPECT_NEAR(Pitch(heard, at), 440, 2) << at << " s";
    }
  }
}

TEST_F(SoundTest, FlacWithUnusualChannelsKeepsTheirPlaces) {
  const struct {
    const char* source;
    const char* codec;
    const char* layout;
  } cases[] = {{"4.0", "aac", "4.0"}, {"2.1", "aac", "5.1"}, {"hexagonal", "aac", "5.1"}, {"quad", "flac", "quad"}, {"5.1(side)", "flac", "5.1(side)"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.source);
    const std::string source = Make("sound.mkv", VideoInput("160x90", 1) + " " + ToneInput(1) + " -af 'aformat=channel_layouts=" + c.source +
                                                     "' -c:v mpeg4 -c:a flac 2>/dev/null");
    ASSERT_EQ(StreamFacts(source, "a")["channel_layout"], c.source);
    Enhance(source, output_, PlainOptions());
    EXPECT_EQ(StreamFacts(output_, "a")["codec_name"], c.codec);
    EXPECT_EQ(StreamFacts(output_, "a")["channel_layout"], c.layout);
  }
}

TEST_F(SoundTest, OneDamagedHeaderIsNoOtherFormat) {
  const std::string sound = Make("tone.aac", ToneInput(4) + " -c:a aac");
  std::ifstream in(sound, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  bytes.at(AdtsFrames(bytes).at(60) + 2) ^= 4;  // the sample rate
  std::ofstream(sound, std::ios::binary) << bytes;
  const std::string source = Make("odd.ts", VideoInput("160x90", 4) + " -i " + sound + " -map 0 -map 1 -c:v mpeg2video -c:a copy");
  Enhance(source, output_, PlainOptions());
  const auto frames = [&](const std::string& file) { return RunCommand("ffmpeg -v error -i '" + file + "' -map 0:a -c copy -f adts -"); };
  EXPECT_TRUE(frames(output_).ends_with(frames(source).substr(bytes.size() / 2)));
}

TEST_F(SoundTest, AHeaderThatMp4CannotHoldConcernsOneFrame) {
  const std::string sound = Make("tone.aac", ToneInput(4) + " -c:a aac");
  std::ifstream in(sound, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const std::size_t at = AdtsFrames(bytes).at(60);
  bytes.at(at + 1) = '\xF0';  // says that checksums follow …
  bytes.at(at + 6) |= 1;      // … for two blocks
  std::ofstream(sound, std::ios::binary) << bytes;
  const std::string source = Make("odd.ts", VideoInput("160x90", 4) + " -i " + sound + " -map 0 -map 1 -c:v mpeg2video -c:a copy");
  EXPECT_EQ(Enhance(source, output_, PlainOptions()).frames, 100);
  EXPECT_GT(Loudness(Heard(), 2, 3.5), kTone);
}

TEST_F(SoundTest, AnOpusHeaderThatIsTooShortForMp4IsNotCopied) {
  const std::string source = Make("short.mkv", VideoInput("160x90", 1) + " " + ToneInput(1) + " -c:v mpeg4 -c:a libopus");
  std::ifstream in(source, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const std::size_t at = bytes.find("\x63\xA2\x93OpusHead");  // CodecPrivate of 19 bytes
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 22, "\x63\xA2\x8A" + bytes.substr(at + 3, 10) + std::string("\xEC\x87\0\0\0\0\0\0\0", 9));  // 10 bytes, and a void element
  std::ofstream(source, std::ios::binary) << bytes;
  EXPECT_EQ(Enhance(source, output_, PlainOptions()).frames, 25);
}

TEST_F(SoundTest, HolesStayHoles) {
  // In the first 3 s only every third tenth of a second remains. Then a whole second is missing.
  const std::string source =
      Make("holes.mkv", VideoInput("160x90", 6) + " -f lavfi -i sine=frequency=440:sample_rate=48000:duration=6:samples_per_frame=4800 "
                        "-af \"aselect='(lt(t\\,3)*not(mod(n\\,3)))+gt(t\\,4)'\" -c:v mpeg4 -c:a pcm_s16le");
  Enhance(source, output_, PlainOptions());
  const auto heard = Heard();
  EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 6, 0.3);
  EXPECT_GT(Loudness(heard, 1.5, 1.6), kTone);
  EXPECT_LT(Loudness(heard, 1.63, 1.77), kSilence);
  EXPECT_LT(Loudness(heard, 3.2, 3.9), kSilence);
  EXPECT_GT(Loudness(heard, 4.2, 5.8), kTone);
}

TEST_F(SoundTest, SoundWithAnUnusableRateIsLeftOut) {
  std::ofstream(folder_.File("raw")) << std::string(2'000, 'x');
  const std::pair<const char*, bool> rates[] = {{"1", false}, {"3999", false}, {"4000", true}, {"768000", true}, {"1000000", false}};
  for (const auto& [rate, is_kept] : rates) {
    SCOPED_TRACE(rate);
    const std::string source = Make("rate.mkv", VideoInput("160x90", 1) + " -f s16le -ac 1 -ar " + rate + " -i " +
                                                    folder_.File("raw") + " -map 0 -map 1 -c:v mpeg4 -c:a copy");
    ASSERT_EQ(StreamFacts(source, "a").at("sample_rate"), rate);
    EXPECT_EQ(Enhance(source, output_, PlainOptions()).frames, 25);
    EXPECT_EQ(StreamFacts(output_, "a").empty(), !is_kept);
  }
}

}  // namespace
}  // namespace reelmend
