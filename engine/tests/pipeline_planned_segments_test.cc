// The plan of a video's segments: what it decides, how pieces are read and made, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <fstream>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "helpers/clips.h"
#include "media/byte_io.h"
#include "reelmend/error.h"
#include "reelmend/segments.h"
#include "segments_fixture.h"

namespace reelmend {
namespace {

using testing::BytesOf;
using testing::Ffmpeg;
using testing::kFilm;
using testing::kShort;
using testing::Segments;
using testing::TemporalOptions;
using testing::ToneInput;

/// A slow source that counts its reads. Reads from offset `broken` on fail.
class WatchedSource : public ByteSource {
 public:
  explicit WatchedSource(const std::string& path, std::int64_t broken = std::numeric_limits<std::int64_t>::max())
      : file_(path), broken_(broken) {}

  std::int64_t reads() const { return reads_; }
  /// For each read of the first byte, how many reads came before.
  const std::vector<std::int64_t>& begun_after() const { return begun_after_; }
  std::int64_t size() const override { return file_.size(); }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override {
    if (offset == 0) begun_after_.push_back(reads_);
    ++reads_;
    if (offset >= broken_) throw Error(ErrorCode::kIo, "The bytes cannot be read.");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return file_.Read(offset, destination, std::min<std::size_t>(length, 4096));
  }

 private:
  media::FileSource file_;
  std::int64_t broken_;
  std::atomic<std::int64_t> reads_ = 0;
  std::vector<std::int64_t> begun_after_;
};

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

TEST_F(PlannedSegments, StopReadingAtOnceWhileTheirSourceIsOpened) {
  // A transport stream has no header: it is read from the beginning several times, first for the plan and then for the run.
  Ffmpeg("-i '" + source_ + "' -t 1 -c copy '" + File("a.ts") + "'");
  WatchedSource all(File("a.ts"));
  Enhance(all, File("p.mp4"), options_);
  ASSERT_GE(all.begun_after().size(), 6U);
  constexpr std::int64_t kOnTheWay = 15;  // reads until a running job asks again
  for (const std::int64_t before : all.begun_after()) {
    WatchedSource source(File("a.ts"));
    EnhanceCallbacks callbacks;
    callbacks.is_cancelled = [&] { return source.reads() >= before + 5; };
    EXPECT_EQ(CodeOf([&] { Enhance(source, File("p.mp4"), options_, callbacks); }), ErrorCode::kCancelled);
    EXPECT_LE(source.reads(), before + 5 + kOnTheWay);
  }
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

TEST_F(PlannedSegments, AreNotJoinedIntoTheSourceOrAPiece) {
  MakeAll();
  std::filesystem::create_hard_link(source_, File("link.mp4"));
  const std::vector<std::string> inputs = {source_, File("link.mp4"), pieces_.front(), pieces_.back()};
  for (const std::string& input : inputs) {
    const std::string before = BytesOf(input);
    EXPECT_EQ(CodeOf([&] { JoinSegments(source_, plan_.text, pieces_, input); }), ErrorCode::kInvalidArgument) << input;
    EXPECT_TRUE(BytesOf(input) == before) << input;
  }
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
