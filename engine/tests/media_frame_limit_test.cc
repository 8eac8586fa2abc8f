// The most frames of a billed second: what is refused, and what still counts.
#include <gtest/gtest.h>

#include <cstdint>
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
using testing::ServiceLimits;
using testing::WriteFile;
using testing::kH264;

using FrameLimitTest = ClipTest;

struct Dense {
  const char* file;
  const char* encode;
};

const Dense kDense[] = {
    {"dense.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p"},
    {"fragments.mp4", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -movflags frag_keyframe+empty_moov"},
    {"dense.mov", "-c:v mjpeg"},
    {"dense.mkv", "-c:v mpeg4"},
    {"dense.avi", "-c:v mjpeg"},
    {"dense.ts", "-c:v libx264 -preset ultrafast -pix_fmt yuv420p"},
    {"dense.flv", "-c:v flv"},
    {"dense.wmv", "-c:v wmv2"},
    {"dense.ivf", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8"},
};

TEST_F(FrameLimitTest, RefusesThousandsOfFramesASecond) {
  for (const Dense& clip : kDense) {
    SCOPED_TRACE(clip.file);
    const std::string file = Clip(clip.file, std::string("-f lavfi -i color=size=64x64:rate=5000:duration=2 ") + clip.encode);
    for (const bool walk : {false, true}) {
      try {
        ProbeFile(file, {ServiceLimits(), walk, {}});
        ADD_FAILURE() << "the file was accepted, walk " << walk;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded) << error.what();
        EXPECT_STREQ(error.what(), "The video has too many frames: at most 250 for each second are accepted.");
      }
    }
  }
}

TEST_F(FrameLimitTest, Takes240FramesASecond) {
  for (const Dense& clip : kDense) {
    SCOPED_TRACE(clip.file);
    const std::string file = Clip(clip.file, std::string("-f lavfi -i color=size=64x64:rate=240:duration=2 ") + clip.encode);
    for (const bool walk : {false, true}) {
      EXPECT_NEAR(ProbeFile(file, {ServiceLimits(), walk, {}}).duration_s, 2, 0.1) << walk;
    }
  }
}

TEST_F(FrameLimitTest, CountsForEachStartedSecond) {
  // 300 frames per second for 0.5 s are 150 frames in one billed second; for 1.9 s they are 570 frames in two.
  const std::string half = Clip("half.mp4", std::string("-f lavfi -i color=size=64x64:rate=300:duration=0.5") + kH264);
  EXPECT_NO_THROW(ProbeFile(half, {ServiceLimits(), false, {}}));
  const std::string two = Clip("two.mp4", std::string("-f lavfi -i color=size=64x64:rate=300:duration=1.9") + kH264);
  EXPECT_THROW(ProbeFile(two, {ServiceLimits(), false, {}}), Error);
}

TEST_F(FrameLimitTest, TakesACutOfASlowMotionFilm) {
  // The edit list hides most of the frames in the file.
  const std::string film = Clip("film.mp4", std::string("-f lavfi -i color=size=64x64:rate=240:duration=4") + kH264 + "-g 480");
  const std::string cut = Clip("cut.mp4", "-ss 3.7 -i '" + film + "' -c copy");
  ASSERT_GT(testing::CountPackets(cut, "v:0"), 250);
  for (const bool walk : {false, true}) EXPECT_NEAR(ProbeFile(cut, {ServiceLimits(), walk, {}}).duration_s, 0.3, 0.05);
}

TEST_F(FrameLimitTest, AFalseHeaderIsDetectedWhenAllIsRead) {
  const std::string file = Clip("lies.mkv", "-f lavfi -i color=size=64x64:rate=5000:duration=2 -c:v mjpeg");
  // Replaces the track's lacing flag and language by a default frame duration of 40 ms.
  std::string bytes = ReadFile(file);
  const std::string taken("\x9C\x81\x00\x22\xB5\x9C\x83und", 10);
  const std::size_t at = bytes.find(taken);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, taken.size(), std::string("\x23\xE3\x83\x86\x00\x00\x02\x62\x5A\x00", 10));
  // Newer muxers write the true duration after it. Those bytes become a Void element.
  const std::size_t truth = bytes.find(std::string("\x23\xE3\x83\x83"), at + taken.size());
  if (truth < bytes.find("\x1F\x43\xB6\x75")) bytes.replace(truth, 2, "\xEC\x85");
  WriteFile(file, bytes);
  EXPECT_EQ(ProbeFile(file, {ServiceLimits(), false, {}}).frame_rate.num, 25);
  EXPECT_THROW(ProbeFile(file, {ServiceLimits(), true, {}}), Error);
}

TEST_F(FrameLimitTest, DecodingEndsWhenThereAreTooMany) {
  const std::string file = Clip("dense.mp4", std::string("-f lavfi -i color=size=64x64:rate=5000:duration=2") + kH264);
  EnhanceOptions options = PlainOptions();
  options.limits = ServiceLimits();
  options.limits.max_duration_s = 3;
  std::int64_t done = 0;
  EnhanceCallbacks callbacks;
  callbacks.on_progress = [&](const Progress& progress) { done = progress.frames_done; };
  try {
    Enhance(file, output_, options, callbacks);
    ADD_FAILURE() << "the video was enhanced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded);
    EXPECT_NE(std::string(error.what()).find("too many frames"), std::string::npos) << error.what();
  }
  EXPECT_LE(done, 750);
  EXPECT_FALSE(testing::FileExists(output_));
}

}  // namespace
}  // namespace reelmend
