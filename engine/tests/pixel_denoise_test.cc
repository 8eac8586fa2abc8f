// Compares Denoiser with a scalar double-precision bilateral filter, and tests the noise estimate on known noise.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "helpers/test_paths.h"
#include "pixel/stages.h"
#include "pixel_testing.h"
#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

/// By squared distance, up to 2 samples in both directions.
const std::array<double, 9>& DistanceWeights() {
  static const auto weights = [] {
    std::array<double, 9> all{};
    for (int squared = 0; squared < 9; ++squared) all[squared] = std::exp(-squared / (2 * 1.6 * 1.6));
    return all;
  }();
  return weights;
}

double BilateralAt(ConstPlane plane, int x, int y, int reach, double threshold) {
  const double centre = plane.Row(y)[x];
  double sum = 0;
  double weights = 0;
  for (int dy = -reach; dy <= reach; ++dy) {
    for (int dx = -reach; dx <= reach; ++dx) {
      const double v =
          plane.Row(std::clamp(y + dy, 0, plane.height - 1))[std::clamp(x + dx, 0, plane.width - 1)];
      const double u = (v - centre) / threshold;
      const double range = std::abs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
      const double weight = DistanceWeights()[dx * dx + dy * dy] * range;
      sum += weight * v;
      weights += weight;
    }
  }
  return sum / weights;
}

Image Reference(const Image& in, double strength, double sigma) {
  Image out(in.width(), in.height(), in.subsampling(), in.color());
  testing::Fill(out, [&](int p, int x, int y) {
    const double v = in.plane(p).Row(y)[x];
    return v + strength * (BilateralAt(in.plane(p), x, y, p == 0 ? 2 : 1, 4.5 * sigma * 256) - v);
  });
  return out;
}

Image Denoise(const Image& in, float strength, float sigma, int threads) {
  ThreadPool pool(threads);
  Denoiser denoiser(in.width(), in.height(), in.subsampling());
  Image out(in.width(), in.height(), in.subsampling(), {});
  denoiser.Run(in, out, strength, sigma, pool);
  return out;
}

TEST(Denoise, EqualsTheReference) {
  for (const PictureSize size : testing::Sizes()) {
    for (const Subsampling subsampling : testing::Subsamplings()) {
      Image in = testing::Pattern(size, subsampling);
      testing::AddNoise(in, 6, 1);
      for (const float strength : {0.4F, 1.0F}) {
        EXPECT_LE(testing::MaxDifference(Denoise(in, strength, 6, 2), Reference(in, strength, 6)), 1)
            << testing::Name(size) << " strength " << strength;
      }
      const Image wild = testing::RandomPicture(size, subsampling, 5);
      EXPECT_LE(testing::MaxDifference(Denoise(wild, 1, 20, 2), Reference(wild, 1, 20)), 1)
          << testing::Name(size);
    }
  }
}

TEST(Denoise, ThreadsDoNotChangeTheResult) {
  for (const PictureSize size : testing::Sizes()) {
    const Image in = testing::RandomPicture(size, {1, 1}, 2);
    const Image one = Denoise(in, 1, 8, 1);
    for (const int threads : {2, 3}) EXPECT_EQ(testing::MaxDifference(one, Denoise(in, 1, 8, threads)), 0);
  }
}

TEST(Denoise, NothingToDoCopiesExactly) {
  const Image in = testing::RandomPicture({67, 41}, {1, 1}, 3);
  EXPECT_EQ(testing::MaxDifference(in, Denoise(in, 0, 9, 2)), 0);
  EXPECT_EQ(testing::MaxDifference(in, Denoise(in, 1, 0, 2)), 0);
}

TEST(Denoise, ConstantStaysConstant) {
  for (const int value : {0, 4096, 30001, 65535}) {
    const Image in = testing::Constant({40, 30}, {1, 1}, value, value, value);
    EXPECT_EQ(testing::MaxDifference(in, Denoise(in, 1, 10, 2)), 0);
  }
}

/// A picture similar to a photograph: shading, soft and hard edges, some texture.
Image Scene() {
  Image image(480, 270, {1, 1}, {});
  testing::Fill(image, [](int p, int x, int y) {
    const double shade = 90 + 0.15 * x + 30 * std::sin(0.013 * y);
    const double disc = std::hypot(x - 300.0, y - 120.0) < 70 ? 45 : 0;
    const double stripes = x < 120 && y > 150 ? 12 * std::sin(0.8 * x + 0.3 * y) : 0;
    return 256 * (p == 0 ? shade + disc + stripes : 128 + disc / 3);
  });
  return image;
}

TEST(Denoise, GainsPsnrOnNoise) {
  const Image clean = Scene();
  for (const double sigma : {5.0, 7.0, 10.0}) {
    Image noisy = testing::Copy(clean);
    testing::AddNoise(noisy, sigma, 17);
    const Image out = Denoise(noisy, 1, static_cast<float>(sigma), 2);
    for (int p = 0; p < 3; ++p) {
      const double gain =
          testing::Psnr(out.plane(p), clean.plane(p)) - testing::Psnr(noisy.plane(p), clean.plane(p));
      EXPECT_GT(gain, p == 0 ? 6.0 : 5.0) << "sigma " << sigma << " plane " << p;
    }
  }
}

TEST(Denoise, AnEdgeAboveTheNoiseKeepsItsPositionAndHeight) {
  Image in(64, 32, {1, 1}, {});
  testing::Fill(in, [](int p, int x, int) { return p > 0 ? 32768.0 : x < 32 ? 60.0 * 256 : 160.0 * 256; });
  EXPECT_EQ(testing::MaxDifference(in, Denoise(in, 1, 10, 1)), 0);
}

TEST(Denoise, RefusesAPictureOfAnotherSize) {
  ThreadPool pool(1);
  Denoiser denoiser(16, 16, {1, 1});
  const Image in(16, 16, {1, 0}, {});
  Image out(16, 16, {1, 0}, {});
  EXPECT_THROW(denoiser.Run(in, out, 1, 5, pool), Error);
}

// ---- EstimateNoise ---------------------------------------------------------------------------------------

float Estimate(const Image& image) {
  ThreadPool pool(2);
  return EstimateNoise(image, pool);
}

/// Rounds to 8 bits, like the pictures of an 8-bit decoder.
void RoundToEightBits(Image& image) {
  for (int p = 0; p < 3; ++p) {
    const Plane plane = image.plane(p);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        plane.Row(y)[x] = static_cast<std::uint16_t>(std::min(255, (plane.Row(y)[x] + 128) / 256) * 256);
      }
    }
  }
}

void ExpectEstimates(const Image& clean, const std::string& name) {
  for (const double sigma : {3.0, 5.0, 10.0, 20.0}) {
    for (const bool eight_bits : {false, true}) {
      Image noisy = testing::Copy(clean);
      testing::AddNoise(noisy, sigma, 23);
      if (eight_bits) RoundToEightBits(noisy);
      EXPECT_NEAR(Estimate(noisy), sigma, 0.2 * sigma) << name << (eight_bits ? " in 8 bits" : "");
    }
  }
}

TEST(EstimateNoise, IsZeroWithoutNoise) {
  EXPECT_EQ(Estimate(testing::Constant({320, 180}, {1, 1}, 20000, 32768, 32768)), 0);
  EXPECT_EQ(Estimate(testing::Constant({320, 180}, {1, 1}, 4096, 32768, 32768)), 0);
  EXPECT_LT(Estimate(Scene()), 0.1);
  Image stripes(320, 180, {1, 1}, {});
  testing::Fill(stripes, [](int, int x, int) { return 256 * (x % 3 == 0 ? 60.0 : 180.0); });
  EXPECT_EQ(Estimate(stripes), 0);
}

TEST(EstimateNoise, TextureIsNotNoise) {
  // Random texture without the finest detail, because lenses and codecs remove that.
  Image rough = testing::Constant({640, 360}, {1, 1}, 30000, 32768, 32768);
  testing::AddNoise(rough, 40, 5);
  Image texture(640, 360, {1, 1}, {});
  testing::Fill(texture, [&](int p, int x, int y) {
    const ConstPlane plane = rough.plane(p);
    double sum = 0;
    for (int dy = -2; dy <= 2; ++dy) {
      for (int dx = -2; dx <= 2; ++dx) {
        sum += plane.Row(std::clamp(y + dy, 0, plane.height - 1))[std::clamp(x + dx, 0, plane.width - 1)];
      }
    }
    return sum / 25;
  });
  EXPECT_LT(Estimate(texture), 1.0);
}

TEST(EstimateNoise, FindsTheSigmaOfAddedNoise) { ExpectEstimates(Scene(), "scene"); }

TEST(EstimateNoise, BlackBarsDoNotHideNoise) {
  Image image = testing::Constant({480, 270}, {1, 1}, 25600, 32768, 32768);
  testing::AddNoise(image, 8, 3);
  const Plane luma = image.plane(0);
  for (int y = 0; y < 270; ++y) {
    if (y < 64 || y >= 206) std::fill_n(luma.Row(y), 480, std::uint16_t{4096});
  }
  EXPECT_NEAR(Estimate(image), 8, 1.6);
}

TEST(EstimateNoise, TinyPicturesHaveNoEstimate) {
  for (const PictureSize size : {PictureSize{1, 1}, PictureSize{17, 17}, PictureSize{17, 300}}) {
    EXPECT_EQ(Estimate(testing::RandomPicture(size, {1, 1}, 1)), 0) << testing::Name(size);
  }
}

TEST(EstimateNoise, TakesVeryLongPictures) {
  for (const PictureSize size : {PictureSize{66'000, 20}, PictureSize{200'000, 20}, PictureSize{20, 200'000}, PictureSize{100'000, 50}}) {
    Image image = testing::Constant(size, {1, 1}, 25600, 32768, 32768);
    testing::AddNoise(image, 5, 3);
    EXPECT_NEAR(Estimate(image), 5, 1) << testing::Name(size);
  }
}

TEST(EstimateNoise, ThreadsDoNotChangeTheResult) {
  Image image = Scene();
  testing::AddNoise(image, 4, 9);
  ThreadPool one(1);
  const float expected = EstimateNoise(image, one);
  for (const int threads : {2, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(EstimateNoise(image, pool), expected);
  }
}

/// The picture at `seconds` of a camera's file as 8-bit 4:2:0. Empty if the file or ffmpeg does not exist.
Image CameraPicture(const std::string& file, double seconds, PictureSize size) {
  const std::string path = test_paths::SharedMediaDir() + "/" + file;
  if (!std::filesystem::exists(path)) return {};
  const std::string command = "ffmpeg -v error -nostdin -ss " + std::to_string(seconds) + " -i '" + path +
                              "' -frames:v 1 -vf scale=" + std::to_string(size.width) + ":" +
                              std::to_string(size.height) +
                              ":flags=area -pix_fmt yuv420p -f rawvideo - 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size.width) * size.height * 3 / 2);
  const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe);
  pclose(pipe);
  if (count != bytes.size()) return {};
  RawPlanes raw;
  raw.data[0] = bytes.data();
  raw.data[1] = raw.data[0] + size.width * size.height;
  raw.data[2] = raw.data[1] + size.width * size.height / 4;
  raw.stride[0] = size.width;
  raw.stride[1] = raw.stride[2] = size.width / 2;
  Image image(size.width, size.height, {1, 1}, {});
  ThreadPool pool(1);
  Import(raw, {}, image, pool);
  return image;
}

TEST(EstimateNoise, CameraPictures) {
  int seen = 0;
  for (const char* file : {"8k24-hevc.mp4", "portrait-4k60.mp4"}) {
    const Image clean = CameraPicture(file, 0, {960, 540});
    if (clean.empty()) continue;
    ++seen;
    EXPECT_LT(Estimate(clean), 0.5) << file;
    ExpectEstimates(clean, file);
  }
  if (seen == 0)
    GTEST_SKIP() << "There are no real sample files: nothing was tested on cameras' pictures.";
}

}  // namespace
}  // namespace reelmend::pixel
