// Networks on a GPU: the network alone with one to four contexts (the upper bound), the network with the kernels that pack
// its input and unpack its output, and whole videos. Prints JSON. Fails without a GPU or without a backend for it.
//   bench_gpu_networks MODEL_FOLDER [CLIP [MODEL…]]    measures fast-x2.onnx, detail-x2.onnx and quality-x2.onnx, as far as
//                                                      the folder has them; MODEL… selects some of them
// REELMEND_GPU_ENGINES names a folder for the engines, which keeps them. Without it they are removed at the end.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cuda/cuda_processor.h"
#include "cuda/network_rate.h"
#include "inference/gpu_model.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend::cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 7;
constexpr int kFramesOfRound = 60;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The folder for engines: REELMEND_GPU_ENGINES, or a temporary one.
class EngineFolder {
 public:
  EngineFolder() {
    const char* kept = std::getenv("REELMEND_GPU_ENGINES");
    if (kept != nullptr && *kept != '\0') {
      path_ = kept;
      return;
    }
    char folder[] = "/tmp/reelmend-engines-XXXXXX";
    if (mkdtemp(folder) == nullptr) throw Error(ErrorCode::kInternal, "Cannot create a folder for engines in /tmp.");
    path_ = folder;
    is_temporary_ = true;
  }
  ~EngineFolder() {
    std::error_code ignored;
    if (is_temporary_) std::filesystem::remove_all(path_, ignored);
  }
  EngineFolder(const EngineFolder&) = delete;
  EngineFolder& operator=(const EngineFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_temporary_ = false;
};

ModelFile Describe(const std::string& folder, const std::string& name) {
  ModelFile file;
  file.name = name;
  file.path = folder + "/" + name + "-x2.onnx";
  file.multiple = 2;
  file.halo = 22;
  if (name == "quality") file.layout = ModelFile::Layout::kYcbcrStrength;
  return file;
}

/// Frames per second: the median of kRounds rounds, after two warm-up rounds. `frame` receives the number of the slot.
template <typename Frame>
double Rate(Device& device, const std::vector<StreamHandle>& streams, const Frame& frame) {
  std::vector<double> rates;
  for (int round = -2; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kFramesOfRound; ++i) frame(i % static_cast<int>(streams.size()));
    for (const StreamHandle stream : streams) device.WaitForStream(stream);
    if (round >= 0) rates.push_back(kFramesOfRound / Since(start));
  }
  std::nth_element(rates.begin(), rates.begin() + kRounds / 2, rates.end());
  return rates[kRounds / 2];
}

struct Bound {
  DeviceMemory input, output, workspace;
  std::unique_ptr<inference::GpuContext> context;
  Stream stream;
  Graph graph;
};

/// Launches per second of the network alone: `contexts` contexts run concurrently, each as a CUDA graph.
double NetworkAlone(const std::shared_ptr<Device>& device, inference::GpuNetwork& network, int contexts) {
  std::vector<Bound> bound(static_cast<std::size_t>(contexts));
  std::vector<StreamHandle> streams;
  for (Bound& b : bound) {
    const std::size_t input_bytes = 2 * static_cast<std::size_t>(network.input_shape().count() * network.batch());
    b.input = MakeDeviceMemory(device, input_bytes);
    b.output = MakeDeviceMemory(device, 2 * static_cast<std::size_t>(network.output_shape().count() * network.batch()));
    b.workspace = MakeDeviceMemory(device, static_cast<std::size_t>(network.workspace_bytes()) + 256);
    b.context = network.MakeContext({b.input.get(), b.output.get(), b.workspace.get()});
    b.stream = MakeStream(device);
    const StreamHandle stream = b.stream.get();
    device->ClearAsync(b.input.get(), input_bytes, stream);
    b.context->Enqueue(stream.value);
    device->WaitForStream(stream);
    device->BeginCapture(stream);
    b.context->Enqueue(stream.value);
    b.graph = Graph(device, device->EndCapture(stream));
    streams.push_back(stream);
  }
  return Rate(*device, streams, [&](int slot) { device->LaunchGraph(bound[slot].graph.get(), streams[slot]); });
}

/// Prints one JSON object for each number of contexts; `batch` pictures in each context.
void BenchContexts(const std::shared_ptr<Device>& device, const std::shared_ptr<inference::GpuModel>& model, Size size, int batch) {
  const auto network = model->Load(size.width, size.height, batch);
  NetworkOptions options;
  options.file = model->file();
  options.load = [model](int width, int height, int pictures) { return model->Load(width, height, pictures); };
  for (int contexts = 1; contexts <= kMostContexts; ++contexts) {
    options.concurrency = {contexts, batch};
    std::printf("%s{\"contexts\": %d, \"batch\": %d, \"network_fps\": %.1f, \"with_kernels_fps\": %.1f}", contexts + batch == 2 ? "" : ", ",
                contexts, batch, batch * NetworkAlone(device, *network, contexts), NetworkRate(device, options, size));
  }
}

void BenchModel(const std::shared_ptr<Device>& device, const std::shared_ptr<inference::GpuBackend>& backend, const ModelFile& file,
                const std::string& engines, bool is_last) {
  const DeviceFacts& facts = device->facts();
  const inference::TargetGpu target{{facts.compute_major, facts.compute_minor}, facts.name};
  std::printf("    {\"model\": \"%s\", \"sizes\": [\n", file.name.c_str());
  const Size sizes[] = {{960, 540}, {1280, 720}, {1920, 1080}};
  for (const Size& size : sizes) {
    const auto model = std::make_shared<inference::GpuModel>(backend, file, target, inference::EngineCache(engines));
    model->KeepEngine();  // full TensorRT builds an engine for minutes, so all contexts of this size share one
    const auto start = Clock::now();
    const auto network = model->Load(size.width, size.height);
    std::printf("      {\"from\": \"%dx%d\", \"precision\": \"%s\", \"build_s\": %.2f, \"workspace_mb\": %.1f, \"contexts\": [", size.width,
                size.height, model->precision().c_str(), Since(start), static_cast<double>(network->workspace_bytes()) / 1e6);
    BenchContexts(device, model, size, 1);
    if (size.width == sizes[0].width) BenchContexts(device, model, size, kMostBatch);  // batches help small pictures most
    std::printf("]}%s\n", size.width == 1920 ? "" : ",");
  }
  std::printf("    ]}%s\n", is_last ? "" : ",");
}

void BenchVideo(const std::string& clip, const std::vector<ModelFile>& files, const std::string& engines) {
  std::printf("  \"videos\": [\n");
  for (std::size_t i = 0; i < files.size(); ++i) {
    EnhanceOptions options;
    options.model = files[i].name;
    options.models = {files[i]};
    options.engine_folder = engines;
    options.device = "cuda:0";
    options.target = Target::k4k;
    options.denoise = options.sharpen = options.adaptive_contrast = {Strength::Mode::kOff, 0};
    const std::string out = clip + ".out.mp4";
    Enhance(clip, out, options);  // warm-up: builds engines, raises the GPU's clocks
    const EnhanceResult result = Enhance(clip, out, options);
    std::filesystem::remove(out);
    std::printf("    {\"model\": \"%s\", \"device\": \"%s\", \"to\": \"%dx%d\", \"fps\": %.1f}%s\n", files[i].name.c_str(), result.device.c_str(),
                result.width, result.height, static_cast<double>(result.frames) / result.wall_seconds, i + 1 < files.size() ? "," : "");
  }
  std::printf("  ]\n");
}

int Run(int count, char** arguments) {
  if (count < 2) throw Error(ErrorCode::kInvalidArgument, "Usage: bench_gpu_networks MODEL_FOLDER [CLIP [MODEL…]].");
  const std::shared_ptr<Device> device = OpenCudaDevice(0);
  const DeviceFacts& facts = device->facts();
  const auto backend = inference::OpenGpuBackend({facts.compute_major, facts.compute_minor});
  const std::vector<std::string> wanted(arguments + std::min(count, 3), arguments + count);
  std::vector<ModelFile> files;
  for (const char* name : {"fast", "detail", "quality"}) {
    if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
    const ModelFile file = Describe(arguments[1], name);
    if (std::filesystem::exists(file.path)) files.push_back(file);
  }
  if (files.empty()) throw Error(ErrorCode::kInvalidArgument, "The folder has none of the requested models.");
  std::printf("{\n  \"device\": \"%s\", \"compute_capability\": \"%d.%d\", \"backend\": \"%s %s\",\n  \"networks\": [\n", facts.name.c_str(),
              facts.compute_major, facts.compute_minor, backend->name().c_str(), backend->version().c_str());
  const EngineFolder engines;
  const std::string& folder = engines.path();
  for (std::size_t i = 0; i < files.size(); ++i) BenchModel(device, backend, files[i], folder, i + 1 == files.size());
  std::printf("  ]%s\n", count > 2 ? "," : "");
  if (count > 2) BenchVideo(arguments[2], files, folder);
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace reelmend::cuda

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // line-buffered: an interrupted run keeps the measurements so far
  try {
    return reelmend::cuda::Run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
