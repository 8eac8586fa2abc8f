// Many kinds of sources: frames, times, size, sound and tags of the output, checked with ffprobe.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "helpers/clips.h"
#include "helpers/ffprobe.h"
#include "helpers/test_paths.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using testing::DecodedTimes;
using testing::Ffmpeg;
using testing::FfprobeReport;
using testing::PlainOptions;
using testing::RunCommand;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

struct Row {
  const char* file;
  const char* inputs;  ///< null: 160×90, 25 fps, 1 s
  const char* encode;
  int frames;          ///< −1: as many as ffprobe decodes
  int width = 160;
  int height = 90;
  const char* audio = "";  ///< audio codecs of the output, separated by spaces; a leading "+" adds a tone as input
  const char* after = "";  ///< shell command on the finished file $f, run in its folder
};

// One of every container and codec on the allow list that the ffmpeg command can write.
const Row kFormats[] = {
    {"h264-aac.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a aac", 25, 160, 90, "+aac"},
    {"h264-alac.mov", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a alac", 25, 160, 90, "+alac"},
    {"h264-flac.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a flac", 25, 160, 90, "+flac"},
    {"h264-dts.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a dca -strict -2", 25, 160, 90, "+dts"},
    {"h264-opus.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a libopus", 25, 160, 90, "+opus"},
    {"vp8-vorbis.webm", nullptr, "-c:v libvpx -deadline realtime -c:a libvorbis", 25, 160, 90, "+aac"},
    {"vp9-opus.webm", nullptr, "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus", 25, 160, 90, "+opus"},
    {"av1.mkv", nullptr, "-frames:v 8 -c:v libaom-av1 -cpu-used 8 -usage realtime", 8, 160, 90, ""},
    {"mpeg4-mp3.avi", nullptr, "-c:v mpeg4 -c:a libmp3lame", 25, 160, 90, "+mp3"},
    {"mpeg4-b-pcm.avi", nullptr, "-c:v mpeg4 -bf 2 -c:a pcm_s16le", 25, 160, 90, "+aac"},
    {"msmpeg4.avi", nullptr, "-c:v msmpeg4 -c:a pcm_u8 -ar 8000", 25, 160, 90, "+aac"},
    {"mjpeg.avi", nullptr, "-c:v mjpeg -pix_fmt yuvj422p -c:a adpcm_ms", 25, 160, 90, "+aac"},
    {"huffyuv.avi", nullptr, "-c:v huffyuv -pix_fmt yuv422p -c:a pcm_s16le", 25, 160, 90, "+aac"},
    {"h264-aac.ts", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a aac", 25, 160, 90, "+aac"},
    {"mpeg2-mp2.ts", nullptr, "-c:v mpeg2video -c:a mp2", 25, 160, 90, "+aac"},
    {"mpeg2-ac3.mpg", nullptr, "-c:v mpeg2video -bf 2 -c:a ac3", 25, 160, 90, "+ac3"},
    {"mpeg1.mpg", nullptr, "-c:v mpeg1video -c:a mp2", 25, 160, 90, "+aac"},
    {"h264-aac.flv", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a aac", 25, 160, 90, "+aac"},
    {"flv1-mp3.flv", nullptr, "-c:v flv -c:a libmp3lame -ar 44100", 25, 160, 90, "+mp3"},
    {"wmv2-wma.wmv", nullptr, "-c:v wmv2 -c:a wmav2", 25, 160, 90, "+aac"},
    {"theora-vorbis.ogv", nullptr, "-c:v libtheora -c:a libvorbis", 25, 160, 90, "+aac"},
    {"hevc-eac3.mkv", nullptr, "-c:v libx265 -preset ultrafast -x265-params log-level=none -c:a eac3", 25, 160, 90, "+eac3"},
    {"hevc-aac.mp4", nullptr, "-c:v libx265 -preset ultrafast -x265-params log-level=none -tag:v hvc1 -c:a aac", 25, 160,
     90, "+aac"},
    {"h263.3gp", "-f lavfi -i testsrc2=size=176x144:rate=25:duration=1", "-c:v h263 -c:a aac -ar 8000", 25, 176, 144, "+aac"},
    {"mpeg2.mxf", nullptr, "-c:v mpeg2video -c:a pcm_s16le -ar 48000", 25, 160, 90, "+aac"},
    {"pal.dv", "-f lavfi -i testsrc2=size=720x576:rate=25:duration=0.4", "-ac 2 -aspect 4:3", 10, 768, 576, "+aac"},
    {"prores.mov", nullptr, "-c:v prores_ks -c:a pcm_s24le", 25, 160, 90, "+aac"},
    {"dnxhr.mov", "-f lavfi -i testsrc2=size=320x180:rate=25:duration=0.4", "-c:v dnxhd -profile:v dnxhr_lb -pix_fmt yuv422p",
     10, 320, 180, ""},
    {"qtrle.mov", nullptr, "-c:v qtrle -pix_fmt rgb24", 25, 160, 90, ""},
    {"png.mov", nullptr, "-c:v png -pix_fmt rgba", 25, 160, 90, ""},
    {"v210.mov", nullptr, "-c:v v210 -c:a pcm_s24le", 25, 160, 90, "+aac"},
    {"ffv1.mkv", nullptr, "-c:v ffv1 -c:a pcm_s16le", 25, 160, 90, "+aac"},
    {"vp9.ivf", nullptr, "-c:v libvpx-vp9 -deadline realtime -cpu-used 8", 25, 160, 90, ""},
    {"animation.gif", "-f lavfi -i testsrc2=size=100x80:rate=10:duration=1", "", 10, 100, 80, ""},
    {"raw.h264", nullptr, "-c:v libx264 -bf 2 -pix_fmt yuv420p", 25, 160, 90, ""},
    {"raw.m4v", nullptr, "-c:v mpeg4", 25, 160, 90, ""},
    {"fragmented.mp4", nullptr, "-c:v libx264 -g 10 -pix_fmt yuv420p -c:a aac -movflags frag_keyframe+empty_moov", 25, 160,
     90, "+aac"},
    {"aac51.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -ac 6 -c:a aac", 25, 160, 90, "+aac"},
    {"vorbis51.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -ac 6 -c:a libvorbis", 25, 160, 90, "+aac"},
    {"pcm44.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -ar 44100 -ac 2 -c:a pcm_f32le", 25, 160, 90, "+aac"},
    {"wavpack.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a wavpack", 25, 160, 90, "+aac"},
    {"tta.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a tta", 25, 160, 90, "+aac"},
    {"s302m.ts", nullptr, "-c:v mpeg2video -strict -2 -ar 48000 -ac 2 -c:a s302m", 25, 160, 90, "+aac"},
    {"three.mkv", nullptr, "-map 0 -map 1 -map 1 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a:0 aac -c:a:1 ac3 -c:a:2 libvorbis",
     25, 160, 90, "+aac ac3 aac"},
};

// Shapes, orientations and sample formats.
const Row kPictures[] = {
    {"422.mp4", nullptr, "-c:v libx264 -pix_fmt yuv422p", 25},
    {"444.mp4", nullptr, "-c:v libx264 -pix_fmt yuv444p", 25},
    {"420-10.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p10le", 25},
    {"422-10.mkv", nullptr, "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv422p10le", 25},
    {"444-12.mkv", nullptr, "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv444p12le", 25},
    {"gbr.mkv", nullptr, "-c:v libx264rgb -pix_fmt bgr0", 25},
    {"gray10.mkv", nullptr, "-c:v ffv1 -pix_fmt gray10le", 25},
    {"alpha.mov", nullptr, "-c:v qtrle -pix_fmt argb", 25},
    {"411.avi", nullptr, "-c:v ffv1 -pix_fmt yuv411p", 25},
    {"440.mkv", nullptr, "-c:v ffv1 -pix_fmt yuv440p", 25},
    {"odd.mkv", nullptr, "-vf format=yuv444p,crop=81:51:exact=1 -c:v libx264", 25, 82, 52},
    {"odd420.webm", nullptr,
     "-vf format=yuv444p,crop=81:51:exact=1,format=yuv420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8", 25, 82, 52},
    {"tiny.mp4", "-f lavfi -i testsrc2=size=16x16:rate=25:duration=1", "-c:v libx264 -pix_fmt yuv420p", 25, 16, 16},
    {"two-by-two.mkv", "-f lavfi -i testsrc2=size=16x16:rate=25:duration=1", "-vf crop=2:2 -c:v ffv1 -pix_fmt yuv444p", 25, 2, 2},
    {"portrait.mp4", "-f lavfi -i testsrc2=size=90x160:rate=25:duration=1", "-c:v libx264 -pix_fmt yuv420p", 25, 90, 160},
    {"8k.mov", "-f lavfi -i testsrc2=size=7680x4320:rate=25:duration=0.04", "-c:v mjpeg -q:v 8 -pix_fmt yuvj420p", 1, 7680, 4320},
    {"ribbon.mp4", "-f lavfi -i testsrc2=size=640x16:rate=25:duration=1", "-c:v libx264 -pix_fmt yuv420p", 25, 640, 16},
    {"wide-pixels.mp4", nullptr, "-vf setsar=2/1 -c:v libx264 -pix_fmt yuv420p", 25, 320, 90},
    {"tall-pixels.mkv", nullptr, "-vf setsar=1/2 -c:v libx264 -pix_fmt yuv420p", 25, 80, 90},
    {"turned-90.mov", nullptr, "-c:v libx264 -pix_fmt yuv420p", 25, 90, 160, "", "turn 90"},
    {"turned-180.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p", 25, 160, 90, "", "turn 180"},
    {"turned-270.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p", 25, 90, 160, "", "turn 270"},
    {"turned-wide-pixels.mp4", nullptr, "-vf setsar=2/1 -c:v libx264 -pix_fmt yuv420p", 25, 90, 320, "", "turn 90"},
    {"telecine.mpg", "-f lavfi -i testsrc2=size=160x96:rate=24000/1001:duration=1", "-vf telecine -c:v mpeg2video", -1, 160, 96},
    {"telecine-fields.ts", "-f lavfi -i testsrc2=size=160x96:rate=24000/1001:duration=1",
     "-vf telecine -c:v mpeg2video -flags +ildct+ilme", -1, 160, 96},
    {"cropped.mkv", "-f lavfi -i testsrc2=size=174x98:rate=25:duration=1",
     "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p", 25, 174, 98},
    {"interlaced.mpg", "-f lavfi -i testsrc2=size=160x96:rate=50:duration=1",
     "-vf tinterlace=interleave_top,fieldorder=tff -c:v mpeg2video -flags +ildct+ilme", 25, 160, 96},
    {"interlaced.mp4", "-f lavfi -i testsrc2=size=160x96:rate=50:duration=1",
     "-vf tinterlace=interleave_bottom,fieldorder=bff -c:v libx264 -x264-params interlaced=1:bff=1 -pix_fmt yuv420p", 25, 160, 96},
};

// Frame rates, start times and timestamps.
const Row kClocks[] = {
    {"23.976.mp4", "-f lavfi -i testsrc2=size=160x90:rate=24000/1001:duration=2", "-c:v libx264 -pix_fmt yuv420p -c:a aac", 48,
     160, 90, "+aac"},
    {"29.97.mkv", "-f lavfi -i testsrc2=size=160x90:rate=30000/1001:duration=2", "-c:v libx264 -pix_fmt yuv420p -c:a aac", 60,
     160, 90, "+aac"},
    {"29.97.avi", "-f lavfi -i testsrc2=size=160x90:rate=30000/1001:duration=2", "-c:v mpeg4 -c:a libmp3lame", 60, 160, 90, "+mp3"},
    {"59.94.ts", "-f lavfi -i testsrc2=size=160x90:rate=60000/1001:duration=2", "-c:v libx264 -pix_fmt yuv420p -c:a aac", 120,
     160, 90, "+aac"},
    {"120.mp4", "-f lavfi -i testsrc2=size=160x90:rate=120:duration=1", "-c:v libx264 -pix_fmt yuv420p", 120},
    {"one-fps.mp4", "-f lavfi -i testsrc2=size=160x90:rate=1:duration=6", "-c:v libx264 -pix_fmt yuv420p -c:a aac", 6, 160, 90,
     "+aac"},
    {"one-frame.mp4", "-f lavfi -i testsrc2=size=160x90:rate=10:duration=0.1", "-c:v libx264 -pix_fmt yuv420p", 1},
    {"two-frames.mkv", "-f lavfi -i testsrc2=size=160x90:rate=10:duration=0.2", "-c:v libx264 -pix_fmt yuv420p", 2},
    {"vfr.mp4", "-f lavfi -i testsrc2=size=160x90:rate=50:duration=3",
     "-vf select='lt(mod(n\\,17)\\,3)+gt(n\\,100)*not(mod(n\\,5))' -vsync vfr -c:v libx264 -pix_fmt yuv420p -c:a aac", -1, 160,
     90, "+aac"},
    {"vfr.mkv", "-f lavfi -i testsrc2=size=160x90:rate=50:duration=3",
     "-vf select='not(mod(n\\,7))+not(mod(n\\,11))' -vsync vfr -c:v libx264 -pix_fmt yuv420p -c:a libvorbis", -1, 160, 90, "+aac"},
    {"many-b.mkv", nullptr, "-c:v libx264 -bf 8 -b_strategy 0 -pix_fmt yuv420p -c:a aac", 25, 160, 90, "+aac"},
    {"open-gop.ts", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=2",
     "-c:v libx264 -g 10 -bf 3 -x264-params open-gop=1 -pix_fmt yuv420p -c:a mp2", 50, 160, 90, "+aac"},
    // 2^33 ticks of 90 kHz are 95443.7 s, so the timestamps wrap in the middle of the clip.
    {"wrap.ts", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=4", "-c:v libx264 -pix_fmt yuv420p -c:a aac -output_ts_offset 95440.5",
     100, 160, 90, "+aac"},
    {"wrap-mp2.ts", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=4",
     "-c:v mpeg2video -bf 2 -c:a mp2 -output_ts_offset 95441.7", 100, 160, 90, "+aac"},
    {"wrap.mpg", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=4", "-c:v mpeg2video -c:a mp2 -output_ts_offset 95441.7", 100,
     160, 90, "+aac"},
    {"late-start.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a aac -output_ts_offset 100", 25, 160, 90, "+aac"},
    {"late-sound.mp4", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=2 -itsoffset 0.7",
     "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a aac", 50, 160, 90, "+aac"},
    {"late-sound.mkv", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=2 -itsoffset 0.7",
     "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a libvorbis", 50, 160, 90, "+aac"},
    {"late-sound.ts", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=2 -itsoffset 0.7",
     "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a mp2", 50, 160, 90, "+aac"},
    {"late-picture.mp4", "-itsoffset 0.9 -f lavfi -i testsrc2=size=160x90:rate=25:duration=1",
     "-map 0 -map 1 -vsync passthrough -c:v libx264 -pix_fmt yuv420p -c:a aac", 25, 160, 90, "+aac"},
    {"late-picture.mkv", "-itsoffset 0.9 -f lavfi -i testsrc2=size=160x90:rate=25:duration=1",
     "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a libopus", 25, 160, 90, "+opus"},
    {"late-picture.ts", "-itsoffset 0.9 -f lavfi -i testsrc2=size=160x90:rate=25:duration=1",
     "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a mp2", 25, 160, 90, "+aac"},
    // Cut in the middle of a group of pictures: an edit list hides the frames before the cut.
    {"cut.mp4", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=3", "-c:v libx264 -g 40 -pix_fmt yuv420p -c:a aac", -1, 160,
     90, "+aac", "ffmpeg -v error -y -ss 1.1 -i $f -c copy cut-copy.mp4 && mv cut-copy.mp4 $f"},
    {"cut.mov", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=3", "-c:v libx264 -g 40 -bf 0 -pix_fmt yuv420p -c:a aac", -1,
     160, 90, "+aac", "ffmpeg -v error -y -ss 1.1 -i $f -c copy cut-copy.mov && mv cut-copy.mov $f"},
    {"short-sound.mp4", "-f lavfi -i testsrc2=size=160x90:rate=25:duration=5", "-c:v libx264 -pix_fmt yuv420p -c:a aac", 125, 160,
     90, "+aac"},
    {"declared-50.mp4", nullptr, "-c:v libx264 -pix_fmt yuv420p -bsf:v h264_metadata=tick_rate=100/1 -c:a aac", 25, 160, 90, "+aac"},
    {"declared-5.mkv", nullptr, "-c:v libx264 -pix_fmt yuv420p -bsf:v h264_metadata=tick_rate=10/1 -c:a aac", 25, 160, 90, "+aac"},
    {"declared-longer.mp4", nullptr, "-c:v libx264 -bf 0 -pix_fmt yuv420p", 25, 160, 90, "", "declare 100"},
    {"declared-shorter.mp4", nullptr, "-c:v libx264 -bf 0 -pix_fmt yuv420p", 25, 160, 90, "", "declare 0.1"},
    {"joined.ts", nullptr, "-c:v libx264 -pix_fmt yuv420p -c:a mp2", -2, 160, 90, "+aac", "cat $f $f > two && mv two $f"},
};

/// Multiplies the durations in an MP4's movie, track and media headers (version 0 boxes) by `factor`.
void DeclareDuration(const std::string& file, double factor) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const std::pair<const char*, std::size_t> fields[] = {{"mvhd", 20}, {"tkhd", 24}, {"mdhd", 20}};
  for (const auto& [box, offset] : fields) {
    const std::size_t at = bytes.find(box);
    ASSERT_NE(at, std::string::npos);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + offset + i]);
    value = static_cast<std::uint32_t>(value * factor);
    stream.seekp(static_cast<std::streamoff>(at + offset));
    for (int shift = 24; shift >= 0; shift -= 8) stream.put(static_cast<char>(value >> shift));
  }
}

void ExpectOutputTags(const FfprobeReport& output, const EnhanceResult& result) {
  const auto& video = output.Stream("v:0");
  EXPECT_EQ(video.at("codec_name"), "h264");
  EXPECT_EQ(video.at("codec_tag_string"), "avc1");
  EXPECT_EQ(video.at("pix_fmt"), "yuv420p");
  EXPECT_EQ(video.at("color_range"), "tv");
  EXPECT_NE(video.at("color_space"), "unknown");
  EXPECT_NE(video.at("color_primaries"), "unknown");
  EXPECT_NE(video.at("color_transfer"), "unknown");
  EXPECT_EQ(video.at("field_order"), "progressive");
  EXPECT_EQ(video.at("sample_aspect_ratio"), "1:1");
  EXPECT_EQ(video.count("rotation"), 0U);
  EXPECT_EQ(std::atoi(video.at("width").c_str()), result.width);
  EXPECT_EQ(std::atoi(video.at("height").c_str()), result.height);
  EXPECT_EQ(std::atoi(video.at("nb_frames").c_str()), result.frames);
  EXPECT_NEAR(std::stod(video.at("duration")), result.duration_s, 0.001);
}

/// Expects the same times of all frames relative to the first one, and the same offset between sound and picture.
void ExpectSameClock(const DecodedTimes& before, const DecodedTimes& after, double tolerance_s) {
  ASSERT_FALSE(before.video.empty());
  ASSERT_EQ(before.video.size(), after.video.size());
  double frame_s = 0.04;
  for (std::size_t i = 0; i < before.video.size(); ++i) {
    if (std::isnan(before.video[i]) || std::isnan(before.video[0])) continue;
    EXPECT_NEAR(after.video[i] - after.video[0], before.video[i] - before.video[0], tolerance_s) << "frame " << i;
    if (i == 1) frame_s = std::max(0.02, before.video[1] - before.video[0]);
  }
  if (std::isnan(before.video[0])) return;
  const std::size_t tracks = std::min(before.audio.size(), after.audio.size());
  for (std::size_t i = 0; i < tracks; ++i) {
    const auto [source, output] = std::pair(before.audio[i], after.audio[i]);
    EXPECT_NEAR(output.first - after.video[0], source.first - before.video[0], frame_s) << "start of sound " << i;
    EXPECT_NEAR(output.end - after.video[0], source.end - before.video[0], frame_s + 0.03) << "end of sound " << i;
  }
}

/// Options with a fast encoder setting, because these tests do not compare pixels.
EnhanceOptions CoarseOptions() {
  EnhanceOptions options = PlainOptions();
  options.encoder.crf = 40;
  return options;
}

class Matrix : public ::testing::TestWithParam<Row> {
 protected:
  void Make(const Row& row, const std::string& file) {
    const bool has_tone = row.audio[0] == '+';
    std::string arguments = row.inputs == nullptr ? VideoInput("160x90", 1) : row.inputs;
    arguments += ' ';
    if (has_tone) arguments += ToneInput(1);
    Ffmpeg(arguments.append(1, ' ').append(row.encode).append(" '").append(file).append("'"));
    const std::string after = row.after;
    if (after.rfind("turn ", 0) == 0) {
      testing::SetRotation(file, std::atoi(after.c_str() + 5));
    } else if (after.rfind("declare ", 0) == 0) {
      DeclareDuration(file, std::atof(after.c_str() + 8));
    } else if (!after.empty()) {
      RunCommand("cd " + folder_.File("") + " && f='" + row.file + "' && " + after);
    }
  }
  TemporaryFolder folder_;
};

TEST_P(Matrix, KeepsFramesTimesShapeAndSound) {
  const Row& row = GetParam();
  const std::string source = folder_.File(row.file);
  const std::string output = folder_.File("out.mp4");
  Make(row, source);
  const DecodedTimes before = FfprobeReport(source).Times();
  const EnhanceResult result = Enhance(source, output, CoarseOptions());
  const FfprobeReport made(output);
  const DecodedTimes after = made.Times();
  const int frames = row.frames == -2 ? 50 : row.frames == -1 ? static_cast<int>(before.video.size()) : row.frames;
  EXPECT_EQ(result.frames, frames);
  EXPECT_EQ(static_cast<int>(after.video.size()), frames);
  EXPECT_EQ(result.undecodable_frames, 0);
  EXPECT_EQ(result.width, row.width);
  EXPECT_EQ(result.height, row.height);
  ExpectOutputTags(made, result);
  EXPECT_EQ(made.Codecs("a"), row.audio[0] == '+' ? row.audio + 1 : row.audio);
  if (row.frames != -2) ExpectSameClock(before, after, 0.00101);
  const ProbeResult probe = ProbeFile(source);
  EXPECT_NEAR(probe.duration_s, result.source.duration_s, std::string(row.after).rfind("declare", 0) == 0 ? 100 : 0.2);
}

// ---- files of real cameras and encoders, if the media folder exists beside the repository ------------------

/// The expectations for a file. A file that is not listed must be enhanced completely, and is compared with its stream v:0.
struct RealFile {
  const char* name;
  bool is_refused = false;             ///< refused with unreadable_video
  const char* video_stream = "v:0";    ///< the stream that is enhanced
  int lost = 0;                        ///< how much the numbers of frames of ffprobe and of the engine may differ
  double tolerance_s = 0.00101;        ///< tolerance of frame times
};

const RealFile kKnown[] = {
    {"audio-only.mp4", true},
    {"broken.mp4", true},
    {"empty.mov", true},
    {"header-only.mp4", true},
    {"hls-playlist.m3u8", true},
    {"made-jpeg-named.mp4", true},
    {"made-playlist-named.mkv", true},
    {"made-truncated-faststart.mp4", true},
    {"podcast-cover-chapters.m4a", true},
    {"quicktime-jpeg-434x343.mov", true},
    {"text-as.mp4", true},
    {"vvc.mp4", true},
    {"nasa-2v-2a-2s.mp4", false, "v:1"},
    {"hevc-portrait-1376x1840.mp4", false, "v:0", 0, 0.04},  // one frame has an earlier time than the frame before it
};

RealFile Known(const std::string& name) {
  for (const RealFile& file : kKnown) {
    if (name == file.name) return file;
  }
  return {name.c_str()};
}

/// Those that npm run test:long has instead, because of their size.
bool IsLong(std::string_view name) {
  return std::ranges::count(std::initializer_list<std::string_view>{"8k24-hevc.mp4", "hevc-portrait-1376x1840.mp4", "portrait-4k60.mp4"}, name) > 0;
}

std::vector<std::string> RealFiles(bool are_long) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(test_paths::SharedMediaDir(), missing)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && entry.path().extension() != ".tsv" && IsLong(name) == are_long) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// The size of the displayed picture, computed from ffprobe's entries.
Size DisplayedByFacts(const std::map<std::string, std::string>& facts) {
  double width = std::stod(facts.at("width"));
  double height = std::stod(facts.at("height"));
  int num = 1;
  int den = 1;
  const auto ratio = facts.find("sample_aspect_ratio");
  if (ratio != facts.end() && std::sscanf(ratio->second.c_str(), "%d:%d", &num, &den) == 2 && num > 0 && den > 0) {
    width = std::round(width * num / den);
  }
  const auto rotation = facts.find("rotation");
  if (rotation != facts.end() && std::atoi(rotation->second.c_str()) % 180 != 0) std::swap(width, height);
  return FitTarget({static_cast<int>(width), static_cast<int>(height)}, Target::kSource);
}

class RealMatrix : public ::testing::TestWithParam<std::string> {};

TEST_P(RealMatrix, IsEnhancedWholeOrRefusedForAReason) {
  const RealFile known = Known(GetParam());
  const std::string source = test_paths::SharedMediaDir() + "/" + GetParam();
  const TemporaryFolder folder;
  const std::string output = folder.File("out.mp4");
  EnhanceOptions options = CoarseOptions();
  // Two files would take too long: of the long one only a part is enhanced, the huge one is reduced.
  const bool is_long = GetParam() == "long-1080p-6min.mp4";
  const bool is_huge = GetParam() == "8k24-hevc.mp4";
  if (is_long) options.segment = Segment{100, 101.5, 4};
  if (is_huge) options.target = Target::k1080p;
  EnhanceResult result;
  try {
    result = Enhance(source, output, options);
  } catch (const Error& error) {
    ASSERT_TRUE(known.is_refused) << error.what();
    EXPECT_EQ(error.code(), ErrorCode::kUnreadableVideo) << error.what();
    EXPECT_FALSE(testing::FileExists(output));
    EXPECT_THROW(ProbeFile(source), Error);
    return;
  }
  ASSERT_FALSE(known.is_refused) << "the file was accepted";
  const FfprobeReport made(output);
  ExpectOutputTags(made, result);
  const ProbeResult probe = ProbeFile(source);
  if (is_long) {
    EXPECT_EQ(result.frames, 45);
    EXPECT_NEAR(result.duration_s, 1.5, 0.001);
    return;
  }
  // The service charges for the probed duration. It refunds if the duration of the job differs by more than a second.
  EXPECT_NEAR(probe.duration_s, result.source.duration_s, 0.5);
  const FfprobeReport original(source);
  const Size shown = DisplayedByFacts(original.Stream(known.video_stream));
  if (!is_huge) {
    EXPECT_EQ(result.width, shown.width);
    EXPECT_EQ(result.height, shown.height);
  }
  const DecodedTimes before = original.Times(known.video_stream);
  const DecodedTimes after = made.Times();
  EXPECT_NEAR(static_cast<double>(before.video.size()), static_cast<double>(result.frames), known.lost);
  EXPECT_EQ(static_cast<std::int64_t>(after.video.size()), result.frames);
  EXPECT_EQ(after.audio.size(), before.audio.size());
  EXPECT_EQ(made.SoundLanguages(), original.SoundLanguages());
  if (before.video.size() == after.video.size()) ExpectSameClock(before, after, known.tolerance_s);
}

std::string PlainName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealMatrix);
INSTANTIATE_TEST_SUITE_P(Files, RealMatrix, ::testing::ValuesIn(RealFiles(false)), PlainName);
INSTANTIATE_TEST_SUITE_P(LargeFiles, RealMatrix, ::testing::ValuesIn(RealFiles(true)), [](const auto& info) { return PlainName(info) + "_Long"; });

TEST(RealMatrixFiles, AreThere) {
  if (!std::filesystem::exists(test_paths::SharedMediaDir())) GTEST_SKIP() << "There is no folder " << test_paths::SharedMediaDir();
  EXPECT_FALSE(RealFiles(false).empty());
}

std::string RowName(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param.file;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Formats, Matrix, ::testing::ValuesIn(kFormats), RowName);
INSTANTIATE_TEST_SUITE_P(Pictures, Matrix, ::testing::ValuesIn(kPictures), RowName);
INSTANTIATE_TEST_SUITE_P(Clocks, Matrix, ::testing::ValuesIn(kClocks), RowName);

}  // namespace
}  // namespace reelmend
