// Sources that are read in ranges: the same facts as of the whole file, with little reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>

#include "helpers/clip_test.h"
#include "helpers/files.h"
#include "media/byte_io.h"
#include "reelmend/probe.h"

namespace reelmend {
namespace {

using testing::ClipTest;
using testing::Ffmpeg;
using testing::ReadFile;
using testing::TemporaryFolder;
using testing::VideoInput;
using testing::WriteFile;

using RangesTest = ClipTest;

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

TEST_F(RangesTest, MeasuresARecordingWithoutIndexFromItsEnd) {
  const std::string noise = "-f lavfi -i testsrc2=size=480x270:rate=25,noise=alls=60:allf=t -f lavfi -i sine ";
  for (const std::string sound : {"-t 12 -c:a libopus", "-t 12 -c:a pcm_s16le -af atrim=end=4", "-t 12 -c:a pcm_s16le -ac 8 -ar 96000"}) {
    SCOPED_TRACE(sound);
    const std::string file = Clip("live.mkv", noise + sound + " -c:v mpeg4 -b:v 15M -live 1");
    BlockSource source(file);
    EXPECT_NEAR(Probe(source).duration_s, 12, 0.1);
    ASSERT_GT(source.size(), 20 << 20);
    EXPECT_LT(source.read_bytes, 14 << 20);
  }
}

TEST_F(RangesTest, MeasuresAFragmentedFileWithAnIndexFromItsEnd) {
  const std::string noise = "-f lavfi -i testsrc2=size=480x270:rate=25,noise=alls=60:allf=t -f lavfi -i sine ";
  for (const std::string flags : {"dash+global_sidx+default_base_moof", "dash+global_sidx+omit_tfhd_offset"}) {
    SCOPED_TRACE(flags);
    const std::string file = Clip("fragmented.mp4", noise + "-t 12 -c:v mpeg4 -b:v 12M -bf 2 -g 4 -c:a aac -movflags frag_keyframe+" + flags);
    BlockSource source(file);
    EXPECT_NEAR(Probe(source).duration_s, 12, 0.1);
    EXPECT_LT(source.jumps, 40);
  }
}

/// An AVI of 10 s whose last frame of 6 s is no video any more: capture programs write such files when the signal ends before the recording.
std::string WithDroppedEnd(const std::string& file) {
  Ffmpeg("-f lavfi -i testsrc2=size=160x90:rate=10:duration=10 -vf \"select='lt(n,40)+eq(n,99)'\" -vsync passthrough -c:v mpeg4 '" + file + "'");
  std::string bytes = ReadFile(file);
  for (const std::size_t end : {bytes.size(), bytes.rfind("idx1")}) bytes.replace(bytes.rfind("00dc", end), 4, "JUNK");
  WriteFile(file, bytes);
  return file;
}

TEST_F(RangesTest, FramesThatAreDroppedAtTheEndOfAnAviDoNotCount) {
  const std::string file = WithDroppedEnd(folder_.File("dropped.avi"));
  BlockSource remote(file);
  EXPECT_NEAR(Probe(remote).duration_s, 4, 0.05);
  ProbeOptions whole;
  whole.walk_packets = true;
  EXPECT_NEAR(ProbeFile(file, whole).duration_s, 4, 0.05);
}

TEST_F(RangesTest, AnAviWhoseIndexEndsTooEarlyLastsAsLongAsItStates) {
  const std::string file = Clip("index.avi", "-f lavfi -i testsrc2=size=320x180:rate=10,noise=alls=60:allf=t -t 10 -c:v mpeg4 -b:v 5M");
  std::string bytes = ReadFile(file);
  const std::size_t index = bytes.rfind("idx1");
  const std::uint32_t kept = 16 * 40;
  for (int i = 0; i < 4; ++i) bytes[index + 4 + i] = static_cast<char>(kept >> (8 * i));
  WriteFile(file, bytes.substr(0, index + 8 + kept));
  BlockSource remote(file);
  EXPECT_NEAR(Probe(remote).duration_s, 10, 0.05);
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
