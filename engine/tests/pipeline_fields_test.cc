// Interlaced, progressive and telecined pictures, and streams that change between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::DecodeLuma;
using testing::FrameTimes;

constexpr std::size_t kWidth = 352;
constexpr std::size_t kHeight = 288;
constexpr std::size_t kPicture = kWidth * kHeight;

using Luma = std::vector<std::uint8_t>;

/// Measures combing, the sign of interleaved fields: how much more a row differs from both neighbouring rows than these differ
/// from each other.
double Combing(const Luma& luma) {
  double sum = 0;
  for (std::size_t i = kWidth; i + kWidth < luma.size(); ++i) {
    const int above = luma[i - kWidth];
    const int below = luma[i + kWidth];
    sum += std::max(0, std::abs(2 * luma[i] - above - below) - 2 * std::abs(above - below));
  }
  return sum;
}

class FieldsTest : public ::testing::Test {
 protected:
  std::string Clip(const std::string& name, const std::string& arguments) {
    testing::Ffmpeg(arguments + " '" + folder_.File(name) + "'");
    return folder_.File(name);
  }
  EnhanceResult Run(const std::string& source) {
    EnhanceOptions options = testing::PlainOptions();
    options.encoder.crf = 4;
    return Enhance(source, output_, options);
  }
  testing::TemporaryFolder folder_;
  std::string output_ = folder_.File("out.mp4");
};

// BT.709 like the output, so luma does not change.
constexpr const char* kTags = " -pix_fmt yuv420p -colorspace bt709 -color_primaries bt709 -color_trc bt709 ";
constexpr const char* kFiftyFields = "-f lavfi -i testsrc2=size=352x288:rate=50:duration=1 ";

TEST_F(FieldsTest, WovenFieldsAreDeinterlaced) {
  const std::string weave = std::string(kFiftyFields) + "-vf tinterlace=interleave_top,fieldorder=tff ";
  const std::string source = Clip("woven.mpg", weave + "-c:v mpeg2video -flags +ildct+ilme -q:v 2");
  const EnhanceResult result = Run(source);
  EXPECT_EQ(result.frames, 25);
  const auto before = FrameTimes(source);
  const auto after = FrameTimes(output_);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (std::isnan(before[i])) continue;  // ffprobe has no time for the last frame of some files
    EXPECT_NEAR(after[i] - after[0], before[i] - before[0], 0.0011) << i;
  }
  EXPECT_LT(Combing(DecodeLuma(output_)), 0.6 * Combing(DecodeLuma(source)));
}

TEST_F(FieldsTest, ProgressivePicturesStayAsTheyAreWithinAMixedStream) {
  const std::string progressive =
      Clip("a.ts", std::string("-f lavfi -i testsrc2=size=352x288:rate=25:duration=1 -c:v libx264 -bf 0 -crf 6") + kTags);
  const std::string woven =
      Clip("b.ts", std::string(kFiftyFields) + "-vf tinterlace=interleave_top,fieldorder=tff -c:v libx264 -bf 0 -crf 6 "
                                               "-x264-params interlaced=1:tff=1 -output_ts_offset 1" + kTags);
  const std::string mixed = folder_.File("mixed.ts");
  testing::RunCommand("cat " + progressive + " " + woven + " > " + mixed);
  const EnhanceResult result = Run(mixed);
  ASSERT_EQ(result.frames, 50);
  const Luma before = DecodeLuma(mixed);
  const Luma after = DecodeLuma(output_);
  ASSERT_EQ(before.size(), 50 * kPicture);
  ASSERT_EQ(after.size(), before.size());
  const auto half = [](const Luma& luma, int which) {
    const auto middle = luma.begin() + static_cast<std::ptrdiff_t>(luma.size() / 2);
    return which == 0 ? Luma(luma.begin(), middle) : Luma(middle, luma.end());
  };
  EXPECT_GT(testing::Psnr(half(before, 0), half(after, 0)), 40) << "progressive";
  EXPECT_LT(testing::Psnr(half(before, 1), half(after, 1)), 35) << "woven";
  EXPECT_LT(Combing(half(after, 1)), 0.6 * Combing(half(before, 1)));
}

TEST_F(FieldsTest, TelecineIsNotDeinterlaced) {
  // Some telecined frames have interleaved fields, but only frames that are flagged as interlaced are deinterlaced.
  const std::string film = "-f lavfi -i testsrc2=size=352x288:rate=24000/1001:duration=1 -vf telecine ";
  const std::string source = Clip("telecine.mkv", film + "-c:v libx264 -crf 6" + kTags);
  Run(source);
  EXPECT_GT(testing::Psnr(DecodeLuma(source), DecodeLuma(output_)), 40);
}

}  // namespace
}  // namespace reelmend
