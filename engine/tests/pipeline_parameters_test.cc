// Videos joined from recordings of several encoders, whose parameters change in the middle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "helpers/clips.h"
#include "helpers/files.h"
#include "segments_fixture.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::kShort;
using testing::ReadFile;
using testing::Segments;
using testing::TemporalOptions;
using testing::WriteFile;

std::uint32_t Number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

std::string Bytes(std::size_t value, int count = 4) {
  std::string bytes;
  for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

std::string Box(const std::string& type, const std::string& body) { return Bytes(body.size() + 8) + type + body; }

/// Body of a box of MP4, for example "moov/trak"; empty if there is none.
std::string_view Body(std::string_view bytes, std::string_view path) {
  while (bytes.size() >= 8 && Number(bytes) <= bytes.size() && bytes.substr(4, 4) != path.substr(0, 4)) bytes.remove_prefix(Number(bytes));
  if (bytes.size() < 8) return {};
  const std::string_view body = bytes.substr(8, Number(bytes) - 8);
  return path.size() > 5 ? Body(body, path.substr(5)) : body;
}

/// An MP4 of video alone, without B-frames, as ffmpeg writes it.
struct Part {
  explicit Part(std::string_view file) {
    const std::string_view table = Body(file, "moov/trak/mdia/minf/stbl");
    description = Body(table, "stsd").substr(8);
    sizes = Body(table, "stsz").substr(12);
    const std::string_view list = Body(table, "stss").substr(8);
    for (std::size_t at = 0; at < list.size(); at += 4) keys.push_back(Number(list.substr(at)));
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < sizes.size(); at += 4) bytes += Number(sizes.substr(at));
    media = file.substr(Number(Body(table, "stco").substr(8)), bytes);
  }
  std::size_t frames() const { return sizes.size() / 4; }

  std::string_view description, sizes, media;
  std::vector<std::uint32_t> keys;
};

/// Sample tables of two parts with a description and a chunk each. `media`: where the first one begins.
std::string Tables(const Part& a, const Part& b, std::size_t media) {
  constexpr std::size_t kTicks = 512;  // of a frame at 25 frames per second
  const std::size_t frames = a.frames() + b.frames();
  std::string keys;
  for (const std::uint32_t key : a.keys) keys += Bytes(key);
  for (const std::uint32_t key : b.keys) keys += Bytes(key + a.frames());
  const auto chunk = [](std::size_t number, const Part& part) { return Bytes(number) + Bytes(part.frames()) + Bytes(number); };
  return Box("stsd", Bytes(0) + Bytes(2) + std::string(a.description).append(b.description)) +
         Box("stts", Bytes(0) + Bytes(1) + Bytes(frames) + Bytes(kTicks)) + Box("stss", Bytes(0) + Bytes(keys.size() / 4) + keys) +
         Box("stsc", Bytes(0) + Bytes(2) + chunk(1, a) + chunk(2, b)) +
         Box("stsz", Bytes(0) + Bytes(0) + Bytes(frames) + std::string(a.sizes).append(b.sizes)) +
         Box("stco", Bytes(0) + Bytes(2) + Bytes(media) + Bytes(media + a.media.size()));
}

/// Joins two files of the same duration as editors do, into one track with two descriptions.
std::string JoinedMp4(const std::string& first, const std::string& second) {
  const Part a(first);
  const Part b(second);
  const auto copy = [&](const std::string& path) { return Box(path.substr(path.size() - 4), std::string(Body(first, path))); };
  const std::string start = copy("ftyp") + Box("mdat", std::string(a.media).append(b.media));
  const std::string tables = Box("stbl", Tables(a, b, start.size() - a.media.size() - b.media.size()));
  const std::string media = copy("moov/trak/mdia/minf/vmhd") + copy("moov/trak/mdia/minf/dinf") + tables;
  const std::string track = copy("moov/trak/mdia/mdhd") + copy("moov/trak/mdia/hdlr") + Box("minf", media);
  std::string header = copy("moov/mvhd") + Box("trak", copy("moov/trak/tkhd") + Box("mdia", track));
  for (const auto& [box, offset] : {std::pair("mvhd", 20), {"tkhd", 24}, {"mdhd", 20}}) {
    const std::size_t at = header.find(box) + static_cast<std::size_t>(offset);
    header.replace(at, 4, Bytes(2 * Number(std::string_view(header).substr(at))));
  }
  return start + Box("moov", header);
}

/// Joins two FLV files of five seconds by appending the tags of the second one, five seconds later.
std::string JoinedFlv(const std::string& first, const std::string& second) {
  constexpr std::size_t kFileHeader = 13;
  constexpr std::size_t kTagHeader = 11;
  std::string joined = first;
  for (std::size_t at = kFileHeader; at < second.size();) {
    const std::size_t size = kTagHeader + (Number(second.substr(at)) & 0xFFFFFF) + 4;
    std::string tag = second.substr(at, size);
    tag.replace(4, 3, Bytes((Number(tag.substr(4)) >> 8) + 5000, 3));
    joined += tag;
    at += size;
  }
  return joined;
}

class Parameters : public Segments {
 protected:
  /// Five seconds of H.264 in a file, and its bytes.
  std::string Make(const std::string& name, const std::string& size, const std::string& encode) {
    const std::string source = "-f lavfi -i testsrc2=size=" + size + ":rate=25:duration=5";
    Ffmpeg(source + " -c:v libx264 -preset veryfast -bf 0 -g 25 -pix_fmt yuv420p " + encode + " '" + File(name) + "'");
    return ReadFile(File(name));
  }
};

TEST_F(Parameters, OfTheSecondDescriptionAreKnownToItsSegments) {
  WriteFile(File("joined.mp4"), JoinedMp4(Make("a.mp4", "320x180", ""), Make("b.mp4", "160x90", "-profile:v baseline")));
  Prepare(File("joined.mp4"), TemporalOptions());
  ASSERT_EQ(whole_.size(), 250U);
  ASSERT_GE(plan_.segments.size(), 3U);
  ASSERT_GT(plan_.segments.back().start_s, 7) << "the warm-up must lie in the second part";
  ASSERT_NO_FATAL_FAILURE(MakePieces());
  Join("out.mp4");
  ExpectSameFile(File("out.mp4"), File("whole.mp4"));
}

TEST_F(Parameters, OfTheSecondPartAreKnownToAPart) {
  WriteFile(File("joined.mp4"), JoinedMp4(Make("a.mp4", "320x180", ""), Make("b.mp4", "160x90", "-profile:v baseline")));
  EnhanceOptions options = testing::PlainOptions();
  options.segment = Segment{8, 9};
  EXPECT_EQ(Enhance(File("joined.mp4"), File("out.mp4"), options).frames, 25);
}

TEST_F(Parameters, ThatChangeInFlashVideoKeepItWhole) {
  WriteFile(File("joined.flv"), JoinedFlv(Make("a.flv", "320x180", ""), Make("b.flv", "160x90", "-profile:v baseline")));
  EXPECT_EQ(PlanSegments(File("joined.flv"), testing::PlainOptions(), kShort).why_whole, "its parameters change");
  WriteFile(File("joined.flv"), JoinedFlv(ReadFile(File("a.flv")), ReadFile(File("a.flv"))));
  EXPECT_GE(PlanSegments(File("joined.flv"), testing::PlainOptions(), kShort).segments.size(), 3U);
}

}  // namespace
}  // namespace reelmend
