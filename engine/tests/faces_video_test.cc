// Faces outside of the stage itself: operators' networks, whole videos, and the plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "faces/face_stage.h"
#include "faces_pictures.h"
#include "helpers/clips.h"
#include "helpers/encoded_frames.h"
#include "helpers/onnx_file.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"
#include "reelmend/segments.h"

namespace reelmend::faces {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::Ffmpeg;
using reelmend::testing::NearestNetwork;
using reelmend::testing::OnnxFile;
using reelmend::testing::PlainOptions;
using reelmend::testing::TemporaryFolder;

/// A network in the format for operators: 512 × 512, R′G′B′ from −1 to 1, and a weight. It adds `addend` to its input.
std::string StandIn(bool has_weight, std::vector<float> addend, std::vector<std::int64_t> shape, int side = 512) {
  OnnxFile file;
  file.Input("input", {1, 3, side, side}).Tensor("what", std::move(shape), std::move(addend));
  if (has_weight) {
    file.Input("weight", {1}).Node("Mul", {"what", "weight"}, "weighted").Node("Add", {"input", "weighted"}, "output");
  } else {
    file.Node("Add", {"input", "what"}, "output");
  }
  return file.Output("output", {1, 3, side, side}).Bytes();
}

TEST(OperatorsFaceNetwork, IsGivenRedFirstFromMinusOneToOneAndAWeight) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  std::ofstream(folder.File("red.onnx"), std::ios::binary) << StandIn(true, {0.2F, 0, 0}, {1, 3, 1, 1});
  const auto frames = Person(150);
  pixel::Image image = Copy(frames[0]);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(image, FaceModel(folder.File("red.onnx"))));
  stage.Run(image, image, 0, true, false, pool);
  const Point nose = Find(frames[0]).at(0).points[2];
  // 0.2 × 0.5 on the scale from −1 to 1 is 12.75 levels of red. BT.709 gives the expected changes of luma, Cb and Cr.
  const auto at = [&](int plane, int scale) {
    const int x = static_cast<int>(nose.x) / scale;
    const int y = static_cast<int>(nose.y) / scale;
    return (image.plane(plane).Row(y)[x] - frames[0].plane(plane).Row(y)[x]) / 256.0;
  };
  EXPECT_NEAR(at(0, 1), 12.75 * 0.2126 * 219 / 255, 0.1);
  EXPECT_NEAR(at(1, 2), -12.75 * 0.2126 / 1.8556 * 224 / 255, 0.1);
  EXPECT_NEAR(at(2, 2), 12.75 * 0.5 * 224 / 255, 0.1);
}

TEST(OperatorsFaceNetwork, ReceivesFacesAlignedAsInFfhq) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  std::vector<float> spots(3 * 512 * 512, 0.0F);
  for (const Point& p : AlignedPoints(512)) {
    for (int dy = -6; dy <= 6; ++dy) {
      for (int dx = -6; dx <= 6; ++dx) {
        const std::size_t at = (static_cast<std::size_t>(p.y) + dy) * 512 + static_cast<std::size_t>(p.x) + dx;
        for (std::size_t plane = 0; plane < 3; ++plane) spots[plane * 512 * 512 + at] = 0.3F;
      }
    }
  }
  std::ofstream(folder.File("spots.onnx"), std::ios::binary) << StandIn(false, spots, {1, 3, 512, 512});
  const auto frames = Person(200);
  pixel::Image image = Copy(frames[0]);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(image, FaceModel(folder.File("spots.onnx"))));
  stage.Run(image, image, 0, true, false, pool);
  for (const Point& p : Find(frames[0]).at(0).points) {
    double sum = 0;
    double x = 0;
    double y = 0;
    for (int row = static_cast<int>(p.y) - 25; row <= static_cast<int>(p.y) + 25; ++row) {
      for (int column = static_cast<int>(p.x) - 25; column <= static_cast<int>(p.x) + 25; ++column) {
        const double d = image.plane(0).Row(row)[column] - frames[0].plane(0).Row(row)[column];
        sum += d;
        x += d * column;
        y += d * row;
      }
    }
    ASSERT_GT(sum, 1000);
    // A similarity transform cannot map five points of a real face exactly.
    EXPECT_NEAR(x / sum, p.x, 0.08 * 200);
    EXPECT_NEAR(y / sum, p.y, 0.08 * 200);
  }
}

TEST(OperatorsFaceNetwork, IsRefusedInOneSentenceWhenItDoesNotFit) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  const auto backend = inference::CreateBackend("openvino");
  struct Case { std::string bytes; std::string says; };
  OnnxFile two;
  two.Input("input", {1, 3, 64, 64}).Input("other", {1, 3, 64, 64}).Node("Add", {"input", "other"}, "output").Output("output", {1, 3, 64, 64});
  OnnxFile wide;
  wide.Input("input", {1, 3, 64, 96}).Node("Relu", {"input"}, "output").Output("output", {1, 3, 64, 96});
  for (const Case& c : {Case{"no network", "not an ONNX network"}, {two.Bytes(), "other inputs"}, {wide.Bytes(), "not one square picture"},
                        {reelmend::testing::SwappedRgbNetwork(2), "does not have the size of its input"}}) {
    std::ofstream(folder.File("bad.onnx"), std::ios::binary) << c.bytes;
    try {
      FaceRestorer(*backend, FaceModel(folder.File("bad.onnx")), 1);
      ADD_FAILURE() << c.says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << error.what();
    }
  }
}

class FacesInVideos : public ::testing::Test {
 protected:
  std::string Enhanced(const std::string& in, const Strength& strength, EnhanceResult* result = nullptr) {
    EnhanceOptions options = PlainOptions();
    options.models = {Shipped()};
    options.face_restoration = strength;
    const std::string out = folder_.File("out" + std::to_string(count_++) + ".mp4");
    const EnhanceResult made = Enhance(in, out, options);
    if (result != nullptr) *result = made;
    return out;
  }
  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(FacesInVideos, NoFaceMeansNoChange) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mp4");
  Ffmpeg("-f lavfi -i testsrc2=size=640x360:rate=25:duration=1 -vf noise=alls=10:allf=t -pix_fmt yuv420p " + in);
  EnhanceResult result;
  const std::string with = Enhanced(in, {Strength::Mode::kFixed, 1}, &result);
  EXPECT_EQ(result.applied.face_restoration, 0);
  EXPECT_EQ(result.faces, 0);
  EXPECT_TRUE(DecodeLuma(with) == DecodeLuma(Enhanced(in, {Strength::Mode::kOff, 0})));
}

TEST_F(FacesInVideos, StrengthsAreObeyedAndReported) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mp4");
  Ffmpeg("-loop 1 -framerate 25 -t 0.6 -i " + kPerson + " -c:v libx264 -crf 32 -pix_fmt yuv420p " + in);
  EnhanceResult result;
  const auto off = DecodeLuma(Enhanced(in, {Strength::Mode::kOff, 0}, &result));
  EXPECT_EQ(result.applied.face_restoration, 0);
  EXPECT_TRUE(DecodeLuma(Enhanced(in, {Strength::Mode::kFixed, 0})) == off);
  EXPECT_FALSE(DecodeLuma(Enhanced(in, {Strength::Mode::kFixed, 0.7F}, &result)) == off);
  EXPECT_FLOAT_EQ(result.applied.face_restoration, 0.7F);
  EXPECT_EQ(result.faces, result.frames);
  EXPECT_TRUE(std::ranges::any_of(result.stages, [](const StageTime& s) { return s.name == "faces" && s.cpu_seconds > 0; }));
  // Automatic strength: a compressed source is restored, and the plan says why.
  EXPECT_FALSE(DecodeLuma(Enhanced(in, {}, &result)) == off);
  EXPECT_GT(result.applied.face_restoration, 0.1F);
  const auto stage = std::ranges::find(result.plan, "face_restoration", &PlannedStage::name);
  ASSERT_NE(stage, result.plan.end());
  EXPECT_EQ(stage->strength, result.applied.face_restoration);
  EXPECT_NE(stage->why.find("compression error"), std::string::npos);
}

TEST_F(FacesInVideos, SegmentsEqualTheWhole) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mkv");
  Ffmpeg("-loop 1 -framerate 25 -t 2 -i " + kPerson + " -vf 'noise=alls=6:allf=t' -c:v libx264 -crf 24 -bf 0 -pix_fmt yuv420p " + in);
  EnhanceOptions options = PlainOptions();
  options.models = {Shipped()};
  options.face_restoration = {Strength::Mode::kFixed, 1};
  options.encoder.crf = 1;  // nearly lossless, so that earlier frames do not affect the comparison
  Enhance(in, folder_.File("whole.mp4"), options);
  options.segment = Segment{1.2, 2, 27};
  EXPECT_GT(Enhance(in, folder_.File("part.mp4"), options).faces, 0);
  const auto whole = DecodeLuma(folder_.File("whole.mp4"));
  const auto part = DecodeLuma(folder_.File("part.mp4"));
  ASSERT_LT(part.size(), whole.size());
  const auto size = static_cast<std::ptrdiff_t>(part.size());
  EXPECT_GT(reelmend::testing::Psnr({whole.end() - size, whole.end()}, part), 52);
}

TEST_F(FacesInVideos, PlannedSegmentsHaveTheFramesOfTheWhole_Long) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mkv");
  // The face moves, disappears at a cut and comes back.
  Ffmpeg("-loop 1 -framerate 25 -t 5 -i " + kPerson + " -vf \"crop=iw-40:ih-40:20+20*sin(t*3):20,eq=brightness='if(between(t,2.4,3),-1,0)':eval=frame,"
         "noise=alls=6:allf=t\" -c:v libx264 -crf 24 -g 20 -pix_fmt yuv420p " + in);
  EnhanceOptions options = PlainOptions();
  options.models = {Shipped()};
  options.face_restoration = {};
  options.denoise = {};
  options.adaptive_contrast = {Strength::Mode::kFixed, 0.5};
  const auto whole = reelmend::testing::EncodedFrames(in, folder_.File("whole.mp4"), options);
  const SegmentPlan plan = PlanSegments(in, options, {.shortest_s = 1.3, .wanted_s = 1.6, .longest_s = 4});
  ASSERT_GE(plan.segments.size(), 3U) << plan.why_whole;
  std::vector<reelmend::testing::Encoded> joined;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    options.segment_plan = plan.text;
    options.segment_index = static_cast<int>(i);
    const auto frames = reelmend::testing::EncodedFrames(in, folder_.File("piece.mp4"), options);
    joined.insert(joined.end(), frames.begin(), frames.end());
  }
  EXPECT_TRUE(joined == whole);
  EnhanceOptions without = options;
  without.models.clear();
  EXPECT_THROW(Enhance(in, folder_.File("other.mp4"), without), Error) << "the plan needs the same set of networks";
}

TEST(FacePlan, SaysWhyFacesAreNotRestored) {
  const TemporaryFolder folder;
  const std::string in = folder.File("in.mp4");
  Ffmpeg("-f lavfi -i testsrc2=size=320x180:rate=10:duration=0.5 -crf 40 -pix_fmt yuv420p " + in);
  EnhanceOptions options = PlainOptions();
  options.face_restoration = {};
  const auto plan = PlanEnhance(in, options);
  const auto stage = std::ranges::find(plan.stages, "face_restoration", &PlannedStage::name);
  ASSERT_NE(stage, plan.stages.end());
  EXPECT_EQ(stage->strength, 0);
  EXPECT_EQ(stage->why, "no network for faces is installed");
}

TEST(FacePlan, RestoresMoreBehindANetworkForDamagedVideos) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  const std::string in = folder.File("in.mp4");
  Ffmpeg("-loop 1 -framerate 25 -t 0.4 -i " + kPerson + " -vf scale=320:-2 -c:v libx264 -crf 32 -pix_fmt yuv420p " + in);
  ModelFile network;
  network.name = "detail";
  network.path = folder.File("detail.onnx");
  std::ofstream(network.path, std::ios::binary) << NearestNetwork(2, 1, 1);
  network.scale = 2;
  network.layout = ModelFile::Layout::kLumaStrength;
  network.max_strength = 0.7F;
  EnhanceOptions options = PlainOptions();
  options.models = {Shipped(), network};
  options.model = "detail";
  options.target = Target::k1080p;
  options.face_restoration = {};
  const auto strength = [&](bool is_blind, float most) {
    options.models[1].is_blind = is_blind;
    options.denoise = {Strength::Mode::kFixed, most};
    const auto plan = PlanEnhance(in, options);
    const auto stage = std::ranges::find(plan.stages, "face_restoration", &PlannedStage::name);
    EXPECT_EQ(stage->why.find(", and detail makes faces look painted; only faces that are found are restored") != std::string::npos, is_blind && most > 0) << stage->why;
    return stage->strength;
  };
  const float faithful = strength(false, 1);
  ASSERT_GT(faithful, 0.1F);
  EXPECT_NEAR(strength(true, 1), std::min(0.8F, 1.7F * faithful), 0.001);
  EXPECT_NEAR(strength(true, 0.3F), std::min(0.8F, 1.3F * faithful), 0.001);
  EXPECT_FLOAT_EQ(strength(true, 0), faithful);
  options.face_restoration = {Strength::Mode::kFixed, 0.25F};
  EXPECT_FLOAT_EQ(PlanEnhance(in, options).stages[2].strength, 0.25F);
}

}  // namespace
}  // namespace reelmend::faces
