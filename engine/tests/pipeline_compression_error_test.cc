// The compression error estimated from a stream's quantiser, for 8 and 10 bits per sample.
#include <gtest/gtest.h>

#include <string>

#include "helpers/clip_test.h"
#include "plan/plan.h"

namespace reelmend {
namespace {

class CompressionErrorOfStreams : public testing::ClipTest {
 protected:
  /// The estimate for a detailed clip that ffmpeg encodes with these arguments.
  float ErrorOf(const std::string& name, const std::string& encoder) {
    const std::string clip = Clip(name, testing::VideoInput("448x240", 0.4, "25") + " -vf noise=alls=6:allf=t " + encoder);
    EnhanceOptions options = testing::PlainOptions();
    return plan::MakePlan(clip, options, {2}).traits.compression_error;
  }
};

TEST_F(CompressionErrorOfStreams, IsTheSameForAnyBitDepth) {
  struct Case {
    const char* name;
    const char* encoder;
    float tolerance;  ///< in 8-bit levels
  };
  // libvpx has separate tables for each bit depth; the same quantiser index means the same share of the range.
  for (const Case& c : {Case{"x264", "-c:v libx264 -crf 18", 0.3F}, Case{"x264 coarse", "-c:v libx264 -crf 32", 0.8F},
                        Case{"vp9", "-c:v libvpx-vp9 -crf 30 -b:v 0 -deadline realtime -cpu-used 8", 0.8F}}) {
    const std::string encoder = c.encoder;
    const float eight = ErrorOf("eight.mkv", encoder + " -pix_fmt yuv420p");
    const float ten = ErrorOf("ten.mkv", encoder + " -pix_fmt yuv420p10le");
    EXPECT_GT(eight, 0.5F) << c.name;
    EXPECT_NEAR(eight, ten, c.tolerance) << c.name;
  }
}

}  // namespace
}  // namespace reelmend
