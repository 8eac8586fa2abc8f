// How much of a network is on a GPU at once: what is chosen of measured rates, what is kept of it, and that batches change
// nothing but the rate.
#include <gtest/gtest.h>

#include "cuda/network_rate.h"
#include "cuda_network_fixture.h"
#include "framelift/error.h"

namespace framelift::cuda {
namespace {

using framelift::testing::DecodeLuma;
using framelift::testing::FrameTimes;
using inference::Occupancy;

class CudaOccupancy : public testing::CudaNetworkTest {
 protected:
  /// A job of a clip whose engines lie in the folder; the luma of what it made.
  auto Job(const std::string& in, const EnhanceOptions& options, int delay_us = 0, std::size_t memory = std::size_t{1} << 30) {
    const std::string out = folder_.File("out.mp4");
    log_->most_contexts = 0;
    const auto device = Late(delay_us, memory);
    pipeline::EnhanceOn(ProcessorOn(device), in, out, options);
    EXPECT_EQ(FrameTimes(out), FrameTimes(in));
    EXPECT_EQ(device->used(), 0U);
    return DecodeLuma(out);
  }
};

TEST(Occupancy, IsTheLeastThatMoreWouldNotMakeFaster) {
  struct Case {
    std::vector<double> one;  ///< rates of 1, 2 … contexts of one picture …
    std::vector<double> two;  ///< … and of two; 0: they do not fit
    Occupancy expected;
  };
  for (const Case& c : {Case{{100, 100}, {100, 100}, {1, 1}}, {{100, 102.9}, {102, 102}, {1, 1}}, {{100, 130, 133}, {131, 132}, {2, 1}},
                        {{100, 130, 150, 151}, {0}, {3, 1}}, {{100, 130, 150, 180}, {140, 150, 150}, {4, 1}}, {{100, 0}, {0}, {1, 1}},
                        {{100, 190, 0}, {150, 200, 0}, {2, 2}}, {{100, 110, 111}, {160, 161}, {1, 2}}}) {
    std::size_t asked[3] = {};
    const Occupancy chosen = ChooseOccupancy([&](const Occupancy& tried) {
      EXPECT_EQ(tried.contexts, static_cast<int>(++asked[tried.batch])) << "not in turn";
      return (tried.batch == 1 ? c.one : c.two).at(asked[tried.batch] - 1);
    });
    EXPECT_EQ(chosen, c.expected) << c.one[1] << ", " << c.two[0];
  }
}

TEST_F(CudaOccupancy, IsMeasuredWithoutLeavingAnythingAndJobsGoByIt) {
  const std::string in = Clip("64x36", 0.3);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  const auto device = Late(0);
  const Occupancy chosen = MeasureOccupancy(device, Load(device, options.models[0], options.engine_folder), {64, 36});
  EXPECT_GE(chosen.contexts, 1);
  EXPECT_LE(chosen.contexts, kMostContexts);
  EXPECT_EQ(log_->built, 2) << "one engine for each batch";
  EXPECT_GE(log_->most_contexts, 2);
  EXPECT_EQ(log_->contexts, 0);
  EXPECT_EQ(device->used(), 0U);
  Load(device, options.models[0], options.engine_folder, "another GPU")->KeepOccupancy(64, 36, {4, 1});
  const auto model = Load(device, options.models[0], options.engine_folder);
  model->KeepOccupancy(320, 180, {4, 1});
  model->KeepOccupancy(64, 36, {0, 0});
  Job(in, options);
  EXPECT_EQ(log_->most_contexts, 2) << "that was measured for something else";
  for (const Occupancy& measured : {Occupancy{1, 1}, {3, 1}, {1, 2}, {2, 2}}) {
    model->KeepOccupancy(64, 36, measured);
    EXPECT_EQ(model->MeasuredOccupancy(64, 36), measured);
    Job(in, options);
    EXPECT_EQ(log_->most_contexts, measured.contexts);
  }
  EXPECT_EQ(log_->built, 2) << "a job did not find the engine of its batch";
}

TEST_F(CudaOccupancy, BatchesMakeTheSamePicturesInTheSameOrder) {
  struct Case { const char* name; ModelFile model; Target target; const char* size; std::vector<double> seconds; };
  // 1, 5 and 12 frames: batches that are never full, that end half full, that end full.
  for (const Case& c : {Case{"one pass", Rgb(), Target::kSource, "64x36", {0.04, 0.2, 0.48}}, {"two passes", Fast(), Target::k1080p, "16x270", {0.2}}}) {
    SCOPED_TRACE(c.name);
    for (const double seconds : c.seconds) {
      const std::string in = Clip(c.size, seconds);
      EnhanceOptions options = Options(c.model, c.target);
      options.engine_folder = folder_.File("engines");
      const Size size{std::atoi(c.size), std::atoi(std::strchr(c.size, 'x') + 1)};
      const auto device = Late(0);
      const auto model = Load(device, c.model, options.engine_folder);
      model->KeepOccupancy(size.width, size.height, {1, 1});
      const auto expected = Job(in, options);
      for (const Occupancy& occupancy : {Occupancy{1, 2}, {2, 2}, {3, 2}}) {
        model->KeepOccupancy(size.width, size.height, occupancy);
        const int runs = log_->enqueued;
        EXPECT_EQ(Job(in, options, 1000), expected) << occupancy.contexts << " contexts, " << seconds << " s";
        EXPECT_LE(log_->enqueued - runs, 4 * occupancy.contexts) << "more than a first run and a capture of each pass";
      }
    }
  }
}

TEST_F(CudaOccupancy, ABatchThatDoesNotFitGivesWayToSinglePictures) {
  const std::string in = Clip("160x90", 0.2);
  EnhanceOptions options = Options(Rgb(), Target::kSource);
  options.engine_folder = folder_.File("engines");
  const auto plenty = Late(0);
  Load(plenty, options.models[0], options.engine_folder)->KeepOccupancy(160, 90, {2, 2});
  const auto expected = Job(in, options);
  log_->workspace_bytes = 2 << 20;
  bool was_single = false;
  for (std::size_t memory = std::size_t{12} << 20; memory > std::size_t{2} << 20; memory = memory * 8 / 10) {
    const int built = log_->built;
    try {
      EXPECT_EQ(Job(in, options, 0, memory), expected) << memory;
      was_single = was_single || log_->built > built;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
    }
    EXPECT_EQ(log_->contexts, 0);
  }
  EXPECT_TRUE(was_single) << "no engine for single pictures was built";
}

TEST_F(CudaOccupancy, ANetworkThatTakesOnePictureIsMeasuredWithoutBatches) {
  log_->refuses_batches = true;
  const auto device = Late(0);
  EXPECT_EQ(MeasureOccupancy(device, Load(device, Rgb(), ""), {32, 18}).batch, 1);
  EXPECT_EQ(device->used(), 0U);
}

TEST_F(CudaOccupancy, WhereNotOnePictureFitsNothingIsMeasured) {
  const auto device = Late(0, 64 << 10);
  EXPECT_THROW(MeasureOccupancy(device, Load(device, Rgb(), ""), {640, 360}), OutOfDeviceMemory);
  EXPECT_EQ(device->used(), 0U);
  EXPECT_EQ(log_->contexts, 0);
}

}  // namespace
}  // namespace framelift::cuda
