// Probe: what it measures, what it refuses, and how little it reads.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "helpers/clips.h"
#include "media/av_handles.h"
#include "media/byte_io.h"
#include "media/demuxer.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

/// Counts reads and bytes, and can fail after a number of reads.
class CountingSource : public ByteSource {
 public:
  explicit CountingSource(const std::string& path) : file_(path) {}
  std::int64_t size() const override { return file_.size(); }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override {
    ++reads;
    if (reads > fail_after) throw Error(ErrorCode::kIo, "The server went away.");
    const std::size_t count = file_.Read(offset, destination, length);
    bytes += static_cast<std::int64_t>(count);
    return count;
  }
  int reads = 0;
  int fail_after = 1 << 30;
  std::int64_t bytes = 0;

 private:
  media::FileSource file_;
};

struct ClipCase {
  const char* file;
  const char* encode;  ///< arguments between the inputs and the file
  int width, height;   ///< as displayed
  const char* codec;
  const char* format;
};

const ClipCase kClips[] = {
    {"h264.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac", 320, 180, "h264", "yuv420p"},
    {"faststart.mp4", "-c:v libx264 -pix_fmt yuv420p -c:a aac -movflags +faststart", 320, 180, "h264", "yuv420p"},
    {"fragmented.mp4", "-c:v libx264 -pix_fmt yuv420p -g 10 -c:a aac -movflags frag_keyframe+empty_moov", 320, 180,
     "h264", "yuv420p"},
    {"vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p -c:a libopus", 320, 180, "vp9",
     "yuv420p"},
    {"mpeg4.avi", "-c:v mpeg4 -bf 2 -c:a libmp3lame", 320, 180, "mpeg4", "yuv420p"},
    {"hevc.mkv", "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p10le -c:a ac3", 320, 180,
     "hevc", "yuv420p10le"},
    {"rotated.mov", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac", 180, 320,
     "h264", "yuv420p"},
    {"anamorphic.mp4", "-vf setsar=4/3 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -an", 427, 180, "h264",
     "yuv420p"},
    {"offset.ts", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a mp2 -output_ts_offset 100", 320, 180,
     "h264", "yuv420p"},
    {"mpeg2.mpg", "-c:v mpeg2video -c:a mp2", 320, 180, "mpeg2video", "yuv420p"},
    {"flash.flv", "-c:v flv -c:a libmp3lame -ar 44100", 320, 180, "flv1", "yuv420p"},
    {"wmv.wmv", "-c:v wmv2 -c:a wmav2", 320, 180, "wmv2", "yuv420p"},
    {"full444.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuvj444p -an", 320, 180, "h264", "yuvj444p"},
};

class ProbeClips : public ::testing::TestWithParam<ClipCase> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(ProbeClips, MeasuresTheClip) {
  const ClipCase& c = GetParam();
  const std::string file = folder_.File(c.file);
  Ffmpeg(VideoInput("320x180", 2) + " " + ToneInput(2.5) + " " + c.encode + " '" + file + "'");
  if (std::string(c.file) == "rotated.mov") testing::SetRotation(file, 90);
  for (const bool walk : {false, true}) {
    ProbeOptions options;
    options.walk_packets = walk;
    const ProbeResult result = ProbeFile(file, options);
    EXPECT_EQ(result.width, c.width);
    EXPECT_EQ(result.height, c.height);
    EXPECT_EQ(result.coded_width, 320);
    EXPECT_EQ(result.coded_height, 180);
    EXPECT_EQ(result.video_codec, c.codec);
    EXPECT_EQ(result.pixel_format, c.format);
    EXPECT_NEAR(result.duration_s, 2.0, walk ? 0.045 : 0.1) << "walk " << walk;
    EXPECT_TRUE(result.duration_is_exact || !walk);
    EXPECT_NEAR(static_cast<double>(result.frame_rate.num) / result.frame_rate.den, 25, 0.6);
    EXPECT_GT(result.size_bytes, 1000);
    EXPECT_EQ(result.audio.size(), std::string(c.encode).find("-an") == std::string::npos ? 1U : 0U);
    const bool is_turned = c.width < c.height;  // the tests of enhancement check the direction on pixels
    EXPECT_EQ(is_turned, result.rotation_degrees % 180 == 90);
  }
}

INSTANTIATE_TEST_SUITE_P(Containers, ProbeClips, ::testing::ValuesIn(kClips), [](const auto& info) {
  std::string name = info.param.file;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

class ProbeTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_.File(name), std::ios::binary) << content;
    return folder_.File(name);
  }
  /// Truncates a file to a share of its bytes.
  static void Cut(const std::string& file, double share) {
    std::filesystem::resize_file(file, static_cast<std::uintmax_t>(std::filesystem::file_size(file) * share));
  }
  static void ExpectRefused(const std::string& file, ErrorCode code, const ProbeOptions& options = {}) {
    try {
      ProbeFile(file, options);
      ADD_FAILURE() << file << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << file << ": " << error.what();
      const std::string sentence = error.what();
      EXPECT_EQ(sentence.find('/'), std::string::npos) << sentence;
      EXPECT_EQ(sentence.back(), '.') << sentence;
    }
  }
  TemporaryFolder folder_;
};

TEST_F(ProbeTest, RefusesWhatIsNoVideo) {
  ExpectRefused(Write("empty.mp4", ""), ErrorCode::kUnreadableVideo);
  ExpectRefused(Write("text.mp4", std::string(5000, 'x') + "\n"), ErrorCode::kUnreadableVideo);
  ExpectRefused(Write("json.mp4", "{\"a\": 1}\n"), ErrorCode::kUnreadableVideo);
  ExpectRefused(Write("list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nother.ts\n#EXT-X-ENDLIST\n"),
                ErrorCode::kUnreadableVideo);
  ExpectRefused(Write("list.mkv", "ffconcat version 1.0\nfile other.mp4\n"), ErrorCode::kUnreadableVideo);
  ExpectRefused(Write("sdp.mp4", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nm=video 1234 RTP/AVP 96\n"),
                ErrorCode::kUnreadableVideo);
  Ffmpeg(VideoInput("64x64", 0.04) + " -frames:v 1 '" + folder_.File("picture.jpg") + "'");
  ExpectRefused(folder_.File("picture.jpg"), ErrorCode::kUnreadableVideo);
  Ffmpeg(ToneInput(1) + " -c:a aac '" + folder_.File("tone.mp4") + "'");
  ExpectRefused(folder_.File("tone.mp4"), ErrorCode::kUnreadableVideo);
  Ffmpeg("-i '" + folder_.File("tone.mp4") + "' -i '" + folder_.File("picture.jpg") +
         "' -map 0 -map 1 -c copy -disposition:v:0 attached_pic '" + folder_.File("cover.mp4") + "'");
  ExpectRefused(folder_.File("cover.mp4"), ErrorCode::kUnreadableVideo);
}

TEST_F(ProbeTest, RefusesRareCodecs) {
  for (const std::string codec : {"magicyuv", "utvideo"}) {
    const std::string path = folder_.File(codec + ".avi");
    Ffmpeg(VideoInput("64x64", 1) + " -c:v " + codec + " '" + path + "'");
    ExpectRefused(path, ErrorCode::kUnreadableVideo);
    try {
      ProbeFile(path);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "The video's codec (" + codec + ") is not supported.");
    }
  }
}

TEST_F(ProbeTest, RefusesFilesThatAreCutOff) {
  const char* const kCuts[] = {"cut.mp4", "start.mp4", "cut.mkv", "cut.avi", "cut.wmv"};
  for (const std::string name : kCuts) {
    const std::string codec = name == "cut.wmv" ? "wmv2" : name == "cut.avi" ? "mpeg4" : "libx264 -pix_fmt yuv420p";
    const std::string flags = name == "start.mp4" ? " -movflags +faststart" : "";
    const std::string file = folder_.File(name);
    Ffmpeg(VideoInput("320x180", 3) + " -c:v " + codec + flags + " '" + file + "'");
    ASSERT_NO_THROW(ProbeFile(file)) << name;
    Cut(file, 0.6);
    ExpectRefused(file, ErrorCode::kUnreadableVideo);
    Cut(file, 0.02);
    ExpectRefused(file, ErrorCode::kUnreadableVideo);
  }
}

TEST_F(ProbeTest, AnAviThatWasWrittenToAPipeDeclaresNoSize) {
  const std::string file = folder_.File("piped.avi");
  Ffmpeg(VideoInput("320x180", 3) + " -c:v mpeg4 -f avi - > '" + file + "'");
  EXPECT_NEAR(ProbeFile(file).duration_s, 3, 0.1);
}

TEST_F(ProbeTest, RefusesWhatIsAboveALimit) {
  const std::string file = folder_.File("clip.mkv");
  Ffmpeg(VideoInput("320x180", 2) + " " + ToneInput(2) + " -map 0 -map 1 -map 1 -c:v libx264 -pix_fmt yuv420p '" +
         file + "'");
  ProbeOptions options;
  options.limits.max_pixels = 320 * 180;
  EXPECT_NO_THROW(ProbeFile(file, options));
  options.limits.max_pixels = 320 * 180 - 1;
  ExpectRefused(file, ErrorCode::kLimitExceeded, options);
  options = {};
  options.limits.max_duration_s = 2.01;
  EXPECT_NO_THROW(ProbeFile(file, options));
  options.limits.max_duration_s = 1.95;
  ExpectRefused(file, ErrorCode::kLimitExceeded, options);
  options = {};
  for (const int streams : {1, 2}) {
    options.limits.max_streams = streams;
    ExpectRefused(file, ErrorCode::kLimitExceeded, options);
  }
  options.limits.max_streams = 3;
  EXPECT_NO_THROW(ProbeFile(file, options));
}

TEST_F(ProbeTest, CountsNoAttachedFilesAsStreams) {
  const std::string font = Write("font.ttf", "letters");
  std::string attached;
  for (int i = 0; i < 5; ++i) {
    attached += " -attach '" + font + "' -metadata:s:t:" + std::to_string(i) + " mimetype=application/x-truetype-font";
  }
  const std::string file = folder_.File("fonts.mkv");
  Ffmpeg(VideoInput("320x180", 1) + " " + ToneInput(1) + attached + " -c:v libx264 -pix_fmt yuv420p '" + file + "'");
  ProbeOptions options;
  options.limits.max_streams = 2;
  EXPECT_NO_THROW(ProbeFile(file, options));
  options.limits.max_streams = 1;
  ExpectRefused(file, ErrorCode::kLimitExceeded, options);
}

TEST_F(ProbeTest, CountsPacketsThatADemuxerWouldGiveForEver) {
  // More packets than a limit for one second allows, but fewer than the limit for the clip's own 125 s.
  const std::string file = folder_.File("grains.mkv");
  Ffmpeg("-f lavfi -i color=size=16x16:rate=1000:duration=125 -c:v mpeg4 '" + file + "'");
  media::FileSource source(file);
  media::DemuxerOptions options;
  options.limits.max_duration_s = 126;
  const auto read_all = [&] {
    media::Demuxer demuxer(source, options);
    const media::UniquePacket packet = media::MakePacket();
    std::int64_t packets = 0;
    for (; demuxer.ReadPacket(packet.get()); ++packets) av_packet_unref(packet.get());
    return packets;
  };
  EXPECT_EQ(read_all(), 125'000);
  options.limits.max_duration_s = 1;
  try {
    read_all();
    ADD_FAILURE() << "the demuxer returned all packets";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded);
    EXPECT_NE(std::string(error.what()).find("more packets"), std::string::npos) << error.what();
  }
}

TEST_F(ProbeTest, SaysThatAMissingFileIsAnInputOutputError) {
  ExpectRefused(folder_.File("nothing.mp4"), ErrorCode::kIo);
}

TEST_F(ProbeTest, ReadsLittleOfALargeFile) {
  for (const std::string flags : {"", "-movflags +faststart"}) {
    const std::string file = folder_.File("large.mp4");
    Ffmpeg(VideoInput("640x360", 12) + " -vf noise=alls=60:allf=t -c:v libx264 -preset ultrafast -crf 10 -pix_fmt yuv420p " +
           flags + " '" + file + "'");
    CountingSource source(file);
    ASSERT_GT(source.size(), 20'000'000);
    const ProbeResult result = Probe(source);
    EXPECT_NEAR(result.duration_s, 12, 0.05);
    EXPECT_LT(source.bytes, 2'500'000) << flags;
    EXPECT_LT(source.reads, 60) << flags;
  }
}

TEST_F(ProbeTest, PassesOnWhatTheSourceThrows) {
  const std::string file = folder_.File("clip.mp4");
  Ffmpeg(VideoInput("320x180", 2) + " -c:v libx264 -pix_fmt yuv420p '" + file + "'");
  for (const int fail_after : {0, 1}) {
    CountingSource source(file);
    source.fail_after = fail_after;
    try {
      Probe(source);
      ADD_FAILURE() << "fail after " << fail_after;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_STREQ(error.what(), "The server went away.");
    }
  }
}

TEST_F(ProbeTest, CanBeCancelled) {
  const std::string file = folder_.File("clip.mp4");
  Ffmpeg(VideoInput("320x180", 2) + " -c:v libx264 -pix_fmt yuv420p '" + file + "'");
  ProbeOptions options;
  options.is_cancelled = [] { return true; };
  ExpectRefused(file, ErrorCode::kCancelled, options);
}

TEST_F(ProbeTest, MeasuresThePictureNotTheSound) {
  const std::string file = folder_.File("long-sound.mkv");
  Ffmpeg(VideoInput("320x180", 2) + " " + ToneInput(9) + " -c:v libx264 -pix_fmt yuv420p '" + file + "'");
  EXPECT_NEAR(ProbeFile(file).duration_s, 2, 0.05);
}

TEST_F(ProbeTest, TellsTheSoundTracks) {
  const std::string file = folder_.File("two.mkv");
  Ffmpeg(VideoInput("320x180", 1) + " " + ToneInput(1) +
         " -map 0 -map 1 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a:0 aac -c:a:1 libopus -ac:a:1 2 "
         "-metadata:s:a:0 language=deu '" + file + "'");
  const ProbeResult result = ProbeFile(file);
  ASSERT_EQ(result.audio.size(), 2U);
  EXPECT_EQ(result.audio[0].codec, "aac");
  EXPECT_EQ(result.audio[0].language, "deu");
  EXPECT_EQ(result.audio[0].channels, 1);
  EXPECT_EQ(result.audio[1].codec, "opus");
  EXPECT_EQ(result.audio[1].channels, 2);
  EXPECT_EQ(result.audio[1].sample_rate_hz, 48'000);
}

}  // namespace
}  // namespace reelmend
