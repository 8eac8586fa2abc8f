// Sound whose format changes, cannot be copied into an MP4, or is not accepted.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "helpers/files.h"
#include "reelmend/enhance.h"
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

class SoundFormats : public SoundFixture {
 protected:
  /// Rising zero crossings in the second that begins at `at_s`.
  static double Pitch(const std::vector<std::int16_t>& samples, std::size_t at_s) {
    double crossings = 0;
    for (std::size_t i = at_s * kRate; i < (at_s + 1) * kRate && i + 1 < samples.size(); ++i) crossings += samples[i] < 0 && samples[i + 1] >= 0;
    return crossings;
  }
};

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

TEST_F(SoundFormats, AacWhoseFormatChangesIsHeardInTheFirstFormat) {
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
  std::string rest = ReadFile(second);
  for (std::size_t at = kFileHeader; at + kTagHeader < rest.size();) {
    const auto number = [&](std::size_t i) {
      return unsigned{static_cast<unsigned char>(rest[i])} << 16 | unsigned{static_cast<unsigned char>(rest[i + 1])} << 8 | static_cast<unsigned char>(rest[i + 2]);
    };
    const unsigned time_ms = number(at + 4) + second_from_ms;
    for (std::size_t i = 0; i < 3; ++i) rest[at + 4 + i] = static_cast<char>(time_ms >> (16 - 8 * i));
    at += kTagHeader + number(at + 1) + 4;
  }
  return ReadFile(first) + rest.substr(kFileHeader);
}

TEST_F(SoundFormats, AacInFlashWhoseFormatChangesIsHeardInTheFirstFormat) {
  const auto part = [&](const std::string& name, const std::string& format) {
    return Clip(name, VideoInput("160x90", 3) + " " + ToneInput(3) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac " + format);
  };
  const std::string stereo = part("stereo.flv", "-ac 2 -ar 44100");
  const std::string mono = part("mono.flv", "-ac 1 -ar 48000");
  for (const auto& [first, second, rate] : {std::tuple(stereo, mono, "44100"), std::tuple(mono, stereo, "48000")}) {
    const std::string source = folder_.File("joined.flv");
    WriteFile(source, JoinedFlash(first, second, 3'100));
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

TEST_F(SoundFormats, OneDamagedHeaderIsNoOtherFormat) {
  const std::string sound = Clip("tone.aac", ToneInput(4) + " -c:a aac");
  std::string bytes = ReadFile(sound);
  bytes.at(AdtsFrames(bytes).at(60) + 2) ^= 4;  // the sample rate
  WriteFile(sound, bytes);
  const std::string source = Clip("odd.ts", VideoInput("160x90", 4) + " -i " + sound + " -map 0 -map 1 -c:v mpeg2video -c:a copy");
  Enhance(source, output_, PlainOptions());
  const auto frames = [&](const std::string& file) { return RunCommand("ffmpeg -v error -i '" + file + "' -map 0:a -c copy -f adts -"); };
  EXPECT_TRUE(frames(output_).ends_with(frames(source).substr(bytes.size() / 2)));
}

TEST_F(SoundFormats, AHeaderThatMp4CannotHoldConcernsOneFrame) {
  const std::string sound = Clip("tone.aac", ToneInput(4) + " -c:a aac");
  std::string bytes = ReadFile(sound);
  const std::size_t at = AdtsFrames(bytes).at(60);
  bytes.at(at + 1) = '\xF0';  // says that checksums follow …
  bytes.at(at + 6) |= 1;      // … for two blocks
  WriteFile(sound, bytes);
  const std::string source = Clip("odd.ts", VideoInput("160x90", 4) + " -i " + sound + " -map 0 -map 1 -c:v mpeg2video -c:a copy");
  EXPECT_EQ(Enhance(source, output_, PlainOptions()).frames, 100);
  EXPECT_GT(Loudness(Heard(), 2, 3.5), kTone);
}

TEST_F(SoundFormats, AnOpusHeaderThatIsTooShortForMp4IsNotCopied) {
  const std::string source = Clip("short.mkv", VideoInput("160x90", 1) + " " + ToneInput(1) + " -c:v mpeg4 -c:a libopus");
  std::string bytes = ReadFile(source);
  const std::size_t at = bytes.find("\x63\xA2\x93OpusHead");  // CodecPrivate of 19 bytes
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 22, "\x63\xA2\x8A" + bytes.substr(at + 3, 10) + std::string("\xEC\x87\0\0\0\0\0\0\0", 9));  // 10 bytes, and a void element
  WriteFile(source, bytes);
  EXPECT_EQ(Enhance(source, output_, PlainOptions()).frames, 25);
}

TEST_F(SoundFormats, SoundWithAnUnusableRateIsLeftOut) {
  WriteFile(folder_.File("raw"), std::string(2'000, 'x'));
  const std::pair<const char*, bool> rates[] = {{"1", false}, {"3999", false}, {"4000", true}, {"768000", true}, {"1000000", false}};
  for (const auto& [rate, is_kept] : rates) {
    SCOPED_TRACE(rate);
    const std::string source = Clip("rate.mkv", VideoInput("160x90", 1) + " -f s16le -ac 1 -ar " + rate + " -i " +
                                                    folder_.File("raw") + " -map 0 -map 1 -c:v mpeg4 -c:a copy");
    ASSERT_EQ(StreamFacts(source, "a").at("sample_rate"), rate);
    EXPECT_EQ(Enhance(source, output_, PlainOptions()).frames, 25);
    EXPECT_EQ(StreamFacts(output_, "a").empty(), !is_kept);
  }
}

}  // namespace
}  // namespace reelmend
