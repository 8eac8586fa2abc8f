// Reuse of network output for unchanged areas (Note [Still pictures] in cpu/network_stage.h): the result must not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "cpu/network_stage.h"
#include "helpers/clips.h"
#include "helpers/encoded_frames.h"
#include "helpers/networks.h"
#include "helpers/onnx_file.h"
#include "helpers/test_paths.h"
#include "pixel_testing.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using cpu::NetworkStage;
using cpu::NetworkStageOptions;
using Layout = ModelFile::Layout;
using pixel::Image;
using testing::DeepNetwork;
using testing::Described;
using testing::Ffmpeg;
using testing::NearestNetwork;
using testing::TemporaryFolder;

constexpr Size kSize = {480, 272};
constexpr pixel::Subsampling kSubsampling = {1, 1};

/// A page with a cursor of 9 × 13 samples and a clock. `seed` selects the page.
Image Page(int cursor_x, int cursor_y, int clock, unsigned seed = 1) {
  Image image(kSize.width, kSize.height, kSubsampling, {});
  pixel::testing::Fill(image, [&](int p, int x, int y) {
    const int at_x = p == 0 ? x : 2 * x;
    const int at_y = p == 0 ? y : 2 * y;
    if (at_x >= cursor_x && at_x < cursor_x + 9 && at_y >= cursor_y && at_y < cursor_y + 13) return 60'000;
    if (at_x >= 440 && at_y < 20) return 9'000 + 2'000 * (clock % 9);
    const unsigned value = (static_cast<unsigned>(at_x / 3) * 7919U + static_cast<unsigned>(at_y / 5) * 104'729U + seed * 31U) % 1201U;
    return static_cast<int>(p == 0 ? 10'000 + 30 * value : 25'000 + 12 * value);
  });
  return image;
}

/// A screen recording: a still page, a moving cursor, a clock, new pages, and a cursor near the corner.
std::vector<Image> Film() {
  std::vector<Image> film;
  const auto add = [&](int times, const auto& make) {
    for (int i = 0; i < times; ++i) film.push_back(make(i));
  };
  add(4, [](int) { return Page(50, 60, 0); });
  add(14, [](int i) { return Page(60 + 9 * i, 40 + 8 * i, 0); });
  add(3, [](int) { return Page(260, 170, 0); });
  add(6, [](int i) { return Page(260, 170, i); });
  add(3, [](int i) { return Page(260, 170, 5, 2 + i); });
  add(5, [](int i) { return Page(460 - 3 * i, 262, 5, 5); });  // at the lower right corner
  return film;
}

class ReuseTest : public ::testing::Test {
 protected:
  ModelFile Save(const std::string& bytes, int scale, int halo, int multiple, Layout layout) {
    ModelFile file = Described("test", scale);
    file.path = folder_.File("test" + std::to_string(++files_) + ".onnx");
    std::ofstream(file.path, std::ios::binary) << bytes;
    file.halo = halo;
    file.multiple = multiple;
    file.layout = layout;
    return file;
  }

  static ModelFile ShippedFile(const std::string& name, int scale, int halo) {
    ModelFile file = Described(name, scale);
    file.path = test_paths::SourceDir() + "/models/" + name;
    file.halo = halo;
    file.multiple = 2;
    return file;
  }

  static NetworkStageOptions Options(const ModelFile& file, int passes, int threads, bool reuses) {
    NetworkStageOptions options{{file, passes, false}, kSize, kSubsampling, {}, 0.1F, threads, {}, nullptr};
    options.reuses = reuses;
    return options;
  }

  /// Runs all pictures with depth() in flight. Returns the planes that the network outputs.
  static std::vector<std::vector<std::uint16_t>> Run(NetworkStage& stage, const std::vector<Image>& film) {
    pixel::ThreadPool pool(2);
    std::vector<std::vector<std::uint16_t>> all;
    Image out(stage.output().width, stage.output().height, stage.output_subsampling(), {});
    const auto retrieve = [&] {
      stage.Retrieve(out, pool);
      std::vector<std::uint16_t>& samples = all.emplace_back();
      for (int p = 0; p < (stage.makes_chroma() ? 3 : 1); ++p) {
        for (int y = 0; y < out.plane(p).height; ++y) samples.insert(samples.end(), out.plane(p).Row(y), out.plane(p).Row(y) + out.plane(p).width);
      }
      pixel::testing::Fill(out, [](int, int, int) { return 1; });  // overwrites the output, like the stages after it
    };
    int waiting = 0;
    for (const Image& picture : film) {
      if (waiting == stage.depth()) retrieve(), --waiting;
      stage.Submit(picture, pool);
      if (stage.wants_tiles()) stage.MakeTiles();
      ++waiting;
    }
    for (; waiting > 0; --waiting) retrieve();
    return all;
  }

  TemporaryFolder folder_;
  int files_ = 0;
};

/// Compares all layouts, with this number of threads.
class ReuseOfLayouts : public ReuseTest {
 protected:
  void ExpectWhatTheNetworkMakes(int threads);
};

void ReuseOfLayouts::ExpectWhatTheNetworkMakes(int threads) {
  struct Case { const char* name; ModelFile file; int passes; bool uses_tiles; };
  const std::vector<Case> cases = {
      {"luma", Save(DeepNetwork(2, 4, 16), 2, 4, 2, Layout::kLumaStrength), 1, true},
      {"twice", Save(NearestNetwork(2), 2, 0, 1, Layout::kLumaStrength), 2, false},
      {"ycbcr", Save(DeepNetwork(2, 4, 16, 1, 4, 3), 2, 4, 2, Layout::kYcbcrStrength), 1, true},
      {"rgb", Save(DeepNetwork(1, 4, 16, 1, 3, 3), 1, 4, 1, Layout::kRgb), 1, true},
      {"fast", ShippedFile("fast-x2-int8.onnx", 2, 12), 1, true},
  };
  const std::vector<Image> film = Film();
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.name) + " " + std::to_string(threads));
    NetworkStage plain(Options(c.file, c.passes, threads, false));
    NetworkStage reusing(Options(c.file, c.passes, threads, true));
    const auto expected = Run(plain, film);
    const auto made = Run(reusing, film);
    ASSERT_EQ(made.size(), film.size());
    for (std::size_t i = 0; i < film.size(); ++i) ASSERT_TRUE(made[i] == expected[i]) << "picture " << i;
    EXPECT_EQ(plain.reuse().whole + plain.reuse().partial, 0);
    EXPECT_GE(reusing.reuse().whole, 4);
    EXPECT_EQ(reusing.reuse().may_use_tiles, c.uses_tiles);
    EXPECT_EQ(reusing.reuse().partial > 3, c.uses_tiles) << reusing.reuse().partial;
  }
}

TEST_F(ReuseOfLayouts, IsWhatTheNetworkMakes) {
  NEEDS_OPENVINO();
  ExpectWhatTheNetworkMakes(2);
}

TEST_F(ReuseOfLayouts, IsWhatTheNetworkMakesWithOneThread_Long) {
  NEEDS_OPENVINO();
  ExpectWhatTheNetworkMakes(1);
}

/// With a halo that is too small, tiles differ from the whole picture. The trials detect it before any output uses tiles.
TEST_F(ReuseTest, TilesThatDifferAreNotUsed) {
  NEEDS_OPENVINO();
  const ModelFile file = Save(testing::BoxNetwork(2, 33), 2, 0, 1, Layout::kLumaStrength);
  std::vector<Image> film;
  for (int i = 0; i < 24; ++i) film.push_back(Page(100 + i, 125, 0));  // at the edge of a tile
  NetworkStage plain(Options(file, 1, 2, false));
  NetworkStage reusing(Options(file, 1, 2, true));
  const auto expected = Run(plain, film);
  EXPECT_TRUE(Run(reusing, film) == expected);
  EXPECT_FALSE(reusing.reuse().may_use_tiles);
  EXPECT_EQ(reusing.reuse().partial, 0);
}

/// The same with a difference that appears later: on black, the zeros outside of a tile equal the picture.
TEST_F(ReuseTest, TilesThatDifferLaterAreFoundByALaterTrial) {
  NEEDS_OPENVINO();
  const auto on_black = [](int cursor_x) {
    Image image(kSize.width, kSize.height, kSubsampling, {});
    pixel::testing::Fill(image, [&](int p, int x, int y) {
      return p > 0 ? 32'768 : x >= cursor_x && x < cursor_x + 9 && y >= 30 && y < 43 ? 50'000 : 4'096;
    });
    return image;
  };
  std::vector<Image> inside;
  std::vector<Image> at_the_edge;
  for (int i = 0; i < 40; ++i) inside.push_back(on_black(30 + i));
  for (int i = 0; i < 40; ++i) at_the_edge.push_back(on_black(90 + i));
  const ModelFile file = Save(testing::BoxNetwork(1, 17), 1, 0, 1, Layout::kLumaStrength);
  NetworkStage plain(Options(file, 1, 2, false));
  NetworkStage reusing(Options(file, 1, 2, true));
  EXPECT_TRUE(Run(reusing, inside) == Run(plain, inside));
  EXPECT_TRUE(reusing.reuse().may_use_tiles);
  EXPECT_GT(reusing.reuse().partial, 20);
  const auto expected = Run(plain, at_the_edge);
  const auto made = Run(reusing, at_the_edge);
  EXPECT_FALSE(reusing.reuse().may_use_tiles);
  EXPECT_TRUE(std::equal(made.end() - 12, made.end(), expected.end() - 12));
}

TEST_F(ReuseTest, PicturesThatDifferAllOverKeepNothing) {
  NEEDS_OPENVINO();
  std::vector<Image> film;
  for (unsigned i = 0; i < 12; ++i) film.push_back(Page(100, 100, 0, 100 + i));
  NetworkStage stage(Options(Save(NearestNetwork(2), 2, 0, 1, Layout::kLumaStrength), 1, 2, true));
  Run(stage, film);
  EXPECT_EQ(stage.reuse().whole + stage.reuse().partial, 0);
  EXPECT_FALSE(stage.wants_tiles());
}

/// If the file is replaced during a job, the job continues.
TEST_F(ReuseTest, WithoutTheFileItGoesOnWithoutTiles) {
  NEEDS_OPENVINO();
  const ModelFile file = Save(DeepNetwork(2, 2, 16), 2, 2, 2, Layout::kLumaStrength);
  NetworkStage plain(Options(file, 1, 2, false));
  NetworkStage reusing(Options(file, 1, 2, true));
  std::ofstream(file.path, std::ios::trunc) << "another";
  const auto film = Film();
  EXPECT_TRUE(Run(reusing, film) == Run(plain, film));
  EXPECT_FALSE(reusing.reuse().may_use_tiles);
  EXPECT_GT(reusing.reuse().whole, 0);
}

/// The whole pipeline on a video with repeated frames: each frame equals the result of a video with that frame only.
TEST_F(ReuseTest, RepeatedFramesOfAVideoAreEnhancedAsAnyOthers) {
  NEEDS_OPENVINO();
  ModelFile file = Save(NearestNetwork(1), 1, 0, 1, Layout::kLumaStrength);
  const std::string screen = folder_.File("screen.mkv");
  Ffmpeg("-f lavfi -i testsrc2=size=320x240:rate=2:duration=4 -vf fps=25 -t 2 -c:v ffv1 -pix_fmt yuv420p '" + screen + "'");
  EnhanceOptions options = testing::PlainOptions();
  options.model = "test";
  options.models = {file};
  options.target = Target::kSource;
  const auto frames = testing::EncodedFrames(screen, folder_.File("out.mp4"), options);
  ASSERT_EQ(frames.size(), 50U);
  std::set<std::uint64_t> distinct;
  for (const auto& frame : frames) distinct.insert(frame.hash);
  EXPECT_EQ(distinct.size(), 4U);  // 2 pictures per second for 2 s
  for (std::size_t i = 0; i < frames.size(); i += 12) {
    const std::string one = folder_.File("one.mkv");
    Ffmpeg("-i '" + screen + "' -vf trim=start_frame=" + std::to_string(i) + ":end_frame=" + std::to_string(i + 1) +
           ",setpts=0 -frames:v 1 -c:v ffv1 '" + one + "'");
    const auto alone = testing::EncodedFrames(one, folder_.File("alone.mp4"), options);
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(alone[0].hash, frames[i].hash) << i;
  }
}

}  // namespace
}  // namespace reelmend
