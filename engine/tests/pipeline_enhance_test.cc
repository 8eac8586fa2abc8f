// Enhance, end to end, checked with ffmpeg and ffprobe.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "helpers/clip_test.h"
#include "helpers/clips.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using testing::CountPackets;
using testing::Ffmpeg;
using testing::FrameTimes;
using testing::PacketHash;
using testing::PlainOptions;
using testing::RunCommand;
using testing::StreamFacts;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

/// Expects that the output has every frame of the source at the same time relative to the first frame.
void ExpectSameTimes(const std::string& source, const std::string& output) {
  const std::vector<double> before = FrameTimes(source);
  const std::vector<double> after = FrameTimes(output);
  ASSERT_GT(before.size(), 0U);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (std::isnan(before[i])) continue;  // ffprobe has no time for the last frame of some files with B-frames
    EXPECT_NEAR(after[i] - after[0], before[i] - before[0], 0.0011) << "frame " << i;
  }
}

struct ClipCase {
  const char* file;
  const char* inputs;  ///< null: 320x180, 25 fps, 1.6 s, and a tone
  const char* encode;
  const char* audio;   ///< audio codec of the output; "": no audio
  bool is_copied;      ///< the output has the source's audio packets
};

const ClipCase kClips[] = {
    {"h264-aac.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a aac", "aac", true},
    {"bframes.mkv", nullptr, "-c:v libx264 -bf 8 -b_strategy 0 -pix_fmt yuv420p -c:a aac", "aac", true},
    {"vp9-opus.webm", nullptr, "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p -c:a libopus", "opus",
     true},
    {"vp8-vorbis.webm", nullptr, "-c:v libvpx -deadline realtime -pix_fmt yuv420p -c:a libvorbis", "aac", false},
    {"mpeg4-mp3.avi", nullptr, "-c:v mpeg4 -c:a libmp3lame", "mp3", true},
    {"mpeg4-bframes-pcm.avi", nullptr, "-c:v mpeg4 -bf 2 -c:a pcm_s16le", "aac", false},
    {"hevc-ac3.mkv", nullptr, "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p -c:a ac3",
     "ac3", true},
    {"hevc10-flac.mkv", nullptr,
     "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p10le -c:a flac", "flac", true},
    {"alac.mov", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a alac", "alac", true},
    {"offset.ts", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a aac -output_ts_offset 50", "aac", true},
    {"mpeg2.mpg", nullptr, "-c:v mpeg2video -c:a mp2", "aac", false},
    {"silent.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p -an", "", false},
    {"yuv444.mp4", nullptr, "-c:v libx264 -pix_fmt yuv444p -an", "", false},
    {"yuv422p10.mov", nullptr, "-c:v prores_ks -pix_fmt yuv422p10le -an", "", false},
    {"rgb.mkv", nullptr, "-c:v ffv1 -pix_fmt gbrp -an", "", false},
    {"gray.mkv", nullptr, "-c:v ffv1 -pix_fmt gray -an", "", false},
    {"mjpeg.avi", nullptr, "-c:v mjpeg -pix_fmt yuvj422p -an", "", false},
    {"fragmented.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p -g 10 -c:a aac -movflags frag_keyframe+empty_moov",
     "aac", true},
    {"odd.mkv", "-f lavfi -i testsrc2=size=161x121:rate=30:duration=1", "-c:v libx264 -pix_fmt yuv444p", "", false},
    {"odd420.webm", "-f lavfi -i testsrc2=size=161x121:rate=30:duration=1",
     "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p", "", false},
    {"tiny.mp4", "-f lavfi -i testsrc2=size=16x16:rate=10:duration=1", "-c:v libx264 -pix_fmt yuv420p", "", false},
    {"one-frame.mp4", "-f lavfi -i testsrc2=size=64x64:rate=10:duration=0.1", "-c:v libx264 -pix_fmt yuv420p", "",
     false},
    {"ntsc.mp4", "-f lavfi -i testsrc2=size=320x180:rate=30000/1001:duration=1.5", "-c:v libx264 -pix_fmt yuv420p", "",
     false},
    {"vfr.mp4", "-f lavfi -i testsrc2=size=320x180:rate=50:duration=3",
     "-vf select='lt(mod(n\\,17)\\,3)+gt(n\\,100)*not(mod(n\\,5))' -vsync vfr -c:v libx264 -pix_fmt yuv420p", "", false},
    {"vfr.mkv", "-f lavfi -i testsrc2=size=320x180:rate=50:duration=3",
     "-vf select='not(mod(n\\,7))+not(mod(n\\,11))' -vsync vfr -c:v libx264 -pix_fmt yuv420p", "", false},
    {"raw.h264", "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1", "-c:v libx264 -bf 0 -pix_fmt yuv420p", "",
     false},
    {"animation.gif", "-f lavfi -i testsrc2=size=100x80:rate=10:duration=1", "", "", false},
};

class EnhanceClips : public ::testing::TestWithParam<ClipCase> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(EnhanceClips, KeepsFramesTimesAndSound) {
  const ClipCase& c = GetParam();
  const std::string source = folder_.File(c.file);
  const std::string output = folder_.File("out.mp4");
  const std::string inputs = c.inputs == nullptr ? VideoInput("320x180", 1.6) + " " + ToneInput(1.6) : c.inputs;
  Ffmpeg(inputs + " " + c.encode + " '" + source + "'");
  const EnhanceResult result = Enhance(source, output, PlainOptions());

  const auto video = StreamFacts(output, "v");
  EXPECT_EQ(video.at("codec_name"), "h264");
  EXPECT_EQ(video.at("profile").substr(0, 4) == "High" || video.at("profile") == "Constrained Baseline" ||
                video.at("profile") == "Main",
            true);
  EXPECT_EQ(video.at("pix_fmt"), "yuv420p");
  EXPECT_EQ(video.at("color_space"), "bt709");
  EXPECT_EQ(video.at("color_range"), "tv");
  EXPECT_EQ(std::atoi(video.at("width").c_str()), result.width);
  EXPECT_EQ(std::atoi(video.at("height").c_str()), result.height);
  EXPECT_EQ(std::atoi(video.at("nb_frames").c_str()), result.frames);
  EXPECT_NEAR(std::stod(video.at("duration")), result.duration_s, 0.001);
  EXPECT_NEAR(result.duration_s, result.source.duration_s, 1e-6);
  EXPECT_EQ(result.undecodable_frames, 0);
  EXPECT_EQ(static_cast<std::uintmax_t>(result.size_bytes), std::filesystem::file_size(output));
  if (std::string(c.file) != "raw.h264") {
    ExpectSameTimes(source, output);  // ffprobe has no times for a raw stream
  } else {
    EXPECT_EQ(result.frames, 25);
  }
  if (std::string(c.audio).empty()) {
    EXPECT_TRUE(StreamFacts(output, "a").empty());
    return;
  }
  const auto audio = StreamFacts(output, "a");
  ASSERT_FALSE(audio.empty());
  EXPECT_EQ(audio.at("codec_name"), c.audio);
  EXPECT_NEAR(std::stod(audio.at("duration")), 1.6, 0.09);
  if (c.is_copied) {
    EXPECT_EQ(CountPackets(output, "a:0"), CountPackets(source, "a:0"));
  }
}

INSTANTIATE_TEST_SUITE_P(Containers, EnhanceClips, ::testing::ValuesIn(kClips), [](const auto& info) {
  std::string name = info.param.file;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

class EnhanceTest : public testing::ClipTest {};

TEST_F(EnhanceTest, CopiedSoundIsTheSameBytes) {
  const std::string source =
      Clip("two.mp4", VideoInput("320x180", 1) + " " + ToneInput(1) + " -f lavfi -i sine=frequency=880:duration=1 " +
                          "-map 0 -map 1 -map 2 -c:v libx264 -pix_fmt yuv420p -c:a:0 aac -c:a:1 ac3 "
                          "-metadata:s:a:1 language=fra");
  Enhance(source, output_, PlainOptions());
  EXPECT_EQ(PacketHash(output_, "a:0"), PacketHash(source, "a:0"));
  EXPECT_EQ(PacketHash(output_, "a:1"), PacketHash(source, "a:1"));
}

TEST_F(EnhanceTest, PutsTheIndexInFront) {
  const std::string source = Clip("clip.mp4", VideoInput("320x180", 1) + " -c:v libx264 -pix_fmt yuv420p");
  Enhance(source, output_, PlainOptions());
  std::ifstream file(output_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto index = bytes.find("moov");
  ASSERT_NE(index, std::string::npos);
  EXPECT_LT(index, bytes.find("mdat"));
  EXPECT_NE(bytes.find("colrnclx"), std::string::npos);
}

TEST_F(EnhanceTest, DeclaresTheDurationOfAVariableRate) {
  // B-frames with gaps of one to three frames between them. With the later starts, the gaps at the start are smaller than those
  // at the end.
  EnhanceOptions options = PlainOptions();
  options.encoder.preset = "veryfast";
  for (const char* first : {"0", "4", "12"}) {
    const std::string source =
        Clip("vfr.mkv", VideoInput("320x180", 3) + " -vf trim=start_frame=" + first + ",select='not(mod(n+" + first +
                            "\\,3))+not(mod(n+" + first + "\\,7))',setpts=PTS-STARTPTS -vsync vfr -frames:v 20 -c:v libx264 -pix_fmt yuv420p");
    const EnhanceResult result = Enhance(source, output_, options);
    EXPECT_EQ(result.frames, 20);
    EXPECT_NEAR(std::stod(StreamFacts(output_, "v").at("duration")), result.duration_s, 0.001) << first;
    const std::string format = RunCommand("ffprobe -v error -show_entries format=duration -of csv=p=0 " + output_);
    EXPECT_NEAR(std::stod(format), result.duration_s, 0.001) << first;
  }
}

TEST_F(EnhanceTest, KeepsTheTimeOfAPictureThatIsShownBrieflyAfterAPause) {
  // Slides, two in a second. After 1.78 s the next one is shown for 80 ms.
  const std::string source =
      Clip("slides.mp4", VideoInput("160x90", 2) + " -vf \"setpts='if(lt(N,8),N/2,if(lt(N,9),5.28,5.36+(N-9)/2))/TB'\" -frames:v 16 -fps_mode passthrough "
                         "-enc_time_base 1/1000 -c:v libx264 -bf 0 -pix_fmt yuv420p");
  Enhance(source, output_, PlainOptions());
  const std::vector<double> expected = testing::FrameTimes(source);
  ASSERT_NEAR(expected.at(8), 5.28, 0.001);
  const std::vector<double> times = testing::FrameTimes(output_);
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[i], 0.001) << i;
}

TEST_F(EnhanceTest, KeepsTheEndAfterSlides) {
  // Slides for 10 s each, the last for 3 s, and then 25 frames in a second; the same in the finest time base, for minutes each.
  const std::pair<const char*, const char*> kVideos[] = {{"10", "-enc_time_base 1/1000"}, {"400", "-enc_time_base 1/1000000 -video_track_timescale 1000000"}};
  for (const auto& [slide_s, time_base] : kVideos) {
    for (const char* preset : {"superfast", "slow"}) {
      SCOPED_TRACE(std::string(slide_s) + " s, " + preset);
      const std::string times = "if(lt(N,8),N*" + std::string(slide_s) + ",7*" + slide_s + "+3+(N-8)/25)";
      const std::string source = Clip("slides.mp4", VideoInput("160x90", 2.4) + " -vf \"settb=1/1000000,setpts='(" + times + ")/TB'\" -fps_mode passthrough " +
                                                        time_base + " -c:v libx264 -bf 0 -g 1000 -pix_fmt yuv420p");
      const std::vector<double> expected = testing::FrameTimes(source);
      ASSERT_GE(expected.size(), 59U);
      EnhanceOptions options = PlainOptions();
      options.encoder.preset = preset;
      Enhance(source, output_, options);
      const std::vector<double> shown = testing::FrameTimes(output_);
      ASSERT_EQ(shown.size(), expected.size());
      for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_NEAR(shown[i], expected[i], 0.001) << i;
    }
  }
}

TEST_F(EnhanceTest, KeepsPicturesThatAreShownForDays) {
  // 100,000 s are more ticks than MP4 has between two samples. Such a picture becomes several samples.
  const std::string source =
      Clip("slides.mkv", VideoInput("160x90", 0.32) + " -vf \"settb=1/1000,setpts='(N/25+gt(N,3)*100000+gt(N,4)*100000)/TB'\" -fps_mode passthrough -enc_time_base 1/1000 "
                         "-c:v libx264 -bf 0 -pix_fmt yuv420p");
  const std::vector<double> expected = testing::FrameTimes(source);
  ASSERT_EQ(expected.size(), 8U);
  ASSERT_NEAR(expected.at(5), 200'000.2, 0.001);
  for (const char* preset : {"superfast", "slow"}) {
    SCOPED_TRACE(preset);
    EnhanceOptions options = PlainOptions();
    options.encoder.preset = preset;
    const EnhanceResult result = Enhance(source, output_, options);
    EXPECT_EQ(result.frames, 8);
    EXPECT_NEAR(std::stod(StreamFacts(output_, "v").at("duration")), result.duration_s, 0.001);
    const std::vector<double> times = testing::FrameTimes(output_);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    for (const double time : expected) EXPECT_TRUE(std::ranges::any_of(times, [&](double t) { return std::abs(t - time) < 0.001; })) << time;
    EXPECT_LT(times.size(), 20U);
  }
}

TEST_F(EnhanceTest, HasAKeyFrameEveryTwoSeconds) {
  for (const std::string rate : {"25", "2"}) {
    const std::string source =
        Clip("clip.mkv", VideoInput("64x64", 7, rate) + " -c:v libx264 -g 1000 -pix_fmt yuv420p");
    Enhance(source, output_, PlainOptions());
    const std::string keys = testing::RunCommand(
        "ffprobe -v error -select_streams v -skip_frame nokey -show_entries frame=pts_time -of csv=p=0 " + output_);
    std::istringstream lines(keys);
    double last = 0;
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      if (line.empty()) continue;
      EXPECT_LE(std::stod(line) - last, 2.001) << rate;
      last = std::stod(line);
    }
    EXPECT_GE(count, 4);
  }
}

/// The stages detect the scenes; x264's own scene detection is off.
TEST_F(EnhanceTest, HasAKeyFrameWhereASceneBegins) {
  const std::string source = folder_.File("scenes.mkv");
  Ffmpeg("-f lavfi -i testsrc2=size=320x180:rate=25:duration=1.2 -f lavfi -i smptehdbars=size=320x180:rate=25:duration=0.4 "
         "-f lavfi -i mandelbrot=size=320x180:rate=25 -f lavfi -i color=gray:size=320x180:rate=25:duration=1.2 -filter_complex "
         "\"[2:v]trim=duration=1.2[m];[3:v]noise=alls=60:allf=t:enable='gt(t,0.6)'[n];[0:v][1:v][m][n]concat=n=4:v=1,format=yuv420p\" -c:v ffv1 '" + source + "'");
  Enhance(source, output_, PlainOptions());
  const std::string keys = testing::RunCommand(
      "ffprobe -v error -select_streams v -skip_frame nokey -show_entries frame=pts_time -of csv=p=0 " + output_);
  std::istringstream lines(keys);
  std::vector<double> times;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) times.push_back(std::round(std::stod(line) * 100) / 100);
  }
  // 2.0 is a regular key frame. At 2.8 the picture has no structure, so no scene begins.
  EXPECT_EQ(times, (std::vector<double>{0, 1.2, 1.6, 2.0}));
  std::ifstream file(output_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(bytes.find(" scenecut=0 "), std::string::npos);  // x264 writes its settings into the stream
}

struct LevelCase {
  const char* source;  ///< a clip of two frames
  Target target;
  int most;            ///< highest level_idc that players of that size support (H.264 table A-1)
};

TEST_F(EnhanceTest, IsHighProfileAtALevelThatPlayersTake) {
  const LevelCase cases[] = {{"-f lavfi -i testsrc2=size=1280x720:rate=30:duration=0.07", Target::k1080p, 40},
                             {"-f lavfi -i testsrc2=size=960x540:rate=60000/1001:duration=0.04", Target::k1080p, 42},
                             {"-f lavfi -i testsrc2=size=1280x720:rate=30:duration=0.07", Target::k4k, 51},
                             {"-f lavfi -i testsrc2=size=1280x720:rate=60:duration=0.04", Target::k4k, 52},
                             // An extreme rate must not result in an extreme level.
                             {"-f lavfi -i testsrc2=size=1280x720:rate=240:duration=0.01", Target::k1080p, 52}};
  for (const LevelCase& c : cases) {
    const std::string source = Clip("clip.mp4", std::string(c.source) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p");
    EnhanceOptions options;
    options.target = c.target;
    Enhance(source, output_, options);
    const auto facts = StreamFacts(output_, "v");
    EXPECT_EQ(facts.at("profile"), "High") << c.source;
    EXPECT_LE(std::stoi(facts.at("level")), c.most) << c.source;
    EXPECT_EQ(facts.at("pix_fmt"), "yuv420p");
    EXPECT_EQ(facts.at("is_avc"), "true");
  }
}

/// The first `length` bytes in the first box with this name.
std::string Box(const std::string& bytes, const std::string& name, std::size_t length) {
  const auto at = bytes.find(name);
  return at == std::string::npos ? "" : bytes.substr(at + name.size(), length);
}

TEST_F(EnhanceTest, WritesTheColourBox) {
  const std::string source = Clip("clip.mp4", VideoInput("320x180", 0.2) + " -c:v libx264 -pix_fmt yuv420p");
  Enhance(source, output_, PlainOptions());
  std::ifstream file(output_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  // ISO/IEC 14496-12, 12.1.5: primaries, transfer, matrix (BT.709 is 1 in each), range flag (0 = limited).
  EXPECT_EQ(Box(bytes, "colr", 11), std::string("nclx\0\1\0\1\0\1\0", 11));
}

/// Presentation time of the second packet of the first audio stream. The first packet may contain encoder delay (priming), which
/// MP4 hides: in some containers a stream starts with the priming, in others with the audible sound.
double SecondSoundTime(const std::string& file) {
  std::istringstream lines(RunCommand("ffprobe -v error -select_streams a:0 -show_entries packet=pts_time -of csv=p=0 '" + file + "'"));
  std::vector<double> times;
  // ffprobe 6 prints an empty line after a packet with side data.
  for (std::string line; std::getline(lines, line) && times.size() < 2;) {
    if (!line.empty()) times.push_back(std::stod(line));
  }
  return times.at(1);
}

TEST_F(EnhanceTest, KeepsTheDistanceOfSoundAndPicture) {
  const std::string late_video =
      Clip("late.mkv", "-itsoffset 0.5 " + VideoInput("320x180", 1) + " " + ToneInput(2) +
                           " -map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a ac3");
  Enhance(late_video, output_, PlainOptions());
  EXPECT_NEAR(FrameTimes(output_).at(0) - SecondSoundTime(output_), FrameTimes(late_video).at(0) - SecondSoundTime(late_video), 0.002);
  EXPECT_NEAR(std::stod(StreamFacts(output_, "a").at("start_time")), 0, 0.002);
  const std::string late_sound =
      Clip("sound.ts", VideoInput("320x180", 2) + " -itsoffset 0.7 " + ToneInput(1) +
                           " -map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a mp2");
  Enhance(late_sound, output_, PlainOptions());
  EXPECT_NEAR(std::stod(StreamFacts(output_, "a").at("start_time")) - std::stod(StreamFacts(output_, "v").at("start_time")),
              std::stod(StreamFacts(late_sound, "a").at("start_time")) -
                  std::stod(StreamFacts(late_sound, "v").at("start_time")),
              0.025);  // the priming of AAC
}

TEST_F(EnhanceTest, FinishesWhenTheSoundBreaks) {
  // A sound track with damaged packets: the decoder fails on most of them.
  const std::string good = Clip("good.mkv", VideoInput("320x180", 2) + " " + ToneInput(2) +
                                                " -c:v libx264 -pix_fmt yuv420p -c:a libvorbis");
  const std::string broken = Clip("broken.mkv", "-i " + good + " -map 0 -c copy -bsf:a noise=amount=20");
  const EnhanceResult result = Enhance(broken, output_, PlainOptions());
  EXPECT_EQ(result.frames, 50);
}

TEST_F(EnhanceTest, EnlargesToTheTarget) {
  const std::string source = Clip("clip.mp4", VideoInput("480x270", 0.4) + " -c:v libx264 -pix_fmt yuv420p");
  EnhanceOptions options;
  options.encoder.preset = "ultrafast";
  const EnhanceResult result = Enhance(source, output_, options);
  EXPECT_EQ(result.width, 1920);
  EXPECT_EQ(result.height, 1080);
  EXPECT_GT(result.applied.sharpen, 0);
  EXPECT_EQ(result.applied.model, "none");
  EXPECT_EQ(result.device, "cpu");
  EXPECT_EQ(StreamFacts(output_, "v").at("width"), "1920");
}

// ---- rotation ------------------------------------------------------------------------------------------

/// The first frame as RGB. zimg converts it with correct chroma siting before ffmpeg rotates it.
std::vector<std::uint8_t> SitedRgb(const std::string& file, int degrees) {
  const std::map<int, std::string> turns = {{0, ""}, {90, ",transpose=cclock"}, {180, ",hflip,vflip"}, {270, ",transpose=clock"}};
  const std::string raw = RunCommand("ffmpeg -v error -noautorotate -i '" + file + "' -frames:v 1 -vf zscale=min=170m:m=gbr:r=pc,format=gbrp" +
                                     turns.at(degrees) + ",format=rgb24 -f rawvideo -");
  return {raw.begin(), raw.end()};
}

TEST_F(EnhanceTest, TurnsPixelsAsPlayersDo) {
  if (RunCommand("ffmpeg -hide_banner -filters 2>/dev/null").find(" zscale ") == std::string::npos) {
    GTEST_SKIP() << "This machine has no ffmpeg with the zscale filter: no rotated picture was compared.";
  }
  // zimg converts the pattern to RGB, because each release of swscale makes different colour edges.
  const std::string soft = " -vf format=yuv420p,zscale=min=170m:rin=tv:m=gbr:r=pc,format=gbrp,gblur=sigma=3";
  for (const std::string format : {"yuv420p", "yuv422p", "yuv444p"}) {
    for (const int degrees : {90, 180, 270}) {
      const std::string tags = " -colorspace smpte170m -color_range tv -chroma_sample_location left ";
      const std::string source = Clip("turned.mov", VideoInput("320x180", 0.4) + soft + ",zscale=m=170m:r=tv,format=" + format + tags + "-c:v libx264 -crf 2");
      testing::SetRotation(source, degrees);
      EnhanceOptions options = PlainOptions();
      options.encoder.crf = 2;
      Enhance(source, output_, options);
      // The output is BT.709. It is converted to the source's matrix for the comparison.
      const std::string same = Clip("same.mov", "-i '" + output_ + "' -vf zscale=m=170m" + tags + "-c:v ffv1 -strict -2");
      const auto before = SitedRgb(source, degrees);
      const auto after = SitedRgb(same, 0);
      ASSERT_EQ(before.size(), after.size());
      // A wrong chroma siting after the rotation gives 30 to 35 dB, a wrong rotation about 1 dB.
      EXPECT_GT(testing::Psnr(before, after), 38) << format << " " << degrees;
      EXPECT_EQ(StreamFacts(output_, "v").count("rotation"), 0U);
    }
  }
}

TEST_F(EnhanceTest, CropsTheLeftToTheSample) {
  const char* const cases[][2] = {{"-c:v libx264 -crf 1 -pix_fmt yuv420p", "h264"},
                                  {"-c:v libx264 -crf 1 -pix_fmt yuv422p10le", "h264"},
                                  {"-c:v libx264 -crf 1 -pix_fmt yuv420p -x264-params interlaced=1", "h264"},
                                  {"-c:v libx265 -preset ultrafast -x265-params crf=1:log-level=none -pix_fmt yuv420p10le", "hevc"}};
  for (const auto& [encode, codec] : cases) {
    const std::string whole = Clip("whole.mp4", std::string("-f lavfi -i mandelbrot=size=192x128:rate=25,format=yuv420p,hue=s=0 -t 0.2 ") + encode);
    const std::string cropped = Clip("cropped.mp4", "-i '" + whole + "' -c copy -bsf:v " + codec + "_metadata=crop_left=6:crop_top=4:crop_right=0:crop_bottom=0");
    const std::string expected = Clip("expected.mkv", "-i '" + whole + "' -vf crop=186:124:6:4,format=yuv420p -c:v ffv1");
    EnhanceOptions options = PlainOptions();
    options.target = Target::kSource;
    options.encoder.crf = 4;
    const EnhanceResult result = Enhance(cropped, output_, options);
    ASSERT_EQ(result.source.width, 186) << encode;
    ASSERT_EQ(result.source.height, 124) << encode;
    EXPECT_GT(testing::Psnr(testing::DecodeLuma(expected), testing::DecodeLuma(output_)), 32) << encode;
  }
}

TEST_F(EnhanceTest, SquaresPixels) {
  const std::string source = Clip("wide.mp4", VideoInput("320x180", 0.4) + " -vf setsar=2/1 -c:v libx264 -pix_fmt yuv420p");
  const EnhanceResult result = Enhance(source, output_, PlainOptions());
  EXPECT_EQ(result.width, 640);
  EXPECT_EQ(result.height, 180);
  EXPECT_EQ(StreamFacts(output_, "v").at("sample_aspect_ratio"), "1:1");
}

/// Where the picture is not black, by ffmpeg's cropdetect: width, height, left, top.
std::string PictureInBars(const std::string& file, double at_s) {
  const std::string log = testing::RunCommand("(ffmpeg -hide_banner -ss " + std::to_string(at_s) + " -i '" + file +
                                              "' -t 0.2 -vf cropdetect=round=2:skip=0 -f null - 2>&1)");
  const std::size_t at = log.rfind("crop=");
  return at == std::string::npos ? "" : log.substr(at + 5, log.find('\n', at) - at - 5);
}

TEST_F(EnhanceTest, KeepsTheShapeWhereThePixelAspectChanges) {
  const char* const kEncodes[] = {"-c:v mpeg2video", "-c:v mpeg2video -flags +ildct+ilme -top 1", "-c:v libx264 -pix_fmt yuv420p", "-c:v libx264 -pix_fmt yuv422p10le"};
  const auto part = [&](const std::string& name, const std::string& shape, const std::string& encode, int start_s) {
    return Clip(name, "-f lavfi -i color=white:size=180x144:rate=25:duration=2 -vf setdar=" + shape + " " + encode + " -output_ts_offset " + std::to_string(start_s));
  };
  for (const std::string encode : kEncodes) {
    SCOPED_TRACE(encode);
    const std::string parts = part("a.ts", "4/3", encode, 0) + " " + part("b.ts", "16/9", encode, 2) + " " + part("c.ts", "4/3", encode, 4);
    testing::RunCommand("cat " + parts + " > " + folder_.File("joined.ts"));
    Enhance(folder_.File("joined.ts"), output_, PlainOptions());
    EXPECT_EQ(PictureInBars(output_, 1), "192:144:0:0");
    EXPECT_EQ(PictureInBars(output_, 3), "192:108:0:18");
    EXPECT_EQ(PictureInBars(output_, 5), "192:144:0:0");
    testing::RunCommand("cat " + folder_.File("b.ts") + " " + folder_.File("c.ts") + " > " + folder_.File("joined.ts"));
    Enhance(folder_.File("joined.ts"), output_, PlainOptions());
    EXPECT_EQ(PictureInBars(output_, 1), "256:144:0:0");
    EXPECT_EQ(PictureInBars(output_, 3), "192:144:32:0");
  }
}

TEST_F(EnhanceTest, TakesAnotherStoredSizeThatIsShownInTheSameShape) {
  Clip("a.ts", VideoInput("192x144", 2) + " -vf setdar=16/9 -c:v libx264 -pix_fmt yuv420p");
  Clip("b.ts", VideoInput("256x144", 2) + " -c:v libx264 -pix_fmt yuv420p -output_ts_offset 2");
  testing::RunCommand("cat " + folder_.File("a.ts") + " " + folder_.File("b.ts") + " > " + folder_.File("joined.ts"));
  const EnhanceResult result = Enhance(folder_.File("joined.ts"), output_, PlainOptions());
  EXPECT_EQ(result.frames, 100);
  EXPECT_EQ(result.width, 256);
}

}  // namespace
}  // namespace reelmend
