// Colours of enhanced videos, end to end, checked with ffmpeg and ffprobe.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "helpers/clip_test.h"
#include "helpers/clips.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::DecodeRgb;
using testing::PlainOptions;
using testing::RunCommand;
using testing::StreamFacts;
using testing::VideoInput;

class EnhanceColours : public testing::ClipTest {};

struct ColorCase {
  const char* name;
  const char* arguments;
};

// ffmpeg 7 writes the frames' tags and ignores the encoder's options, so the frames are tagged, too.
const ColorCase kColors[] = {
    {"bt709", "-vf scale=out_color_matrix=bt709:out_range=tv,format=yuv420p -colorspace bt709 -color_range tv -c:v libx264"},
    {"bt601", "-vf scale=out_color_matrix=bt601:out_range=tv,format=yuv420p -colorspace smpte170m -color_range tv -c:v libx264"},
    {"bt601 untagged", "-vf scale=out_color_matrix=bt601:out_range=tv,format=yuv420p,setparams=colorspace=unknown:range=unknown -c:v libx264"},
    {"bt601 full", "-vf scale=out_color_matrix=bt601:out_range=pc,format=yuvj420p -colorspace bt470bg -color_range pc -c:v libx264"},
    {"bt709 full 444", "-vf scale=out_color_matrix=bt709:out_range=pc,format=yuvj444p -colorspace bt709 -color_range pc -c:v libx264"},
    {"bt709 422 10 bit", "-vf scale=out_color_matrix=bt709:out_range=tv,format=yuv422p10le -colorspace bt709 -color_range tv -c:v libx264"},
    {"bt2020 10 bit", "-vf scale=out_color_matrix=bt2020:out_range=tv,format=yuv420p10le,setparams=color_primaries=bt709 -colorspace bt2020nc -color_primaries bt709 -color_range tv -c:v libx264"},
    {"rgb", "-c:v ffv1 -pix_fmt gbrp"},
    {"rgb packed", "-c:v qtrle -pix_fmt rgb24"},
};

TEST_F(EnhanceColours, KeepsColours) {
  for (const ColorCase& c : kColors) {
    const std::string source =
        Clip("bars.mov", "-f lavfi -i smptebars=size=448x240:rate=5:duration=0.6,format=gbrp " + std::string(c.arguments) + " -crf 1");
    EnhanceOptions options = PlainOptions();
    options.encoder.crf = 4;
    options.encoder.preset = "medium";
    Enhance(source, output_, options);
    const auto before = DecodeRgb(source);
    const auto after = DecodeRgb(output_);
    ASSERT_EQ(before.size(), after.size());
    ASSERT_EQ(before.size(), 448U * 240U * 3U);
    for (int bar = 0; bar < 7; ++bar) {
      const std::size_t at = (80 * 448 + 32 + bar * 64) * 3;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        EXPECT_NEAR(before[at + channel], after[at + channel], 2) << c.name << ", bar " << bar << ", channel " << channel;
      }
    }
    EXPECT_EQ(StreamFacts(output_, "v").at("color_space"), "bt709") << c.name;
  }
}

TEST_F(EnhanceColours, KeepsColoursOfPackedBits) {
  constexpr int kBars[][3] = {{31, 31, 31}, {31, 15, 3}, {4, 30, 17}, {20, 1, 31}, {16, 16, 16}, {8, 8, 8}, {0, 0, 0}};
  const struct {
    const char* format;
    const char* file;
    int green_bits;
    bool is_big_endian;
  } kFormats[] = {{"rgb555le", "bars.avi", 5, false}, {"rgb555be", "bars.mov", 5, true}, {"rgb565le", "bars.mov", 6, false}, {"rgb565be", "bars.mov", 6, true}};
  const auto to_8_bits = [](int value, int bits) { return value << (8 - bits) | value >> (2 * bits - 8); };
  for (const auto& [format, name, green_bits, is_big_endian] : kFormats) {
    std::string pixels;
    for (int i = 0; i < 64 * 448; ++i) {
      const auto& [r, g, b] = kBars[i % 448 / 64];
      const int green = green_bits == 6 ? g << 1 | g >> 4 : g;
      const int word = r << (5 + green_bits) | green << 5 | b;
      for (const int shift : {is_big_endian ? 8 : 0, is_big_endian ? 0 : 8}) pixels += static_cast<char>(word >> shift & 255);
    }
    std::ofstream(folder_.File("raw"), std::ios::binary) << pixels;
    const std::string source = Clip(name, "-f rawvideo -video_size 448x64 -pixel_format " + std::string(format) + " -i " + folder_.File("raw") + " -c:v rawvideo");
    ASSERT_EQ(StreamFacts(source, "v").at("pix_fmt"), format);
    EnhanceOptions options = PlainOptions();
    options.encoder.crf = 4;
    Enhance(source, output_, options);
    const auto after = DecodeRgb(output_);
    for (std::size_t bar = 0; bar < 7; ++bar) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const int level = kBars[bar][channel];
        const int expected = channel == 1 && green_bits == 6 ? to_8_bits(level << 1 | level >> 4, 6) : to_8_bits(level, 5);
        EXPECT_NEAR(after[(32 * 448 + 32 + bar * 64) * 3 + channel], expected, 2) << format << ", bar " << bar << ", channel " << channel;
      }
    }
  }
}

TEST_F(EnhanceColours, KeepsColoursWithAutomaticStrengthsOnACleanSource) {
  const std::string source = Clip("clean.mp4", VideoInput("448x240", 0.6) +
                                                   " -vf scale=out_color_matrix=bt709 -colorspace bt709 -pix_fmt yuv420p -c:v libx264 -crf 8");
  EnhanceOptions options;
  options.target = Target::kSource;
  options.encoder.crf = 8;
  const EnhanceResult result = Enhance(source, output_, options);
  EXPECT_EQ(result.applied.denoise, 0);
  EXPECT_EQ(result.applied.sharpen, 0);
  EXPECT_EQ(result.applied.adaptive_contrast, 0);
  EXPECT_GT(testing::Psnr(testing::DecodeLuma(source), testing::DecodeLuma(output_)), 38);
}

struct WidePrimaries {
  const char* name;       // ffmpeg's name of the primaries
  const char* matrix;
  const char* zscale;     // zscale's name of the primaries
};

/// SDR with wide primaries is converted to BT.709 like in zimg.
TEST_F(EnhanceColours, ConvertsWidePrimariesOfSdr) {
  if (RunCommand("ffmpeg -hide_banner -filters 2>/dev/null").find(" zscale ") == std::string::npos) {
    GTEST_SKIP() << "This machine has no ffmpeg with the zscale filter: nothing was compared with zimg.";
  }
  for (const WidePrimaries& c : {WidePrimaries{"bt2020", "bt2020nc", "bt2020"}, WidePrimaries{"smpte432", "bt709", "smpte432"}}) {
    const std::string tags = std::string(" -colorspace ") + c.matrix + " -color_primaries " + c.name + " -color_trc bt709 -color_range tv ";
    // The saturation is reduced, so all colours fit BT.709.
    const std::string source =
        Clip("wide.mov", std::string("-f lavfi -i smptebars=size=448x240:rate=5:duration=0.4,format=gbrp,hue=s=0.45,format=gbrp"
                                     " -vf zscale=min=gbr:pin=") + c.zscale + ":tin=bt709:rin=pc:m=" +
                             (c.matrix == std::string("bt709") ? "bt709" : "2020_ncl") + ":p=" + c.zscale +
                             ":t=bt709:r=tv,format=yuv420p10le" + tags + "-c:v libx264 -crf 1");
    const std::string expected = Clip("expected.mov", "-i '" + source + "' -vf zscale=m=bt709:p=bt709:t=bt709:r=tv,format=yuv444p"
                                                      " -colorspace bt709 -c:v ffv1 -strict -2");
    EnhanceOptions options = PlainOptions();
    options.encoder.crf = 4;
    options.encoder.preset = "medium";
    Enhance(source, output_, options);
    const auto before = DecodeRgb(expected);
    const auto after = DecodeRgb(output_);
    const auto unconverted = DecodeRgb(source);
    ASSERT_EQ(before.size(), after.size());
    int farthest = 0;
    for (int bar = 0; bar < 7; ++bar) {
      const std::size_t at = (80 * 448 + 32 + bar * 64) * 3;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        EXPECT_NEAR(before[at + channel], after[at + channel], 2) << c.name << ", bar " << bar << ", channel " << channel;
        farthest = std::max(farthest, std::abs(before[at + channel] - unconverted[at + channel]));
      }
    }
    EXPECT_GT(farthest, 8) << "the conversion must change the colours noticeably";
    const auto facts = StreamFacts(output_, "v");
    EXPECT_EQ(facts.at("color_primaries"), "bt709") << c.name;
    EXPECT_EQ(facts.at("color_transfer"), "bt709") << c.name;
    EXPECT_EQ(facts.at("color_space"), "bt709") << c.name;
  }
}

/// All places that H.264 can state for chroma.
TEST_F(EnhanceColours, BringsChromaToTheLeftFromAnywhere) {
  if (RunCommand("ffmpeg -hide_banner -filters 2>/dev/null").find(" zscale ") == std::string::npos) {
    GTEST_SKIP() << "This machine has no ffmpeg with the zscale filter: nothing was compared with zimg.";
  }
  const auto chroma = [](const std::string& file) {
    const std::string raw = RunCommand("ffmpeg -v error -i '" + file + "' -vf extractplanes=u -f rawvideo -pix_fmt gray -");
    return std::vector<std::uint8_t>(raw.begin(), raw.end());
  };
  for (const std::string site : {"left", "center", "topleft", "top", "bottomleft", "bottom"}) {
    const std::string tags = " -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv -chroma_sample_location ";
    const std::string source =
        Clip("sited.mp4", "-f lavfi -i testsrc2=size=320x180:rate=25:duration=0.2 -vf format=gbrp,gblur=sigma=2,zscale=min=gbr:m=bt709:rin=pc:r=tv:chromal=" +
                              site + ",format=yuv420p" + tags + site + " -c:v libx264 -crf 1");
    const std::string expected = Clip("expected.mkv", "-i '" + source + "' -vf zscale=filter=lanczos:chromalin=" + site + ":chromal=left,format=yuv420p" + tags +
                                                          "left -c:v ffv1");
    EnhanceOptions options = PlainOptions();
    options.target = Target::kSource;
    options.encoder.crf = 2;
    Enhance(source, output_, options);
    EXPECT_EQ(StreamFacts(output_, "v").at("chroma_location"), "left");
    EXPECT_GT(testing::Psnr(chroma(expected), chroma(output_)), 55) << site;
  }
}

/// RGB is converted as the same picture in Y′CbCr.
TEST_F(EnhanceColours, ConvertsWidePrimariesOfRgb) {
  for (const std::string primaries : {"bt2020", "smpte432"}) {
    const std::string bars = "-f lavfi -i smptebars=size=448x240:rate=5:duration=0.4,format=gbrp,hue=s=0.45,format=gbrp -vf ";
    const std::string tags = "setparams=color_primaries=" + primaries + ":color_trc=bt709:colorspace=";
    const auto enhanced = [&](const std::string& name, const std::string& filters) {
      EnhanceOptions options = PlainOptions();
      options.encoder.crf = 4;
      Enhance(Clip(name, bars + filters + " -c:v ffv1"), output_, options);
      EXPECT_EQ(StreamFacts(output_, "v").at("color_primaries"), "bt709") << name << ", " << primaries;
      return DecodeRgb(output_);
    };
    const auto expected = enhanced("ycbcr.mkv", "scale=out_color_matrix=bt709:out_range=tv,format=yuv444p10le," + tags + "bt709");
    const auto rgb = enhanced("rgb.mkv", tags + "gbr");
    ASSERT_EQ(expected.size(), rgb.size());
    for (std::size_t bar = 0; bar < 7; ++bar) {
      const std::size_t at = (80 * 448 + 32 + bar * 64) * 3;
      for (std::size_t i = at; i < at + 3; ++i) EXPECT_NEAR(expected[i], rgb[i], 4) << primaries << ", bar " << bar;
    }
  }
}

TEST_F(EnhanceColours, CarriesPrimariesAndTransfer) {
  const std::string source =
      Clip("tagged.mp4", VideoInput("320x180", 0.4) +
                             " -vf setparams=color_primaries=smpte170m:color_trc=smpte170m"
                             " -c:v libx264 -pix_fmt yuv420p -colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m");
  ASSERT_EQ(StreamFacts(source, "v").at("color_primaries"), "smpte170m");
  Enhance(source, output_, PlainOptions());
  const auto facts = StreamFacts(output_, "v");
  EXPECT_EQ(facts.at("color_space"), "bt709");
  EXPECT_EQ(facts.at("color_primaries"), "smpte170m");
  EXPECT_EQ(facts.at("color_transfer"), "smpte170m");
  EXPECT_EQ(facts.at("chroma_location"), "left");
}

/// A grey of 10-bit level `level` in PQ, mastered on a display of `peak` nits.
std::string GreyInPq(int level, int peak) {
  const std::string luma = std::to_string(level);
  return "-f lavfi -i color=gray:s=320x180:r=25:d=0.4,format=yuv420p10le,geq=lum=" + luma +
         ":cb=512:cr=512 -c:v libx265 -preset ultrafast -x265-params log-level=none:colorprim=bt2020:"
         "transfer=smpte2084:colormatrix=bt2020nc:hdr10=1:master-display='G(13250,34500)B(7500,3000)"
         "R(34000,16000)WP(15635,16450)L(" +
         std::to_string(peak) + "0000,50)'";
}

TEST_F(EnhanceColours, ToneMapsHighDynamicRange) {
  // Level 573 is 203 nits. It becomes white if the display ends there, and gets darker the higher the peak is.
  struct Case {
    int peak;
    double level;
  };
  for (const Case& c : {Case{203, 235}, Case{1000, 214}, Case{4000, 197}}) {
    const std::string source = Clip("hdr" + std::to_string(c.peak) + ".mkv", GreyInPq(573, c.peak));
    Enhance(source, output_, PlainOptions());
    const auto facts = StreamFacts(output_, "v");
    EXPECT_EQ(facts.at("color_space"), "bt709");
    EXPECT_EQ(facts.at("color_primaries"), "bt709");
    EXPECT_EQ(facts.at("color_transfer"), "bt709");
    const auto luma = testing::DecodeLuma(output_);
    EXPECT_NEAR(luma.at(luma.size() / 2), c.level, 2) << c.peak;
  }
}

}  // namespace
}  // namespace reelmend
