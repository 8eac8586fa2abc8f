// Networks on a GPU with the backend for that GPU: comparison with OpenVINO in fp32, whole clips, faults. No test is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "cuda/network_rate.h"
#include "cuda/cuda_processor.h"
#include "helpers/clips.h"
#include "helpers/differences.h"
#include "helpers/test_paths.h"
#include "inference/backend.h"
#include "inference/gpu_model.h"
#include "inference/half.h"
#include "inference/model_loader.h"
#include "reelmend/error.h"
#include "run/enhance.h"

namespace reelmend::cuda {
namespace {

using reelmend::testing::DecodeLuma;
using reelmend::testing::Ffmpeg;
using reelmend::testing::FileExists;
using reelmend::testing::FrameTimes;
using reelmend::testing::PlainOptions;
using reelmend::testing::Psnr;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::ToneInput;
using reelmend::testing::VideoInput;

ModelFile Shipped(const std::string& file, ModelFile::Precision precision) {
  ModelFile model;
  model.name = file.substr(0, file.find('-'));
  model.scale = file.find("-x1") == std::string::npos ? 2 : 1;
  // A program built on another machine (scripts/prove-gpu --pack) runs in the folder of the checkout.
  model.path = "engine/models/" + file;
  if (!FileExists(model.path)) model.path = test_paths::SourceDir() + "/models/" + file;
  model.precision = precision;
  model.multiple = 2;
  model.halo = model.name == "quality" ? 38 : 22;
  if (model.name == "quality") model.layout = ModelFile::Layout::kYcbcrStrength;
  return model;
}
ModelFile Fast() { return Shipped("fast-x2.onnx", ModelFile::Precision::kFp32); }

/// The folder of the engines of all tests, because full TensorRT takes minutes to build one. REELMEND_GPU_ENGINES names a folder
/// that remains after the program (scripts/prove-gpu --engines).
const std::string& Engines() {
  static const TemporaryFolder folder;
  const char* kept = std::getenv("REELMEND_GPU_ENGINES");
  static const std::string engines = kept != nullptr && *kept != '\0' ? kept : folder.File("engines");
  return engines;
}

class GpuNetworks : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = OpenCudaDevice(0);
    const DeviceFacts& facts = device_->facts();
    gpu_ = {{facts.compute_major, facts.compute_minor}, facts.name};
    backend_ = inference::OpenGpuBackend(gpu_.target);  // throws without a backend, so these tests fail
  }

  /// Waves and noise as input of a shipped network: luma, the strength, and Cb and Cr for networks with chroma.
  static std::vector<float> Pattern(int width, int height, unsigned seed, int planes = 2) {
    const std::size_t plane = static_cast<std::size_t>(width) * height;
    std::vector<float> input(planes * plane, 0.3F);
    std::minstd_rand random(seed);
    for (std::size_t i = 0; i < plane; ++i) {
      const double wave = std::sin(0.05 * static_cast<double>(i % width)) * std::cos(0.03 * static_cast<double>(i / width));
      input[i] = static_cast<float>(0.5 + 0.4 * wave + 0.05 * (static_cast<double>(random() % 1000) / 1000 - 0.5));
      for (int p = 2; p < planes; ++p) input[p * plane + i] = static_cast<float>((p == 2 ? 0.3 : -0.2) * wave);
    }
    return input;
  }

  /// The network's output for `input`, a whole batch. Uses its own context; the second run is a graph.
  std::vector<float> RunOnGpu(inference::GpuNetwork& network, const std::vector<float>& input) {
    std::vector<std::uint16_t> halves(input.size());
    for (std::size_t i = 0; i < input.size(); ++i) halves[i] = inference::FloatToHalf(input[i]);
    const DeviceMemory in = Upload(device_, halves.data(), halves.size() * 2);
    const auto count = static_cast<std::size_t>(network.output_shape().count() * network.batch());
    const DeviceMemory out = MakeDeviceMemory(device_, count * 2);
    const DeviceMemory workspace = MakeDeviceMemory(device_, static_cast<std::size_t>(network.workspace_bytes()) + 256);
    const auto context = network.MakeContext({in.get(), out.get(), workspace.get()});
    const Stream stream = MakeStream(device_);
    context->Enqueue(stream.get().value);
    device_->WaitForStream(stream.get());
    device_->BeginCapture(stream.get());
    context->Enqueue(stream.get().value);
    const Graph graph(device_, device_->EndCapture(stream.get()));
    device_->ClearAsync(out.get(), count * 2, stream.get());
    device_->LaunchGraph(graph.get(), stream.get());
    const PinnedMemory host = MakePinnedMemory(device_, count * 2);
    device_->CopyAsync({host.get(), 0, out.get(), 0, count * 2, 1}, stream.get());
    device_->WaitForStream(stream.get());
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = inference::HalfToFloat(static_cast<const std::uint16_t*>(host.get())[i]);
    return result;
  }

  std::unique_ptr<device::Processor> ProcessorOn() { return MakeProcessor(device_, MakeStream(device_), nullptr, backend_); }

  static EnhanceOptions Options() {
    EnhanceOptions options = PlainOptions();
    options.model = "fast";
    options.target = Target::k1080p;
    options.models = {Fast()};
    options.engine_folder = Engines();
    options.encoder.crf = 4;
    return options;
  }
  std::string Clip(double seconds = 0.8, const std::string& size = "960x540") {
    const std::string file = folder_.File("in-" + size + std::to_string(seconds) + ".mp4");
    Ffmpeg(VideoInput(size, seconds) + " " + ToneInput(seconds) + " -c:v libx264 -crf 20 -pix_fmt yuv420p -c:a aac " + file);
    return file;
  }

  std::shared_ptr<Device> device_;
  inference::TargetGpu gpu_;
  std::shared_ptr<inference::GpuBackend> backend_;
  TemporaryFolder folder_;
};

/// A shipped network at one size. Each needs its own engine, which full TensorRT builds for up to minutes.
struct NetworkCase {
  const char* file;
  int width;
  int height;
};
constexpr NetworkCase kNetworkCases[] = {
    {"fast-x2.onnx", 960, 540},  // the clips have the same size, so they share the engine
    {"fast-x2.onnx", 322, 182},      {"quality-x2.onnx", 322, 182}, {"detail-x2.onnx", 322, 182},     {"fast-x1.onnx", 322, 182},
    {"fast-x2-int8.onnx", 322, 182}, {"fast-x2.onnx", 64, 64},      {"fast-x2.onnx", 1920, 1080},     {"quality-x2-int8.onnx", 322, 182},
    {"detail-x2-int8.onnx", 322, 182}, {"fast-x1-int8.onnx", 322, 182},
};

class GpuNetworkFiles : public GpuNetworks, public ::testing::WithParamInterface<NetworkCase> {};

TEST_P(GpuNetworkFiles, GivesWhatOpenVinoGives) {
  const auto& [name, width, height] = GetParam();
  const bool is_int8 = std::string(name).find("int8") != std::string::npos;
  const ModelFile file = Shipped(name, is_int8 ? ModelFile::Precision::kInt8 : ModelFile::Precision::kFp32);
  const int planes = inference::InputPlanes(file.layout);
  const std::vector<float> input = Pattern(width, height, 3, planes);
  auto cpu = inference::CreateBackend("openvino")->Load(inference::ReadModelFile(file), "", "")->Compile({{planes, height, width}, 1, 8, false});
  std::copy(input.begin(), input.end(), cpu->Input(0));
  cpu->Start(0);
  cpu->Wait(0);
  inference::GpuModel model(backend_, file, gpu_, inference::EngineCache(Engines()));
  const auto actual = RunOnGpu(*model.Load(width, height), input);
  ASSERT_EQ(static_cast<std::int64_t>(actual.size()), cpu->output_shape().count());
  const auto found = reelmend::testing::Compare(actual, {cpu->Output(0), actual.size()});
  std::printf("%s, %d×%d: root mean square %.3f, 999 of 1,000 within %.3f, largest %.3f of 255 levels\n", name, width, height, found.rms, found.percentile, found.largest);
  const auto& tolerance = is_int8 ? reelmend::testing::kInt8Tolerance : reelmend::testing::kHalfTolerance;
  EXPECT_LE(found.rms, tolerance.rms);
  EXPECT_LE(found.percentile, tolerance.percentile);
}

INSTANTIATE_TEST_SUITE_P(Shipped, GpuNetworkFiles, ::testing::ValuesIn(kNetworkCases), [](const auto& info) {
  std::string name = info.param.file;
  name = name.substr(0, name.rfind('.')) + "_" + std::to_string(info.param.width) + "x" + std::to_string(info.param.height);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_F(GpuNetworks, FacesAreRestoredAsOnTheCpu) {
  const std::string in = folder_.File("person.mp4");
  const std::string person = FileExists("engine/tests/media/face.jpg") ? "engine/tests/media/face.jpg" : test_paths::SourceDir() + "/tests/media/face.jpg";
  Ffmpeg("-loop 1 -framerate 25 -t 1 -i " + person +
         " -vf 'scale=250:-2,pad=400:320:(ow-iw)/2:(oh-ih)/2:gray,crop=iw-40:ih-40:20+12*sin(n/11):20+10*sin(n/7)' -c:v libx264 -crf 30 "
         "-pix_fmt yuv420p " + in);
  EnhanceOptions options = Options();
  ModelFile faces = Shipped("faces-256.onnx", ModelFile::Precision::kFp32);
  faces.scale = faces.multiple = 1;
  faces.layout = ModelFile::Layout::kFace;
  faces.max_change = 32;
  options.models.push_back(faces);
  options.face_restoration = {Strength::Mode::kFixed, 1};
  const std::string by_gpu = folder_.File("gpu.mp4");
  const std::string by_cpu = folder_.File("cpu.mp4");
  const EnhanceResult result = run::EnhanceOn(ProcessorOn(), in, by_gpu, options);
  options.device = "cpu";
  const EnhanceResult expected = Enhance(in, by_cpu, options);
  EXPECT_EQ(result.faces, result.frames);
  EXPECT_EQ(result.faces, expected.faces);
  EXPECT_GT(Psnr(DecodeLuma(by_gpu), DecodeLuma(by_cpu)), 46);
}

TEST_F(GpuNetworks, TwoPicturesAtOnceAreEachWhatTheyAreAlone) {
  inference::GpuModel model(backend_, Fast(), gpu_, inference::EngineCache(Engines()));
  const auto first = Pattern(322, 182, 3);
  const auto second = Pattern(322, 182, 4);
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  const auto together = RunOnGpu(*model.Load(322, 182, 2), both);
  auto alone = RunOnGpu(*model.Load(322, 182), first);
  const auto other = RunOnGpu(*model.Load(322, 182), second);
  alone.insert(alone.end(), other.begin(), other.end());
  ASSERT_EQ(together.size(), alone.size());
  const auto found = reelmend::testing::Compare(together, alone);
  EXPECT_LE(found.rms, reelmend::testing::kHalfTolerance.rms);
  EXPECT_LE(found.percentile, reelmend::testing::kHalfTolerance.percentile);
}

TEST_F(GpuNetworks, WholeClipsAreTheCpusWithinAHundredthOfADecibel) {
  const std::string in = Clip();
  const std::string sharp = folder_.File("truth.mp4");
  Ffmpeg(VideoInput("1920x1080", 0.8) + " -c:v libx264 -crf 4 -pix_fmt yuv420p " + sharp);
  const auto truth = DecodeLuma(sharp);
  EnhanceOptions options = Options();
  options.device = "cpu";
  const EnhanceResult expected = Enhance(in, folder_.File("cpu.mp4"), options);
  const EnhanceResult result = run::EnhanceOn(ProcessorOn(), in, folder_.File("gpu.mp4"), options);
  EXPECT_EQ(result.applied.model, "fast");
  EXPECT_EQ(result.frames, expected.frames);
  EXPECT_EQ(FrameTimes(folder_.File("gpu.mp4")), FrameTimes(folder_.File("cpu.mp4")));
  const double by_cpu = Psnr(DecodeLuma(folder_.File("cpu.mp4")), truth);
  const double by_gpu = Psnr(DecodeLuma(folder_.File("gpu.mp4")), truth);
  EXPECT_NEAR(by_gpu, by_cpu, 0.02);
}

TEST_F(GpuNetworks, BatchesInSeveralContextsMakeTheSameVideo) {
  const std::string in = Clip(0.68);  // 17 frames: the last batch is not full
  const std::string single = folder_.File("single.mp4");
  const std::string batches = folder_.File("batches.mp4");
  inference::GpuModel model(backend_, Fast(), gpu_, inference::EngineCache(Engines()));
  model.Compile(960, 540, 2);
  for (const auto& [concurrency, out] : {std::pair{inference::Concurrency{2, 1}, single}, {inference::Concurrency{2, 2}, batches}, {inference::Concurrency{4, 2}, batches}}) {
    model.KeepConcurrency(960, 540, concurrency);
    run::EnhanceOn(ProcessorOn(), in, out, Options());
    EXPECT_EQ(FrameTimes(out), FrameTimes(in));
  }
  EXPECT_GT(Psnr(DecodeLuma(batches), DecodeLuma(single)), 55);
}

TEST_F(GpuNetworks, MeasuringChoosesWhatFits) {
  const auto model = std::make_shared<inference::GpuModel>(backend_, Fast(), gpu_, inference::EngineCache(Engines()));
  const auto chosen = MeasureConcurrency(device_, model, {960, 540});
  ASSERT_TRUE(chosen);
  EXPECT_GE(chosen->contexts, kLeastContexts);
  EXPECT_LE(chosen->contexts, kMostContexts);
  RecordProperty("contexts", chosen->contexts);
  RecordProperty("batch", chosen->batch);
}

TEST_F(GpuNetworks, RunsAreAlikeAndTwoJobsShareTheGpu) {
  const std::string in = Clip(1.6);
  run::EnhanceOn(ProcessorOn(), in, folder_.File("alone.mp4"), Options());
  const auto expected = DecodeLuma(folder_.File("alone.mp4"));
  std::vector<std::jthread> jobs;
  for (const char* name : {"one.mp4", "two.mp4"}) {
    jobs.emplace_back([&, name] { run::EnhanceOn(ProcessorOn(), in, folder_.File(name), Options()); });
  }
  jobs.clear();
  EXPECT_EQ(DecodeLuma(folder_.File("one.mp4")), expected);
  EXPECT_EQ(DecodeLuma(folder_.File("two.mp4")), expected);
}

TEST_F(GpuNetworks, TooLittleMemoryIsTilesWithTheSamePicture) {
  const std::string in = Clip(0.2);
  run::EnhanceOn(ProcessorOn(), in, folder_.File("whole.mp4"), Options());
  // Allocates the GPU's memory step by step until a run fails. Before that, pictures are processed in tiles.
  std::vector<DeviceMemory> taken;
  bool was_refused = false;
  for (std::size_t left = std::size_t{768} << 20; left >= std::size_t{32} << 20 && !was_refused; left /= 2) {
    while (device_->FreeBytes() > left + (std::size_t{16} << 20)) {
      taken.push_back(MakeDeviceMemory(device_, std::min(std::size_t{1} << 30, device_->FreeBytes() - left)));
    }
    try {
      run::EnhanceOn(ProcessorOn(), in, folder_.File("less.mp4"), Options());
      EXPECT_GT(Psnr(DecodeLuma(folder_.File("less.mp4")), DecodeLuma(folder_.File("whole.mp4"))), 50) << left;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
      was_refused = true;
    }
  }
  EXPECT_TRUE(was_refused) << "memory never ran out";
}

TEST_F(GpuNetworks, CancellingEndsAtOnce) {
  const std::string in = Clip(4);
  std::atomic<int> asked = 0;
  EnhanceCallbacks callbacks;
  callbacks.is_cancelled = [&] { return ++asked > 20; };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(run::EnhanceOn(ProcessorOn(), in, folder_.File("out.mp4"), Options(), callbacks), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_FALSE(FileExists(folder_.File("out.mp4")));
}

TEST_F(GpuNetworks, AnEngineIsBuiltOnceAndThenFoundInTheCache) {
  const std::string engines = folder_.File("engines");
  std::vector<std::string> messages;
  const inference::EngineCache cache(engines, true, [&](const std::string& sentence) { messages.push_back(sentence); });
  inference::GpuModel first(backend_, Fast(), gpu_, cache);
  first.Load(128, 128);
  EXPECT_EQ(first.built(), 1);
  inference::GpuModel second(backend_, Fast(), gpu_, cache);
  second.Load(128, 128);
  EXPECT_EQ(second.built(), 0);
  EXPECT_TRUE(messages.empty());
}

}  // namespace
}  // namespace reelmend::cuda
