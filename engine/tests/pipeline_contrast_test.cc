// Low-contrast footage in the whole pipeline: the plan, the result, and the sources that must not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "plan/plan.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::DecodeLuma;
using testing::DecodePlane;
using testing::Ffmpeg;
using testing::PlainOptions;
using testing::TemporaryFolder;

constexpr std::size_t kLuma = 320 * 180;

class FlatFootage : public ::testing::Test {
 protected:
  /// A lossless clip of a moving pattern, changed by an ffmpeg filter.
  std::string Clip(const std::string& name, const std::string& filter, double seconds = 2) {
    Ffmpeg("-f lavfi -i testsrc2=size=320x180:rate=15 -t " + std::to_string(seconds) + " -vf \"format=yuv420p," +
           filter + "\" -c:v ffv1 -color_range tv '" + folder_.File(name) + "'");
    return folder_.File(name);
  }

  EnhanceResult Run(const std::string& source, const EnhanceOptions& options) {
    return Enhance(source, folder_.File("out.mp4"), options);
  }

  TemporaryFolder folder_;
};

/// Black and white level of one picture (0.5 % of the samples lie beyond each), and its mean.
struct LumaOf {
  int black;
  int white;
  double mean;

  LumaOf(const std::vector<std::uint8_t>& video, std::size_t picture) {
    std::vector<std::uint8_t> luma(video.begin() + static_cast<std::ptrdiff_t>(picture * kLuma),
                                   video.begin() + static_cast<std::ptrdiff_t>((picture + 1) * kLuma));
    std::ranges::sort(luma);
    black = luma[kLuma / 200];
    white = luma[kLuma - 1 - kLuma / 200];
    double sum = 0;
    for (const std::uint8_t v : luma) sum += v;
    mean = sum / kLuma;
  }
};

EnhanceOptions Automatic() {
  EnhanceOptions options = PlainOptions();
  options.adaptive_contrast = {};
  options.encoder.crf = 4;
  return options;
}

// Maps the pattern's levels 30 to 208 to 80 to 172, which are 42 % of the range.
const std::string kFlat = "lutyuv=y=80+(val-30)*92/178:u=128+(val-128)*0.5:v=128+(val-128)*0.5";

TEST_F(FlatFootage, IsLiftedByAutoVisiblyAndSteadily) {
  const std::string source = Clip("flat.mkv", kFlat);
  const EnhanceResult result = Run(source, Automatic());
  EXPECT_GT(result.applied.adaptive_contrast, 0.3F);
  const auto before = DecodeLuma(source);
  const auto after = DecodeLuma(folder_.File("out.mp4"));
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < after.size() / kLuma; ++i) {
    const LumaOf was(before, i);
    const LumaOf is(after, i);
    ASSERT_LE(was.white - was.black, 0.43 * 219) << "the test needs a clip with low contrast";
    EXPECT_GE(is.white - is.black, (was.white - was.black) * 65 / 42) << i;
    EXPECT_GE(is.black, 17);
    EXPECT_LE(is.white, 234);
    if (i == 0) continue;
    const double change = LumaOf(before, i).mean - LumaOf(before, i - 1).mean;
    EXPECT_NEAR(is.mean - LumaOf(after, i - 1).mean, change, 0.7 * std::abs(change) + 0.5) << i;
  }
}

TEST_F(FlatFootage, HasAPlanThatNamesItsRange) {
  const EnhancePlan plan = PlanEnhance(Clip("flat.mkv", kFlat), Automatic());
  EXPECT_EQ(plan.stages.back().name, "adaptive_contrast");
  EXPECT_EQ(plan.stages.back().why.rfind("the picture uses 4", 0), 0U) << plan.stages.back().why;
  EXPECT_NE(plan.stages.back().why.find(" % of the range, from "), std::string::npos) << plan.stages.back().why;
}

TEST_F(FlatFootage, IsDetectedBetweenBars) {
  const std::string bars = kFlat + ",drawbox=0:0:320:24:black:fill,drawbox=0:156:320:24:black:fill";
  EXPECT_GT(PlanEnhance(Clip("bars.mkv", bars), Automatic()).stages.back().strength, 0.3F);
  EXPECT_GT(Run(folder_.File("bars.mkv"), Automatic()).applied.adaptive_contrast, 0.3F);
  const auto after = DecodeLuma(folder_.File("out.mp4"));
  for (std::size_t x = 0; x < 320; ++x) EXPECT_LE(after[320 * 10 + x], 18);
  EXPECT_GE(LumaOf(after, 8).white, 180);
}

TEST_F(FlatFootage, OtherPicturesStayBitForBit) {
  struct Case {
    const char* name;
    std::string filter;
  };
  for (const Case& c : {Case{"well exposed", "lutyuv=y=16+(val-16)"}, {"a night with lamps", "lutyuv=y='if(lt(val,215),16+(val-16)*0.2,230)'"},
                        {"a night", "lutyuv=y=16+(val-16)*0.25"}, {"a document", "lutyuv=y='if(lt(val,20),40,235)'"},
                        {"black", "lutyuv=y=16"}, {"grey", "lutyuv=y=120"}}) {
    const std::string source = Clip("other.mkv", c.filter, 1);
    EXPECT_EQ(Run(source, Automatic()).applied.adaptive_contrast, 0) << c.name;
    const auto automatic = DecodeLuma(folder_.File("out.mp4"));
    EnhanceOptions off = Automatic();
    off.adaptive_contrast.mode = Strength::Mode::kOff;
    Run(source, off);
    EXPECT_EQ(automatic, DecodeLuma(folder_.File("out.mp4"))) << c.name;
  }
}

TEST_F(FlatFootage, ASegmentEqualsTheWhole) {
  const std::string source = Clip("flat.mkv", kFlat + "", 4);
  EnhanceOptions options = Automatic();
  Run(source, options);
  const auto whole = DecodeLuma(folder_.File("out.mp4"));
  options.segment = Segment{2, 3};
  Run(source, options);
  const auto part = DecodeLuma(folder_.File("out.mp4"));
  ASSERT_EQ(part.size(), 15 * kLuma);
  // The encoder's input is equal (see TemporalStages). Its output also depends on earlier frames.
  const auto start = whole.begin() + static_cast<std::ptrdiff_t>(30 * kLuma);
  const std::vector<std::uint8_t> same(start, start + static_cast<std::ptrdiff_t>(part.size()));
  EXPECT_GT(testing::Psnr(part, same), 45);
}

TEST_F(FlatFootage, AFadeToBlackEndsInBlackWithoutNoise) {
  const std::string source = Clip("fade.mkv", kFlat + ",noise=c0s=6:c0f=t,fade=out:st=1.2:d=0.8");
  Run(source, Automatic());
  const auto before = DecodeLuma(source);
  const auto after = DecodeLuma(folder_.File("out.mp4"));
  const std::size_t pictures = after.size() / kLuma;
  for (std::size_t i = pictures - 4; i < pictures; ++i) {
    const LumaOf was(before, i);
    const LumaOf is(after, i);
    EXPECT_LE(is.white - is.black, was.white - was.black + 2) << i;
    EXPECT_LE(is.mean, was.mean + 1) << i;
  }
}

}  // namespace
}  // namespace reelmend
