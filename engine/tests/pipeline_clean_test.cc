// Automatic strengths on clean sources: compared with a plain resize they change almost nothing.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cpu/pixel_chain.h"
#include "helpers/test_paths.h"
#include "media/frame_import.h"
#include "plan/picture_stats.h"
#include "reelmend/enhance.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace reelmend::run {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 640;
constexpr int kHeight = 360;
constexpr std::size_t kBytes = kWidth * kHeight * 3 / 2;

media::UniqueFrame NewFrame(int width, int height) {
  media::UniqueFrame frame = media::MakeFrame();
  frame->width = width;
  frame->height = height;
  frame->format = AV_PIX_FMT_YUV420P;
  frame->colorspace = AVCOL_SPC_BT709;
  if (av_frame_get_buffer(frame.get(), 64) < 0) throw std::bad_alloc();
  return frame;
}

/// A change of exposure in stops, applied with a gamma of 2.2.
struct Exposure {
  const char* name;
  double stops;
};

/// Reads `input` with ffmpeg at 640 × 360 and changes its exposure. Null if ffmpeg fails.
media::UniqueFrame Load(const std::string& input, double stops) {
  constexpr double kGamma = 2.2;
  std::string path = (fs::temp_directory_path() / "reelmend-clean-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  close(file);
  const std::string scaled = "clip(val*" + std::to_string(std::pow(2.0, stops / kGamma)) + "\\,0\\,maxval)";
  const std::string command =
      "ffmpeg -v error -nostdin -y " + input +
      " -frames:v 1 -vf 'scale=640:360:force_original_aspect_ratio=increase:flags=area,crop=640:360,format=gbrp12le,"
      "lutrgb=r=" + scaled + ":g=" + scaled + ":b=" + scaled +
      ",scale=out_color_matrix=bt709:out_range=tv,format=yuv420p' -f rawvideo " + path + " 2>/dev/null";
  const bool is_made = std::system(command.c_str()) == 0;
  std::vector<char> bytes(kBytes);
  std::ifstream stream(path, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(kBytes));
  const bool is_whole = static_cast<std::size_t>(stream.gcount()) == kBytes;
  fs::remove(path);
  if (!is_made || !is_whole) return nullptr;
  media::UniqueFrame frame = NewFrame(kWidth, kHeight);
  const char* from = bytes.data();
  for (int p = 0; p < 3; ++p) {
    const int width = p == 0 ? kWidth : kWidth / 2;
    for (int y = 0; y < (p == 0 ? kHeight : kHeight / 2); ++y, from += width) {
      std::copy_n(from, width, frame->data[p] + y * frame->linesize[p]);
    }
  }
  return frame;
}

struct Source {
  std::string name;
  std::string input;
};

/// Generated pictures, and photographs spread evenly over the photo folder if it exists.
std::vector<Source> Sources() {
  constexpr std::size_t kPhotos = 12;
  std::vector<Source> sources;
  for (const char* made : {"testsrc2=s=1280x720", "smptehdbars=s=1280x720", "mandelbrot=s=1280x720", "rgbtestsrc=s=1280x720",
                           "gradients=s=1280x720:x0=0:y0=0:x1=1279:y1=719:c0=black:c1=white:nb_colors=2"}) {
    sources.push_back({made, "-f lavfi -i " + std::string(made)});
  }
  std::vector<fs::path> photos;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(fs::path(test_paths::SourceDir()) / "../../shared/train-photos", none)) {
    const std::string type = entry.path().extension();
    if (type == ".jpg" || type == ".webp" || type == ".png") photos.push_back(entry.path());
  }
  std::sort(photos.begin(), photos.end());
  for (std::size_t i = 0; i < std::min(photos.size(), kPhotos); ++i) {
    const fs::path& photo = photos[i * photos.size() / std::min(photos.size(), kPhotos)];
    sources.push_back({photo.filename(), "-i '" + photo.string() + "'"});
  }
  return sources;
}

plan::SourceTraits TraitsOf(const AVFrame& frame) {
  pixel::ThreadPool pool(2);
  media::FrameImporter importer(frame, AV_CODEC_ID_H264);
  pixel::Image image(importer.width(), importer.height(), importer.subsampling(), importer.color().spec);
  importer.Run(frame, image, pool);
  return {pixel::EstimateNoise(image, pool), plan::LevelsOfVideo({plan::MeasureLuma(image)})};
}

media::UniqueFrame Process(const AVFrame& frame, int scale, const plan::SourceTraits& traits, const plan::Strengths& strengths,
                            bool is_automatic = true) {
  plan::Plan plan;
  plan.output = {kWidth * scale, kHeight * scale};
  plan.traits = traits;
  plan.strengths = strengths;
  if (is_automatic) plan.deband_threshold = plan::ChooseDebanding({}, traits);
  device::StageClocks clocks;
  cpu::PixelChain chain(plan, AV_CODEC_ID_H264, 2, clocks);
  media::UniqueFrame out = NewFrame(plan.output.width, plan.output.height);
  chain.Run(frame, *out);
  return out;
}

double LumaPsnr(const AVFrame& a, const AVFrame& b) {
  double sum = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) {
      sum += std::pow(int{a.data[0][y * a.linesize[0] + x]} - int{b.data[0][y * b.linesize[0] + x]}, 2);
    }
  }
  return sum == 0 ? 100 : 10 * std::log10(255.0 * 255 * a.width * a.height / sum);
}

/// A source whose compression error still counts as clean is not debanded. (Small sources count as compressed earlier.)
void CheckLightlyCompressed(const AVFrame& frame, plan::SourceTraits traits, const std::string& name) {
  traits.damage.known = true;
  for (const float error : {0.5F, 1.0F, 1.9F, 2.4F}) {
    traits.compression_error = error;
    ASSERT_EQ(plan::DescribeDamage(plan::DamageToDescribe(traits), {1280, 720}), "clean");
    EXPECT_EQ(LumaPsnr(*Process(frame, 1, traits, {}, false), *Process(frame, 1, traits, {})), 100) << name << " error " << error;
  }
}

/// Checks the automatic strengths on one clean picture.
void CheckClean(const AVFrame& frame, const plan::SourceTraits& traits, int scale, const std::string& name) {
  constexpr double kAlmostEqual = 45;  // dB
  const plan::Strengths strengths = plan::ChooseStrengths({}, traits, scale);
  const auto plain = Process(frame, scale, traits, {}, false);
  EXPECT_EQ(strengths.denoise, 0) << name;
  EXPECT_EQ(plan::ChooseTemporalDenoising({}, traits).strength, 0) << name;
  if (pixel::LevelGain(traits.levels.levels) > 1) return;  // a low-contrast picture, whose levels are lifted
  EXPECT_EQ(strengths.adaptive_contrast, 0) << name << " levels " << traits.levels.levels.black << " to " << traits.levels.levels.white;
  EXPECT_GE(LumaPsnr(*plain, *Process(frame, scale, traits, strengths)), kAlmostEqual)
      << name << " noise " << traits.noise_sigma << " sharpen " << strengths.sharpen;
}

/// `all`: also other exposures, enlarged.
void CheckSources(bool all) {
  int clean = 0;
  int noisy = 0;
  int flat = 0;
  for (const Source& source : Sources()) {
    for (const Exposure& exposure : {Exposure{" as it is", 0}, Exposure{" darker", -1.5}, Exposure{" lighter", 1}}) {
      const media::UniqueFrame frame = Load(source.input, exposure.stops);
      if (!frame) continue;
      const plan::SourceTraits traits = TraitsOf(*frame);
      const bool is_clean = traits.noise_sigma <= 1.5F;  // excludes photographs with grain
      ++(is_clean ? clean : noisy);
      flat += exposure.stops >= 0 && pixel::LevelGain(traits.levels.levels) > 1 ? 1 : 0;
      if (is_clean && exposure.stops == 0) CheckLightlyCompressed(*frame, traits, source.name);
      for (const int scale : {1, 2}) {
        if (is_clean && (all || scale == 1 || exposure.stops == 0)) CheckClean(*frame, traits, scale, source.name + exposure.name + " ×" + std::to_string(scale));
      }
    }
  }
  EXPECT_GE(clean, 12);
  EXPECT_LE(flat, clean / 10) << "well exposed pictures must not count as flat";
  EXPECT_LE(noisy, clean / 6) << "the noise estimate must not count clean pictures as noisy";
}

TEST(CleanSources, AutomaticStrengthsChangeAlmostNothing) { CheckSources(false); }

TEST(CleanSources, AutomaticStrengthsChangeAlmostNothingOfAll_Long) { CheckSources(true); }

}  // namespace
}  // namespace reelmend::run
