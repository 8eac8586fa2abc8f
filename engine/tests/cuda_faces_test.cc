// Faces on a stand-in device: what the CPU makes of the same pictures with the same network, in order, with any delays of the streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cuda/face_stage.h"
#include "cuda/network_source.h"
#include "cuda_network_fixture.h"
#include "faces/face_stage.h"
#include "faces_pictures.h"
#include "helpers/clips.h"
#include "inference/engine_compiler.h"
#include "inference/onnx_face.h"
#include "reelmend/error.h"
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
using testing::kOpen;
using testing::StandInBackend;
using testing::StandInDevice;

/// Largest difference of a sample from the CPU's, in 8-bit levels: the network gets and makes fp16.
constexpr double kNear = 0.6;

/// The face stage of a device, for pictures in the host's memory.
class StageOnDevice {
 public:
  StageOnDevice(std::shared_ptr<StandInDevice> device, const FaceOptions& options, const pixel::Image& shape)
      : device_(std::move(device)),
        arena_(device_),
        stream_(MakeStream(device_)),
        picture_(arena_.MakePicture(shape.width(), shape.height(), shape.subsampling(), shape.color())),
        state_(arena_.MakeValues<TemporalState>(1)),
        stage_(device_, options, picture_) {}

  void Run(pixel::Image& image, std::int64_t number, bool is_cut, bool is_warm_up = false) {
    TemporalState state{};
    state.is_cut = is_cut ? 1 : 0;
    std::memcpy(state_, &state, sizeof state);  // a stand-in's memory is the host's
    for (int p = 0; p < 3; ++p) CopyRows(image.plane(p), picture_.planes[p], true);
    stage_.Run(picture_, picture_, state_, number, is_warm_up, stream_.get());
    device_->WaitForStream(stream_.get());
    for (int p = 0; p < 3; ++p) CopyRows(image.plane(p), picture_.planes[p], false);
  }
  std::int64_t restored() const { return stage_.restored(); }
  double HelperCpuSeconds() { return stage_.HelperCpuSeconds(); }

 private:
  static void CopyRows(const pixel::Plane& host, const Plane& device, bool is_upload) {
    for (int y = 0; y < host.height; ++y) {
      const auto bytes = static_cast<std::size_t>(host.width) * sizeof(std::uint16_t);
      is_upload ? std::memcpy(device.Row(y), host.Row(y), bytes) : std::memcpy(host.Row(y), device.Row(y), bytes);
    }
  }

  std::shared_ptr<StandInDevice> device_;
  DeviceArena arena_;
  Stream stream_;
  Picture picture_;
  TemporalState* state_;
  FaceStage stage_;
};

class CudaFaces : public testing::CudaNetworkTest {
 protected:
  /// Restores the faces fully and does nothing else.
  static EnhanceOptions FacesAlone() {
    EnhanceOptions options = Options(faces::Shipped(), Target::kSource);
    options.model = "none";
    options.face_restoration = {Strength::Mode::kFixed, 1};
    return options;
  }
  void SetUp() override {
    NEEDS_OPENVINO();
    NEEDS_DETECTOR();
  }

  FaceOptions OptionsOf(const std::shared_ptr<StandInDevice>& device, const ModelFile& model, const pixel::Image& shape, float strength = 1) {
    NetworkSource source(device, std::make_shared<StandInBackend>(device, log_));
    NetworkRequest request;
    request.file = model;
    return source.FacesOf(request, faces::StageOptions(shape, model, strength).finder);
  }

  /// A network with an open size or a weight, as people share them: adds 0.2 × weight to red.
  ModelFile Reddening(std::vector<std::int64_t> weight_shape, std::int64_t side) {
    reelmend::testing::OnnxFile file;
    file.Input("input", {1, 3, side, side}).Input("weight", std::move(weight_shape)).Tensor("red", {1, 3, 1, 1}, {0.2F, 0, 0});
    file.Node("Mul", {"red", "weight"}, "weighted").Node("Add", {"input", "weighted"}, "output").Output("output", {1, 3, side, side});
    const std::string path = folder_.File("reddening.onnx");
    std::ofstream(path, std::ios::binary) << file.Bytes();
    return faces::FaceModel(path);
  }

  std::string PersonClip(double seconds) {
    const std::string file = folder_.File("person.mp4");
    Ffmpeg("-loop 1 -framerate 25 -t " + std::to_string(seconds) + " -i " + faces::kPerson +
           " -vf 'scale=250:-2,pad=400:320:(ow-iw)/2:(oh-ih)/2:gray,crop=iw-40:ih-40:20+12*sin(n/11):20+10*sin(n/7)' -c:v libx264 -crf 30 -pix_fmt yuv420p " + file);
    return file;
  }
};

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
    EXPECT_TRUE(said.ends_with(why.empty() ? "for the faces that are found" : "; their network runs on the CPU: Model “faces”: " + why)) << said;
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
