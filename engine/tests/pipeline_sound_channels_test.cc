// Arrangements of channels: each channel is heard, where it belongs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "helpers/files.h"
#include "reelmend/enhance.h"
#include "sound_fixture.h"

namespace reelmend {
namespace {

using testing::PlainOptions;
using testing::RunCommand;
using testing::SoundFixture;
using testing::StreamFacts;
using testing::ToneInput;
using testing::VideoInput;
using testing::WriteFile;

class SoundChannels : public SoundFixture {
 protected:
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
};

TEST_F(SoundChannels, AnyArrangementOfChannelsIsHeard) {
  // Only the last channel has sound.
  struct { const char* layout; const char* before; const char* output; double mixed = 1; } const cases[] = {
      {"FL", "", "mono"},         {"LFE", "", "mono"},          {"SL+SR", "0|", "stereo"},       {"FL+LFE", "0|", "stereo"},
      {"downmix", "0|", "stereo"}, {"3.0", "0|0|", "3.0"},       {"2.1", "0|0|", "5.1"},          {"quad", "0|0|0|", "5.0"},
      {"4.0", "0|0|0|", "4.0"},   {"5.0(side)", "0|0|0|0|", "5.0"}, {"hexagonal", "0|0|0|0|0|", "5.1", 0.707}, {"5.1(side)", "0|0|0|0|0|", "5.1"},
      {"6.1", "0|0|0|0|0|0|", "7.1"}, {"7.0", "0|0|0|0|0|0|", "7.1"}};
  for (const auto& [layout, before, output, mixed] : cases) {
    SCOPED_TRACE(layout);
    const std::string source = Clip("layout.mov", VideoInput("160x90", 1) + " -f lavfi -i \"aevalsrc='" + before + "0.2*sin(60*2*PI*t)':d=1:c=" + layout +
                                                      "\" -c:v mpeg4 -c:a pcm_s16le");
    Enhance(source, output_, PlainOptions());
    ASSERT_EQ(StreamFacts(output_, "a")["channel_layout"], output);
    EXPECT_NEAR(LoudestChannel(), mixed * 0.2 * 32'768 / std::numbers::sqrt2, 100);
  }
}

TEST_F(SoundChannels, FollowsAnArrangementThatChangesAmongAsManyChannels) {
  // Only the third channel has sound: left of the listener, then in the centre.
  const auto part = [this](const char* layout, int clock_s) {
    return Clip("part" + std::to_string(clock_s) + ".m2ts", VideoInput("160x90", 3) + " -f lavfi -i \"aevalsrc='0|0|0.2*sin(440*2*PI*t)|0':d=3:s=48000:c=" +
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

TEST_F(SoundChannels, ManyChannelsWithoutNamesAreMixed) {
  for (const int channels : {9, 12, 16, 64, 65}) {
    for (const int loud : {0, channels - 1}) {
      SCOPED_TRACE(std::to_string(loud) + " of " + std::to_string(channels));
      std::string raw(static_cast<std::size_t>(kRate * channels * 2), '\0');
      for (int i = 0; i < kRate; ++i) {
        const auto sample = static_cast<std::int16_t>(20'000 * std::sin(440 * 2 * std::numbers::pi * i / kRate));
        std::memcpy(&raw[static_cast<std::size_t>(i * channels + loud) * 2], &sample, sizeof sample);
      }
      WriteFile(folder_.File("raw"), raw);
      // Matroska holds no names of channels.
      Enhance(Clip("many.mkv", VideoInput("160x90", 1) + " -f s16le -ar " + std::to_string(kRate) + " -ac " + std::to_string(channels) + " -i " +
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

TEST_F(SoundChannels, ChannelsAboveTheListenerAreHeard) {
  // Only the last channel has sound.
  struct { const char* layout; const char* output; double mixed; } const cases[] = {
      {"FL+FR+FC+LFE+BL+BR+SL+SR+TFL+TFR+TBL+TBR", "stereo", 0.707}, {"FL+FR+FC+LFE+BL+BR+TFL+TFR", "7.1", 0.707}, {"FL+FR+BC+TFC", "5.1", 0.5}};
  for (const auto& [layout, output, mixed] : cases) {
    SCOPED_TRACE(layout);
    std::string channels;
    for (const char* letter = layout; *letter != '\0'; ++letter) channels += *letter == '+' ? "0|" : "";
    Enhance(Clip("above.mov", VideoInput("160x90", 1) + " -f lavfi -i \"aevalsrc='" + channels + "0.2*sin(60*2*PI*t)':d=1:c=" + layout +
                                  "\" -c:v mpeg4 -c:a pcm_s16le"),
            output_, PlainOptions());
    EXPECT_EQ(StreamFacts(output_, "a")["channel_layout"], output);
    EXPECT_NEAR(LoudestChannel(), mixed * 0.2 * 32'768 / std::numbers::sqrt2, 100);
  }
}

TEST_F(SoundChannels, FlacWithUnusualChannelsKeepsTheirPlaces) {
  const struct {
    const char* source;
    const char* codec;
    const char* layout;
  } cases[] = {{"4.0", "aac", "4.0"}, {"2.1", "aac", "5.1"}, {"hexagonal", "aac", "5.1"}, {"quad", "flac", "quad"}, {"5.1(side)", "flac", "5.1(side)"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.source);
    const std::string source = Clip("sound.mkv", VideoInput("160x90", 1) + " " + ToneInput(1) + " -af 'aformat=channel_layouts=" + c.source +
                                                     "' -c:v mpeg4 -c:a flac 2>/dev/null");
    ASSERT_EQ(StreamFacts(source, "a")["channel_layout"], c.source);
    Enhance(source, output_, PlainOptions());
    EXPECT_EQ(StreamFacts(output_, "a")["codec_name"], c.codec);
    EXPECT_EQ(StreamFacts(output_, "a")["channel_layout"], c.layout);
  }
}

}  // namespace
}  // namespace reelmend
