// Re-encoded sound: its timing if the source's timestamps jump, and sample rates that are not accepted.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
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
  /// The output's sound as samples; gaps in time are filled with silence.
  std::vector<std::int16_t> Heard() const {
    const std::string raw = RunCommand("ffmpeg -v error -i '" + output_ + "' -map 0:a:0 -af aresample=" + std::to_string(kRate) +
                                       ":async=1:first_pts=0 -ac 1 -f s16le -");
    std::vector<std::int16_t> samples(raw.size() / 2);
    std::copy(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(samples.size() * 2), reinterpret_cast<char*>(samples.data()));
    return samples;
  }
  /// RMS between two times; ffmpeg's sine has about 2,900.
  static double Loudness(const std::vector<std::int16_t>& samples, double from_s, double to_s) {
    const auto from = std::min(samples.size(), static_cast<std::size_t>(from_s * kRate));
    const auto to = std::min(samples.size(), static_cast<std::size_t>(to_s * kRate));
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += static_cast<double>(samples[i]) * samples[i];
    return std::sqrt(sum / std::max(1.0, (to_s - from_s) * kRate));
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

/// Shifts the times of `count` packets of the second track in a Matroska file, from packet number `first` on. Each packet has
/// 1,024 samples of 16 bits.
void DamageTimes(const std::string& file, int first, int count, int by_ms) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const std::string block = "\xA3\x48\x04\x82";  // SimpleBlock of 2,052 bytes, track 2; a 16-bit time follows
  std::size_t at = 0;
  for (int i = 0; i < first + count; ++i) {
    at = bytes.find(block, at + 1);
    ASSERT_NE(at, std::string::npos);
    if (i < first) continue;
    const auto byte = [&](std::size_t j) { return static_cast<unsigned char>(bytes[at + 4 + j]); };
    const int time_ms = static_cast<std::int16_t>(byte(0) << 8 | byte(1)) + by_ms;
    bytes[at + 4] = static_cast<char>(time_ms >> 8);
    bytes[at + 5] = static_cast<char>(time_ms);
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(SoundTest, DamagedTimesMoveNothing) {
  const struct {
    const char* name;
    int first;
    int count;
    int by_ms;
  } cases[] = {{"one early", 99, 1, -20'000}, {"one late", 99, 1, 20'000}, {"two early", 99, 2, -20'000}, {"the first late", 0, 1, 20'000}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string source = Make("damaged.mkv", VideoInput("160x90", 6) + " " + ToneInput(6) + " -c:v mpeg4 -c:a pcm_s16le");
    DamageTimes(source, c.first, c.count, c.by_ms);
    Enhance(source, output_, PlainOptions());
    const auto heard = Heard();
    EXPECT_NEAR(static_cast<double>(heard.size()) / kRate, 6, 0.3);
    for (double at = 0.5; at < 5.5; at += 0.5) EXPECT_GT(Loudness(heard, at, at + 0.5), kTone) << at << " s";
  }
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
