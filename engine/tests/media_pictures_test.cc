// Posters and thumbnails, checked with ffmpeg.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "media/jpeg.h"
#include "reelmend/error.h"
#include "reelmend/pictures.h"

namespace reelmend {
namespace {

using testing::DecodeRgb;
using testing::Ffmpeg;
using testing::StreamFacts;
using testing::TemporaryFolder;

/// RGB of the picture's middle pixel.
std::vector<int> Middle(const std::string& file, int width, int height) {
  const std::vector<std::uint8_t> rgb = DecodeRgb(file);
  const std::size_t at = (std::size_t(height / 2) * width + width / 2) * 3;
  return {rgb.at(at), rgb.at(at + 1), rgb.at(at + 2)};
}

TEST(Pictures, HaveTheColoursOfTheirFrames) {
  TemporaryFolder folder;
  struct Case {
    const char* color;
    std::vector<int> rgb;
  };
  for (const Case& c : {Case{"red", {255, 0, 0}}, {"0x20a040", {32, 160, 64}}, {"white", {255, 255, 255}}, {"black", {0, 0, 0}}}) {
    for (const std::string matrix : {"bt709", "smpte170m"}) {
      const std::string out = matrix == "bt709" ? "bt709" : "bt601";
      const std::string video = folder.File("video.mp4");
      Ffmpeg("-f lavfi -i color=" + std::string(c.color) + ":size=640x360:rate=25:d=1 -vf scale=out_color_matrix=" + out +
             ":out_range=tv,format=yuv420p -colorspace " + matrix + " -color_range tv -c:v libx264 -crf 4 " + video);
      PicturesOptions options;
      options.thumbnails = 1;
      const std::vector<Picture> pictures = TakePictures(video, folder.File(""), options);
      ASSERT_EQ(pictures.size(), 1U);
      const std::vector<int> found = Middle(folder.File(pictures[0].file), pictures[0].width, pictures[0].height);
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(found[i], c.rgb[i], 5) << c.color << " " << matrix << " channel " << i;
    }
  }
}

TEST(Pictures, AreSpreadOverTheVideoAndTheirPosterShowsTheMost) {
  TemporaryFolder folder;
  const std::string video = folder.File("video.mp4");
  Ffmpeg("-f lavfi -i color=black:size=1920x1080:rate=25:d=4 -f lavfi -i testsrc2=size=1920x1080:rate=25:d=2 -filter_complex "
         "concat=n=2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p " + video);
  PicturesOptions options;
  options.poster = true;
  options.thumbnails = 3;
  const std::vector<Picture> pictures = TakePictures(video, folder.File(""), options);
  ASSERT_EQ(pictures.size(), 4U);
  EXPECT_TRUE(pictures[0].is_poster);
  EXPECT_GE(pictures[0].time_s, 4);
  for (int i = 1; i < 4; ++i) {
    EXPECT_NEAR(pictures[i].time_s, 2 * i - 1, 0.05);
    EXPECT_FALSE(pictures[i].is_poster);
  }
  for (const Picture& picture : pictures) {
    const auto facts = StreamFacts(folder.File(picture.file), "v");
    EXPECT_EQ(facts.at("codec_name"), "mjpeg");
    EXPECT_EQ(facts.at("width"), std::to_string(picture.width));
    EXPECT_EQ(facts.at("height"), std::to_string(picture.height));
    EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(folder.File(picture.file))), picture.size_bytes);
  }
}

TEST(Pictures, FitIntoABoxAndAreNeverEnlarged) {
  struct Case {
    Size frame;
    int box;
    Size expected;
  };
  for (const Case& c : {Case{{1920, 1080}, 320, {320, 180}}, {{1080, 1920}, 320, {180, 320}}, {{160, 90}, 320, {160, 90}}, {{8000, 2}, 320, {320, 1}}}) {
    const Size fitted = media::FitBox(c.frame, c.box);
    EXPECT_EQ(fitted.width, c.expected.width);
    EXPECT_EQ(fitted.height, c.expected.height);
  }
}

TEST(Pictures, SayWhatIsWrong) {
  TemporaryFolder folder;
  const std::string video = folder.File("video.mp4");
  Ffmpeg("-f lavfi -i testsrc2=size=64x36:rate=25:d=0.2 -pix_fmt yuv420p " + video);
  const auto code = [&](int thumbnails, const std::string& to) {
    PicturesOptions options;
    options.thumbnails = thumbnails;
    try {
      TakePictures(video, to, options);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code(51, folder.File("")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(1, folder.File("absent")), ErrorCode::kIo);
}

}  // namespace
}  // namespace reelmend
