// Unit tests of the media module: timestamps, geometry, pixel formats, error names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "media/av_error.h"
#include "media/channel_layouts.h"
#include "media/color_tags.h"
#include "media/frame_import.h"
#include "media/geometry.h"
#include "media/source_policy.h"
#include "media/span_meter.h"
#include "media/timestamps.h"
#include "media/video_encoder.h"
#include "reelmend/error.h"

namespace reelmend::media {
namespace {

TEST(MixingMatrix, WritesOnlyIntoItsOwnMemory) {
  // An arithmetic operation changes a signalling NaN, even a multiplication by one. The matrix of 7.1 has 64 numbers.
  constexpr std::uint64_t kSignalling = 0x7FF4'0000'0000'0000;
  std::vector<std::vector<std::uint64_t>> neighbours(200, std::vector<std::uint64_t>(64, kSignalling));
  for (std::size_t i = 50; i < 150; i += 10) std::vector<std::uint64_t>().swap(neighbours[i]);
  const AVChannelLayout layout = UsualLayout(8);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(MixingMatrix(layout, layout).empty());
  for (const auto& words : neighbours) {
    EXPECT_TRUE(std::ranges::all_of(words, [](std::uint64_t word) { return word == kSignalling; }));
  }
}

TEST(OutputTimeBase, KeepsEveryTimestampOfTheSource) {
  for (const AVRational source : {AVRational{1, 25}, {1, 1000}, {1, 15360}, {1, 90'000}, {1001, 30'000}, {1, 600}}) {
    const AVRational out = OutputTimeBase(source);
    EXPECT_EQ(out.num, 1);
    EXPECT_GE(out.den, 10'000);
    EXPECT_EQ(out.den % source.den, 0) << source.num << "/" << source.den;
  }
  EXPECT_EQ(OutputTimeBase({1, 10'000'000}).den, 1'000'000);
  EXPECT_EQ(OutputTimeBase({0, 0}).den, 90'000);
}

/// Coding order of `frames` frames: each P-frame precedes its two B-frames. `pyramid`: groups of four, whose middle B-frame is a
/// reference and precedes the others.
std::vector<std::size_t> CodingOrder(std::size_t frames, bool pyramid) {
  std::vector<std::size_t> order = {0};
  const std::size_t group = pyramid ? 4 : 3;
  for (std::size_t last = 0; last + 1 < frames; last = order.size() - 1) {
    const std::size_t next = std::min(last + group, frames - 1);
    order.push_back(next);
    if (pyramid && next - last > 2) order.push_back(last + 2);
    for (std::size_t b = last + 1; b < next; ++b) {
      if (!pyramid || next - last <= 2 || b != last + 2) order.push_back(b);
    }
  }
  return order;
}

TEST(DecodeTimes, RiseAndAreNotLaterThanTheFramesTimes) {
  for (const bool pyramid : {false, true}) {
    for (const std::size_t frames : {1, 2, 3, 4, 50}) {
      std::vector<std::int64_t> pts;  // unequal distances, at least one tick
      for (std::size_t i = 0; i < frames; ++i) pts.push_back((i == 0 ? 700 : pts.back()) + 1 + static_cast<std::int64_t>(i * i % 7) * 900);
      DecodeTimes times;
      for (const std::int64_t time : pts) times.AddFrame(time);
      std::int64_t last = std::numeric_limits<std::int64_t>::min();
      for (const std::size_t frame : CodingOrder(frames, pyramid)) {
        const std::int64_t dts = times.Next(3600);
        EXPECT_GT(dts, last) << frame << " of " << frames;
        EXPECT_LE(dts, pts[frame]) << frame << " of " << frames;
        last = dts;
      }
    }
  }
}

TEST(TimestampMender, PassesGoodTimestamps) {
  TimestampMender mender({1, 1000}, {1, 1000}, {25, 1});
  for (const std::int64_t time : {0, 40, 80, 700, 740}) EXPECT_EQ(mender.Mend(time), time);
}

TEST(TimestampMender, FillsMissingOnes) {
  TimestampMender mender({1, 1000}, {1, 10'000}, {25, 1});
  EXPECT_EQ(mender.Mend(AV_NOPTS_VALUE), 0);
  EXPECT_EQ(mender.Mend(AV_NOPTS_VALUE), 400);
  EXPECT_EQ(mender.Mend(80), 800);
}

TEST(TimestampMender, NeverStandsStillOrGoesBack) {
  TimestampMender mender({1, 1000}, {1, 1000}, {25, 1});
  EXPECT_EQ(mender.Mend(100), 100);
  EXPECT_EQ(mender.Mend(100), 120);
  EXPECT_EQ(mender.Mend(90), 130);
  EXPECT_EQ(mender.Mend(140), 140);
  EXPECT_EQ(mender.Mend(180), 180);
  EXPECT_EQ(mender.Mend(190), 190);
  EXPECT_EQ(mender.Mend(190), 195);  // a short step, like the steps before it
}

TEST(TimestampMender, ClosesUpARestartedClock) {
  TimestampMender mender({1, 1000}, {1, 1000}, {25, 1});
  EXPECT_EQ(mender.Mend(10'000), 10'000);
  EXPECT_EQ(mender.Mend(0), 10'040);
  EXPECT_EQ(mender.Mend(40), 10'080);
}

TEST(TimestampMender, TellsAJumpFromADamagedTimestamp) {
  TimestampMender mender({1, 1000}, {1, 1000}, {25, 1});
  EXPECT_FALSE(mender.Jumps(50'000)) << "there is nothing to jump from";
  mender.Mend(10'000);
  EXPECT_FALSE(mender.Jumps(11'000));
  EXPECT_FALSE(mender.Jumps(AV_NOPTS_VALUE));
  for (const std::int64_t far : {11'100, 8'900, 0, 30'000}) {
    EXPECT_TRUE(mender.Jumps(far)) << far;
    EXPECT_TRUE(mender.IsDamaged(far, 10'080)) << far;
    EXPECT_FALSE(mender.IsDamaged(far, far + 40)) << far;
    EXPECT_FALSE(mender.IsDamaged(far, AV_NOPTS_VALUE)) << far;
  }
  // The first frame after a pause may be followed at once by the next one.
  EXPECT_FALSE(mender.IsDamaged(11'050, 11'070));
}

TEST(TimestampMender, TakesAbsurdNumbersAsMissing) {
  TimestampMender mender({1, 1000}, {1, 10'000}, {25, 1});
  EXPECT_EQ(mender.Mend(1000), 10'000);
  EXPECT_EQ(mender.Mend(std::numeric_limits<std::int64_t>::max()), 10'400);
  EXPECT_EQ(mender.Mend(std::numeric_limits<std::int64_t>::min() + 1), 10'800);
  EXPECT_EQ(mender.Mend(1120), 11'200);
  // Milliseconds since 1970 are a valid clock.
  TimestampMender epoch({1, 1000}, {1, 16'000}, {25, 1});
  EXPECT_EQ(epoch.Mend(1'795'000'000'000), 28'720'000'000'000);
}

TEST(TimestampMender, RefusesTimesBeyondTheNumberRange) {
  // A damaged header may declare one picture in 68 years.
  TimestampMender mender({1, 1000}, {1, 1'000'000}, {1, std::numeric_limits<int>::max()});
  const auto follow = [&] {
    for (std::int64_t last = mender.Mend(0), frame = 0; frame < 10'000; ++frame) {
      const std::int64_t time = mender.Mend(AV_NOPTS_VALUE);
      ASSERT_GT(time, last) << frame;
      last = time;
    }
  };
  EXPECT_THROW(follow(), Error);
}

TEST(SpanMeter, RefusesTimesBeyondTheNumberRange) {
  const std::unique_ptr<AVFormatContext, decltype(&avformat_free_context)> context(avformat_alloc_context(), &avformat_free_context);
  AVStream& stream = *avformat_new_stream(context.get(), nullptr);
  stream.time_base = {1, 1'000'000};
  stream.avg_frame_rate = {1, std::numeric_limits<int>::max()};
  SpanMeter meter(stream);
  const UniquePacket packet = MakePacket();  // without a time
  const auto follow = [&] {
    for (int frame = 0; frame < 10'000; ++frame) {
      const double end_s = meter.end_s();
      meter.Add(*packet);
      ASSERT_GT(meter.end_s(), end_s) << frame;
    }
  };
  EXPECT_THROW(follow(), Error);
}

TEST(ToTicks, StaysInRange) {
  EXPECT_EQ(ToTicks(1.5, {1, 90'000}), 135'000);
  EXPECT_EQ(ToTicks(1e300, {1, 90'000}), std::int64_t{1} << 56);
  EXPECT_EQ(ToTicks(-1e300, {1, 90'000}), -(std::int64_t{1} << 56));
  EXPECT_EQ(ToTicks(std::nan(""), {1, 90'000}), 0);
}

struct MatrixCase {
  const char* name;
  std::int32_t a, b, c, d;
  Orientation expected;
  int degrees;
};

TEST(Orientation, FollowsTheDisplayMatrix) {
  constexpr std::int32_t k1 = 65536;
  const MatrixCase cases[] = {
      {"identity", k1, 0, 0, k1, {false, false, false}, 0},
      {"90 clockwise", 0, k1, -k1, 0, {true, true, false}, 90},
      {"180", -k1, 0, 0, -k1, {false, true, true}, 180},
      {"270 clockwise", 0, -k1, k1, 0, {true, false, true}, 270},
      {"mirrored", -k1, 0, 0, k1, {false, true, false}, 0},
      {"upside down mirror", k1, 0, 0, -k1, {false, false, true}, 0},
      {"slightly off", 65000, 800, -800, 65000, {false, false, false}, 0},
  };
  for (const MatrixCase& c : cases) {
    const std::int32_t matrix[9] = {c.a, c.b, 0, c.c, c.d, 0, 0, 0, 1 << 30};
    EXPECT_EQ(OrientationFromMatrix(matrix), c.expected) << c.name;
    EXPECT_EQ(OrientationFromMatrix(matrix).clockwise_degrees(), c.degrees) << c.name;
  }
}

TEST(DisplayedSize, SquaresPixelsThenTurns) {
  const Size anamorphic = DisplayedSize(720, 480, {8, 9}, {});
  EXPECT_EQ(anamorphic.width, 640);
  EXPECT_EQ(anamorphic.height, 480);
  const Size portrait = DisplayedSize(1280, 720, {1, 1}, {true, true, false});
  EXPECT_EQ(portrait.width, 720);
  EXPECT_EQ(portrait.height, 1280);
  EXPECT_EQ(DisplayedSize(1, 1, {1, 8}, {}).width, 1);
}

TEST(NativeLayout, KnowsPlanarAndSemiPlanarFormats) {
  const auto nv21 = NativeLayout(AV_PIX_FMT_NV21);
  ASSERT_TRUE(nv21);
  EXPECT_TRUE(nv21->semi_planar);
  EXPECT_TRUE(nv21->swap_chroma);
  const auto p010 = NativeLayout(AV_PIX_FMT_P010LE);
  ASSERT_TRUE(p010);
  EXPECT_TRUE(p010->left_aligned);
  EXPECT_EQ(p010->bits, 10);
  const auto deep = NativeLayout(AV_PIX_FMT_YUV422P10LE);
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->bits, 10);
  EXPECT_EQ(deep->subsampling, (pixel::Subsampling{1, 0}));
  const auto gray = NativeLayout(AV_PIX_FMT_GRAY8);
  ASSERT_TRUE(gray);
  EXPECT_TRUE(gray->gray);
}

TEST(NativeLayout, LeavesTheRestToTheScaler) {
  for (const AVPixelFormat format : {AV_PIX_FMT_RGB24, AV_PIX_FMT_PAL8, AV_PIX_FMT_YUYV422, AV_PIX_FMT_GBRP,
                                     AV_PIX_FMT_YUV420P10BE, AV_PIX_FMT_MONOBLACK, AV_PIX_FMT_CUDA,
                                     AV_PIX_FMT_YUV411P, AV_PIX_FMT_NONE}) {
    EXPECT_FALSE(NativeLayout(format)) << format;
  }
}

/// A picture of 4:1:1 whose chroma rises from left to right by two levels for each sample of luma.
UniqueFrame ChromaRampOf411(AVChromaLocation location) {
  UniqueFrame frame = MakeFrame();
  frame->format = AV_PIX_FMT_YUV411P;
  frame->width = 96;
  frame->height = 4;
  frame->chroma_location = location;
  CheckAv(av_frame_get_buffer(frame.get(), 0), ErrorCode::kInternal, "No memory for a frame");
  const int first = location == AVCHROMA_LOC_CENTER ? 3 : 0;  // centred chroma lies 1.5 samples further right
  for (int plane = 0; plane < 3; ++plane) {
    for (int y = 0; y < frame->height; ++y) {
      std::uint8_t* row = frame->data[plane] + y * frame->linesize[plane];
      for (int x = 0; x < (plane == 0 ? 96 : 24); ++x) row[x] = static_cast<std::uint8_t>(plane == 0 ? 126 : 20 + 8 * x + first);
    }
  }
  return frame;
}

TEST(FrameImporter, KeepsTheChromaOf411WhereItLies) {
  pixel::ThreadPool pool(1);
  for (const AVChromaLocation location : {AVCHROMA_LOC_UNSPECIFIED, AVCHROMA_LOC_LEFT, AVCHROMA_LOC_TOPLEFT, AVCHROMA_LOC_CENTER}) {
    const UniqueFrame frame = ChromaRampOf411(location);
    FrameImporter importer(*frame, AV_CODEC_ID_DVVIDEO);
    pixel::Image out(frame->width, frame->height, importer.subsampling(), importer.color().spec);
    importer.Run(*frame, out, pool);
    ASSERT_EQ(out.subsampling(), (pixel::Subsampling{1, 0}));
    const int first = out.color().site == pixel::ChromaSite::kCentre ? 1 : 0;
    for (int x = 6; x < 42; ++x) EXPECT_EQ(out.plane(1).Row(2)[x] / 256, 20 + 4 * x + first) << "location " << location << ", at " << x;
  }
}

TEST(AddBars, MakesThemAsBlackAsTheColoursOfTheFrameSay) {
  struct Case {
    AVPixelFormat format;
    AVColorRange range;
  };
  for (const auto& [format, range] : {Case{AV_PIX_FMT_GRAY8, AVCOL_RANGE_UNSPECIFIED}, {AV_PIX_FMT_GRAY8, AVCOL_RANGE_MPEG}, {AV_PIX_FMT_GRAY8, AVCOL_RANGE_JPEG},
                                      {AV_PIX_FMT_YUVJ420P, AVCOL_RANGE_UNSPECIFIED}, {AV_PIX_FMT_YUV420P, AVCOL_RANGE_UNSPECIFIED}}) {
    const UniqueFrame frame = MakeFrame();
    frame->format = format;
    frame->width = frame->height = 16;
    frame->color_range = range;
    ASSERT_GE(av_frame_get_buffer(frame.get(), 0), 0);
    const bool is_full = DescribeColor(*frame, AV_CODEC_ID_FFV1).spec.range == pixel::Range::kFull;
    EXPECT_EQ(int{AddBars(*frame, 2)->data[0][0]}, is_full ? 0 : 16) << format << " " << range;
  }
}

TEST(SourcePolicy, KnowsCommonCodecsAndRefusesRareOnes) {
  for (const AVCodecID id : {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1,
                             AV_CODEC_ID_MPEG4, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_PRORES, AV_CODEC_ID_AAC,
                             AV_CODEC_ID_OPUS, AV_CODEC_ID_MP3, AV_CODEC_ID_VORBIS}) {
    EXPECT_NE(FindAllowedDecoder(id), nullptr) << avcodec_get_name(id);
  }
  for (const AVCodecID id : {AV_CODEC_ID_MAGICYUV, AV_CODEC_ID_HAP, AV_CODEC_ID_DIRAC, AV_CODEC_ID_ANSI}) {
    EXPECT_EQ(FindAllowedDecoder(id), nullptr) << avcodec_get_name(id);
  }
}

TEST(ErrorCodeName, IsWhatTheAddonPromises) {
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kInvalidArgument), "invalid_argument");
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kUnreadableVideo), "unreadable_video");
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kLimitExceeded), "limit_exceeded");
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kIo), "io");
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kCancelled), "cancelled");
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kUnavailable), "unavailable");
  EXPECT_STREQ(ErrorCodeName(ErrorCode::kInternal), "internal");
}

}  // namespace
}  // namespace reelmend::media
