// Encrypted sources: they are refused in one sentence, also if only one track or a part of the packets is encrypted.
#include <gtest/gtest.h>

#include <string>

#include "helpers/files.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"
#include "sources_fixture.h"

namespace reelmend {
namespace {

using testing::ClipTest;
using testing::PlainOptions;
using testing::ReadFile;
using testing::ToneInput;
using testing::VideoInput;
using testing::WriteFile;
using testing::kH264;

class EncryptionTest : public ClipTest {
 protected:
  /// Expects that Probe (with and without reading all packets) and Enhance refuse the file as encrypted.
  void ExpectEncrypted(const std::string& file) {
    for (const bool walk : {false, true}) {
      ProbeOptions options;
      options.walk_packets = walk;
      ExpectEncryptedError([&] { ProbeFile(file, options); }, file);
    }
    ExpectEncryptedError([&] { Enhance(file, output_, PlainOptions()); }, file);
    EXPECT_FALSE(testing::FileExists(output_));
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
};

constexpr const char* kCommonEncryption =
    " -encryption_scheme cenc-aes-ctr -encryption_key 76a6c65c5ea762046bd749a2e632ccbb"
    " -encryption_kid a7e61c373e219033c21091fa607bf3b8 ";

TEST_F(EncryptionTest, RefusesCommonEncryption) {
  const std::string inputs = VideoInput("320x180", 2) + " " + ToneInput(2) + kH264 + "-c:a aac";
  ExpectEncrypted(Clip("encrypted.mp4", inputs + kCommonEncryption));
  ExpectEncrypted(Clip("faststart.mp4", inputs + kCommonEncryption + "-movflags +faststart"));
  ExpectEncrypted(Clip("fragmented.mp4", inputs + kCommonEncryption + "-movflags frag_keyframe+empty_moov"));
  EXPECT_NO_THROW(ProbeFile(Clip("clear.mp4", inputs)));
  EXPECT_NO_THROW(ProbeFile(Clip("clear-fragments.mp4", inputs + " -movflags frag_keyframe+empty_moov")));
}

/// Replaces the first `from` after the first `behind` by `to`.
std::string Renamed(const std::string& file, const std::string& behind, const std::string& from, const std::string& to) {
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find(from, bytes.find(behind));
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, to.size(), to);
  WriteFile(file + "-renamed.mp4", bytes);
  return file + "-renamed.mp4";
}

TEST_F(EncryptionTest, RefusesASingleEncryptedTrack) {
  // Only one of the two tracks is encrypted: its sample entry says so.
  const std::string clear = Clip("clear.mp4", VideoInput("320x180", 1) + " " + ToneInput(1) + kH264 + "-c:a aac");
  ExpectEncrypted(Renamed(clear, "stsd", "avc1", "encv"));
  ExpectEncrypted(Renamed(clear, "stsd", "mp4a", "enca"));
  ExpectEncrypted(Renamed(clear, "stsd", "avc1", "drmi"));
  ExpectEncrypted(Renamed(clear, "stsd", "mp4a", "drms"));
}

TEST_F(EncryptionTest, RefusesEncryptedPacketsWhereTheHeadersAreOutOfReach) {
  // More boxes before the movie box than the check reads. They follow the media data, so no offset changes.
  const std::string file = Clip("encrypted.mp4", VideoInput("320x180", 1) + kH264 + kCommonEncryption);
  std::string bytes = ReadFile(file);
  const std::size_t moov = bytes.find("moov");
  ASSERT_NE(moov, std::string::npos);
  std::string padding;
  for (int i = 0; i < 10'001; ++i) padding += std::string("\0\0\0\x08", 4) + "free";
  bytes.insert(moov - 4, padding);
  WriteFile(file, bytes);
  ExpectEncrypted(file);
}

TEST_F(EncryptionTest, RefusesEncryptedWebm) {
  // Replaces the title element by an element of the same length: encryption with AES and the ID of the key.
  const std::string encoding = std::string("\x50\x33\x81\x01\x50\x35\x97\x47\xE1\x81\x05\x47\xE2\x90", 14) + "0123456789abcdef";
  const std::string payload = "\x62\x40" + std::string(1, static_cast<char>(0x80 | encoding.size())) + encoding;
  const std::string title(payload.size(), 'T');
  const std::string file = Clip("titled.webm", VideoInput("320x180", 1) + " -c:v libvpx-vp9 -deadline realtime -cpu-used 8 "
                                               "-metadata:s:v title=" + title);
  std::string bytes = ReadFile(file);
  const std::size_t at = bytes.find("\x53\x6E" + std::string(1, static_cast<char>(0x80 | title.size())) + title);
  ASSERT_NE(at, std::string::npos);
  EXPECT_NO_THROW(ProbeFile(file));
  bytes.replace(at, 2, "\x6D\x80");
  bytes.replace(at + 3, payload.size(), payload);
  WriteFile(file, bytes);
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
  WriteFile(file, bytes);
}

TEST_F(EncryptionTest, RefusesScrambledRecordings) {
  constexpr int kVideo = 0x100;
  constexpr int kSound = 0x101;
  const std::string encode = VideoInput("320x180", 3) + " " + ToneInput(3) + " -c:v mpeg2video -b:v 2M -c:a mp2";
  for (const int pid : {kVideo, kSound}) {
    const std::string file = Clip("pay.ts", encode);
    EXPECT_NO_THROW(ProbeFile(file));
    ScrambleTransport(file, pid);
    ExpectEncrypted(file);
  }
  const std::string end = Clip("end.ts", encode);  // the subscription ends
  ScrambleTransport(end, kVideo, 0.9);
  EXPECT_NO_THROW(ProbeFile(end));
}

TEST_F(EncryptionTest, RefusesACopiedDvd) {
  const std::string file = Clip("film.vob", VideoInput("320x180", 3) + " " + ToneInput(3) + " -c:v mpeg2video -b:v 2M -c:a ac3");
  EXPECT_NO_THROW(ProbeFile(file));
  std::string bytes = ReadFile(file);
  int number = 0;
  for (std::size_t at = bytes.find(std::string("\0\0\1\xE0", 4)); at != std::string::npos; at = bytes.find(std::string("\0\0\1\xE0", 4), at + 4)) {
    if (++number % 2 == 0) bytes[at + 6] = static_cast<char>(bytes[at + 6] | 0x30);
  }
  WriteFile(file, bytes);
  ExpectEncrypted(file);
}

}  // namespace
}  // namespace reelmend
