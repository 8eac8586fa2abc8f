// Real cameras' and encoders' files, where they are present beside the repository.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "framelift/enhance.h"
#include "framelift/error.h"
#include "helpers/clips.h"

namespace framelift {
namespace {

/// What the listed files must end in; every other file must be enhanced.
const std::map<std::string, ErrorCode> kRefused = {
    {"audio-only.mp4", ErrorCode::kUnreadableVideo},
    {"broken.mp4", ErrorCode::kUnreadableVideo},
    {"empty.mov", ErrorCode::kUnreadableVideo},
    {"header-only.mp4", ErrorCode::kUnreadableVideo},
    {"hls-playlist.m3u8", ErrorCode::kUnreadableVideo},
    {"made-jpeg-named.mp4", ErrorCode::kUnreadableVideo},
    {"made-playlist-named.mkv", ErrorCode::kUnreadableVideo},
    {"made-truncated-faststart.mp4", ErrorCode::kUnreadableVideo},
    {"podcast-cover-chapters.m4a", ErrorCode::kUnreadableVideo},
    {"quicktime-jpeg-434x343.mov", ErrorCode::kUnreadableVideo},
    {"text-as.mp4", ErrorCode::kUnreadableVideo},
    {"vvc.mp4", ErrorCode::kUnreadableVideo},
};

/// Left out for their length and size alone.
bool IsSkipped(const std::string& name) {
  return name == "MANIFEST.tsv" || name == "long-1080p-6min.mp4" || name == "8k24-hevc.mp4";
}

std::vector<std::filesystem::path> RealFiles() {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(FRAMELIFT_SHARED_MEDIA, missing)) {
    if (entry.is_regular_file() && !IsSkipped(entry.path().filename())) files.push_back(entry.path());
  }
  return files;
}

TEST(RealFiles, AreEnhancedOrRefusedForAReason) {
  const auto files = RealFiles();
  if (files.empty()) GTEST_SKIP() << "no sample files in " << FRAMELIFT_SHARED_MEDIA;
  const testing::TemporaryFolder folder;
  const std::string output = folder.File("out.mp4");
  for (const auto& file : files) {
    const std::string name = file.filename();
    SCOPED_TRACE(name);
    const auto refused = kRefused.find(name);
    try {
      const ProbeResult probe = ProbeFile(file);
      EXPECT_EQ(refused, kRefused.end()) << "was accepted";
      const EnhanceResult result = Enhance(file, output, testing::PlainOptions());
      EXPECT_GT(result.frames, 0);
      // The service charges by the first measurement and refunds when the second differs by more than a second.
      EXPECT_LT(std::abs(probe.duration_s - result.source.duration_s), 0.5);
      EXPECT_EQ(result.width, (probe.width + 1) / 2 * 2);
      EXPECT_EQ(result.height, (probe.height + 1) / 2 * 2);
      EXPECT_EQ(static_cast<std::int64_t>(testing::FrameTimes(output).size()), result.frames);
    } catch (const Error& error) {
      ASSERT_NE(refused, kRefused.end()) << error.what();
      EXPECT_EQ(error.code(), refused->second) << error.what();
      EXPECT_FALSE(testing::FileExists(output));
    }
    std::filesystem::remove(output);
  }
}

}  // namespace
}  // namespace framelift
