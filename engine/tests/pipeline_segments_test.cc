// Videos of many formats in segments: enhanced separately and joined. Compared with a run in one piece, using ffmpeg and ffprobe.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include "helpers/clips.h"
#include "helpers/networks.h"
#include "helpers/test_paths.h"
#include "reelmend/error.h"
#include "reelmend/segments.h"
#include "segments_fixture.h"

namespace reelmend {
namespace {

using testing::Facts;
using testing::Ffmpeg;
using testing::kFilm;
using testing::PacketTimes;
using testing::RunCommand;
using testing::Segments;
using testing::TemporalOptions;
using testing::ToneInput;

struct FormatCase {
  const char* name;
  const char* file;
  /// ffmpeg's arguments after the inputs (0: film, 1: tone); or a command with the placeholders {film} and {out}
  const char* encode;
  /// why the video is not cut; null: it is cut
  const char* why_whole = nullptr;
  bool twice = true;  ///< the pieces are made a second time and compared byte by byte
};

class SegmentsOfFormats : public Segments, public ::testing::WithParamInterface<FormatCase> {
 protected:
  std::string MakeSource() const {
    const FormatCase& c = GetParam();
    const std::string out = File(c.file);
    std::string command = c.encode;
    if (command.rfind("ffmpeg", 0) != 0) {
      Ffmpeg(std::string(kFilm) + " " + ToneInput(9) + " " + command + " -shortest '" + out + "'");
      return out;
    }
    for (const auto& [word, text] : {std::pair<std::string, std::string>{"{film}", kFilm}, {"{out}", out}, {"{folder}", File("")}}) {
      for (std::size_t at = 0; (at = command.find(word, at)) != std::string::npos; at += text.size()) command.replace(at, word.size(), text);
    }
    RunCommand(command);
    return out;
  }
};

TEST_P(SegmentsOfFormats, JoinToWhatOneRunMakes) {
  Prepare(MakeSource(), TemporalOptions());
  if (GetParam().why_whole != nullptr) {
    EXPECT_EQ(plan_.segments.size(), 1U);
    EXPECT_EQ(plan_.why_whole, GetParam().why_whole);
    EXPECT_TRUE(plan_.text.empty());
    return;
  }
  ASSERT_GE(plan_.segments.size(), 3U) << plan_.why_whole;
  MakePieces();
  if (HasFatalFailure()) return;
  const JoinResult joined = Join("joined.mp4");
  EXPECT_EQ(joined.frames, static_cast<std::int64_t>(whole_.size()));
  ExpectSameFile(File("joined.mp4"), File("whole.mp4"));
  if (GetParam().twice) ExpectTheSameBytesAgain(File("joined.mp4"));
}

const FormatCase kFormats[] = {
    {"ClosedGop", "a.mp4", "-c:v libx264 -g 40 -pix_fmt yuv420p -c:a aac"},
    {"OpenGop", "a.mkv", "-c:v libx264 -g 30 -bf 3 -x264-params open-gop=1 -pix_fmt yuv420p -c:a aac"},
    {"IntraRefresh", "a.mp4", "-c:v libx264 -x264-params intra-refresh=1:keyint=30 -pix_fmt yuv420p -an"},
    {"FewKeyFrames", "a.mp4", "-c:v libx264 -g 1000 -keyint_min 1000 -sc_threshold 0 -pix_fmt yuv420p -c:a aac"},
    {"VariableRate", "a.mkv", "-vf \"select='not(mod(n,3))+not(mod(n,7))'\" -fps_mode vfr -c:v libx264 -g 20 -pix_fmt yuv420p -an"},
    {"SlowStretch", "a.mkv", "-vf \"select='not(between(t,3.3,6.4))+not(mod(n,8))'\" -fps_mode vfr -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac"},
    {"EditList", "a.mp4",
     "ffmpeg -v error {film} -f lavfi -i sine=duration=9 -c:v libx264 -g 50 -pix_fmt yuv420p -c:a aac {folder}/whole-gop.mp4 && "
     "ffmpeg -v error -ss 0.7 -i {folder}/whole-gop.mp4 -c copy {out}"},
    {"Offset", "a.ts", "-c:v libx264 -g 25 -pix_fmt yuv420p -c:a mp2 -output_ts_offset 30"},
    {"NegativeOffsets", "a.mov", "-c:v libx264 -g 25 -pix_fmt yuv420p -c:a aac -movflags negative_cts_offsets"},
    {"NegativeStart", "a.mkv", "-c:v libx264 -g 25 -pix_fmt yuv420p -c:a aac -output_ts_offset -1.5 -avoid_negative_ts disabled",
     "its frames have no timestamps"},
    {"Fragments", "a.mp4", "-c:v libx264 -g 25 -pix_fmt yuv420p -c:a aac -movflags frag_keyframe+empty_moov"},
    {"Hevc", "a.mp4", "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=30 -pix_fmt yuv420p -c:a aac"},
    {"Vp9", "a.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 50 -pix_fmt yuv420p -c:a libopus"},
    {"Mpeg2Interlaced", "a.ts", "-c:v mpeg2video -b:v 2M -bf 2 -g 12 -flags +ildct+ilme -top 1 -pix_fmt yuv420p -c:a mp2"},
    {"ProRes", "a.mov", "-c:v prores_ks -profile:v 0 -c:a pcm_s16le"},
    {"Flash", "a.flv", "-c:v libx264 -g 30 -pix_fmt yuv420p -c:a aac -ar 44100"},
    {"Restarted", "a.ts",
     "ffmpeg -v error {film} -t 5 -c:v libx264 -g 25 -pix_fmt yuv420p {folder}/1.ts && cat {folder}/1.ts {folder}/1.ts > {out}",
     "its timestamps start again"},
    {"NoTimestamps", "a.avi", "-c:v mpeg4 -bf 2 -g 25 -c:a libmp3lame", "its frames have no timestamps"},
    {"HiddenFrames", "a.webm", "-c:v libvpx -deadline realtime -cpu-used 8 -auto-alt-ref 1 -lag-in-frames 16 -g 50 -c:a libopus",
     "its codec may hide frames"},
    {"LongPause", "a.mkv", "-vf \"settb=1/1000,setpts='(N/25+gte(N,50)*200000)/TB'\" -fps_mode passthrough -enc_time_base 1/1000 -c:v libx264 -g 25 -pix_fmt yuv420p -an",
     "one of its frames is shown for very long"},
    {"LongEnd", "a.mkv", "-c:v libx264 -g 25 -bf 0 -pix_fmt yuv420p -an -bsf:v 'setts=duration=if(eq(N\\,224)\\,80000/TB\\,DURATION)'",
     "one of its frames is shown for very long"},
    {"Slides", "a.mkv",
     "-vf \"settb=1/1000,setpts='if(lt(N,10),N*10,93+(N-10)/25)/TB'\" -fps_mode passthrough "
     "-enc_time_base 1/1000 -c:v libx264 -bf 0 -g 30 -pix_fmt yuv420p -an"},
    {"Pauses", "a.mkv",
     "-vf \"settb=1/1000,setpts='if(gt(mod(N,75),70),N/25+floor(N/75)*40+(mod(N,75)-70)*10,N/25+floor(N/75)*40)/TB'\" -fps_mode passthrough "
     "-enc_time_base 1/1000 -c:v libx264 -bf 2 -g 30 -pix_fmt yuv420p -an"},
    {"Short", "a.mp4", "-t 3 -c:v libx264 -g 10 -pix_fmt yuv420p -c:a aac", "it is short"},
};

bool IsOneOf(const FormatCase& c, std::initializer_list<std::string_view> names) { return std::ranges::count(names, c.name) > 0; }
/// npm test has some formats, of which it makes a few twice. npm run test:long has the others, and those that npm test makes once.
std::vector<FormatCase> FormatsThatAre(bool are_long) {
  std::vector<FormatCase> cases;
  for (FormatCase c : kFormats) {
    const bool is_only_long = IsOneOf(c, {"IntraRefresh", "SlowStretch", "Flash", "ProRes", "Offset", "NegativeOffsets", "Fragments"});
    const bool is_made_once = IsOneOf(c, {"ClosedGop", "FewKeyFrames", "VariableRate", "Slides", "Pauses", "EditList", "Hevc", "Vp9", "Mpeg2Interlaced"});
    c.twice = are_long || !is_made_once;
    if (are_long ? is_only_long || is_made_once : !is_only_long) cases.push_back(c);
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Formats, SegmentsOfFormats, ::testing::ValuesIn(FormatsThatAre(false)),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(MoreFormats, SegmentsOfFormats, ::testing::ValuesIn(FormatsThatAre(true)),
                         [](const auto& info) { return std::string(info.param.name) + "_Long"; });

TEST_F(Segments, ByTimeAreTheWholeVideoAlsoWhereTheClockStartsAgain) {
  const auto part = [&](const std::string& name, const std::string& hue, const std::string& offset) {
    Ffmpeg("-f lavfi -i testsrc2=size=160x90:rate=25:duration=3,hue=h=" + hue + " -c:v libx264 -g 25 -pix_fmt yuv420p -output_ts_offset " + offset + " " + File(name));
    return File(name);
  };
  for (const std::string offset : {"0", "500"}) {
    SCOPED_TRACE(offset);
    testing::RunCommand("cat " + part("a.ts", "0", offset) + " " + part("b.ts", "90", "0") + " " + part("c.ts", "180", "0") + " > " + File("joined.ts"));
    EnhanceOptions options = testing::PlainOptions();
    options.encoder.crf = 1;
    Enhance(File("joined.ts"), File("whole.mp4"), options);
    const std::vector<std::uint8_t> whole = testing::DecodePlane(File("whole.mp4"), 'v');
    std::vector<std::uint8_t> parts;
    for (int number = 0; number < 6; ++number) {
      options.segment = Segment{1.5 * number, 1.5 * (number + 1), 27};
      Enhance(File("joined.ts"), File("part.mp4"), options);
      std::ranges::copy(testing::DecodePlane(File("part.mp4"), 'v'), std::back_inserter(parts));
    }
    ASSERT_EQ(parts.size(), whole.size());
    EXPECT_GT(testing::Psnr(parts, whole), 50);
  }
}

TEST_F(Segments, KeepSoundSubtitlesChaptersAndTags) {
  std::ofstream(File("s.srt")) << "1\n00:00:00,500 --> 00:00:03,900\nacross a cut\n\n2\n00:00:06,000 --> 00:00:08,000\nlater\n";
  std::ofstream(File("m.txt")) << ";FFMETADATA1\ntitle=A film\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=4000\ntitle=One\n"
                                  "[CHAPTER]\nTIMEBASE=1/1000\nSTART=4000\nEND=9000\ntitle=Two\n";
  const std::string source = File("a.mkv");
  Ffmpeg(std::string(kFilm) + " " + ToneInput(9) + " -f lavfi -i sine=frequency=880:duration=9.4 -i " + File("s.srt") + " -i " + File("m.txt") +
         " -map 0:v -map 1:a -map 2:a -map 3:s -map_metadata 4 -c:v libx264 -g 30 -pix_fmt yuv420p -c:a:0 aac -c:a:1 pcm_s16le -c:s srt "
         "-metadata:s:a:1 language=deu " + source);
  Prepare(source, TemporalOptions());
  ASSERT_GE(plan_.segments.size(), 3U);
  MakePieces();
  if (HasFatalFailure()) return;
  Join("joined.mp4");
  ExpectSameFile(File("joined.mp4"), File("whole.mp4"));
  EXPECT_NE(Facts(File("joined.mp4")).find("title=Two"), std::string::npos);
  EXPECT_EQ(PacketTimes(File("joined.mp4"), "s:0"), PacketTimes(File("whole.mp4"), "s:0"));
}

struct NetworkCase {
  const char* name;  ///< of the model
  const char* file;
  ModelFile::Precision precision;
  int scale;
  const char* size;  ///< of the film
  int rate;
  ModelFile::Layout layout = ModelFile::Layout::kLumaStrength;
};

class SegmentsWithNetworks : public Segments, public ::testing::WithParamInterface<NetworkCase> {
 protected:
  static ModelFile Shipped(const NetworkCase& c) {
    ModelFile file = testing::Described(c.name, c.scale, c.precision);
    file.path = test_paths::SourceDir() + "/models/" + c.file;
    file.layout = c.layout;
    file.multiple = 2;
    file.is_blind = std::string(c.name) != "fast";
    return file;
  }
};

TEST_P(SegmentsWithNetworks, JoinToWhatOneRunMakes) {
  NEEDS_OPENVINO();
  const NetworkCase& c = GetParam();
  const std::string source = File("a.mp4");
  Ffmpeg(std::string(kFilm) + " -vf scale=" + c.size + ",fps=" + std::to_string(c.rate) + " -c:v libx264 -qp 32 -g 25 -pix_fmt yuv420p " + source);
  EnhanceOptions options = TemporalOptions();
  options.models = {Shipped(c)};
  options.model = c.name;
  if (c.scale > 1) options.target = Target::k1080p;
  Prepare(source, options);
  ASSERT_EQ(plan_.plan.model, c.name);
  ASSERT_GE(plan_.segments.size(), 3U) << plan_.why_whole;
  MakePieces();
  if (HasFatalFailure()) return;
  Join("joined.mp4");
  ExpectSameFile(File("joined.mp4"), File("whole.mp4"));
  ExpectTheSameBytesAgain(File("joined.mp4"));
}

const NetworkCase kRestoring[] = {{"fast", "fast-x1-int8.onnx", ModelFile::Precision::kInt8, 1, "192:108", 25},
                                  {"detail", "detail-x1.onnx", ModelFile::Precision::kFp32, 1, "192:108", 25}};
const NetworkCase kEnlarging[] = {{"fast", "fast-x2-int8.onnx", ModelFile::Precision::kInt8, 2, "640:360", 15},
                                  {"detail-large", "detail-large-x4-int8.onnx", ModelFile::Precision::kInt8, 4, "384:216", 15,
                                   ModelFile::Layout::kYcbcrStrength}};

std::string NameOfNetwork(const ::testing::TestParamInfo<NetworkCase>& info) {
  return std::string(info.param.scale == 1 ? "Restoring" : "Enlarging") + (info.index == 0 ? "WithFast" : "WithDetail");
}
INSTANTIATE_TEST_SUITE_P(Networks, SegmentsWithNetworks, ::testing::Values(kRestoring[0]), NameOfNetwork);
INSTANTIATE_TEST_SUITE_P(MoreNetworks, SegmentsWithNetworks, ::testing::Values(kRestoring[1]), [](const auto&) { return "RestoringWithDetail_Long"; });
INSTANTIATE_TEST_SUITE_P(LargerNetworks, SegmentsWithNetworks, ::testing::ValuesIn(kEnlarging),
                         [](const auto& info) { return NameOfNetwork(info) + "_Long"; });

/// Small sample files of cameras, phones and programs, so that each takes only seconds.
std::vector<std::string> RealFiles() {
  constexpr std::uintmax_t kLargest = 3'000'000;
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(test_paths::SharedMediaDir(), missing)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && entry.file_size() < kLargest && name.find("8k") == std::string::npos && name.find("6min") == std::string::npos) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

/// Files that must be cut, so that the test cannot pass without a comparison.
const char* const kAreCut[] = {"1080p60-aac51.mp4", "edts.mp4", "first-pts-10s.mp4", "hevc-1080p.ts", "mpeg4-mp3.avi", "sample.3gp", "vp9-alpha.webm"};

class SegmentsOfRealFiles : public Segments, public ::testing::WithParamInterface<std::string> {};

TEST_P(SegmentsOfRealFiles, JoinToWhatOneRunMakes) {
  constexpr SegmentLengths kTiny{.shortest_s = 0.5, .wanted_s = 0.8, .longest_s = 3};
  EnhanceOptions options = TemporalOptions();
  options.encoder.preset = "ultrafast";
  try {
    Prepare(test_paths::SharedMediaDir() + "/" + GetParam(), options, kTiny);
  } catch (const Error&) {
    return;  // RealMatrix tests which files are refused
  }
  if (plan_.segments.size() == 1) {
    EXPECT_FALSE(plan_.why_whole.empty());
    EXPECT_EQ(std::ranges::count(kAreCut, GetParam()), 0);
    std::printf("%s is not cut: %s\n", GetParam().c_str(), plan_.why_whole.c_str());
    return;
  }
  try {
    MakePieces();
  } catch (const Error& error) {
    // In this case the service falls back to one piece.
    ASSERT_EQ(error.code(), ErrorCode::kSegmentMismatch) << error.what();
    EXPECT_EQ(std::ranges::count(kAreCut, GetParam()), 0);
    std::printf("%s cannot be made in segments: %s\n", GetParam().c_str(), error.what());
    return;
  }
  if (HasFatalFailure()) return;
  Join("joined.mp4");
  ExpectSameFile(File("joined.mp4"), File("whole.mp4"));
  ExpectTheSameBytesAgain(File("joined.mp4"));
}

std::string NameOf(std::string file) {
  for (char& letter : file) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return file;
}

/// Those that are cut and take seconds, if they are there.
std::vector<std::string> QuickFiles() {
  std::vector<std::string> names = RealFiles();
  std::erase_if(names, [](const std::string& name) {
    return name != "sample.3gp" && name != "vp9-alpha.webm";
  });
  return names;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SegmentsOfRealFiles);
INSTANTIATE_TEST_SUITE_P(Files, SegmentsOfRealFiles, ::testing::ValuesIn(QuickFiles()),
                         [](const auto& info) { return NameOf(info.param); });
// The name of a test ends in that of its parameter, and that of a long test in _Long (CMakeLists.txt).
INSTANTIATE_TEST_SUITE_P(AllFiles, SegmentsOfRealFiles, ::testing::ValuesIn(RealFiles()),
                         [](const auto& info) { return NameOf(info.param) + "_Long"; });

}  // namespace
}  // namespace reelmend
