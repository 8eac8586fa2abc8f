// Videos with frames that cannot be decoded: up to a tenth of them is reported, more is refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

constexpr int kFrames = 60;

/// Overwrites the frames that `is_hit` selects, in an AVI file with intra frames only.
template <typename Predicate>
int WipeFrames(const std::string& file, const Predicate& is_hit) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const std::size_t index = bytes.find("idx1");  // the index, which repeats the name of every chunk
  int frame = 0;
  int hits = 0;
  for (std::size_t at = bytes.find("00dc", bytes.find("movi")); at < index; at = bytes.find("00dc", at), ++frame) {
    std::size_t length = 0;
    for (std::size_t i = 4; i-- > 0;) length = length << 8 | static_cast<std::uint8_t>(bytes[at + 4 + i]);
    if (is_hit(frame)) {
      bytes.replace(at + 8, length, length, '\0');
      ++hits;
    }
    at += 8 + length;
  }
  EXPECT_EQ(frame, kFrames);
  std::ofstream(file, std::ios::binary) << bytes;
  return hits;
}

class DamageTest : public ::testing::Test {
 protected:
  std::string Film() {
    testing::Ffmpeg("-f lavfi -i testsrc2=size=160x90:rate=20:duration=3 -c:v mjpeg -q:v 4 '" + film_ + "'");
    return film_;
  }
  testing::TemporaryFolder folder_;
  std::string film_ = folder_.File("film.avi");
  std::string output_ = folder_.File("out.mp4");
};

TEST_F(DamageTest, FramesThatCannotBeDecodedAreCountedAndTheOthersKeepTheirTimes) {
  const auto is_hit = [](int frame) { return frame == 20 || frame == 21 || frame == 40; };
  const int lost = WipeFrames(Film(), is_hit);
  const EnhanceResult result = Enhance(film_, output_, testing::PlainOptions());
  EXPECT_EQ(result.undecodable_frames, lost);
  EXPECT_EQ(result.frames, kFrames - lost);
  EXPECT_NEAR(result.duration_s, 3, 1e-3);
  const std::vector<double> times = testing::FrameTimes(output_);
  ASSERT_EQ(times.size(), static_cast<std::size_t>(kFrames - lost));
  for (std::size_t i = 0, frame = 0; frame < kFrames; ++frame) {
    if (is_hit(static_cast<int>(frame))) continue;
    EXPECT_NEAR(times[i++], static_cast<double>(frame) / 20, 0.0011) << frame;
  }
}

TEST_F(DamageTest, MoreThanATenthIsRefused) {
  WipeFrames(Film(), [](int frame) { return frame > 0 && frame % 8 == 0; });  // 7 of 60
  try {
    Enhance(film_, output_, testing::PlainOptions());
    ADD_FAILURE() << "the video was enhanced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnreadableVideo);
    EXPECT_STREQ(error.what(), "The video is too damaged: 7 of 60 frames cannot be decoded.");
  }
  EXPECT_FALSE(testing::FileExists(output_));
}

TEST_F(DamageTest, ATenthIsAccepted) {
  const int lost = WipeFrames(Film(), [](int frame) { return frame % 10 == 9; });
  EXPECT_EQ(lost, 6);
  EXPECT_EQ(Enhance(film_, output_, testing::PlainOptions()).undecodable_frames, lost);
}

}  // namespace
}  // namespace reelmend
