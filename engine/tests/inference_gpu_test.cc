// What of the GPU backends can be proven without a GPU: fp16 networks, engines for GPUs that are not here, their files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <thread>

#include "helpers/differences.h"
#include "helpers/onnx_file.h"
#include "helpers/test_paths.h"
#include "inference/backend.h"
#include "inference/engine_cache.h"
#include "inference/gpu_model.h"
#include "inference/half.h"
#include "inference/onnx_half.h"
#include "inference/sha256.h"
#include "inference/tensorrt/messages.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

using reelmend::testing::Compare;
using reelmend::testing::Differences;
using reelmend::testing::OnnxFile;
namespace fs = std::filesystem;

constexpr std::int64_t kOpen = OnnxFile::kOpen;

std::string ReadBytes(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string Shipped(const std::string& name) { return ReadBytes(fs::path(test_paths::SourceDir()) / "models" / name); }

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Of a shipped ×2 or ×1 file.
ModelFile::Layout LayoutOf(const std::string& shipped) {
  return Has(shipped, "quality") ? ModelFile::Layout::kYcbcrStrength : ModelFile::Layout::kLumaStrength;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "reelmend-engines-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::unique_ptr<Backend> OpenVino() {
  try {
    return CreateBackend("openvino");
  } catch (const Error&) {
    return nullptr;
  }
}

/// Luma of the network of `onnx` for noise over a slope, with a strength of ½.
std::vector<float> RunOnCpu(Backend& backend, const std::string& onnx, int width, int height) {
  auto model = backend.Load(onnx, "", "");
  auto network = model->Compile({{2, height, width}, 1, 1, false});
  std::minstd_rand random(7);
  for (int i = 0; i < width * height; ++i) {
    network->Input(0)[i] = 0.2F + 0.5F * static_cast<float>(i % width) / static_cast<float>(width) + 0.1F * static_cast<float>(random() % 256) / 255;
    network->Input(0)[width * height + i] = 0.5F;
  }
  network->Start(0);
  network->Wait(0);
  return {network->Output(0), network->Output(0) + network->output_shape().count()};
}

TEST(Half, EveryHalfSurvivesTheWayThereAndBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(FloatToHalf(value), half) << value;
  }
}

TEST(Half, FloatsAreRoundedToTheNearestHalvesToEven) {
  EXPECT_EQ(FloatToHalf(65519.0F), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7C00);
  EXPECT_EQ(FloatToHalf(1 + 1.0F / 2048), 0x3C00);
  EXPECT_EQ(FloatToHalf(1 + 3.0F / 2048), 0x3C02);
  EXPECT_EQ(FloatToHalf(0x1p-24F), 1);
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0);
  EXPECT_EQ(FloatToHalf(-0x1.8p-25F), 0x8001);
}

TEST(OnnxHalf, TheShippedNetworkIsTheSameWithinAHalfCode) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend) << "needs OpenVINO (scripts/setup-openvino)";
  const std::string onnx = Shipped("fast-x2.onnx");
  const HalfNetwork half = ToHalf(onnx);
  EXPECT_EQ(half.precision, "fp16");
  EXPECT_LT(half.onnx.size(), onnx.size() * 6 / 10) << "weights were not converted";
  const auto expected = RunOnCpu(*backend, onnx, 96, 64);
  const auto actual = RunOnCpu(*backend, half.onnx, 96, 64);
  ASSERT_EQ(actual.size(), expected.size());
  const Differences change = Compare(actual, expected);
  EXPECT_LT(change.largest, 0.5);
  EXPECT_LT(change.rms, reelmend::testing::kHalfTolerance.rms);
  EXPECT_GT(change.largest, 0) << "nothing was changed";
}

TEST(Differences, AFewSamplesDecideTheLargestOneOnly) {
  std::vector<float> a(10'000, 0.5F);
  std::vector<float> b = a;
  b[17] = 1;
  EXPECT_DOUBLE_EQ(Compare(a, b).percentile, 0);
  EXPECT_NEAR(Compare(a, b).rms, 127.5 / 100, 1e-6);
  EXPECT_NEAR(Compare(a, b).largest, 127.5, 1e-6);
  for (int i = 0; i < 20; ++i) b[static_cast<std::size_t>(i)] = 0.5F + 10.0F / 255;
  EXPECT_NEAR(Compare(a, b).percentile, 10, 1e-3) << "twice as many as may";
}

TEST(OnnxHalf, QuantisedNetworksKeepTheirScales) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  const std::string onnx = Shipped("fast-x2-int8.onnx");
  const HalfNetwork half = ToHalf(onnx);
  EXPECT_EQ(half.precision, "int8");
  EXPECT_TRUE(Has(onnx, "x_d")) << "its input is quantised around 16";
  EXPECT_FALSE(Has(half.onnx, "x_d")) << "TensorRT takes no other zero point than 0";
  EXPECT_TRUE(Has(half.onnx, "relu0_d"));
  // Its input is no longer rounded: nearer to float32 than the file is, and hardly another picture. Large enough a picture
  // that the roundings of all the other layers, which are chance, do not decide.
  const auto exact = RunOnCpu(*backend, Shipped("fast-x2.onnx"), 256, 256);
  const auto as_written = RunOnCpu(*backend, onnx, 256, 256);
  const auto changed = RunOnCpu(*backend, half.onnx, 256, 256);
  EXPECT_LT(Compare(changed, exact).rms, Compare(as_written, exact).rms);
  const Differences change = Compare(changed, as_written);
  EXPECT_LT(change.rms, reelmend::testing::kInt8Tolerance.rms);
  EXPECT_LT(change.percentile, reelmend::testing::kInt8Tolerance.percentile);
}

OnnxFile Between(const std::string& type, const std::vector<testing::Attribute>& attributes = {}) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Node(type, {"x"}, "y", attributes).Output("y", {1, 2, kOpen, kOpen});
  return file;
}

TEST(OnnxHalf, WhatLosesInFp16StaysFloatBetweenCasts) {
  const HalfNetwork soft = ToHalf(Between("Softmax").Bytes());
  EXPECT_EQ(soft.precision, "fp32");
  EXPECT_TRUE(Has(soft.why_fp32, "Softmax")) << soft.why_fp32;
  EXPECT_TRUE(Has(soft.onnx, "Cast"));
  OnnxFile large;
  large.Input("x", {1, 2, kOpen, kOpen}).Conv("x", "y", 2, 2, 1, {70000.0F, 0, 0, 1}).Output("y", {1, 2, kOpen, kOpen});
  EXPECT_EQ(ToHalf(large.Bytes()).precision, "fp32");
}

TEST(OnnxHalf, ScalesOfAResizeStayFloat) {
  OnnxFile file;
  file.Input("x", {1, 2, kOpen, kOpen}).Tensor("scales", {4}, {1, 1, 2, 2}).Node("Resize", {"x", "", "scales"}, "y").Output("y", {1, 2, kOpen, kOpen});
  const HalfNetwork half = ToHalf(file.Bytes());
  EXPECT_EQ(half.precision, "fp16");
  const float two = 2;
  EXPECT_TRUE(Has(half.onnx, std::string(reinterpret_cast<const char*>(&two), 4)));
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  EXPECT_EQ(backend->Load(half.onnx, "", "")->OutputShape({2, 8, 8}).width, 16);
}

TEST(OnnxHalf, ANetworkForOnePictureTakesSeveral) {
  const auto backend = OpenVino();
  ASSERT_TRUE(backend);
  const std::string onnx = Shipped("fast-x2.onnx");
  EXPECT_EQ(WithBatch(onnx, 1), onnx);
  const std::string two = WithBatch(onnx, 2);
  EXPECT_EQ(two.size(), onnx.size());
  EXPECT_EQ(std::inner_product(two.begin(), two.end(), onnx.begin(), 0, std::plus<>(), std::not_equal_to<>()), 2) << "one number at each end";
  EXPECT_EQ(WithBatch(two, 1), onnx);
}

TEST(OnnxHalf, FaultyFilesAreRefusedInOneSentence) {
  for (const std::string& bytes : {std::string(), std::string("\x3A\xFF\xFF", 3), std::string("no network at all"),
                                   OnnxFile().Input("x", {1}).Input("z", {1}).Node("Add", {"x", "z"}, "y").Output("y", {1}).Bytes()}) {
    try {
      ToHalf(bytes);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(std::count(error.what(), error.what() + strlen(error.what()), '.'), 1) << error.what();
    }
  }
}

// ---- files of engines -----------------------------------------------------------------------------------

EngineKey SomeKey() { return {std::string(64, 'a'), "tensorrt-rtx", "1.7.1.116", {8, 9}, "", {2, 540, 960}, "fp16"}; }

TEST(EngineCache, AnEngineIsFoundUnderItsKeyAndNoOther) {
  const TemporaryFolder folder;
  const EngineCache cache(folder.path());
  const std::string engine("engine\0bytes\n", 13);
  EXPECT_FALSE(cache.Find(SomeKey()));
  cache.Keep(SomeKey(), engine);
  EXPECT_EQ(cache.Find(SomeKey()), engine);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "something was left behind";
  std::vector<EngineKey> others(8, SomeKey());
  others[0].model_sha256[63] = 'b';
  others[1].backend_version = "1.7.2.0";
  others[2].target = {12, 0};
  others[3].device = "NVIDIA L4";
  others[4].input.width = 962;
  others[5].precision = "int8";
  others[6].backend = "tensorrt";
  others[7].batch = 2;
  for (const EngineKey& other : others) {
    EXPECT_FALSE(cache.Find(other)) << other.text();
    EXPECT_NE(other.file_name(), SomeKey().file_name());
  }
}

TEST(EngineCache, DamagedForeignAndStaleFilesAreToldInOneSentenceAndReplaced) {
  const TemporaryFolder folder;
  std::vector<std::string> said;
  const EngineCache cache(folder.path(), true, [&](const std::string& sentence) { said.push_back(sentence); });
  const fs::path file = folder.path() / SomeKey().file_name();
  cache.Keep(SomeKey(), "the engine");
  const std::string good = ReadBytes(file);
  EngineKey other = SomeKey();
  other.input.height = 542;
  cache.Keep(other, "the other engine");
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {
      {good.substr(0, good.size() - 1), "damaged"},
      {good.substr(0, 20), "something else"},
      {good + "x", "damaged"},
      {"", "no file of this engine"},
      {"\x7F""ELF foreign", "no file of this engine"},
      {"reelmend engine 0\n" + good.substr(19), "another version"},
      {ReadBytes(folder.path() / other.file_name()), "something else"},
  };
  for (const auto& [bytes, says] : cases) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    said.clear();
    EXPECT_FALSE(cache.Find(SomeKey()));
    ASSERT_EQ(said.size(), 1U);
    EXPECT_TRUE(Has(said[0], says)) << said[0];
    EXPECT_TRUE(said[0].ends_with(".")) << said[0];
    cache.Keep(SomeKey(), "the engine");
    EXPECT_EQ(cache.Find(SomeKey()), "the engine");
  }
}

TEST(EngineCache, ReadersFindAWholeFileOrNoneWhileManyWrite) {
  const TemporaryFolder folder;
  const EngineCache cache(folder.path(), true, [](const std::string& sentence) { ADD_FAILURE() << sentence; });
  const std::string engine(300'000, 'e');
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        cache.Keep(SomeKey(), engine);
        EXPECT_EQ(cache.Find(SomeKey()), engine);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(EngineCache, WithoutAFolderOrLeaveToWriteNothingIsKept) {
  const TemporaryFolder folder;
  EngineCache().Keep(SomeKey(), "engine");
  const EngineCache reader(folder.path(), false);
  reader.Keep(SomeKey(), "engine");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EngineCache(folder.path()).Keep(SomeKey(), "engine");
  EXPECT_EQ(reader.Find(SomeKey()), "engine");
  std::string said;
  EngineCache("/proc/no/folder", true, [&](const std::string& sentence) { said = sentence; }).Keep(SomeKey(), "engine");
  EXPECT_TRUE(Has(said, "cannot be written")) << said;
}

TEST(BuilderLevel, IsTheBestUnlessTheEnvironmentNamesAnother) {
  EXPECT_EQ(BuilderLevel(nullptr), 5);
  EXPECT_EQ(BuilderLevel("0"), 0);
  EXPECT_EQ(BuilderLevel("3"), 3);
  for (const char* text : {"", "6", "-1", "3x", "three"}) {
    EXPECT_THROW(BuilderLevel(text), Error) << text;
  }
}

// ---- TensorRT -------------------------------------------------------------------------------------------

TEST(GpuBackends, OneThatIsMissingSaysSoInOneSentence) {
  const auto available = AvailableGpuBackends();
  for (const char* name : {"tensorrt-rtx", "tensorrt"}) {
    if (std::ranges::find(available, name) != available.end()) {
      EXPECT_EQ(CreateGpuBackend(name)->name(), name);
      EXPECT_TRUE(Has(CreateGpuBackend(name)->version(), "."));
      continue;
    }
    try {
      CreateGpuBackend(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
      EXPECT_TRUE(Has(error.what(), "TensorRT")) << error.what();
      EXPECT_TRUE(Has(error.what(), "setup-tensorrt")) << error.what();
    }
  }
  EXPECT_THROW(CreateGpuBackend("abacus"), Error);
}

TEST(GpuBackends, AreKnownByTheirGpusBeforeTheyAreOpened) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(GpuBackendsFor({8, 9}), (Names{"tensorrt-rtx", "tensorrt"}));
  EXPECT_EQ(GpuBackendsFor({9, 0}), Names{"tensorrt"});
  EXPECT_EQ(GpuBackendsFor({10, 0}), Names{"tensorrt"});
  EXPECT_EQ(GpuBackendsFor({7, 0}), Names{});
  for (const std::string& name : AvailableGpuBackends()) {
    for (const GpuTarget target : {GpuTarget{7, 0}, {7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}, {12, 1}}) {
      const Names known = GpuBackendsFor(target);
      EXPECT_EQ(CreateGpuBackend(name)->Supports(target), std::ranges::find(known, name) != known.end()) << name << " " << target.text();
    }
  }
}

/// Opens a backend for such a GPU, if there is one. Status 0: this process opened TensorRT-RTX, else 1.
[[noreturn]] void OpenAndSayWhetherRtxWasOpened(const GpuTarget& target) {
  std::string sentence;
  try {
    OpenGpuBackend(target);
  } catch (const Error& error) {
    sentence = error.what();
  }
  std::fprintf(stderr, "(%s)", sentence.c_str());
  std::_Exit(Has(ReadBytes("/proc/self/maps"), "tensorrt_rtx") ? 0 : 1);
}

TEST(GpuBackendsDeathTest, AGpuThatNeedsFullTensorRtOpensNoOther) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // each in a process of its own, which has opened nothing before
  EXPECT_EXIT(OpenAndSayWhetherRtxWasOpened({9, 0}), ::testing::ExitedWithCode(1), "\\(\\)|GPUs of compute capability 9.0 need full TensorRT: ");
  EXPECT_EXIT(OpenAndSayWhetherRtxWasOpened({7, 0}), ::testing::ExitedWithCode(1), "compute capability 7.0");
  if (std::getenv("REELMEND_EXPECT_TENSORRT") == nullptr) return;
  EXPECT_EXIT(OpenAndSayWhetherRtxWasOpened({8, 9}), ::testing::ExitedWithCode(0), "\\(\\)");
}

/// TensorRT-RTX, which builds anywhere. Where it was fetched (REELMEND_EXPECT_TENSORRT, set by scripts/test-cuda) it
/// must be there; elsewhere these tests are of no use.
class TensorRtRtx : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = CreateGpuBackend("tensorrt-rtx");
    } catch (const Error& error) {
      if (std::getenv("REELMEND_EXPECT_TENSORRT") != nullptr) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }
  ModelFile File(const std::string& name, ModelFile::Layout layout, int scale, const std::string& bytes) {
    ModelFile file;
    file.name = name;
    file.path = folder_.path() / (name + ".onnx");
    file.layout = layout;
    file.scale = scale;
    std::ofstream(file.path, std::ios::binary) << bytes;
    return file;
  }
  GpuModel Open(const ModelFile& file, GpuTarget target = {8, 6}) {
    return {backend_, file, {target, "made up"}, EngineCache(folder_.path() / "engines", true, [this](const std::string& s) { said_.push_back(s); })};
  }
  std::string RefusalOf(const ModelFile& file, int width = 64, int height = 64) {
    try {
      Open(file).Compile(width, height);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  std::shared_ptr<GpuBackend> backend_;
  std::vector<std::string> said_;
};

TEST_F(TensorRtRtx, BuildsTheShippedNetworksForEveryGenerationThatItTargets) {
  for (const char* name : {"fast-x2.onnx", "fast-x2-int8.onnx"}) {
    const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped(name));
    std::vector<std::string> engines;
    for (const GpuTarget& target : {GpuTarget{7, 5}, {8, 0}, {8, 6}, {8, 9}, {12, 0}, {12, 1}}) {
      ASSERT_TRUE(backend_->Supports(target));
      GpuModel model = Open(file, target);
      EXPECT_EQ(model.precision(), Has(name, "int8") ? "int8" : "fp16");
      engines.push_back(model.Compile(640, 360));
      EXPECT_EQ(model.built(), 1);
      EXPECT_GT(fs::file_size(folder_.path() / "engines" / engines.back()), 20'000U);
    }
    std::ranges::sort(engines);
    EXPECT_EQ(std::ranges::unique(engines).size(), 0U);
    GpuModel again = Open(file, {8, 9});
    again.Compile(640, 360);
    EXPECT_EQ(again.built(), 0) << "the cache was not used";
  }
  EXPECT_TRUE(said_.empty()) << said_[0];
}

TEST_F(TensorRtRtx, BuildsTheOtherShippedNetworks) {
  for (const auto& [name, scale] : {std::pair{"fast-x1.onnx", 1}, {"fast-x1-int8.onnx", 1}, {"quality-x2.onnx", 2}, {"quality-x2-int8.onnx", 2}}) {
    GpuModel model = Open(File("shipped", LayoutOf(name), scale, Shipped(name)), {8, 9});
    EXPECT_EQ(model.precision(), Has(name, "int8") ? "int8" : "fp16") << name;
    EXPECT_FALSE(model.Compile(640, 360).empty()) << name;
  }
  EXPECT_TRUE(said_.empty()) << said_[0];
}

TEST_F(TensorRtRtx, ADamagedEngineIsBuiltAgainWithOneSentence) {
  const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped("fast-x2.onnx"));
  const fs::path engine = folder_.path() / "engines" / Open(file).Compile(64, 64);
  const std::string good = ReadBytes(engine);
  std::ofstream(engine, std::ios::binary | std::ios::trunc) << good.substr(0, good.size() / 2);
  GpuModel model = Open(file);
  model.Compile(64, 64);
  EXPECT_EQ(model.built(), 1);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(Has(said_[0], "damaged")) << said_[0];
  EXPECT_EQ(ReadBytes(engine).size(), good.size());
}

TEST_F(TensorRtRtx, BuildsAnEngineForARangeOfSizes) {
  const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped("fast-x2.onnx"));
  GpuModel model = Open(file, {8, 9});
  const std::string name = model.CompileRange();
  EXPECT_TRUE(Has(name, "-any-")) << name;
  EXPECT_GT(fs::file_size(folder_.path() / "engines" / name), 20'000U);
  EXPECT_NE(name, model.Compile(1280, 720));
  const ModelFile fixed = File("fixed", ModelFile::Layout::kLumaStrength, 1,
                               OnnxFile().Input("x", {1, 2, 64, 64}).Conv("x", "y", 1, 2, 1, {1, 0}).Output("y", {1, 1, 64, 64}).Bytes());
  try {
    Open(fixed).CompileRange();
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(Has(error.what(), "for pictures of one size alone")) << error.what();
  }
}

TEST_F(TensorRtRtx, BuildsForTwoPicturesAtOnce) {
  for (const char* name : {"fast-x2.onnx", "fast-x2-int8.onnx", "quality-x2.onnx"}) {
    GpuModel model = Open(File("shipped", LayoutOf(name), 2, Shipped(name)), {8, 9});
    const std::string one = model.Compile(640, 360);
    const std::string two = model.Compile(640, 360, 2);
    EXPECT_TRUE(Has(two, "-640x360x2-")) << two;
    EXPECT_FALSE(Has(one, "-640x360x2-")) << one;
    EXPECT_EQ(model.built(), 2);
  }
}

TEST(EngineCache, ConcurrenciesAreKeptForEachGpuAndOnesThatMakeNoSenseAreNotUsed) {
  const TemporaryFolder folder;
  const EngineCache cache(folder.path());
  EXPECT_FALSE(cache.FindConcurrency(SomeKey(), "NVIDIA L4"));
  cache.KeepConcurrency(SomeKey(), "NVIDIA L4", {3, 2});
  EXPECT_EQ(cache.FindConcurrency(SomeKey(), "NVIDIA L4"), (Concurrency{3, 2}));
  EXPECT_FALSE(cache.FindConcurrency(SomeKey(), "NVIDIA T4"));
  EngineKey other = SomeKey();
  other.backend_version = "1.7.2.0";
  EXPECT_FALSE(cache.FindConcurrency(other, "NVIDIA L4"));
  cache.KeepConcurrency(SomeKey(), "NVIDIA L4", {0, 1});
  EXPECT_FALSE(cache.FindConcurrency(SomeKey(), "NVIDIA L4"));
}

TEST_F(TensorRtRtx, RefusesGpusThatItDoesNotKnow) {
  EXPECT_FALSE(backend_->Supports({9, 0}));
  const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped("fast-x2.onnx"));
  try {
    Open(file, {9, 0}).Compile(64, 64);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_TRUE(Has(error.what(), "compute capability 9.0")) << error.what();
  }
}

TEST_F(TensorRtRtx, FaultyModelsAreRefusedInOneSentenceThatNamesThem) {
  const auto luma = ModelFile::Layout::kLumaStrength;
  const ModelFile unknown = File("unknown", luma, 1, OnnxFile().Input("x", {1, 2, kOpen, kOpen}).Node("Transmogrify", {"x"}, "y").Output("y", {1, 1, kOpen, kOpen}).Bytes());
  EXPECT_TRUE(Has(RefusalOf(unknown), "Model “unknown”: ")) << RefusalOf(unknown);
  EXPECT_TRUE(Has(RefusalOf(unknown), "Transmogrify")) << RefusalOf(unknown);
  const ModelFile broken = File("broken", luma, 2, Shipped("fast-x2.onnx").substr(0, 40'000));
  EXPECT_TRUE(Has(RefusalOf(broken), "not an ONNX network")) << RefusalOf(broken);
  const ModelFile rgb = File("rgb", ModelFile::Layout::kRgb, 2, Shipped("fast-x2.onnx"));
  EXPECT_TRUE(Has(RefusalOf(rgb), "cannot take a picture of 64×64")) << RefusalOf(rgb);
  ModelFile changed = File("changed", luma, 2, Shipped("fast-x2.onnx"));
  changed.sha256 = Sha256("something else");
  EXPECT_TRUE(Has(RefusalOf(changed), "checksum")) << RefusalOf(changed);
}

TEST_F(TensorRtRtx, WithoutAGpuLoadingIsRefusedAndNothingCrashes) {
  const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped("fast-x2.onnx"));
  if (access("/dev/nvidiactl", F_OK) == 0) return;  // there, scripts/test-gpu loads it
  try {
    Open(file).Load(64, 64);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 1) << text;
  }
}

TEST(Fault17_37, ABuilderOutOfMemoryIsKnownByAnyOfItsMessages) {
  constexpr const char* kNoTactic = "Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[conv1]}.)";
  const auto is_about_memory = [&](std::initializer_list<std::pair<bool, const char*>> messages) {
    Messages all;
    for (const auto& [is_error, message] : messages) all.Add(is_error, message);
    return all.any_is_about_memory();
  };
  EXPECT_FALSE(is_about_memory({}));
  EXPECT_FALSE(is_about_memory({{true, kNoTactic}})) << "the model is the reason";
  EXPECT_FALSE(is_about_memory({{false, "Unable to determine GPU memory usage"}, {true, kNoTactic}}));
  EXPECT_TRUE(is_about_memory({{true, "Error Code 2: OutOfMemory (Requested size was 8589934592 bytes.)"}, {true, "[defaultAllocator.cpp::allocate] Cuda Runtime (out of memory)"}}));
  EXPECT_TRUE(is_about_memory({{true, kNoTactic}, {true, "Error Code 2: OutOfMemory (no further information), out of memory"}}));
  EXPECT_TRUE(is_about_memory({{false, "Tactic Device request: 8013MB Available: 3999MB. Device memory is insufficient to use tactic."}, {true, kNoTactic}}));
  Messages both;
  both.Add(false, "a warning");
  both.Add(true, "the first");
  both.Add(true, "what it broke");
  EXPECT_EQ(both.first_error(), "the first");
}

TEST(TensorRtMessages, AWarningIsNoReasonForAFailureOutsideOfBuilds) {
  Messages messages;
  messages.Add(false, "Device memory is insufficient to use tactic.");  // of a build on another thread
  messages.Add(true, "Error Code 1: Serialization (the plan is damaged)");
  EXPECT_TRUE(messages.any_is_about_memory());
  EXPECT_FALSE(messages.error_is_about_memory());
  messages.Add(true, "Error Code 2: OutOfMemory (Requested size was 8589934592 bytes.)");
  EXPECT_TRUE(messages.error_is_about_memory());
}

}  // namespace
}  // namespace reelmend::inference
