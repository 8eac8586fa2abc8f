// Makes test clips with the ffmpeg command line, and reads the engine's output with ffmpeg and ffprobe.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reelmend/enhance.h"

namespace reelmend::testing {

/// A temporary folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Runs a shell command and returns its standard output. Throws with its standard error if it fails.
std::string RunCommand(const std::string& command);

/// Runs ffmpeg -v error -y ARGUMENTS.
void Ffmpeg(const std::string& arguments);

/// Writes a display matrix into an MP4 or MOV file: players rotate the picture by `degrees` counter-clockwise.
void SetRotation(const std::string& file, int degrees);

/// ffmpeg inputs: a video test pattern, and a tone.
std::string VideoInput(const std::string& size, double seconds, const std::string& rate = "25");
std::string ToneInput(double seconds);

/// Presentation times of the decoded video frames, in seconds; NaN for a frame that ffprobe has no time for.
std::vector<double> FrameTimes(const std::string& file);

/// Entries of `ffprobe -show_entries stream` by name. "v" is the first video stream, "a:1" the second audio stream. Empty if
/// there is no such stream.
std::map<std::string, std::string> StreamFacts(const std::string& file, const std::string& type);
int CountPackets(const std::string& file, const std::string& stream);
/// MD5 of the compressed packets of a stream.
std::string PacketHash(const std::string& file, const std::string& stream);

/// One frame as RGB (3 bytes a pixel), decoded by ffmpeg with the file's own colour tags.
std::vector<std::uint8_t> DecodeRgb(const std::string& file, double at_s = 0);

/// All samples of all frames in one plane: 'y', 'u' (Cb) or 'v' (Cr).
std::vector<std::uint8_t> DecodePlane(const std::string& file, char plane);
std::vector<std::uint8_t> DecodeLuma(const std::string& file);

/// PSNR in dB of two equally long sequences of samples.
double Psnr(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b);

/// Options for tests: no enhancement, the source's size, the fastest preset.
EnhanceOptions PlainOptions();

bool FileExists(const std::string& path);

}  // namespace reelmend::testing
