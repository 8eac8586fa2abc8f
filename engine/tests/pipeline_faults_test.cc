// Refusals, cancellation, damage, and segments of several containers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "helpers/clip_test.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/segments.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::FileExists;
using testing::FrameTimes;
using testing::PlainOptions;
using testing::ToneInput;
using testing::VideoInput;

#if defined(__SANITIZE_THREAD__)
constexpr double kSoon_s = 3;  // a sanitizer makes everything about ten times slower
#else
constexpr double kSoon_s = 0.3;
#endif

class FaultTest : public testing::ClipTest {
 protected:
  void ExpectError(const std::string& source, const EnhanceOptions& options, ErrorCode code,
                   const EnhanceCallbacks& callbacks = {}) {
    try {
      Enhance(source, output_, options, callbacks);
      ADD_FAILURE() << source << " was enhanced";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << source << ": " << error.what();
      EXPECT_EQ(std::string(error.what()).find(folder_.File("")), std::string::npos);
    }
    EXPECT_FALSE(FileExists(output_)) << "the output must be removed";
  }
};

TEST_F(FaultTest, RefusesBadOptionsAndSources) {
  const std::string good = Clip("good.mp4", VideoInput("320x180", 1) + " -c:v libx264 -pix_fmt yuv420p");
  EnhanceOptions options = PlainOptions();
  options.encoder.preset = "warp";
  ExpectError(good, options, ErrorCode::kInvalidArgument);
  options = PlainOptions();
  options.encoder.crf = 60;
  ExpectError(good, options, ErrorCode::kInvalidArgument);
  options = PlainOptions();
  options.model = "dream";
  ExpectError(good, options, ErrorCode::kInvalidArgument);
  options = PlainOptions();
  options.device = "cuda:99";
  ExpectError(good, options, ErrorCode::kUnavailable);
  options = PlainOptions();
  options.limits.max_duration_s = 0.5;
  ExpectError(good, options, ErrorCode::kLimitExceeded);
  options = PlainOptions();
  options.limits.max_pixels = 1000;
  ExpectError(good, options, ErrorCode::kLimitExceeded);
  options = PlainOptions();
  options.segment = Segment{5, 6, 4};
  ExpectError(good, options, ErrorCode::kInvalidArgument);
  ExpectError(folder_.File("nothing.mp4"), PlainOptions(), ErrorCode::kIo);
  std::ofstream(folder_.File("text.mp4")) << "no video\n";
  ExpectError(folder_.File("text.mp4"), PlainOptions(), ErrorCode::kUnreadableVideo);
  EXPECT_THROW(Enhance(good, folder_.File("no/such/folder.mp4"), PlainOptions()), Error);
  EXPECT_THROW(Enhance(good, good, PlainOptions()), Error);
  EXPECT_TRUE(FileExists(good));
}

/// Measures the seconds from the first poll that returns "cancelled" to the end of the call. Every poll calls `is_due`. Takes the
/// best of several attempts, because other work on the machine may delay some.
class CancelTest : public FaultTest {
 protected:
  double Late_s(const std::string& source, const EnhanceOptions& options,
                const std::function<std::function<bool()>(EnhanceCallbacks&)>& make_due) {
    double best_s = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 6 && best_s > kSoon_s; ++attempt) {
      EnhanceCallbacks callbacks;
      std::optional<Clock::time_point> asked;
      callbacks.is_cancelled = [&asked, is_due = make_due(callbacks)] {
        if (!asked && is_due()) asked = Clock::now();
        return asked.has_value();
      };
      ExpectError(source, options, ErrorCode::kCancelled, callbacks);
      if (asked) best_s = std::min(best_s, std::chrono::duration<double>(Clock::now() - *asked).count());
    }
    return best_s;
  }
  using Clock = std::chrono::steady_clock;
};

TEST_F(CancelTest, EndsAtOnceAtAnyTime) {
  const std::string source = Clip("long.mp4", VideoInput("640x360", 20) + " " + ToneInput(20) +
                                                  " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac");
  EnhanceOptions options = PlainOptions();
  options.target = Target::k1080p;
  options.encoder.preset = "medium";  // on any machine its 500 frames take longer than the longest of these delays
  for (const int after_ms : {0, 30, 150, 700, 1500}) {
    const auto after = [after_ms](EnhanceCallbacks&) {
      return [deadline = Clock::now() + std::chrono::milliseconds(after_ms)] { return Clock::now() >= deadline; };
    };
    EXPECT_LT(Late_s(source, options, after), kSoon_s) << "cancelled after " << after_ms << " ms";
  }
}

TEST_F(CancelTest, EndsAtOnceAt4k_Long) {
  const std::string source =
      Clip("long.mp4", VideoInput("1920x1080", 2) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p");
  EnhanceOptions options;
  options.target = Target::k4k;
  // This preset looks 20 frames ahead. When the last of the 50 frames enters the encoder, at about 0.75, up to 25 frames are not
  // yet encoded. So even a fast machine is still working at the last of these shares.
  options.encoder.preset = "faster";
  for (const double share : {0.0, 0.1, 0.6, 0.78}) {
    const auto at_share = [share](EnhanceCallbacks& callbacks) {
      const auto fraction = std::make_shared<std::atomic<double>>(0);
      callbacks.on_progress = [fraction](const Progress& progress) { *fraction = progress.fraction; };
      return [fraction, share] { return *fraction >= share; };
    };
    EXPECT_LT(Late_s(source, options, at_share), kSoon_s) << "cancelled at " << share;
  }
}

/// Expects an error about the limit whose message mentions the length or the duration.
void ExpectTooLong(const std::string& source, const std::string& output, double limit_s) {
  EnhanceOptions options = PlainOptions();
  options.limits.max_duration_s = limit_s;
  try {
    Enhance(source, output, options);
    ADD_FAILURE() << source << " was enhanced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded) << error.what();
    const std::string message = error.what();
    EXPECT_TRUE(message.find("long") != std::string::npos || message.find("duration") != std::string::npos) << message;
  }
  EXPECT_FALSE(FileExists(output));
}

TEST_F(FaultTest, CountsWhatIsDecodedNotWhatIsDeclared) {
  // 600 frames within half a second of timestamps.
  const std::string dense =
      Clip("dense.mkv", VideoInput("32x32", 6, "100") + " -vf setpts=N/1200/TB -vsync passthrough -enc_time_base 1/1200 "
                                                        "-c:v ffv1 -pix_fmt yuv420p");
  ExpectTooLong(dense, output_, 0.6);
  const std::string raw = Clip("raw.h264", VideoInput("32x32", 4) + " -c:v libx264 -pix_fmt yuv420p");
  ExpectTooLong(raw, output_, 2);
}

/// Writes `width` and `height` as 16-bit big-endian numbers `offset` bytes after the first `marker`.
void PatchSize(const std::string& file, const std::string& marker, std::size_t offset) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  std::size_t count = 0;
  for (std::size_t at = bytes.find(marker); at != std::string::npos; at = bytes.find(marker, at + 1), ++count) {
    stream.seekp(static_cast<std::streamoff>(at + offset));
    for (int i = 0; i < 4; ++i) stream.put(static_cast<char>(0xFF));
  }
  ASSERT_GT(count, 0U);
}

TEST_F(FaultTest, RefusesHugePicturesBeforeTheirMemoryIsTaken) {
  const std::string box = Clip("box.mp4", VideoInput("64x64", 1) + " -c:v libx264 -pix_fmt yuv420p");
  PatchSize(box, "avc1", 28);
  const std::string jpeg = Clip("jpeg.avi", VideoInput("64x64", 1) + " -c:v mjpeg -pix_fmt yuvj420p");
  PatchSize(jpeg, std::string("\xFF\xC0\x00\x11\x08", 5), 5);  // start of frame (SOF0): length, bits, then height and width
  for (const std::string& source : {box, jpeg}) {
    try {
      Enhance(source, output_, PlainOptions());
      ADD_FAILURE() << source << " was enhanced";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kLimitExceeded || error.code() == ErrorCode::kUnreadableVideo) << error.what();
    }
    EXPECT_FALSE(FileExists(output_));
  }
  // x264 takes no longer sides.
  const std::string strip = Clip("strip.mkv", VideoInput("640x32", 0.2) + " -vf scale=16386:18 -c:v ffv1");
  EnhanceOptions unchanged = PlainOptions();
  unchanged.target = Target::kSource;
  ExpectError(strip, unchanged, ErrorCode::kLimitExceeded);
  EXPECT_THROW(PlanEnhance(strip, unchanged), Error);
  // The coded picture is below the limit, but with square pixels it is above it.
  const std::string wide = Clip("wide.mp4", VideoInput("320x180", 0.2) + " -vf setsar=4/1 -c:v libx264 -pix_fmt yuv420p");
  EnhanceOptions options = PlainOptions();
  options.limits.max_pixels = 100'000;
  ExpectError(wide, options, ErrorCode::kLimitExceeded);
}

TEST_F(FaultTest, APlanThrowsWhatTheJobWouldThrow) {
  const std::string good = Clip("good.mp4", VideoInput("320x180", 1) + " -c:v libx264 -pix_fmt yuv420p");
  EnhanceOptions unknown = PlainOptions();
  unknown.encoder.preset = "warp";
  EnhanceOptions coarse = PlainOptions();
  coarse.encoder.crf = 60;
  for (const EnhanceOptions& options : {unknown, coarse}) {
    ExpectError(good, options, ErrorCode::kInvalidArgument);
    EXPECT_THROW(PlanEnhance(good, options), Error);
    EXPECT_THROW(PlanSegments(good, options), Error);
  }
  // Of exceptions, only Error and std::bad_alloc leave the engine.
  const EnhanceCallbacks callbacks{.on_progress = {}, .is_cancelled = []() -> bool { throw std::runtime_error("from the caller"); }};
  ExpectError(good, PlainOptions(), ErrorCode::kInternal, callbacks);
  EXPECT_THROW(PlanEnhance(good, PlainOptions(), callbacks), Error);
  EXPECT_THROW(PlanSegments(good, PlainOptions(), {}, callbacks), Error);
}

TEST_F(FaultTest, PassesOnWhatACallbackThrows) {
  const std::string source = Clip("clip.mp4", VideoInput("320x180", 20) + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p");
  EnhanceCallbacks callbacks;
  callbacks.on_progress = [](const Progress&) { throw Error(ErrorCode::kInternal, "Callback failed."); };
  ExpectError(source, PlainOptions(), ErrorCode::kInternal, callbacks);
}

/// Overwrites a byte every `bytes_between_hits` bytes with noise, between the shares `from` and `to` of the file.
void Damage(const std::string& file, int bytes_between_hits, double from, double to) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  const auto size = static_cast<double>(std::filesystem::file_size(file));
  std::mt19937 random(7);
  for (double at = from * size; at < to * size; at += bytes_between_hits) {
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(random()));
  }
}

TEST_F(FaultTest, SurvivesDamageOrRefusesIt) {
  for (const char* name : {"damaged.mp4", "damaged.mkv", "damaged.ts", "damaged.avi"}) {
    const std::string codec = std::string(name) == "damaged.avi" ? "mpeg4" : "libx264 -pix_fmt yuv420p";
    const std::string whole = Clip(std::string("whole-") + name, VideoInput("320x180", 3) + " " + ToneInput(3) +
                                                                  " -c:a mp2 -movflags +faststart -c:v " + codec);
    for (const int distance : {20'000, 300, 20}) {
      const std::string source = folder_.File(name);
      std::filesystem::copy_file(whole, source, std::filesystem::copy_options::overwrite_existing);
      Damage(source, distance, 0.3, 0.95);
      try {
        const EnhanceResult result = Enhance(source, output_, PlainOptions());
        EXPECT_GT(result.frames, 0);
        EXPECT_TRUE(FileExists(output_));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kUnreadableVideo) << error.what();
        EXPECT_FALSE(FileExists(output_));
      }
      std::filesystem::remove(output_);
    }
  }
}

TEST_F(FaultTest, AnEmptyChunkRepeatsThePicture) {
  // An AVI has a chunk for each frame interval. Programs that drop frames write empty ones.
  const std::string source = Clip("gaps.avi", VideoInput("160x90", 4) + " -vf \"select='not(mod(n,2))'\" -fps_mode vfr -enc_time_base 1/25 "
                                              "-c:v huffyuv -pix_fmt yuv422p");
  const EnhanceResult result = Enhance(source, output_, PlainOptions());
  EXPECT_EQ(result.undecodable_frames, 0);
  const std::vector<double> times = FrameTimes(output_);
  ASSERT_EQ(times.size(), 50U);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], 0.08 * static_cast<double>(i), 1e-3) << i;
}

TEST_F(FaultTest, AcceptsAPictureThatChangesSizeButNotShape) {
  const std::string small = Clip("a.ts", VideoInput("320x180", 1) + " -c:v libx264 -pix_fmt yuv420p");
  const std::string large = Clip("b.ts", VideoInput("640x360", 1) + " -c:v libx264 -pix_fmt yuv420p -output_ts_offset 1");
  const std::string square = Clip("c.ts", VideoInput("240x240", 1) + " -c:v libx264 -pix_fmt yuv420p -output_ts_offset 1");
  testing::RunCommand("cat " + small + " " + large + " > " + folder_.File("same.ts"));
  testing::RunCommand("cat " + small + " " + square + " > " + folder_.File("other.ts"));
  const EnhanceResult result = Enhance(folder_.File("same.ts"), output_, PlainOptions());
  EXPECT_EQ(result.frames, 50);
  EXPECT_EQ(result.width, 320);
  std::filesystem::remove(output_);
  ExpectError(folder_.File("other.ts"), PlainOptions(), ErrorCode::kUnreadableVideo);
}

/// Number at `at`, as MP4 stores it.
std::uint32_t BigEndian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

std::string ReadAll(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Adds the file's size to the offsets of the chunks of a track ("soun", "vide") of an MP4, from the share `from` to the share `to`.
std::string WithChunksBehindTheEnd(std::string bytes, const std::string& handler, double from, double to) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  const std::size_t table = bytes.find("stco", bytes.find(handler)) + 8;  // after the type and the version
  const std::uint32_t count = BigEndian(bytes, table);
  for (auto i = static_cast<std::uint32_t>(count * from); i < static_cast<std::uint32_t>(count * to); ++i) {
    const std::size_t entry = table + 4 + std::size_t{4} * i;
    const std::uint32_t offset = BigEndian(bytes, entry) + size;
    for (std::size_t byte = 0; byte < 4; ++byte) bytes[entry + byte] = static_cast<char>(offset >> (24 - 8 * byte));
  }
  return bytes;
}

TEST_F(FaultTest, MissingSamplesOfAnMp4EndNothing) {
  const std::string whole = ReadAll(Clip("whole.mp4", VideoInput("320x180", 6) + " " + ToneInput(6) +
                                                          " -c:v libx264 -g 25 -pix_fmt yuv420p -c:a aac -movflags +faststart"));
  const struct {
    const char* name;
    std::string bytes;
    int fewest_frames;
    double sound_s;
  } kFiles[] = {
      // Stored behind the pictures, the second half is cut off.
      {"sound.mp4", WithChunksBehindTheEnd(whole, "soun", 0, 1) + whole.substr(0, whole.size() / 2), 150, 3},
      {"picture.mp4", WithChunksBehindTheEnd(whole, "vide", 0.45, 0.5), 135, 6},
  };
  for (const auto& [name, bytes, fewest_frames, sound_s] : kFiles) {
    SCOPED_TRACE(name);
    std::ofstream(folder_.File(name), std::ios::binary) << bytes;
    EXPECT_GE(Enhance(folder_.File(name), output_, PlainOptions()).frames, fewest_frames);
    EXPECT_NEAR(FrameTimes(output_).back(), 5.96, 0.01);
    EXPECT_NEAR(std::stod(testing::StreamFacts(output_, "a")["duration"]), sound_s, 0.6);
  }
}

TEST_F(FaultTest, RunsSeveralAtOnce) {
  const std::string source = Clip("clip.mp4", VideoInput("320x180", 1) + " -c:v libx264 -pix_fmt yuv420p");
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      if (Enhance(source, folder_.File("out" + std::to_string(i) + ".mp4"), PlainOptions()).frames == 25) ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 3);
}

// ---- segments ------------------------------------------------------------------------------------------

struct SegmentCase {
  const char* file;
  const char* encode;
};

class SegmentClips : public FaultTest, public ::testing::WithParamInterface<SegmentCase> {};

TEST_P(SegmentClips, JoinToTheWhole) {
  const std::string source = Clip(GetParam().file, VideoInput("320x180", 6) + " " + ToneInput(6) + " " + GetParam().encode);
  EnhanceOptions options = PlainOptions();
  options.adaptive_contrast = {Strength::Mode::kFixed, 0.5F};
  options.encoder.preset = "veryfast";
  const EnhanceResult whole = Enhance(source, output_, options);
  std::ofstream list(folder_.File("list.txt"));
  const double cuts[] = {0, 1.9, 3.3333, 100};
  std::int64_t frames = 0;
  double duration = 0;
  for (int i = 0; i < 3; ++i) {
    options.segment = Segment{cuts[i], cuts[i + 1], 16};
    const std::string part = folder_.File("part" + std::to_string(i) + ".mp4");
    const EnhanceResult result = Enhance(source, part, options);
    EXPECT_TRUE(testing::StreamFacts(part, "a").empty()) << "segments have no sound";
    EXPECT_NEAR(FrameTimes(part).front(), 0, 0.0011);
    frames += result.frames;
    duration += result.duration_s;
    list << "file '" << part << "'\n";
  }
  list.close();
  EXPECT_EQ(frames, whole.frames);
  EXPECT_NEAR(duration, whole.duration_s, 1e-4);
  const std::string joined = Clip("joined.mp4", "-f concat -safe 0 -i " + folder_.File("list.txt") + " -c copy");
  const auto expected = FrameTimes(output_);
  const auto times = FrameTimes(joined);
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i] - times[0], expected[i] - expected[0], 0.0015) << i;
  EXPECT_GT(testing::Psnr(testing::DecodeLuma(joined), testing::DecodeLuma(output_)), 42);
}

const SegmentCase kSegments[] = {
    {"h264.mp4", "-c:v libx264 -g 40 -pix_fmt yuv420p -c:a aac"},
    {"opengop.mkv", "-c:v libx264 -g 30 -bf 3 -x264-params open-gop=1 -pix_fmt yuv420p -c:a aac"},
    {"vfr.mkv", "-vf select='not(mod(n\\,3))+not(mod(n\\,7))' -vsync vfr -c:v libx264 -g 20 -pix_fmt yuv420p -an"},
    {"offset.ts", "-c:v libx264 -g 25 -pix_fmt yuv420p -c:a mp2 -output_ts_offset 30"},
    {"vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 50 -pix_fmt yuv420p -c:a libopus"},
    {"mpeg4.avi", "-c:v mpeg4 -g 50 -c:a libmp3lame"},
};

INSTANTIATE_TEST_SUITE_P(Containers, SegmentClips, ::testing::ValuesIn(kSegments), [](const auto& info) {
  std::string name = info.param.file;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

}  // namespace
}  // namespace reelmend
