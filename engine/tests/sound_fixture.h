// What the tests of sound share: joined recordings, and what is heard of the output.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "helpers/clip_test.h"

namespace reelmend::testing {

class SoundFixture : public ClipTest {
 protected:
  static constexpr int kRate = 8'000;      ///< of the samples that Heard returns
  static constexpr double kTone = 2'000;   ///< a tone is louder than this
  static constexpr double kSilence = 200;  ///< silence is quieter than this

  /// A video with a tone, `seconds` long. Its timestamps start `clock_s` later than usual.
  std::string Part(const std::string& name, double seconds, double clock_s = 0, const std::string& sound = "mp2") {
    return Clip(name, VideoInput("160x90", seconds) + " " + ToneInput(seconds) + " -c:v mpeg2video -c:a " + sound +
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
  /// RMS between two times; ffmpeg's sine has about 2,900.
  static double Loudness(const std::vector<std::int16_t>& samples, double from_s, double to_s) {
    const auto from = std::min(samples.size(), static_cast<std::size_t>(from_s * kRate));
    const auto to = std::min(samples.size(), static_cast<std::size_t>(to_s * kRate));
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += static_cast<double>(samples[i]) * samples[i];
    return std::sqrt(sum / std::max(1.0, (to_s - from_s) * kRate));
  }
};

}  // namespace reelmend::testing
