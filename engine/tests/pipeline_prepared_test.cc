// Preparation before a video is known: a job uses it if it fits, and it does not change the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "helpers/clips.h"
#include "helpers/onnx_file.h"
#include "inference/backend.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend {
namespace {

using testing::DecodeLuma;
using testing::Ffmpeg;
using testing::NearestNetwork;
using testing::TemporaryFolder;

class Prepared : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto names = inference::AvailableBackends();
    if (std::ranges::find(names, "openvino") == names.end())
      GTEST_SKIP() << "This build has no OpenVINO: nothing can be prepared (scripts/setup-openvino).";
    Save("test", 2);
  }

  void Save(const std::string& name, int scale) {
    model_.name = name;
    model_.scale = scale;
    model_.halo = 0;
    model_.path = folder_.File(name + ".onnx");
    std::ofstream(model_.path, std::ios::binary) << NearestNetwork(scale);
  }

  std::string Clip(const std::string& size) {
    const std::string path = folder_.File(size + ".mkv");
    if (!std::filesystem::exists(path)) {
      Ffmpeg("-f lavfi -i testsrc2=size=" + size + ":rate=25:duration=0.2 -c:v ffv1 -pix_fmt yuv420p '" + path + "'");
    }
    return path;
  }

  EnhanceOptions Options() const {
    EnhanceOptions options = testing::PlainOptions();
    options.model = "test";
    options.models = {model_};
    options.encoder.crf = 8;
    options.threads = 2;
    options.device = "cpu";
    options.target = Target::k1080p;
    return options;
  }

  /// Removes the network's file and runs: the network can then only come from the preparation. Returns the error or "".
  std::string RunWithoutTheFile(const std::string& in, const EnhanceOptions& options, std::unique_ptr<Preparation> prepared) {
    std::filesystem::remove(model_.path);
    try {
      const EnhanceResult result = Enhance(in, folder_.File("prepared.mp4"), options, {}, std::move(prepared));
      EXPECT_EQ(result.applied.model, "test");
      EXPECT_GT(result.start_seconds, 0);
      EXPECT_LT(result.start_seconds, result.wall_seconds);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
  ModelFile model_;
};

TEST_F(Prepared, NetworksAreReusedAndGiveTheSamePictures) {
  struct Case { const char* size; Size picture, output; };
  for (const Case& c : {Case{"960x64", {960, 64}, {1920, 128}}, {"480x32", {480, 32}, {1920, 128}}}) {  // one pass; two passes
    SCOPED_TRACE(c.size);
    Save("test", 2);
    const std::string in = Clip(c.size);
    Enhance(in, folder_.File("cold.mp4"), Options());
    auto prepared = Prepare(Options(), {c.picture, c.output, "test", false});
    ASSERT_EQ(RunWithoutTheFile(in, Options(), std::move(prepared)), "");
    EXPECT_EQ(DecodeLuma(folder_.File("prepared.mp4")), DecodeLuma(folder_.File("cold.mp4")));
  }
}

TEST_F(Prepared, WhatDoesNotFitIsDiscarded) {
  const std::string in = Clip("960x64");
  const Expectation fitting{{960, 64}, {1920, 128}, "test", false};
  EnhanceOptions other = Options();
  other.threads = 1;
  std::vector<std::pair<EnhanceOptions, Expectation>> cases = {
      {Options(), {}}, {Options(), {{900, 64}, {1920, 128}, "test", false}}, {Options(), {{960, 64}, {1920, 128}, "none", false}}, {other, fitting}};
  for (auto& [options, expectation] : cases) {
    Save("test", 2);
    EXPECT_EQ(Enhance(in, folder_.File("out.mp4"), Options(), {}, Prepare(options, expectation)).applied.model, "test");
    EXPECT_NE(RunWithoutTheFile(in, Options(), Prepare(options, expectation)).find("cannot be read"), std::string::npos);
  }
}

TEST_F(Prepared, AnotherDeviceOrNameIsOpenedAnew) {
  const std::string in = Clip("960x64");
  EnhanceOptions automatic = Options();
  automatic.device = "auto";
  EXPECT_EQ(Enhance(in, folder_.File("out.mp4"), automatic, {}, Prepare(Options(), {})).frames, 5);
  EnhanceOptions absent = Options();
  absent.device = "cuda:99";
  EXPECT_THROW(Prepare(absent, {}), Error);
}

TEST_F(Prepared, AFailedPreparationIsReportedByTheRun) {
  std::ofstream(model_.path, std::ios::binary | std::ios::trunc) << "no network";
  auto prepared = Prepare(Options(), {{960, 64}, {1920, 128}, "test", false});
  try {
    Enhance(Clip("960x64"), folder_.File("out.mp4"), Options(), {}, std::move(prepared));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not an ONNX network"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace reelmend
