// GPU backends on machines without a GPU: they build engines for other machines' GPUs.
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

#include "helpers/onnx_file.h"
#include "inference/backend.h"
#include "inference/engine_cache.h"
#include "inference/engine_compiler.h"
#include "inference/gpu_model.h"
#include "inference/sha256.h"
#include "inference/tensorrt/messages.h"
#include "reelmend/error.h"
#include "shipped_files.h"

namespace reelmend::inference {
namespace {

using reelmend::testing::OnnxFile;
using reelmend::testing::Has;
using reelmend::testing::LayoutOf;
using reelmend::testing::ReadBytes;
using reelmend::testing::Shipped;
using reelmend::testing::TemporaryFolder;
namespace fs = std::filesystem;

constexpr std::int64_t kOpen = OnnxFile::kOpen;

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

TEST(TensorRtMessages, NameAMissingLibrary) {
  EXPECT_EQ(MissingLibrary("createInferBuilder: Error Code 6: API Usage Error (Unable to load library: libnvinfer_builder_resource_sm90.so.11.2.1: "
                           "cannot open shared object file: No such file or directory)"),
            "libnvinfer_builder_resource_sm90.so.11.2.1");
  EXPECT_EQ(MissingLibrary("Unable to determine GPU memory usage"), "");
}

/// Opens the backend for such a GPU and exits: with 0 if this process then has TensorRT-RTX loaded, otherwise with 1.
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
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // each test runs in a new process that has opened no backend yet
  EXPECT_EXIT(OpenAndSayWhetherRtxWasOpened({9, 0}), ::testing::ExitedWithCode(1), "\\(\\)|GPUs of compute capability 9.0 need full TensorRT: ");
  EXPECT_EXIT(OpenAndSayWhetherRtxWasOpened({7, 0}), ::testing::ExitedWithCode(1), "compute capability 7.0");
  if (std::getenv("REELMEND_EXPECT_TENSORRT") == nullptr) return;
  EXPECT_EXIT(OpenAndSayWhetherRtxWasOpened({8, 9}), ::testing::ExitedWithCode(0), "\\(\\)");
}

/// TensorRT-RTX, which builds engines without a GPU. If REELMEND_EXPECT_TENSORRT is set (by scripts/test-cuda), it must be
/// installed; otherwise these tests are skipped without it.
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
    return {backend_, file, {target, "made up"}, EngineCache(folder_.path() / "engines", true, [this](const std::string& s) { messages_.push_back(s); })};
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
  std::vector<std::string> messages_;
};

TEST_F(TensorRtRtx, BuildsTheShippedNetworksForEveryGenerationThatItTargets) {
  for (const char* name : {"fast-x2.onnx", "fast-x2-int8.onnx"}) {
    const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped(name));
    std::vector<std::string> engines;
    for (const GpuTarget& target : {GpuTarget{7, 5}, {8, 0}, {8, 6}, {8, 9}, {12, 0}, {12, 1}}) {
      ASSERT_TRUE(backend_->Supports(target));
      GpuModel model = Open(file, target);
      EXPECT_EQ(model.precision(), "fp16");
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
  EXPECT_TRUE(messages_.empty()) << messages_[0];
}

TEST_F(TensorRtRtx, BuildsTheOtherShippedNetworks) {
  for (const auto& [name, scale] : {std::pair{"fast-x1.onnx", 1}, {"fast-x1-int8.onnx", 1}, {"quality-x2.onnx", 2}, {"quality-x2-int8.onnx", 2}}) {
    GpuModel model = Open(File("shipped", LayoutOf(name), scale, Shipped(name)), {8, 9});
    EXPECT_EQ(model.precision(), "fp16") << name;
    const std::string engine = model.Compile(640, 360);
    EXPECT_EQ(Has(engine, Sha256(Shipped(name)).substr(0, 12)), !Has(name, "int8")) << "the key of " << engine << " does not tell how quantisers were removed";
  }
  EXPECT_TRUE(messages_.empty()) << messages_[0];
}

TEST_F(TensorRtRtx, ADamagedEngineIsBuiltAgainWithOneSentence) {
  const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped("fast-x2.onnx"));
  const fs::path engine = folder_.path() / "engines" / Open(file).Compile(64, 64);
  const std::string good = ReadBytes(engine);
  std::ofstream(engine, std::ios::binary | std::ios::trunc) << good.substr(0, good.size() / 2);
  GpuModel model = Open(file);
  model.Compile(64, 64);
  EXPECT_EQ(model.built(), 1);
  ASSERT_EQ(messages_.size(), 1U);
  EXPECT_TRUE(Has(messages_[0], "damaged")) << messages_[0];
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
    EXPECT_TRUE(Has(error.what(), "for pictures of one size only")) << error.what();
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

TEST_F(TensorRtRtx, AnEngineThatCannotBeKeptIsNotCompiled) {
  const ModelFile file = File("shipped", ModelFile::Layout::kLumaStrength, 2, Shipped("fast-x2.onnx"));
  CompileRequest request;
  request.folder = folder_.path() / "full";
  request.width = request.height = 64;
  std::ofstream(request.folder) << "no folder";
  try {
    CompileEngines(backend_, file, {{8, 9}, ""}, request);
    FAIL() << "nobody learns that the engine is missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_TRUE(Has(error.what(), "Model “shipped”: Its engine cannot be written to the folder of engines (Not a directory).")) << error.what();
  }
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
  if (access("/dev/nvidiactl", F_OK) == 0) return;  // on a machine with a GPU, scripts/test-gpu tests loading
  try {
    Open(file).Load(64, 64);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 1) << text;
  }
}

TEST(TensorRtMessages, ABuilderOutOfMemoryIsKnownByAnyOfItsMessages) {
  constexpr const char* kNoTactic = "Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[conv1]}.)";
  const auto is_about_memory = [&](std::initializer_list<std::pair<bool, const char*>> messages) {
    Messages all;
    for (const auto& [is_error, message] : messages) all.Add(is_error, message);
    return all.any_is_about_memory();
  };
  EXPECT_FALSE(is_about_memory({}));
  EXPECT_FALSE(is_about_memory({{true, kNoTactic}})) << "the model causes this error, not the memory";
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
  messages.Add(false, "Device memory is insufficient to use tactic.");  // from a build on another thread
  messages.Add(true, "Error Code 1: Serialization (the plan is damaged)");
  EXPECT_TRUE(messages.any_is_about_memory());
  EXPECT_FALSE(messages.error_is_about_memory());
  messages.Add(true, "Error Code 2: OutOfMemory (Requested size was 8589934592 bytes.)");
  EXPECT_TRUE(messages.error_is_about_memory());
}

}  // namespace
}  // namespace reelmend::inference
