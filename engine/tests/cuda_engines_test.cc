// Engines of networks on GPUs, on a stand-in device and a stand-in backend: where they are kept, when they are built, and what serves
// pictures for which there is none.
#include <gtest/gtest.h>

#include "cuda/network_runner.h"
#include "cuda_network_fixture.h"
#include "helpers/clips.h"
#include "inference/engine_compiler.h"
#include "inference/gpu_model.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::FileExists;
using reelmend::testing::Psnr;
using testing::StandInBackend;

class CudaEngines : public testing::CudaNetworkTest {};

TEST_F(CudaEngines, EnginesAreTakenFromTheFolderThatTheOptionsName) {
  const std::string in = Clip("160x90", 0.12);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  options.may_write_engines = false;
  const auto run = [&] { run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File("out.mp4"), options); };
  run();
  EXPECT_EQ(log_->built, 1);
  EXPECT_FALSE(FileExists(options.engine_folder)) << "a process that may not write engines wrote one";
  options.may_write_engines = true;
  run();
  EXPECT_EQ(log_->built, 2);
  options.may_write_engines = false;
  run();
  EXPECT_EQ(log_->built, 2) << "the engine in the folder was not used";
}

TEST_F(CudaEngines, ABuilderOutOfMemoryMeansTiles) {
  const std::string in = Clip("320x180", 0.12);
  const EnhanceOptions options = Options(Rgb(), Target::kSource);
  const auto run = [&](const std::string& out) { run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File(out), options); };
  run("whole.mp4");
  log_->builds_up_to = 200 * 180;
  run("tiles.mp4");
  EXPECT_EQ(DecodeLuma(folder_.File("tiles.mp4")), DecodeLuma(folder_.File("whole.mp4")));
}

TEST_F(CudaEngines, ABuilderOutOfMemoryIsAskedOnceForEachSize) {
  const ModelFile file = Rgb();
  const auto device = Late(0);
  const auto model = Load(device, file, "");
  log_->builds_up_to = 0;
  NetworkOptions options;
  options.file = file;
  options.load = [&](int width, int height, int batch) { return model->Load(width, height, batch); };
  options.may_cut = false;
  const Picture shape = ShapeOf(320, 180, {0, 0}, {});
  for (const inference::Concurrency& concurrency : {inference::Concurrency{1, 1}, {4, 1}, {4, 2}}) {
    options.concurrency = concurrency;
    log_->asked = 0;
    EXPECT_THROW(NetworkRunner(device, options, shape), Error);
    EXPECT_EQ(log_->asked, concurrency.batch) << concurrency.contexts << " contexts";
  }
}

TEST_F(CudaEngines, AJobBuildsNoSlowEngineThatItCannotKeep) {
  const std::string in = Clip("160x90", 0.12);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  log_->builds_slowly = true;
  options.may_write_engines = false;
  for (const std::string& folder : {std::string(), folder_.File("engines")}) {
    options.engine_folder = folder;
    try {
      run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File("out.mp4"), options);
      FAIL() << "an engine was built";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNoEngine);
      EXPECT_STREQ(error.what(), "There is no engine of the model “rgb” for pictures of 160×90 on this GPU; the command “models compile” builds engines.");
    }
    EXPECT_EQ(log_->built, 0);
  }
  options.may_write_engines = true;
  run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File("out.mp4"), options);
  EXPECT_EQ(log_->built, 1);
}

TEST_F(CudaEngines, APictureLargerThanTheRangeIsCut) {
  const ModelFile file = Rgb();
  const auto device = Late(0);
  const auto model = Load(device, file, "");
  NetworkOptions options;
  options.file = file;
  options.may_cut = true;
  int most = 200;  // rows, as of a range for landscape pictures
  options.load = [&](int width, int height, int batch) {
    if (height > most) throw Error(ErrorCode::kNoEngine, "There is no engine for " + std::to_string(width) + "×" + std::to_string(height) + ".");
    return model->Load(width, height, batch);
  };
  EXPECT_GT(NetworkRunner(device, options, ShapeOf(180, 320, {0, 0}, {})).tiles(), 1);
  most = 0;
  try {
    const NetworkRunner runner(device, options, ShapeOf(180, 320, {0, 0}, {}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoEngine);
    EXPECT_STREQ(error.what(), "There is no engine for 180×320.");
  }
}

TEST_F(CudaEngines, EnginesAreBuiltAtTheLevelThatIsAskedForAndServeAllJobs) {
  const std::string in = Clip("160x90", 0.12);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  options.may_write_engines = true;
  const auto run = [&] { run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File("out.mp4"), options); };
  ASSERT_EQ(setenv("REELMEND_TENSORRT_LEVEL", "3", 1), 0);
  run();
  unsetenv("REELMEND_TENSORRT_LEVEL");
  EXPECT_EQ(log_->level, 3);
  run();
  EXPECT_EQ(log_->built, 1) << "the level must not be part of the key";
  options.engine_folder = folder_.File("others");
  run();
  EXPECT_EQ(log_->level, 5);
}

TEST_F(CudaEngines, WhereTheAskedSizeCannotBeBuiltTheRangeServesJobsAndTiles) {
  log_->builds_slowly = true;
  log_->builds_up_to = 1280 * 720;
  const auto plenty = Late(0);
  const DeviceFacts& facts = plenty->facts();
  CompileRequest request;
  request.folder = folder_.File("engines");
  const auto engines = inference::CompileEngines(std::make_shared<StandInBackend>(plenty, log_), Ycbcr(),
                                                 {{facts.compute_major, facts.compute_minor}, facts.name}, request);
  ASSERT_EQ(engines.size(), 2U);
  EXPECT_EQ(engines[0].file, "");
  EXPECT_NE(engines[0].not_built.find("too little free memory"), std::string::npos) << engines[0].not_built;
  EXPECT_EQ(engines[1].width, 0);
  EXPECT_TRUE(FileExists(request.folder + "/" + engines[1].file));
  EXPECT_EQ(log_->built, 1);

  const std::string in = Clip("160x540", 0.12);
  EnhanceOptions options = Options(Ycbcr());
  options.engine_folder = request.folder;
  options.may_write_engines = false;
  log_->workspace_bytes = 8 << 20;
  run::EnhanceOn(ProcessorOn(plenty), in, folder_.File("whole.mp4"), options);
  bool was_cut = false;
  for (std::size_t memory = plenty->peak() * 4 / 5; memory > plenty->peak() / 20 && !was_cut; memory = memory * 4 / 5) {
    const int before = log_->loaded;
    try {
      run::EnhanceOn(ProcessorOn(Late(0, memory)), in, folder_.File("less.mp4"), options);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
      break;
    }
    was_cut = log_->loaded - before > 1;
  }
  EXPECT_TRUE(was_cut) << "no picture was processed in tiles";
  EXPECT_EQ(log_->built, 1);
  EXPECT_GT(Psnr(DecodeLuma(folder_.File("less.mp4")), DecodeLuma(folder_.File("whole.mp4"))), 60);
}

TEST_F(CudaEngines, AnEngineForAnySizeServesWhereBuildingTakesMinutes) {
  const std::string in = Clip("160x90", 0.12);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  options.may_write_engines = false;
  const std::string exact = folder_.File("exact.mp4");
  const std::string any = folder_.File("any.mp4");
  run::EnhanceOn(ProcessorOn(Late(0)), in, exact, options);
  const auto device = Late(0);
  const auto& facts = device->facts();
  inference::GpuModel model(std::make_shared<StandInBackend>(device, log_), options.models[0],
                            {{facts.compute_major, facts.compute_minor}, facts.name}, inference::EngineCache(options.engine_folder));
  const std::string quick = model.CompileRange();
  EXPECT_NE(quick.find("-any-"), std::string::npos) << quick;
  int built = log_->built;
  run::EnhanceOn(ProcessorOn(device), in, any, options);
  EXPECT_EQ(log_->built, built + 1) << "an engine for the exact size builds as fast and runs faster";
  log_->builds_slowly = true;
  model.CompileRange();  // another key than before: this engine is tied to the device
  built = log_->built;
  run::EnhanceOn(ProcessorOn(device), in, any, options);
  EXPECT_EQ(log_->built, built);
  EXPECT_EQ(DecodeLuma(any), DecodeLuma(exact));
}

}  // namespace
}  // namespace reelmend::cuda
