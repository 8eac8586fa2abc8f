// Where the network for faces runs: engines of devices, the CPU where a device has none, and what a job is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cuda_faces_fixture.h"
#include "faces_pictures.h"
#include "inference/engine_compiler.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using faces::Compare;
using faces::Copy;
using faces::Person;
using testing::CudaFaces;
using testing::StageOnDevice;
using testing::StandInBackend;
using testing::StandInDevice;
using testing::kNear;

/// Note [Face networks that a device cannot run]
TEST_F(CudaFaces, ANetworkThatTheDeviceCannotRunRunsOnTheCpu) {
  const auto frames = Person(110, 680, 520, 0.2);
  const auto make = [&](const std::shared_ptr<StandInDevice>& device, const ModelFile& model) {
    StageOnDevice stage(device, OptionsOf(device, model, frames[0]), frames[0]);
    std::vector<pixel::Image> made;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      made.push_back(Copy(frames[i]));
      stage.Run(made.back(), static_cast<std::int64_t>(i), i == 0);
    }
    return made;
  };
  const auto expected = make(Late(0), faces::Shipped());
  ASSERT_GT(log_->enqueued, 0);
  const auto expect = [&](const char* why, std::size_t memory = std::size_t{1} << 30) {
    SCOPED_TRACE(why);
    log_->enqueued = 0;
    const auto made = make(Late(20, memory), faces::Shipped());
    EXPECT_EQ(log_->enqueued, 0);
    for (std::size_t i = 0; i < made.size(); ++i) EXPECT_LE(Compare(expected[i], made[i], {}).most, kNear) << i;
    EXPECT_EQ(log_->contexts, 0);
  };
  log_->refuses = "The model uses an operator that it does not know.";
  expect("operator");
  log_->refuses.clear();
  log_->builds_up_to = 100;
  expect("no memory to build");
  log_->builds_up_to = -1;
  log_->workspace_bytes = std::int64_t{1} << 40;
  expect("no memory to run");
}

TEST_F(CudaFaces, TheJobSaysWhyTheirNetworkRunsOnTheCpu) {
  EnhanceOptions options = FacesAlone();
  for (const std::string why : {"", "The model uses an operator that it does not know."}) {
    log_->refuses = why;
    const auto plan = run::EnhanceOn(ProcessorOn(Late(0)), PersonClip(0.2), folder_.File("out.mp4"), options).plan;
    const std::string said = std::ranges::find(plan, "face_restoration", &PlannedStage::name)->why;
    EXPECT_TRUE(said.ends_with(why.empty() ? "only faces that are found are restored" : "; their network runs on the CPU: Model “faces”: " + why)) << said;
  }
}

TEST_F(CudaFaces, ANetworkThatRunsOnTheCpuKeepsNoWorkspaceOnTheDevice) {
  const auto frames = Person(110);
  const auto used_with = [&](const std::string& refuses, bool refuses_contexts) {
    log_->refuses = refuses;
    log_->refuses_contexts = refuses_contexts;
    const auto device = Late(0);
    const StageOnDevice stage(device, OptionsOf(device, faces::Shipped(), frames[0]), frames[0]);
    return device->used();
  };
  log_->workspace_bytes = std::int64_t{100} << 20;
  EXPECT_EQ(used_with("", true), used_with("The model uses an operator that it does not know.", false));
}

/// … and its time counts for the faces alone.
TEST_F(CudaFaces, TheirTimeOnTheCpuIsReportedOnce) {
  log_->refuses = "The model uses an operator that it does not know.";
  EnhanceOptions options = FacesAlone();
  const EnhanceResult result = run::EnhanceOn(ProcessorOn(Late(0)), PersonClip(2), folder_.File("out.mp4"), options);
  const auto seconds = [&](const std::string& name) { return std::ranges::find(result.stages, name, &StageTime::name)->cpu_seconds; };
  EXPECT_GT(seconds("faces"), 2 * seconds("convert"));
}

TEST_F(CudaFaces, ThreadsThatHelpAreCounted) {
  log_->refuses = "The model uses an operator that it does not know.";
  const auto frames = Person(110);
  const auto device = Late(0);
  StageOnDevice stage(device, OptionsOf(device, faces::Shipped(), frames[0]), frames[0]);
  const double before = stage.HelperCpuSeconds();
  pixel::Image made = Copy(frames[0]);
  for (int i = 0; i < 10; ++i) stage.Run(made, i, i == 0);
  EXPECT_GT(stage.HelperCpuSeconds(), before);
}

TEST_F(CudaFaces, AFailureWhileItRunsLeavesTheJobToTheCpu) {
  EnhanceOptions options = FacesAlone();
  log_->fails_after = 2;
  try {
    run::EnhanceOn(ProcessorOn(Late(0)), PersonClip(0.2), folder_.File("out.mp4"), options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
  }
}

/// … and the CPU then says what is wrong with the file.
TEST_F(CudaFaces, ANetworkThatFitsNoDeviceIsRefused) {
  std::ofstream(folder_.File("bad.onnx"), std::ios::binary) << reelmend::testing::SwappedRgbNetwork(2);
  EnhanceOptions options = Options(faces::FaceModel(folder_.File("bad.onnx")), Target::kSource);
  options.model = "none";
  options.face_restoration = {Strength::Mode::kFixed, 1};
  try {
    run::EnhanceOn(ProcessorOn(Late(0)), PersonClip(0.2), folder_.File("out.mp4"), options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("does not have the size of its input"), std::string::npos) << error.what();
  }
}

TEST_F(CudaFaces, TheirNetworkIsBuiltAheadOfTimeForItsOwnSize) {
  log_->builds_slowly = true;
  const auto device = Late(0);
  const DeviceFacts& facts = device->facts();
  CompileRequest request;
  request.folder = folder_.File("engines");
  const auto engines = inference::CompileEngines(std::make_shared<StandInBackend>(device, log_), faces::Shipped(),
                                                 {{facts.compute_major, facts.compute_minor}, facts.name}, request);
  ASSERT_EQ(engines.size(), 1U);
  EXPECT_EQ(engines[0].width, 256);
  EXPECT_EQ(engines[0].height, 256);
  EXPECT_EQ(log_->built, 1);

  EnhanceOptions options = FacesAlone();
  options.engine_folder = request.folder;
  options.may_write_engines = false;
  const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), PersonClip(0.2), folder_.File("out.mp4"), options);
  EXPECT_EQ(result.faces, result.frames);
  EXPECT_EQ(log_->built, 1) << "the job built the engine again";
}

TEST_F(CudaFaces, AreLoadedBeforeTheJobIsKnown) {
  EnhanceOptions options = Options(faces::Shipped(), Target::kSource);
  options.model = "none";
  options.face_restoration = {Strength::Mode::kFixed, 0.7F};
  const std::string in = PersonClip(0.2);
  for (const bool fits : {true, false}) {
    SCOPED_TRACE(fits);
    const auto device = Late(0);
    auto processor = ProcessorOn(device);
    const Size size = fits ? Size{360, 280} : Size{360, 282};
    log_->loaded = log_->enqueued = 0;
    processor->Prepare(options, {size, size, "none", true});
    EXPECT_EQ(log_->loaded, 1);
    EXPECT_EQ(log_->enqueued, 1) << "its kernels are not loaded";
    const EnhanceResult result = run::EnhanceOn(std::move(processor), in, folder_.File("out.mp4"), options);
    EXPECT_EQ(result.faces, result.frames);
    EXPECT_FLOAT_EQ(result.applied.face_restoration, 0.7F);
    EXPECT_EQ(log_->loaded, fits ? 1 : 2);
    EXPECT_EQ(device->used(), 0U);
  }
  const auto device = Late(0);
  auto processor = ProcessorOn(device);
  log_->loaded = 0;
  processor->Prepare(options, {{360, 280}, {360, 280}, "none", false});
  EXPECT_EQ(log_->loaded, 0) << "the last job restored none";
  processor->Prepare(options, {{360, 280}, {360, 280}, "none", true});
  options.face_restoration = {Strength::Mode::kOff, 0};
  run::EnhanceOn(std::move(processor), in, folder_.File("out.mp4"), options);
  EXPECT_EQ(device->used(), 0U);
}

}  // namespace
}  // namespace reelmend::cuda
