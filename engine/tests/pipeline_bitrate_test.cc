// The bitrate limit, measured with ffprobe.
#include <gtest/gtest.h>

#include <string>

#include "helpers/clips.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using testing::Ffmpeg;
using testing::PlainOptions;
using testing::StreamFacts;
using testing::TemporaryFolder;

TEST(Bitrate, StaysBelowItsLimitAndUsesIt) {
  TemporaryFolder folder;
  const std::string in = folder.File("in.mp4");
  const std::string out = folder.File("out.mp4");
  Ffmpeg("-f lavfi -i testsrc2=size=320x180:rate=25:d=4,noise=alls=40:allf=t -c:v libx264 -preset ultrafast -crf 10 -pix_fmt yuv420p " + in);
  EnhanceOptions options = PlainOptions();
  options.target = Target::kSource;
  const auto rate = [&](std::int64_t limit) {
    options.encoder.max_bitrate = limit;
    Enhance(in, out, options);
    return std::stoll(StreamFacts(out, "v").at("bit_rate"));
  };
  const long long free = rate(0);
  const long long limited = rate(free / 3);
  // The rate buffer of half a second adds an eighth over four seconds.
  EXPECT_LT(limited, free / 3 * 1.125);
  EXPECT_GT(limited, free / 3 * 0.6);
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{1'000'000'001}}) {
    options.encoder.max_bitrate = wrong;
    try {
      Enhance(in, out, options);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace reelmend
