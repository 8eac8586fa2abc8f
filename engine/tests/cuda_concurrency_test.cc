// The concurrency of a network on a GPU, that is contexts and batch: how measured rates decide it, how it is stored, and that
// it does not change the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cuda/network_rate.h"
#include "cuda_network_fixture.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::FrameTimes;
using inference::Concurrency;
using testing::StandInDevice;
using testing::StandInOptions;

class CudaConcurrency : public testing::CudaNetworkTest {
 protected:
  /// Enhances a clip with the engines of the options' folder. Returns the luma of the output.
  auto Job(const std::string& in, const EnhanceOptions& options, int delay_us = 0, std::size_t memory = std::size_t{1} << 30) {
    const std::string out = folder_.File("out.mp4");
    log_->most_contexts = 0;
    const auto device = Late(delay_us, memory);
    run::EnhanceOn(ProcessorOn(device), in, out, options);
    EXPECT_EQ(FrameTimes(out), FrameTimes(in));
    EXPECT_EQ(device->used(), 0U);
    return DecodeLuma(out);
  }
};

TEST(Concurrency, StopsWhereMoreIsNoFaster) {
  struct Case {
    std::vector<double> one;  ///< rates of 2, 3 … contexts with one picture each
    std::vector<double> two;  ///< the same with two pictures each; 0: they do not fit
    std::optional<Concurrency> expected;
  };
  for (const Case& c : {Case{{100, 100}, {100, 100}, Concurrency{2, 1}}, {{100, 102.9}, {102, 102}, Concurrency{2, 1}}, {{130, 150, 151}, {0}, Concurrency{3, 1}},
                        {{130, 150, 180}, {150, 150}, Concurrency{4, 1}}, {{100, 0}, {0}, Concurrency{2, 1}}, {{190, 0}, {200, 0}, Concurrency{2, 2}},
                        {{110, 111}, {160, 180, 181}, Concurrency{3, 2}}, {{100, 101}, {110, 120, 130}, Concurrency{4, 2}}, {{0}, {0}, std::nullopt}}) {
    std::size_t asked[3] = {};
    const auto chosen = ChooseConcurrency([&](const Concurrency& tried) {
      EXPECT_EQ(tried.contexts, static_cast<int>(++asked[tried.batch]) + 1) << "the numbers of contexts are not tried in order";
      return (tried.batch == 1 ? c.one : c.two).at(asked[tried.batch] - 1);
    });
    EXPECT_EQ(chosen, c.expected) << c.one[0] << ", " << c.two[0];
  }
}

TEST_F(CudaConcurrency, MeasuringLeavesNothingBehindAndJobsUseTheResult) {
  const std::string in = Clip("64x36", 0.3);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  const auto device = Late(0);
  const auto chosen = MeasureConcurrency(device, Load(device, options.models[0], options.engine_folder), {64, 36});
  ASSERT_TRUE(chosen);
  EXPECT_GE(chosen->contexts, kLeastContexts);
  EXPECT_LE(chosen->contexts, kMostContexts);
  EXPECT_EQ(log_->built, 2) << "one engine for each batch";
  EXPECT_GE(log_->most_contexts, 2);
  EXPECT_EQ(log_->contexts, 0);
  EXPECT_EQ(device->used(), 0U);
  Load(device, options.models[0], options.engine_folder, "another GPU")->KeepConcurrency(64, 36, {4, 1});
  const auto model = Load(device, options.models[0], options.engine_folder);
  model->KeepConcurrency(320, 180, {4, 1});
  model->KeepConcurrency(64, 36, {0, 0});
  Job(in, options);
  EXPECT_EQ(log_->most_contexts, 2) << "a result for another GPU or size must not be used";
  for (const Concurrency& measured : {Concurrency{1, 1}, {3, 1}, {1, 2}, {2, 2}}) {
    model->KeepConcurrency(64, 36, measured);
    EXPECT_EQ(model->MeasuredConcurrency(64, 36), measured);
    Job(in, options);
    EXPECT_EQ(log_->most_contexts, measured.contexts);
  }
  EXPECT_EQ(log_->built, 2) << "a job must use the existing engine of its batch";
  for (const auto& file : std::filesystem::directory_iterator(options.engine_folder)) {
    if (file.path().filename().string().find("-64x36x2-") != std::string::npos && file.path().extension() == ".engine") std::filesystem::remove(file.path());
  }
  EXPECT_FALSE(model->MeasuredConcurrency(64, 36)) << "a result without its engine must not be used";
  Job(in, options);
  EXPECT_EQ(log_->built, 2) << "a job must not build an engine for a batch";
}

TEST_F(CudaConcurrency, BatchesMakeTheSamePicturesInTheSameOrder) {
  struct Case { const char* name; ModelFile model; Target target; const char* size; std::vector<double> seconds; };
  // 1, 5 and 12 frames: the only batch is half full, the last one is half full, all are full.
  for (const Case& c : {Case{"RGB", Rgb(), Target::kSource, "64x36", {0.04, 0.2, 0.48}}, {"luma", Fast(), Target::k1080p, "960x18", {0.2}}}) {
    SCOPED_TRACE(c.name);
    for (const double seconds : c.seconds) {
      const std::string in = Clip(c.size, seconds);
      EnhanceOptions options = Options(c.model, c.target);
      options.engine_folder = folder_.File("engines");
      const Size size{std::atoi(c.size), std::atoi(std::strchr(c.size, 'x') + 1)};
      const auto device = Late(0);
      const auto model = Load(device, c.model, options.engine_folder);
      model->KeepConcurrency(size.width, size.height, {1, 1});
      const auto expected = Job(in, options);
      for (const Concurrency& concurrency : {Concurrency{1, 2}, {2, 2}, {4, 2}}) {
        Load(device, c.model, options.engine_folder)->Compile(size.width, size.height, 2);
        model->KeepConcurrency(size.width, size.height, concurrency);
        const int runs = log_->enqueued;
        EXPECT_EQ(Job(in, options, 1000), expected) << concurrency.contexts << " contexts, " << seconds << " s";
        EXPECT_LE(log_->enqueued - runs, 2 * concurrency.contexts) << "each context may run once directly and once in the capture";
      }
    }
  }
}

TEST_F(CudaConcurrency, JobsFallBackToSinglePicturesWhenABatchDoesNotFit) {
  const std::string in = Clip("160x90", 0.2);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  const auto plenty = Late(0);
  const auto model = Load(plenty, options.models[0], options.engine_folder);
  model->Compile(160, 90, 2);
  model->KeepConcurrency(160, 90, {2, 2});
  const auto expected = Job(in, options);
  const auto single_is_there = [&] {
    const auto names = std::filesystem::directory_iterator(options.engine_folder);
    return std::any_of(begin(names), end(names), [](const auto& file) { return file.path().string().find("-160x90-") != std::string::npos && file.path().extension() == ".engine"; });
  };
  EXPECT_FALSE(single_is_there());
  log_->workspace_bytes = 2 << 20;
  for (std::size_t memory = std::size_t{12} << 20; memory > std::size_t{2} << 20; memory = memory * 8 / 10) {
    try {
      EXPECT_EQ(Job(in, options, 0, memory), expected) << memory;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
    }
    EXPECT_EQ(log_->contexts, 0);
  }
  EXPECT_TRUE(single_is_there()) << "an engine for single pictures must be built";
}

TEST_F(CudaConcurrency, ANetworkThatTakesOnePictureIsMeasuredWithoutBatches) {
  log_->refuses_batches = true;
  const auto device = Late(0);
  EXPECT_EQ(MeasureConcurrency(device, Load(device, Rgb(), ""), {32, 18})->batch, 1);
  EXPECT_EQ(device->used(), 0U);
}

TEST_F(CudaConcurrency, WhereTwoPicturesDoNotFitNothingIsChosen) {
  const auto device = Late(0, 64 << 10);
  EXPECT_FALSE(MeasureConcurrency(device, Load(device, Rgb(), ""), {640, 360}));
  EXPECT_EQ(device->used(), 0U);
  EXPECT_EQ(log_->contexts, 0);
}

TEST_F(CudaConcurrency, FaultsWhileMeasuringAreReported) {
  const auto device = Late(0);
  log_->fails_after = 3;
  EXPECT_THROW(MeasureConcurrency(device, Load(device, Rgb(), ""), {32, 18}), Error);
  StandInOptions lost;
  lost.lost_after = 40;
  const auto dying = std::make_shared<StandInDevice>(lost);
  log_->fails_after = -1;
  EXPECT_THROW(MeasureConcurrency(dying, Load(dying, Rgb(), ""), {32, 18}), DeviceLost);
  EXPECT_EQ(log_->contexts, 0);
}

}  // namespace
}  // namespace reelmend::cuda
