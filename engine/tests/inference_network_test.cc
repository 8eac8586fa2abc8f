#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "helpers/network_test.h"
#include "helpers/onnx_file.h"
#include "helpers/process_memory.h"
#include "inference/frame_network.h"
#include "inference/model_loader.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

using testing::BoxNetwork;
using testing::DeepNetwork;
using testing::NearestNetwork;
using testing::OnnxFile;
using testing::SwappedChromaNetwork;
using testing::SwappedRgbNetwork;

TEST_F(NetworkTest, ResultsAreThoseOfTheArithmetic) {
  struct Size { int width, height, multiple; };
  for (const int scale : {1, 2, 3, 4}) {
    for (const auto& [width, height, multiple] : {Size{64, 48, 1}, {161, 121, 2}, {1, 1, 2}, {2, 37, 4}}) {
      SCOPED_TRACE(std::to_string(scale) + ": " + std::to_string(width) + "×" + std::to_string(height));
      const Picture in = Noise(width, height, 2, 7);
      const Picture out = Run(Save(NearestNetwork(scale, 0.5F, 0.25F), scale, 0, multiple), in);
      ASSERT_EQ(out.width, width * scale);
      ASSERT_EQ(out.height, height * scale);
      for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) {
          const float expected = 0.5F * in.at(0, x / scale, y / scale) + 0.25F * in.at(1, x / scale, y / scale);
          ASSERT_NEAR(out.at(0, x, y), expected, 1e-6) << x << ", " << y;
        }
      }
    }
  }
}

TEST_F(NetworkTest, AShuffleLeftToTheReaderGivesTheSame) {
  using Layout = ModelFile::Layout;
  struct Case { std::string network; int scale, halo, multiple, shuffle; Layout layout = Layout::kLumaStrength; };
  // The network of scale 1 has shuffle 1: with a shuffle by 2, tiles at odd positions would begin inside a block.
  for (const Case& c : {Case{DeepNetwork(2, 3, 16), 2, 4, 2, 2}, Case{BoxNetwork(4, 3), 4, 2, 2, 4}, Case{BoxNetwork(3, 3), 3, 2, 1, 3},
                        Case{BoxNetwork(2, 3), 2, 2, 1, 2}, Case{DeepNetwork(1, 3, 16), 1, 4, 1, 1},
                        Case{DeepNetwork(2, 3, 16, 1, 4, 3), 2, 4, 2, 2, Layout::kYcbcrStrength},
                        Case{DeepNetwork(4, 3, 16, 1, 4, 3), 4, 4, 1, 4, Layout::kYcbcrStrength},
                        Case{SwappedChromaNetwork(3), 3, 0, 1, 3, Layout::kYcbcrStrength}}) {
    ModelFile file = Save(c.network, c.scale, c.halo, c.multiple);
    file.layout = c.layout;
    const Picture in = Noise(161, 119, InputPlanes(c.layout), 5);
    for (const std::int64_t memory : {kMuchMemory, std::int64_t{750'000}}) {
      SCOPED_TRACE(std::to_string(c.scale) + ", " + std::to_string(memory));
      ExpectTheSameShuffled(file, in, c.shuffle, memory);
    }
  }
}

TEST_F(NetworkTest, AnOutputInSlicesIsTheSame) {
  // Planes of 64 × 64 and 128 × 24 lie whole multiples of 4,096 bytes apart: 48 and 27 of them come in slices of 12.
  const std::tuple<std::string, int, int> kNetworks[] = {{DeepNetwork(4, 3, 16, 1, 4, 3), 4, 4}, {SwappedChromaNetwork(3), 3, 0}};
  for (const auto& [network, scale, halo] : kNetworks) {
    ModelFile file = Save(network, scale, halo);
    file.layout = ModelFile::Layout::kYcbcrStrength;
    for (const auto& [width, height] : {std::pair{64, 64}, {128, 24}}) {
      SCOPED_TRACE(std::to_string(scale) + ": " + std::to_string(width) + "×" + std::to_string(height));
      ExpectTheSameShuffled(file, Noise(width, height, InputPlanes(file.layout), 5), scale, kMuchMemory);
    }
  }
}

TEST_F(NetworkTest, ThePlanesOfRgbKeepTheirOrder) {
  const Picture in = Noise(37, 23, 3, 3);
  for (const int scale : {1, 2, 3, 4}) {
    ModelFile file = Save(SwappedRgbNetwork(scale), scale, 0);
    file.layout = ModelFile::Layout::kRgb;
    const Picture out = Run(file, in);
    for (int p = 0; p < 3; ++p) {
      for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) ASSERT_NEAR(out.at(p, x, y), in.at(2 - p, x / scale, y / scale), 1e-6);
      }
    }
  }
}

TEST_F(NetworkTest, APReluOfASumHasASlopeForEachPlane) {
  const std::int64_t open = OnnxFile::kOpen;
  const std::vector<float> kOnce = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const std::vector<float> kMinusTwice = {-2, 0, 0, 0, -2, 0, 0, 0, -2};
  const Picture in = Noise(37, 23, 3, 3);
  for (const auto& [dimensions, slopes] : {std::pair<std::vector<std::int64_t>, std::vector<float>>{{3, 1, 1}, {0.25F, 0.5F, 0.75F}},
                                           {{1, 3, 1, 1}, {0.75F, 0.25F, 0.5F}},
                                           {{1, 1, 1}, {0.5F}}}) {
    OnnxFile onnx;
    onnx.Input("x", {1, 3, open, open}).Conv("x", "a", 3, 3, 1, kOnce).Conv("x", "b", 3, 3, 1, kMinusTwice).Node("Add", {"a", "b"}, "sum");
    onnx.Tensor("slopes", dimensions, slopes).Node("PRelu", {"sum", "slopes"}, "y").Output("y", {1, 3, open, open});
    ModelFile file = Save(onnx.Bytes(), 1, 0);
    file.layout = ModelFile::Layout::kRgb;
    const Picture out = Run(file, in);
    for (int p = 0; p < 3; ++p) {
      const float slope = slopes[slopes.size() == 1 ? 0 : p];
      for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) ASSERT_NEAR(out.at(p, x, y), -slope * in.at(p, x, y), 1e-6) << dimensions.size() << ", plane " << p;
      }
    }
  }
}

TEST_F(NetworkTest, AShuffleInAnotherOrderIsNotLeftToTheReader) {
  const std::int64_t open = OnnxFile::kOpen;
  for (const auto& [planes, shuffle] : {std::pair{1, 2}, {3, 1}}) {  // for one plane both orders are the same
    OnnxFile onnx;
    onnx.Input("x", {1, planes + 1, open, open});
    onnx.Conv("x", "c", 4 * planes, planes + 1, 3, std::vector<float>(static_cast<std::size_t>(36) * planes * (planes + 1), 0.1F));
    onnx.Node("DepthToSpace", {"c"}, "y", {{"blocksize", {2}, false, ""}, {"mode", {}, false, "DCR"}});
    ModelFile file = Save(onnx.Output("y", {1, planes, open, open}).Bytes(), 2, 1, 2);
    if (planes == 3) file.layout = ModelFile::Layout::kYcbcrStrength;
    FrameNetwork network(*backend_, file, {32, 32, 1, 1LL << 30, {}, true});
    const Picture in = Noise(32, 32, planes + 1, 2);
    network.Submit(PackFrom(in));
    int areas = 0;
    network.Retrieve([&](const OutputArea& area) {
      ++areas;
      EXPECT_EQ(area.shuffle, shuffle) << planes;
    });
    EXPECT_GT(areas, 0);
  }
}

TEST_F(NetworkTest, ThePlanesOfYcbcrKeepTheirOrder) {
  const Picture in = Noise(37, 23, 4, 3);
  for (const int scale : {1, 2, 3, 4}) {
    ModelFile file = Save(SwappedChromaNetwork(scale, -0.5F, 0.25F), scale, 0);
    file.layout = ModelFile::Layout::kYcbcrStrength;
    const Picture out = Run(file, in);
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        const auto from = [&](int plane) { return in.at(plane, x / scale, y / scale); };
        ASSERT_NEAR(out.at(0, x, y), from(0) + 0.25F * from(1), 1e-6);
        ASSERT_NEAR(out.at(1, x, y), -0.5F * from(3), 1e-6);
        ASSERT_NEAR(out.at(2, x, y), -0.5F * from(2), 1e-6);
      }
    }
  }
}

TEST_F(NetworkTest, TilesTogetherEqualTheWhole) {
  struct Case { std::string network; int scale, halo, multiple; ModelFile::Layout layout = ModelFile::Layout::kLumaStrength; };
  const std::vector<Case> cases = {{BoxNetwork(2, 7), 2, 3, 1}, {DeepNetwork(2, 5, 16), 2, 5, 2}, {DeepNetwork(1, 4, 32), 1, 4, 1},
                                   {DeepNetwork(2, 4, 16, 1, 4, 3), 2, 4, 2, ModelFile::Layout::kYcbcrStrength},
                                   {DeepNetwork(4, 4, 16, 1, 3, 3), 4, 4, 1, ModelFile::Layout::kRgb}};
  for (const Case& c : cases) {
    ModelFile file = Save(c.network, c.scale, c.halo, c.multiple);
    file.layout = c.layout;
    for (const auto& [width, height] : {std::pair{160, 120}, {161, 119}}) {
      const Picture in = Noise(width, height, InputPlanes(c.layout), 11);
      int whole_tiles = 0;
      const Picture whole = Run(file, in, 1LL << 32, 2, &whole_tiles);
      EXPECT_EQ(whole_tiles, 1);
      std::set<int> counts;
      for (const std::int64_t memory : {2'000'000, 1'000'000, 500'000}) {
        int tiles = 0;
        const Picture cut = Run(file, in, memory, 2, &tiles);
        counts.insert(tiles);
        float worst = 0;
        for (std::size_t i = 0; i < whole.data.size(); ++i) worst = std::max(worst, std::abs(whole.data[i] - cut.data[i]));
        EXPECT_LT(worst, 2e-5F) << tiles << " tiles";
      }
      EXPECT_GT(*counts.rbegin(), 3);
    }
  }
}

TEST_F(NetworkTest, TooSmallAHaloShows) {  // proves that TilesTogetherEqualTheWhole can fail
  const Picture in = Noise(160, 120, 2, 11);
  const ModelFile file = Save(BoxNetwork(2, 7), 2, 0);
  int tiles = 0;
  const Picture whole = Run(file, in, 1LL << 32);
  const Picture cut = Run(file, in, 500'000, 2, &tiles);
  EXPECT_GT(tiles, 1);
  EXPECT_NE(whole.data, cut.data);
}

TEST_F(NetworkTest, TheNumberOfThreadsChangesNoTile) {
  const Picture in = Noise(160, 120, 2, 11);
  const ModelFile file = Save(BoxNetwork(2, 7), 2, 0);  // its halo is too small, so that other tiles show
  const std::int64_t of_one = LoadModel(*backend_, file)->WorkingBytes({2, 64, 80});
  int tiles = 0;
  const Picture by_one = Run(file, in, of_one, 1, &tiles);
  EXPECT_GT(tiles, 1);
  for (const int threads : {2, 4, 16}) {
    EXPECT_EQ(Run(file, in, of_one, threads).data, by_one.data) << threads;
  }
}

TEST_F(NetworkTest, FramesInFlightComeOutInOrder) {
  const ModelFile file = Save(DeepNetwork(2, 3, 16), 2, 3);
  for (const int threads : {1, 2, 4}) {
    FrameNetwork network(*backend_, file, {96, 64, threads, 1LL << 30, {}});
    EXPECT_EQ(network.depth(), threads);
    std::vector<Picture> in;
    for (unsigned i = 0; i < 12; ++i) in.push_back(Noise(96, 64, 2, 100 + i));
    std::size_t begun = 0;
    for (std::size_t ended = 0; ended < in.size(); ++ended) {
      while (begun < in.size() && begun - ended < static_cast<std::size_t>(network.depth())) network.Submit(PackFrom(in[begun++]));
      Picture out{192, 128, 1, std::vector<float>(192 * 128)};
      network.Retrieve(UnpackInto(out));
      const Picture alone = Run(file, in[ended], 1LL << 30, 1);
      EXPECT_EQ(out.data, alone.data) << ended;
    }
  }
}

TEST_F(NetworkTest, TooManyOrTooFewFramesAreRefused) {
  FrameNetwork network(*backend_, Save(NearestNetwork(2), 2, 0), {16, 16, 1, 1LL << 30, {}});
  const Picture in = Noise(16, 16, 2, 1);
  EXPECT_THROW(network.Retrieve([](const OutputArea&) {}), Error);
  network.Submit(PackFrom(in));
  EXPECT_THROW(network.Submit(PackFrom(in)), Error);
}

TEST_F(NetworkTest, StopsBetweenTiles) {
  const Picture in = Noise(160, 120, 2, 1);
  int asked = 0;
  FrameNetwork network(*backend_, Save(BoxNetwork(2, 7), 2, 3), {160, 120, 1, 500'000, [&] { return ++asked > 2; }});
  ASSERT_GT(network.tiles().tiles.size(), 3U);
  network.Submit(PackFrom(in));
  int taken = 0;
  try {
    network.Retrieve([&](const OutputArea&) { ++taken; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_LE(taken, 2);
}

TEST_F(NetworkTest, NotEvenSmallTilesFitIntoTooLittleMemory) {
  try {
    FrameNetwork(*backend_, Save(DeepNetwork(2, 3, 64), 2, 64), {640, 360, 1, 1000, {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLimitExceeded);
  }
}

TEST_F(NetworkTest, MemoryStaysNearTheEstimateAndBelowTheBound) {
  constexpr std::int64_t kOverhead = 48LL << 20;  // generated code and arenas of the library, and the test's pictures
  Run(Save(DeepNetwork(2, 3, 16), 2, 3), Noise(64, 64, 2, 1));  // warms up what the library allocates once
  struct Case { int scale, width, height; bool takes_shuffled; std::int64_t bound; };
  // The last one has 16 planes, in slices.
  for (const auto& [scale, width, height, takes_shuffled, bound] :
       {Case{2, 960, 540, false, 1LL << 30}, {2, 960, 540, false, 64LL << 20}, {4, 640, 360, true, 1LL << 30}}) {
    const Picture in = Noise(width, height, 2, 11);
    const ModelFile file = Save(DeepNetwork(scale, 5, 32), scale, 5);
    const std::int64_t before = testing::AnonymousMemory();
    FrameNetwork network(*backend_, file, {in.width, in.height, 2, bound, {}, takes_shuffled});
    EXPECT_LE(network.working_bytes(), bound);
    EXPECT_EQ(network.tiles().tiles.size() > 1, bound < (1LL << 30));
    Picture out{network.output_width(), network.output_height(), 1, {}};
    out.data.resize(static_cast<std::size_t>(out.width) * out.height);
    std::int64_t peak = 0;
    for (int frame = 0; frame < 3; ++frame) {
      network.Submit(PackFrom(in));
      network.Retrieve(UnpackInto(out));
      peak = std::max(peak, testing::AnonymousMemory() - before);
    }
    EXPECT_LE(peak, network.working_bytes() + kOverhead) << bound;
  }
}

TEST_F(NetworkTest, ANetworkOfOneSizeTakesOnlyThat) {
  OnnxFile fixed;
  fixed.Input("x", {1, 2, 64, 66}).Conv("x", "c", 4, 2, 1, std::vector<float>(8, 0.5F)).DepthToSpace("c", "y", 2);
  fixed.Output("y", {1, 1, 128, 132});
  // Convolutions work with any size, even if the file declares a fixed one.
  const Picture in = Noise(31, 17, 2, 5);
  const Picture out = Run(Save(fixed.Bytes(), 2, 0), in);
  EXPECT_NEAR(out.at(0, 60, 33), 0.5F * (in.at(0, 30, 16) + in.at(1, 30, 16)), 1e-6);
}

TEST_F(NetworkTest, BfloatIsUsedOnlyWhereItIsAllowed) {
  const Picture in = Noise(160, 120, 2, 11);
  ModelFile file = Save(DeepNetwork(2, 5, 16), 2, 5);
  const Picture exact = Run(file, in);
  file.allow_bf16 = true;
  FrameNetwork network(*backend_, file, {160, 120, 1, 1LL << 30, {}});
  const Picture coarse = Run(file, in);
  if (network.precision() == "fp32") {
    EXPECT_EQ(exact.data, coarse.data);
  } else {
    EXPECT_EQ(network.precision(), "bf16");
    EXPECT_NE(exact.data, coarse.data);
  }
}

}  // namespace
}  // namespace reelmend::inference
