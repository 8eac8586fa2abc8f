// Videos in segments: planned, enhanced separately and joined. Compared with a run in one piece, using ffmpeg and ffprobe.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <thread>

#include "helpers/clips.h"
#include "helpers/encoded_frames.h"
#include "helpers/networks.h"
#include "helpers/test_paths.h"
#include "media/byte_io.h"
#include "reelmend/error.h"
#include "reelmend/segments.h"

namespace reelmend {
namespace {

using testing::DecodeLuma;
using testing::Encoded;
using testing::EncodedFrames;
using testing::Ffmpeg;
using testing::PlainOptions;
using testing::RunCommand;
using testing::StreamFacts;
using testing::TemporaryFolder;
using testing::ToneInput;

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Times of a stream's packets, as text.
std::string PacketTimes(const std::string& file, const std::string& stream) {
  return RunCommand("ffprobe -v error -select_streams " + stream + " -show_entries packet=pts,dts,duration -of csv=p=0 '" + file + "'");
}

/// Presentation times (sorted) and decode times of the video packets. A key frame at a cut changes the coding order around it,
/// so the two lists are compared separately.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> VideoTimes(const std::string& file) {
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> times;
  std::istringstream lines(PacketTimes(file, "v:0"));
  for (std::string line; std::getline(lines, line);) {
    std::int64_t shown = 0;
    std::int64_t decoded = 0;
    if (std::sscanf(line.c_str(), "%ld,%ld", &shown, &decoded) != 2) continue;
    times.first.push_back(shown);
    times.second.push_back(decoded);
  }
  std::ranges::sort(times.first);
  return times;
}

/// ffprobe's entries of chapters, tags and streams that do not depend on the encoded bytes.
std::string Facts(const std::string& file) {
  return RunCommand("ffprobe -v error -show_chapters -show_entries format=format_name,start_time,duration:format_tags:"
                    "stream=codec_name,codec_type,profile,width,height,sample_aspect_ratio,pix_fmt,color_range,color_space,"
                    "color_transfer,color_primaries,chroma_location,time_base,start_pts,duration_ts,nb_frames,sample_rate,"
                    "channels:stream_tags:stream_disposition -of default '" + file + "'");
}

/// A slow source that counts its reads. Reads from offset `broken` on fail.
class WatchedSource : public ByteSource {
 public:
  explicit WatchedSource(const std::string& path, std::int64_t broken = std::numeric_limits<std::int64_t>::max())
      : file_(path), broken_(broken) {}

  std::int64_t reads() const { return reads_; }
  std::int64_t size() const override { return file_.size(); }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override {
    ++reads_;
    if (offset >= broken_) throw Error(ErrorCode::kIo, "The bytes cannot be read.");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return file_.Read(offset, destination, std::min<std::size_t>(length, 4096));
  }

 private:
  media::FileSource file_;
  std::int64_t broken_;
  std::atomic<std::int64_t> reads_ = 0;
};

/// Options with all stages that depend on earlier frames.
EnhanceOptions TemporalOptions() {
  EnhanceOptions options = PlainOptions();
  options.denoise = {Strength::Mode::kFixed, 0.3F};
  options.sharpen = {Strength::Mode::kFixed, 0.3F};
  options.adaptive_contrast = {Strength::Mode::kFixed, 0.5F};
  options.encoder.preset = "veryfast";  // with B-frames
  return options;
}

constexpr SegmentLengths kShort{.shortest_s = 1.6, .wanted_s = 2.2, .longest_s = 5};

/// ffmpeg input: nine seconds of a noisy pattern with scene cuts at 3.1 and 5.5 s.
const char* const kFilm =
    "-f lavfi -i \"testsrc2=size=192x108:rate=25:duration=9,noise=alls=14:allf=t,hue=h='if(between(t,3.1,5.5),140,0)'"
    ":b='if(between(t,3.1,5.5),1.5,0)'\"";

class Segments : public ::testing::Test {
 protected:
  /// Runs the source in one piece and makes the plan.
  void Prepare(const std::string& source, const EnhanceOptions& options, const SegmentLengths& lengths = kShort) {
    source_ = source;
    options_ = options;
    whole_ = EncodedFrames(source_, File("whole.mp4"), options_);
    plan_ = PlanSegments(source_, options_, lengths);
  }

  std::string File(const std::string& name) const { return folder_.File(name); }

  std::vector<Encoded> MakePiece(std::size_t index, const std::string& path, int threads = 2) const {
    EnhanceOptions options = options_;
    options.segment_plan = plan_.text;
    options.segment_index = static_cast<int>(index);
    options.threads = threads;
    return EncodedFrames(source_, path, options);
  }

  /// Makes all pieces, starting with the last one, and expects the same frames as in one piece.
  void MakePieces() {
    pieces_.clear();
    std::vector<Encoded> joined;
    for (std::size_t i = plan_.segments.size(); i-- > 0;) {
      const std::string path = File("piece" + std::to_string(i) + ".mp4");
      const std::vector<Encoded> frames = MakePiece(i, path, 1 + static_cast<int>(i % 3));
      EXPECT_EQ(static_cast<std::int64_t>(frames.size()), plan_.segments[i].frames);
      joined.insert(joined.begin(), frames.begin(), frames.end());
      pieces_.insert(pieces_.begin(), path);
    }
    ASSERT_EQ(joined.size(), whole_.size());
    for (std::size_t i = 0; i < joined.size(); ++i) {
      ASSERT_TRUE(joined[i] == whole_[i]) << "frame " << i << ": " << joined[i].pts << " lasting " << joined[i].duration << ", in one piece "
                                          << whole_[i].pts << " lasting " << whole_[i].duration << (joined[i].hash == whole_[i].hash ? "" : "; other samples");
    }
  }

  /// Makes all pieces again, each with other threads than the first time, as another worker would, and expects the same bytes: of
  /// each piece, and of the joined file.
  void ExpectTheSameBytesAgain(const std::string& joined) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::string again = pieces_[i] + ".again.mp4";
      MakePiece(i, again, 1 + static_cast<int>((i + 1) % 3));
      EXPECT_TRUE(BytesOf(pieces_[i]) == BytesOf(again)) << "piece " << i;
      pieces_[i] = again;
    }
    Join("again.mp4");
    EXPECT_TRUE(BytesOf(joined) == BytesOf(File("again.mp4")));
  }

  JoinResult Join(const std::string& name) const { return JoinSegments(source_, plan_.text, pieces_, File(name)); }

  void ExpectSameFile(const std::string& joined, const std::string& whole) const {
    const auto times = VideoTimes(joined);
    EXPECT_EQ(times.first.size(), whole_.size());
    EXPECT_EQ(times.first, VideoTimes(whole).first);
    EXPECT_EQ(times.second, VideoTimes(whole).second);
    EXPECT_EQ(testing::FrameTimes(joined), testing::FrameTimes(whole));
    EXPECT_EQ(Facts(joined), Facts(whole));
    const std::string other = "-map 0 -map -0:v -c copy -f streamhash -hash md5 -";
    if (!StreamFacts(whole, "a").empty() || !StreamFacts(whole, "s").empty()) {
      EXPECT_EQ(RunCommand("ffmpeg -v error -i " + joined + " " + other), RunCommand("ffmpeg -v error -i " + whole + " " + other));
    }
    if (!StreamFacts(whole, "a").empty()) {
      EXPECT_EQ(PacketTimes(joined, "a:0"), PacketTimes(whole, "a:0"));
    }
    EXPECT_GT(testing::Psnr(DecodeLuma(joined), DecodeLuma(whole)), 38);
  }

  TemporaryFolder folder_;
  std::string source_;
  EnhanceOptions options_;
  std::vector<Encoded> whole_;
  SegmentPlan plan_;
  std::vector<std::string> pieces_;
};

struct FormatCase {
  const char* name;
  const char* file;
  /// ffmpeg's arguments after the inputs (0: film, 1: tone); or a command with the placeholders {film} and {out}
  const char* encode;
  /// why the video is not cut; null: it is cut
  const char* why_whole = nullptr;
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
  ExpectTheSameBytesAgain(File("joined.mp4"));
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
    {"Short", "a.mp4", "-t 3 -c:v libx264 -g 10 -pix_fmt yuv420p -c:a aac", "it is short"},
};

INSTANTIATE_TEST_SUITE_P(Formats, SegmentsOfFormats, ::testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param.name); });

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
};

class SegmentsWithNetworks : public Segments, public ::testing::WithParamInterface<NetworkCase> {
 protected:
  static ModelFile Shipped(const NetworkCase& c) {
    ModelFile file = testing::Described(c.name, c.scale, c.precision);
    file.path = test_paths::SourceDir() + "/models/" + c.file;
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
                                  {"detail-large", "detail-large-x4-int8.onnx", ModelFile::Precision::kInt8, 4, "384:216", 15}};

std::string NameOfNetwork(const ::testing::TestParamInfo<NetworkCase>& info) {
  return std::string(info.param.scale == 1 ? "Restoring" : "Enlarging") + (info.index == 0 ? "WithFast" : "WithDetail");
}
INSTANTIATE_TEST_SUITE_P(Networks, SegmentsWithNetworks, ::testing::ValuesIn(kRestoring), NameOfNetwork);
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
    return name != "edts.mp4" && name != "mpeg4-mp3.avi" && name != "sample.3gp" && name != "vp9-alpha.webm";
  });
  return names;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SegmentsOfRealFiles);
INSTANTIATE_TEST_SUITE_P(Files, SegmentsOfRealFiles, ::testing::ValuesIn(QuickFiles()),
                         [](const auto& info) { return NameOf(info.param); });
// The name of a test ends in that of its parameter, and that of a long test in _Long (CMakeLists.txt).
INSTANTIATE_TEST_SUITE_P(AllFiles, SegmentsOfRealFiles, ::testing::ValuesIn(RealFiles()),
                         [](const auto& info) { return NameOf(info.param) + "_Long"; });

class PlannedSegments : public Segments {
 protected:
  void SetUp() override {
    const std::string source = File("a.mp4");
    Ffmpeg(std::string(kFilm) + " " + ToneInput(9) + " -c:v libx264 -g 25 -sc_threshold 0 -pix_fmt yuv420p -c:a aac " + source);
    source_ = source;
    options_ = TemporalOptions();
    plan_ = PlanSegments(source_, options_, kShort);
    ASSERT_GE(plan_.segments.size(), 3U);
  }

  void MakeAll() {
    for (std::size_t i = 0; i < plan_.segments.size(); ++i) {
      pieces_.push_back(File("piece" + std::to_string(i) + ".mp4"));
      MakePiece(i, pieces_.back());
    }
  }

  ErrorCode CodeOf(const std::function<void()>& call) const {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "no error was thrown";
    return ErrorCode::kInternal;
  }
};

TEST_F(PlannedSegments, CoverTheVideoInTheLengthsThatWereAskedFor) {
  EXPECT_EQ(plan_.segments.front().start_s, 0);
  EXPECT_NEAR(plan_.segments.back().end_s, 9, 1e-6);
  std::int64_t frames = 0;
  for (std::size_t i = 0; i < plan_.segments.size(); ++i) {
    const PlannedSegment& s = plan_.segments[i];
    EXPECT_EQ(s.start_s, i == 0 ? 0 : plan_.segments[i - 1].end_s);
    EXPECT_GE(s.end_s - s.start_s, kShort.shortest_s);
    EXPECT_LE(s.end_s - s.start_s, kShort.longest_s);
    EXPECT_NEAR(std::remainder(s.start_s, 1.0), 0, 1e-6) << "segments must start at key frames";
    frames += s.frames;
  }
  EXPECT_EQ(frames, 225);
}

TEST_F(PlannedSegments, AreTheSameBitsWhoeverMakesThem) {
  const std::string first = File("1.mp4");
  MakePiece(1, first, 1);
  for (const int threads : {2, 5}) {
    MakePiece(1, File("2.mp4"), threads);
    EXPECT_TRUE(BytesOf(first) == BytesOf(File("2.mp4"))) << threads << " threads";
  }
  MakeAll();
  Join("joined.mp4");
  std::vector<std::string> copies;
  for (const std::string& piece : pieces_) {
    copies.push_back(piece + ".again.mp4");
    MakePiece(copies.size() - 1, copies.back(), 3);
  }
  pieces_ = copies;
  Join("again.mp4");
  EXPECT_TRUE(BytesOf(File("joined.mp4")) == BytesOf(File("again.mp4")));
}

TEST_F(PlannedSegments, TakeTheirDecisionsFromThePlan) {
  std::string text = plan_.text;
  const std::size_t at = text.find("strengths ");
  text.replace(at, text.find('\n', at) - at, "strengths 0 0 0 0");
  plan_.text = text;
  EnhanceOptions options = options_;
  options.segment_plan = text;
  const EnhanceResult result = Enhance(source_, File("p.mp4"), options);
  EXPECT_EQ(result.applied.denoise, 0);
  EXPECT_EQ(result.applied.sharpen, 0);
}

TEST_F(PlannedSegments, KeepTheLimitOfTheBitrateOfTheirPlan) {
  const auto size = [&](std::int64_t limit) {
    EnhanceOptions options = options_;
    options.encoder.max_bitrate = limit;
    options.segment_plan = PlanSegments(source_, options, kShort).text;
    options.encoder.max_bitrate = 0;
    return Enhance(source_, File("p.mp4"), options).size_bytes;
  };
  const std::int64_t free = size(0);
  const double seconds = plan_.segments.front().end_s;
  const auto limit = static_cast<std::int64_t>(static_cast<double>(free) * 8 / seconds / 3);
  EXPECT_LT(size(limit), free / 2);
}

TEST_F(PlannedSegments, AreTheSameFromAByteSourceAndFromAFile) {
  EnhanceOptions options = options_;
  options.segment_plan = plan_.text;
  options.segment_index = 1;
  Enhance(source_, File("file.mp4"), options);
  WatchedSource source(source_);
  Enhance(source, File("bytes.mp4"), options);
  EXPECT_TRUE(BytesOf(File("file.mp4")) == BytesOf(File("bytes.mp4")));
}

TEST_F(PlannedSegments, ReadNothingMoreWhenTheyAreCancelled) {
  EnhanceOptions options = options_;
  options.segment_plan = plan_.text;
  WatchedSource source(source_);
  EnhanceCallbacks callbacks;
  bool is_cancelled = false;
  callbacks.on_progress = [&](const Progress&) { is_cancelled = true; };
  callbacks.is_cancelled = [&] { return is_cancelled; };
  EXPECT_EQ(CodeOf([&] { Enhance(source, File("p.mp4"), options, callbacks); }), ErrorCode::kCancelled);
  const std::int64_t reads = source.reads();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(source.reads(), reads);
  EXPECT_FALSE(std::filesystem::exists(File("p.mp4")));
}

TEST_F(PlannedSegments, FailWithWhatTheirSourceThrows) {
  EnhanceOptions options = options_;
  options.segment_plan = plan_.text;
  WatchedSource source(source_, 64 * 1024);
  EXPECT_EQ(CodeOf([&] { Enhance(source, File("p.mp4"), options); }), ErrorCode::kIo);
  EXPECT_FALSE(std::filesystem::exists(File("p.mp4")));
}

TEST_F(PlannedSegments, AreRefusedForAnotherVideoEngineOrNumber) {
  EnhanceOptions options = options_;
  options.segment_plan = plan_.text;
  options.segment_index = static_cast<int>(plan_.segments.size());
  EXPECT_EQ(CodeOf([&] { Enhance(source_, File("p.mp4"), options); }), ErrorCode::kInvalidArgument);
  options.segment_index = 0;
  options.target = Target::k1080p;
  EXPECT_EQ(CodeOf([&] { Enhance(source_, File("p.mp4"), options); }), ErrorCode::kSegmentMismatch);
  options.target = Target::kSource;
  options.segment_plan.replace(options.segment_plan.find("engine ") + 7, 1, "x");
  EXPECT_EQ(CodeOf([&] { Enhance(source_, File("p.mp4"), options); }), ErrorCode::kSegmentMismatch);
  options.segment_plan = "nonsense";
  EXPECT_EQ(CodeOf([&] { Enhance(source_, File("p.mp4"), options); }), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(File("p.mp4")));
}

TEST_F(PlannedSegments, AreRefusedWhenFramesAreMissing) {
  const std::string shorter = File("shorter.mp4");
  Ffmpeg("-i " + source_ + " -t 7 -c copy " + shorter);
  source_ = shorter;
  EXPECT_EQ(CodeOf([&] { MakePiece(plan_.segments.size() - 1, File("p.mp4")); }), ErrorCode::kSegmentMismatch);
  EXPECT_FALSE(std::filesystem::exists(File("p.mp4")));
}

TEST_F(PlannedSegments, AreJoinedOnlyWhenEachPieceIsThePlannedOne) {
  MakeAll();
  const std::vector<std::string> right = pieces_;
  std::swap(pieces_.front(), pieces_.back());
  EXPECT_EQ(CodeOf([&] { Join("joined.mp4"); }), ErrorCode::kSegmentMismatch);
  pieces_ = right;
  pieces_.pop_back();
  EXPECT_EQ(CodeOf([&] { Join("joined.mp4"); }), ErrorCode::kInvalidArgument);
  pieces_ = right;
  EnhanceOptions other = options_;
  other.segment_plan = plan_.text;
  other.segment_index = 1;
  other.encoder.preset = "ultrafast";
  Enhance(source_, right[1], other);
  EXPECT_NO_THROW(Join("joined.mp4")) << "pieces use the encoder settings of the plan";
  std::filesystem::remove(File("joined.mp4"));
  const std::size_t at = other.segment_plan.find("encoder veryfast");
  other.segment_plan.replace(at, 16, "encoder ultrafast");
  Enhance(source_, right[1], other);
  EXPECT_EQ(CodeOf([&] { Join("joined.mp4"); }), ErrorCode::kSegmentMismatch);
  std::filesystem::resize_file(right[1], std::filesystem::file_size(right[1]) / 2);
  EXPECT_NE(CodeOf([&] { Join("joined.mp4"); }), ErrorCode::kInternal);
  EXPECT_FALSE(std::filesystem::exists(File("joined.mp4")));
}

}  // namespace
}  // namespace reelmend
