#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "helpers/onnx_file.h"
#include "helpers/process_memory.h"
#include "inference/frame_network.h"
#include "inference/model_loader.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

namespace fs = std::filesystem;
using testing::BoxNetwork;
using testing::DeepNetwork;
using testing::NearestNetwork;
using testing::OnnxFile;
using testing::SwappedChromaNetwork;
using testing::SwappedRgbNetwork;

/// Planes of floats, row by row.
struct Picture {
  int width = 0;
  int height = 0;
  int planes = 1;
  std::vector<float> data;
  float at(int plane, int x, int y) const {
    return data[(static_cast<std::size_t>(plane) * height + y) * width + x];
  }
};

Picture Noise(int width, int height, int planes, unsigned seed) {
  Picture picture{width, height, planes, std::vector<float>(static_cast<std::size_t>(width) * height * planes)};
  std::mt19937 random(seed);
  for (float& value : picture.data) value = static_cast<float>(random() >> 8) / static_cast<float>(1 << 24);
  return picture;
}

FrameNetwork::PackInput PackFrom(const Picture& picture) {
  return [&picture](const InputArea& area) {
    for (int p = 0; p < picture.planes; ++p) {
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          area.data[(static_cast<std::size_t>(p) * area.height + y) * area.width + x] =
              picture.at(p, std::min(area.x + x, picture.width - 1), std::min(area.y + y, picture.height - 1));
        }
      }
    }
  };
}

/// Index of a sample in the data of an OutputArea.
std::int64_t IndexOf(const OutputArea& area, int plane, int x, int y) {
  const int b = area.shuffle;
  plane = plane * b * b + b * (y % b) + x % b;
  return plane * area.plane + std::int64_t{y / b} * area.stride + x / b;
}

FrameNetwork::UnpackOutput UnpackInto(Picture& out) {
  return [&out](const OutputArea& area) {
    for (int p = 0; p < out.planes; ++p) {
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          out.data[(static_cast<std::size_t>(p) * out.height + area.y + y) * out.width + area.x + x] =
              area.data[IndexOf(area, p, x, y)];
        }
      }
    }
  };
}

constexpr std::int64_t kMuchMemory = 1LL << 32;

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto available = AvailableBackends();
    if (std::find(available.begin(), available.end(), "openvino") == available.end()) {
      GTEST_SKIP() << "This build has no OpenVINO: inference is NOT tested (scripts/setup-openvino).";
    }
    backend_ = CreateBackend("openvino");
    folder_ = fs::temp_directory_path() / ("reelmend-models-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  ModelFile Save(const std::string& bytes, int scale, int halo, int multiple = 1) {
    ModelFile file;
    file.name = "test";
    file.path = folder_ / ("model" + std::to_string(++files_) + ".onnx");
    std::ofstream(file.path, std::ios::binary) << bytes;
    file.scale = scale;
    file.halo = halo;
    file.multiple = multiple;
    return file;
  }

  Picture Run(const ModelFile& file, const Picture& in, std::int64_t memory = 1LL << 30, int threads = 2,
              int* tiles = nullptr) {
    FrameNetwork network(*backend_, file, {in.width, in.height, threads, memory, {}});
    if (tiles != nullptr) *tiles = static_cast<int>(network.tiles().tiles.size());
    Picture out{network.output_width(), network.output_height(), OutputPlanes(file.layout), {}};
    out.data.assign(static_cast<std::size_t>(out.width) * out.height * out.planes, -1.0F);
    network.Submit(PackFrom(in));
    network.Retrieve(UnpackInto(out));
    return out;
  }

  void ExpectTheSameShuffled(const ModelFile& file, const Picture& in, int shuffle, std::int64_t memory);

  std::string Refusal(const ModelFile& file) {
    try {
      LoadModel(*backend_, file)->Compile({{InputPlanes(file.layout), 64, 64}, 1, 1, false});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "the file was accepted";
    return "";
  }

  std::unique_ptr<Backend> backend_;
  fs::path folder_;
  int files_ = 0;
};

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

/// Runs a network that leaves its last shuffle to the reader, in one tile unless `memory` is short, and expects the same as without.
void NetworkTest::ExpectTheSameShuffled(const ModelFile& file, const Picture& in, int shuffle, std::int64_t memory) {
  const Picture plain = Run(file, in, memory);
  FrameNetwork network(*backend_, file, {in.width, in.height, 2, memory, {}, true});
  EXPECT_EQ(network.tiles().tiles.size() > 1, memory < kMuchMemory);
  Picture out{network.output_width(), network.output_height(), plain.planes, std::vector<float>(plain.data.size(), -1.0F)};
  std::set<int> shuffles;
  network.Submit(PackFrom(in));
  network.Retrieve([&](const OutputArea& area) {
    shuffles.insert(area.shuffle);
    UnpackInto(out)(area);
  });
  EXPECT_EQ(shuffles, std::set<int>{shuffle});
  EXPECT_EQ(out.data, plain.data);
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

TEST_F(NetworkTest, ABadFileGetsOneSentenceThatSaysWhatIsWrong) {
  const std::int64_t open = OnnxFile::kOpen;
  const std::string good = NearestNetwork(2);
  struct Case { const char* what; std::string bytes; std::string part; };
  const std::vector<Case> cases = {
      {"a text", "This is no network.", "not an ONNX network"},
      {"empty", "", "not an ONNX network"},
      {"truncated", good.substr(0, good.size() / 2), "not an ONNX network"},
      {"RGB planes", SwappedRgbNetwork(2), "takes 3 planes, but its layout has 2"},
      {"another scale", NearestNetwork(3), "not a scale of 2"},
      {"several output planes",
       OnnxFile().Input("x", {1, 2, open, open}).Conv("x", "c", 12, 2, 1, std::vector<float>(24, 0.1F))
           .DepthToSpace("c", "y", 2).Output("y", {1, 3, open, open}).Bytes(), "gives 3 planes"},
      {"an unknown operator",
       OnnxFile().Input("x", {1, 2, open, open}).Node("Transmogrify", {"x"}, "y").Output("y", {1, 1, open, open}).Bytes(),
       "operator"},
      {"three dimensions",
       OnnxFile().Input("x", {2, open, open}).Node("Relu", {"x"}, "y").Output("y", {2, open, open}).Bytes(), "dimensions"},
      {"a picture of any shape, for an operator that needs four dimensions",
       OnnxFile().InputOfAnyShape("x").Conv("x", "c", 4, 2, 1, std::vector<float>(8, 0.5F)).DepthToSpace("c", "y", 2)
           .Output("y", {1, 1, open, open}).Bytes(), "does not state the shape of its input"},
      {"a picture of any shape, for an operator that takes all",
       OnnxFile().InputOfAnyShape("x").Node("Relu", {"x"}, "y").Output("y", {1, 1, open, open}).Bytes(), "does not state the shape of its input"},
      {"a number",
       OnnxFile().Input("x", {}).Node("Relu", {"x"}, "y").Output("y", {}).Bytes(), "has 0 dimensions"},
      {"a batch",
       OnnxFile().Input("x", {4, 2, open, open}).Node("Relu", {"x"}, "y").Output("y", {4, 2, open, open}).Bytes(), "batch of 4"},
      {"two inputs",
       OnnxFile().Input("x", {1, 2, open, open}).Input("z", {1, 2, open, open}).Node("Add", {"x", "z"}, "y")
           .Output("y", {1, 2, open, open}).Bytes(), "2 inputs"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string text = Refusal(Save(c.bytes, 2, 0));
    EXPECT_NE(text.find(c.part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find(folder_), std::string::npos) << text;
    EXPECT_LT(text.size(), 200U) << text;
  }
}

TEST_F(NetworkTest, PlanesThatDoNotFitTheLayoutAreRefusedInOneSentence) {
  using Layout = ModelFile::Layout;
  struct Case { Layout layout; std::string network; std::string sentence; };
  for (const Case& c : {Case{Layout::kYcbcrStrength, NearestNetwork(2), "Model “test”: The model takes 2 planes, but its layout has 4."},
                        Case{Layout::kYcbcrStrength, SwappedRgbNetwork(2), "Model “test”: The model takes 3 planes, but its layout has 4."},
                        Case{Layout::kYcbcrStrength, DeepNetwork(2, 2, 8, 1, 4, 1), "Model “test”: It gives 1 planes, but its layout has 3."},
                        Case{Layout::kYcbcrStrength, SwappedChromaNetwork(3),
                             "Model “test”: It makes 198×192 of 66×64, which is not a scale of 2."},
                        Case{Layout::kLumaStrength, SwappedChromaNetwork(2), "Model “test”: The model takes 4 planes, but its layout has 2."},
                        Case{Layout::kRgb, SwappedChromaNetwork(2), "Model “test”: The model takes 4 planes, but its layout has 3."}}) {
    ModelFile file = Save(c.network, 2, 0);
    file.layout = c.layout;
    EXPECT_EQ(Refusal(file), c.sentence);
  }
}

TEST_F(NetworkTest, ADescriptionThatDoesNotFitTheFileIsRefused) {
  ModelFile file = Save(NearestNetwork(2), 2, 0);
  file.sha256 = std::string(64, '0');
  EXPECT_NE(Refusal(file).find("checksum"), std::string::npos);
  file.sha256.clear();
  file.input = "picture";
  EXPECT_NE(Refusal(file).find("no input named “picture”"), std::string::npos);
  file.input = "x";
  file.output = "z";
  EXPECT_NE(Refusal(file).find("no output named “z”"), std::string::npos);
  file.output = "y";
  file.scale = 99;
  EXPECT_NE(Refusal(file).find("scale"), std::string::npos);
  file.scale = 2;
  file.path += ".gone";
  EXPECT_NE(Refusal(file).find("cannot be read"), std::string::npos);
}

TEST_F(NetworkTest, TheRightChecksumIsAccepted) {
  ModelFile file = Save("abc", 2, 0);
  file.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2, appendix B.1
  EXPECT_NE(Refusal(file).find("not an ONNX network"), std::string::npos);
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
