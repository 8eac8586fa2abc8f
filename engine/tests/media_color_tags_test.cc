// Colour tags of streams: their meaning, the defaults for missing tags, and the tags that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "helpers/clip_test.h"
#include "media/color_tags.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/probe.h"

extern "C" {
#include <libavformat/avformat.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/pixdesc.h>
}

namespace reelmend::media {
namespace {

using pixel::Matrix;

struct Tags {
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  int width = 640;
  int height = 360;
};

UniqueFrame Tagged(const Tags& tags) {
  UniqueFrame frame = MakeFrame();
  frame->width = tags.width;
  frame->height = tags.height;
  frame->format = AV_PIX_FMT_YUV420P10;
  frame->colorspace = tags.matrix;
  frame->color_primaries = tags.primaries;
  frame->color_trc = tags.transfer;
  return frame;
}

Matrix MatrixOf(const Tags& tags) { return DescribeColor(*Tagged(tags), AV_CODEC_ID_HEVC).spec.matrix; }

/// Expects that `work` throws an error whose message is one sentence that contains `word`.
template <typename Work>
void ExpectRefusal(const std::string& word, const Work& work) {
  try {
    work();
    ADD_FAILURE() << word << " was accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kUnreadableVideo) << text;
    EXPECT_NE(text.find(word), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 1) << text;
  }
}

TEST(ColorTags, AMatrixThatIsNotConvertedIsRefused) {
  for (const AVColorSpace matrix : {AVCOL_SPC_ICTCP, AVCOL_SPC_YCGCO, AVCOL_SPC_SMPTE2085, AVCOL_SPC_CHROMA_DERIVED_CL}) {
    ExpectRefusal(av_color_space_name(matrix), [&] { MatrixOf({matrix}); });
  }
  ExpectRefusal("chroma-derived-nc", [] { MatrixOf({AVCOL_SPC_CHROMA_DERIVED_NCL, AVCOL_PRI_SMPTE432}); });
}

TEST(ColorTags, AMatrixDerivedFromKnownPrimariesIsTheirs) {
  EXPECT_EQ(MatrixOf({AVCOL_SPC_CHROMA_DERIVED_NCL, AVCOL_PRI_BT709}), Matrix::kBt709);
  EXPECT_EQ(MatrixOf({AVCOL_SPC_CHROMA_DERIVED_NCL, AVCOL_PRI_BT2020}), Matrix::kBt2020);
}

TEST(ColorTags, AMissingMatrixFollowsWhatElseIsTagged) {
  EXPECT_EQ(MatrixOf({}), Matrix::kBt601);
  EXPECT_EQ(MatrixOf({.width = 1280, .height = 720}), Matrix::kBt709);
  for (const AVColorTransferCharacteristic transfer : {AVCOL_TRC_SMPTE2084, AVCOL_TRC_ARIB_STD_B67}) {
    for (const Tags& tags : {Tags{.transfer = transfer}, Tags{.transfer = transfer, .width = 3840, .height = 2160}}) {
      EXPECT_EQ(MatrixOf(tags), Matrix::kBt2020) << tags.width;
    }
    EXPECT_EQ(MatrixOf({.matrix = AVCOL_SPC_BT709, .transfer = transfer}), Matrix::kBt709) << "an explicit matrix takes precedence";
  }
}

TEST(ColorTags, UntaggedGreyIsFullRange) {
  const auto range_of = [](AVPixelFormat format, AVColorRange range) {
    const UniqueFrame frame = Tagged({});
    frame->format = format;
    frame->color_range = range;
    return DescribeColor(*frame, AV_CODEC_ID_RAWVIDEO).spec.range;
  };
  for (const AVPixelFormat grey : {AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10, AV_PIX_FMT_GRAY16, AV_PIX_FMT_YA8}) {
    EXPECT_EQ(range_of(grey, AVCOL_RANGE_UNSPECIFIED), pixel::Range::kFull) << av_get_pix_fmt_name(grey);
    EXPECT_EQ(range_of(grey, AVCOL_RANGE_JPEG), pixel::Range::kFull) << av_get_pix_fmt_name(grey);
    EXPECT_EQ(range_of(grey, AVCOL_RANGE_MPEG), pixel::Range::kLimited) << av_get_pix_fmt_name(grey);
  }
  for (const AVPixelFormat other : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_CUDA}) {
    EXPECT_EQ(range_of(other, AVCOL_RANGE_UNSPECIFIED), pixel::Range::kLimited) << av_get_pix_fmt_name(other);
  }
}

struct StreamDeleter {
  void operator()(AVFormatContext* context) const { avformat_free_context(context); }
};

void AddSideData(AVStream& stream, AVPacketSideDataType type, void* data, std::size_t size) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  AVCodecParameters& codec = *stream.codecpar;
  av_packet_side_data_add(&codec.coded_side_data, &codec.nb_coded_side_data, type, data, size, 0);
#else
  av_stream_add_side_data(&stream, type, static_cast<std::uint8_t*>(data), size);
#endif
}

/// Checks a stream with this Dolby Vision record.
void CheckDolbyVision(int profile, int compatibility) {
  const std::unique_ptr<AVFormatContext, StreamDeleter> context(avformat_alloc_context());
  AVStream* stream = avformat_new_stream(context.get(), nullptr);
  std::size_t size = 0;
  AVDOVIDecoderConfigurationRecord* record = av_dovi_alloc(&size);
  record->dv_profile = static_cast<std::uint8_t>(profile);
  record->dv_bl_signal_compatibility_id = static_cast<std::uint8_t>(compatibility);
  AddSideData(*stream, AV_PKT_DATA_DOVI_CONF, record, size);
  CheckConvertible(*stream, *Tagged({}));
}

TEST(ColorTags, DolbyVisionWithoutACompatibleBaseIsRefused) {
  ExpectRefusal("Dolby Vision", [] { CheckDolbyVision(5, 0); });
  ExpectRefusal("Dolby Vision", [] { CheckDolbyVision(10, 0); });
  EXPECT_NO_THROW(CheckDolbyVision(8, 1)) << "its base layer is HDR10";
  EXPECT_NO_THROW(CheckDolbyVision(7, 0)) << "short records have no compatibility ID";
}

class ColorTagsOfFiles : public testing::ClipTest {};

TEST_F(ColorTagsOfFiles, ARefusedMatrixEndsTheProbeAndTheJob) {
  const std::string file = Clip("ycgco.mkv", testing::VideoInput("160x90", 0.2) + " -vf format=yuv444p,setparams=colorspace=ycgco"
                                                                                  " -c:v libx264 -colorspace ycgco");
  ExpectRefusal("ycgco", [&] { ProbeFile(file, {}); });
  ExpectRefusal("ycgco", [&] { Enhance(file, output_, testing::PlainOptions()); });
}

}  // namespace
}  // namespace reelmend::media
