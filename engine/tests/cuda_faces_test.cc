// Faces on a stand-in device: what the CPU makes of the same pictures with the same network, in order, with any delays of the streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "cuda/face_stage.h"
#include "cuda_faces_fixture.h"
#include "faces/face_stage.h"
#include "faces_pictures.h"
#include "helpers/clips.h"
#include "inference/onnx_face.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using faces::Compare;
using faces::Copy;
using faces::Person;
using reelmend::testing::DecodeLuma;
using reelmend::testing::DecodePlane;
using reelmend::testing::Ffmpeg;
using reelmend::testing::FrameTimes;
using reelmend::testing::Psnr;
using testing::CudaFaces;
using testing::StageOnDevice;
using testing::kNear;
using testing::kOpen;

TEST_F(CudaFaces, AreRestoredAsOnTheCpu) {
  for (const float strength : {0.4F, 1.0F}) {
    const auto frames = Person(110, 680, 520, 0.24);
    const auto device = Late(20);
    StageOnDevice on_device(device, OptionsOf(device, faces::Shipped(), frames[0], strength), frames[0]);
    faces::FaceStage on_cpu(faces::StageOptions(frames[0], faces::Shipped(), strength));
    pixel::ThreadPool pool(2);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      pixel::Image expected = Copy(frames[i]);
      pixel::Image made = Copy(frames[i]);
      on_cpu.Run(expected, expected, static_cast<std::int64_t>(i), i == 0, false, pool);
      on_device.Run(made, static_cast<std::int64_t>(i), i == 0);
      const faces::Change change = Compare(frames[i], made, {220, 130, 420, 340});
      EXPECT_GT(change.mean, 0.1) << "the stage changes the face in frame " << i;
      EXPECT_EQ(Compare(frames[i], made, faces::Find(frames[i]).at(0).box).outside, 0);
      EXPECT_LE(Compare(expected, made, {}).most, kNear) << i;
    }
    EXPECT_EQ(on_device.restored(), on_cpu.restored());
    EXPECT_EQ(on_device.restored(), static_cast<std::int64_t>(frames.size()));
  }
}

/// Odd sizes, faces larger and smaller than the crop, and the ranges and matrices of colour.
TEST_F(CudaFaces, AgreeInOtherShapesAndColours) {
  struct Case { int face; int width; int height; pixel::ColorSpec color; };
  for (const Case& c : {Case{60, 641, 481, {pixel::Matrix::kBt601, pixel::Range::kFull}}, {330, 960, 720, {}}, {26, 640, 480, {pixel::Matrix::kBt2020}}}) {
    SCOPED_TRACE(c.face);
    const pixel::Image even = std::move(Person(c.face, (c.width + 1) & ~1, (c.height + 1) & ~1).at(0));
    pixel::Image image(c.width, c.height, {1, 1}, c.color);
    for (int p = 0; p < 3; ++p) {
      const pixel::Plane plane = image.plane(p);
      for (int y = 0; y < plane.height; ++y) std::copy_n(even.plane(p).Row(y), plane.width, plane.Row(y));
    }
    const auto device = Late(0);
    StageOnDevice on_device(device, OptionsOf(device, faces::Shipped(), image), image);
    faces::FaceStage on_cpu(faces::StageOptions(image, faces::Shipped()));
    pixel::ThreadPool pool(2);
    pixel::Image expected = Copy(image);
    pixel::Image made = Copy(image);
    on_cpu.Run(expected, expected, 0, true, false, pool);
    on_device.Run(made, 0, true);
    EXPECT_EQ(on_device.restored(), 1);
    EXPECT_EQ(on_cpu.restored(), 1);
    EXPECT_LE(Compare(expected, made, {}).most, kNear);
  }
}

TEST_F(CudaFaces, PicturesWithoutThemAreLeftAlone) {
  const auto frames = faces::Frames("-f lavfi -i testsrc2=s=640x480:r=25:d=0.4", 640, 480);
  const auto device = Late(0);
  StageOnDevice stage(device, OptionsOf(device, faces::Shipped(), frames[0]), frames[0]);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image made = Copy(frames[i]);
    stage.Run(made, static_cast<std::int64_t>(i), i == 0);
    EXPECT_EQ(Compare(frames[i], made, {}).most, 0) << i;
  }
  EXPECT_EQ(stage.restored(), 0);
  EXPECT_EQ(log_->enqueued, 0) << "the network ran for nothing";
}

TEST_F(CudaFaces, ANetworkThatChangesNothingChangesNoSample) {
  reelmend::testing::OnnxFile file;
  file.Input("input", {1, 3, 128, 128}).Node("Relu", {"input"}, "a").Node("Neg", {"input"}, "n").Node("Relu", {"n"}, "b");
  file.Node("Sub", {"a", "b"}, "output").Output("output", {1, 3, 128, 128});
  std::ofstream(folder_.File("same.onnx"), std::ios::binary) << file.Bytes();
  const auto frames = Person(110);
  const auto device = Late(0);
  StageOnDevice stage(device, OptionsOf(device, faces::FaceModel(folder_.File("same.onnx")), frames[0]), frames[0]);
  pixel::Image made = Copy(frames[0]);
  stage.Run(made, 0, true);
  EXPECT_EQ(stage.restored(), 1);
  EXPECT_EQ(Compare(frames[0], made, {}).most, 0);
}

TEST_F(CudaFaces, NetworksOfOperatorsGetTheirWeightAndTheUsualSize) {
  struct Case { std::vector<std::int64_t> weight; std::int64_t side; int expected_side; };
  for (const Case& c : {Case{{1}, 256, 256}, {{}, kOpen, 512}, {{kOpen, 1}, 512, 512}}) {
    const auto frames = Person(150);
    const auto device = Late(0);
    const FaceOptions options = OptionsOf(device, Reddening(c.weight, c.side), frames[0]);
    EXPECT_EQ(options.network->crop().width, c.expected_side);
    StageOnDevice stage(device, options, frames[0]);
    pixel::Image made = Copy(frames[0]);
    stage.Run(made, 0, true);
    const faces::Point nose = faces::Find(frames[0]).at(0).points[2];
    const auto at = [&](int plane, int scale) {
      const int x = static_cast<int>(nose.x) / scale;
      const int y = static_cast<int>(nose.y) / scale;
      return (made.plane(plane).Row(y)[x] - frames[0].plane(plane).Row(y)[x]) / 256.0;
    };
    EXPECT_NEAR(at(0, 1), 12.75 * 0.2126 * 219 / 255, 0.15);
    EXPECT_NEAR(at(2, 2), 12.75 * 0.5 * 224 / 255, 0.15);
  }
}

TEST(FaceWeight, KeepsTheValueThatAFileGivesIt) {
  reelmend::testing::OnnxFile file;
  file.Input("input", {1, 3, 64, 64}).Input("weight", {1}).Node("Mul", {"input", "weight"}, "output").Output("output", {1, 3, 64, 64});
  EXPECT_NE(inference::WithConstantWeight(file.Bytes()), file.Bytes());
  file.Tensor("weight", {1}, {1});
  EXPECT_EQ(inference::WithConstantWeight(file.Bytes()), file.Bytes());
}

/// The picture is not always the first input of four dimensions: a file may list the weight before it, and weights with a value as inputs.
TEST_F(CudaFaces, InputsOfFilesAreToldApartAsOnTheCpu) {
  constexpr std::int64_t kSide = 256;
  const auto red = [](reelmend::testing::OnnxFile& file) -> reelmend::testing::OnnxFile& {
    return file.Tensor("red", {1, 3, 1, 1}, {0.2F, 0, 0}).Node("Mul", {"red", "weight"}, "weighted").Node("Add", {"input", "weighted"}, "output");
  };
  const auto picture = [&](reelmend::testing::OnnxFile& file, std::int64_t side) -> reelmend::testing::OnnxFile& {
    return file.Input("input", {1, 3, side, side}).Output("output", {1, 3, side, side});
  };
  reelmend::testing::OnnxFile weight_first;
  red(picture(weight_first.Input("weight", {1, 1, 1, 1}), kSide));
  reelmend::testing::OnnxFile weights_listed;
  red(picture(weights_listed.Input("red", {1, 3, 1, 1}), kSide).Input("weight", {1}));
  reelmend::testing::OnnxFile weight_with_value;
  red(picture(weight_with_value, kSide).Input("weight", {1}).Tensor("weight", {1}, {1}));
  reelmend::testing::OnnxFile open;
  red(picture(open, reelmend::testing::OnnxFile::kOpenAsNumber).Input("weight", {1}));
  struct Case { const char* what; const reelmend::testing::OnnxFile& file; int side; };
  for (const Case& c : {Case{"weight first", weight_first, 256}, {"weights listed", weights_listed, 256}, {"value of the weight", weight_with_value, 256}, {"open", open, 512}}) {
    SCOPED_TRACE(c.what);
    std::ofstream(folder_.File("odd.onnx"), std::ios::binary) << c.file.Bytes();
    const ModelFile model = faces::FaceModel(folder_.File("odd.onnx"));
    const auto frames = Person(150);
    const auto device = Late(0);
    const FaceOptions options = OptionsOf(device, model, frames[0]);
    EXPECT_EQ(options.network->crop().width, c.side);
    log_->enqueued = 0;
    StageOnDevice on_device(device, options, frames[0]);
    faces::FaceStage on_cpu(faces::StageOptions(frames[0], model));
    pixel::ThreadPool pool(2);
    pixel::Image expected = Copy(frames[0]);
    pixel::Image made = Copy(frames[0]);
    on_cpu.Run(expected, expected, 0, true, false, pool);
    on_device.Run(made, 0, true);
    EXPECT_EQ(log_->enqueued, 1) << "it runs on the device";
    EXPECT_GT(Compare(frames[0], made, {}).most, 5);
    EXPECT_LE(Compare(expected, made, {}).most, kNear);
  }
}

TEST_F(CudaFaces, AreTheSameAfterAWarmUpAsInTheWholeVideo) {
  const auto frames = Person(100, 680, 520, 1.2);
  const auto device = Late(0);
  const FaceOptions options = OptionsOf(device, faces::Shipped(), frames[0]);
  StageOnDevice whole(device, options, frames[0]);
  StageOnDevice segment(device, OptionsOf(device, faces::Shipped(), frames[0]), frames[0]);
  constexpr std::size_t kBegin = 5;
  constexpr std::size_t kWarmUp = 18;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image a = Copy(frames[i]);
    whole.Run(a, static_cast<std::int64_t>(i), i == 0);
    if (i < kBegin) continue;
    pixel::Image b = Copy(frames[i]);
    segment.Run(b, static_cast<std::int64_t>(i), i == kBegin, i < kBegin + kWarmUp);
    if (i < kBegin + kWarmUp) {
      EXPECT_EQ(Compare(frames[i], b, {}).most, 0) << "a frame of the warm-up is changed";
    } else {
      EXPECT_EQ(Compare(a, b, {}).most, 0) << i;
    }
  }
}

TEST_F(CudaFaces, NothingIsAllocatedFromFrameToFrame) {
  const auto frames = Person(110, 680, 520, 0.8);
  const auto device = Late(0);
  StageOnDevice stage(device, OptionsOf(device, faces::Shipped(), frames[0]), frames[0]);
  const int before = device->allocations();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image made = Copy(frames[i]);
    stage.Run(made, static_cast<std::int64_t>(i), i == 0);
  }
  EXPECT_EQ(device->allocations(), before);
}

TEST_F(CudaFaces, AreRestoredInJobs) {
  const std::string in = PersonClip(0.24);
  for (const char* model : {"none", "rgb"}) {
    SCOPED_TRACE(model);
    EnhanceOptions options = Options(Rgb(), std::string(model) == "none" ? Target::kSource : Target::k1080p);
    options.model = model;
    options.models.push_back(faces::Shipped());
    options.face_restoration = {Strength::Mode::kFixed, 1};
    options.adaptive_contrast = options.sharpen = {Strength::Mode::kFixed, 0.3F};
    const std::string by_cpu = folder_.File("cpu.mp4");
    const std::string by_gpu = folder_.File("gpu.mp4");
    const std::string without = folder_.File("without.mp4");
    options.device = "cpu";
    const EnhanceResult expected = Enhance(in, by_cpu, options);
    const auto device = Late(50);
    const EnhanceResult result = run::EnhanceOn(ProcessorOn(device), in, by_gpu, options);
    EXPECT_EQ(result.device, "cuda:0 (stand-in)");
    EXPECT_EQ(result.frames, expected.frames);
    EXPECT_EQ(result.faces, expected.faces);
    EXPECT_EQ(result.faces, result.frames);
    EXPECT_EQ(result.applied.face_restoration, 1);
    EXPECT_EQ(FrameTimes(by_gpu), FrameTimes(by_cpu));
    const double alike = Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu));
    EXPECT_GT(alike, 46);
    for (const char plane : {'u', 'v'}) EXPECT_GT(Psnr(DecodePlane(by_gpu, plane), DecodePlane(by_cpu, plane)), 46) << plane;
    options.face_restoration = {Strength::Mode::kOff, 0};
    run::EnhanceOn(ProcessorOn(device), in, without, options);
    EXPECT_LT(Psnr(DecodeLuma(by_gpu), DecodeLuma(without)), alike - 3) << "the faces are not restored";
    EXPECT_TRUE(std::ranges::any_of(result.stages, [](const StageTime& stage) { return stage.name == "faces" && stage.cpu_seconds > 0; }));
    EXPECT_EQ(log_->contexts, 0);
    EXPECT_EQ(device->used(), 0U);
  }
}

/// Crops of neighbours overlap. Each comes from the source, without what the network made of the other.
TEST_F(CudaFaces, OfNeighboursAreRestoredAsOnTheCpu) {
  const std::string in = folder_.File("neighbours.mkv");
  Ffmpeg("-i " + faces::kPerson + " -vf '" + faces::PersonFilter(110) + ",crop=120:240:260:110,split[a][b];[a][b]hstack' -c:v ffv1 -pix_fmt yuv420p " + in);
  EnhanceOptions options = FacesAlone();
  options.encoder.crf = 1;
  options.device = "cpu";
  EXPECT_EQ(Enhance(in, folder_.File("cpu.mp4"), options).faces, 2);
  EXPECT_EQ(run::EnhanceOn(ProcessorOn(Late(0)), in, folder_.File("gpu.mp4"), options).faces, 2);
  for (const char plane : {'y', 'u', 'v'}) {
    EXPECT_GT(Psnr(DecodePlane(folder_.File("gpu.mp4"), plane), DecodePlane(folder_.File("cpu.mp4"), plane)), 58) << plane;
  }
}

TEST_F(CudaFaces, SegmentsOfJobsEqualTheWhole) {
  const std::string in = PersonClip(2);
  EnhanceOptions options = FacesAlone();
  options.encoder.crf = 1;
  const auto device = Late(0);
  run::EnhanceOn(ProcessorOn(device), in, folder_.File("whole.mp4"), options);
  options.segment = Segment{1.2, 2, 27};
  EXPECT_GT(run::EnhanceOn(ProcessorOn(device), in, folder_.File("part.mp4"), options).faces, 0);
  const auto whole = DecodeLuma(folder_.File("whole.mp4"));
  const auto part = DecodeLuma(folder_.File("part.mp4"));
  ASSERT_LT(part.size(), whole.size());
  EXPECT_GT(Psnr({whole.end() - static_cast<std::ptrdiff_t>(part.size()), whole.end()}, part), 52);
}

}  // namespace
}  // namespace reelmend::cuda
